/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex build: a warehouse of a labelled dataset. */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "build/ingest.h"
#include "cmd/build_tell.h"
#include "cmd/push_job.h"
#include "format/summary.h"
#include "labels/label.h"
#include "objects/url.h"
#include "order/parts.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"
#include "ui/task.h"
#include "ui/trace.h"

static int layout;
static int unlabelled;
static const char *labels;
static const char *classes;
static const char *dataset_root;
static const char *size = "640x640";
static int fit;
static const char *pad = "000000";
static int alpha;
static int dtype;
static uint64_t max_boxes = 16;
static int skip_empty = 1;
static double min_visible = 0.1;
static int boxes_stored;
static int ignore_orientation;
static int dct_scale;
static uint64_t max_pixels = LC__IMAGE_MAX_PIXELS;
static const char *buckets;
static uint64_t shard_size = 192ull << 20;
static int shard_version = 1;
static int metadata = 1;
static uint64_t threads;
static const char *max_invalid, *max_missing, *max_empty;
static int thresholds;
static const char *split;
static int split_by;
static uint64_t split_seed;
static int clear;
static int rehash;
static int keep_going;
static int dry_run;
static const char *push_url, *producer = "";
static struct push_job job; /* with --push */
static struct job_task task;
static int pack;
static struct opt_list samples_from;
static const char *trace_file, *metrics_file;

static struct opt options[] = {
	{ "", "layout", OPT_CHOICE, &layout,
	    .value = "auto|capture|yolo|coco|voc|unlabelled",
	    .help = "layout of the labels; auto detects it" },
	{ "", "unlabelled", OPT_FLAG, &unlabelled,
	    .help = "the same as --layout unlabelled" },
	{ "", "labels", OPT_FILE, &labels, .value = "FILE",
	    .help = "for COCO: file of annotations, relative to DATASET or absolute" },
	{ "", "classes", OPT_FILE, &classes, .value = "FILE",
	    .help = "rename, merge and select classes: one line NEW: OLD, OLD each; "
		    "others are dropped" },
	{ "", "dataset-root", OPT_TEXT, &dataset_root, .value = "TEXT",
	    .help = "dataset_root in the recipe; default DATASET" },
	{ "", "size", OPT_TEXT, &size, .value = "WxH",
	    .help = "pixels of a sample, 640 for a square" },
	{ "", "fit", OPT_CHOICE, &fit, .value = "letterbox|stretch|cover",
	    .help = "the whole picture and padding, the whole picture stretched, or "
		    "the middle that fills the sample" },
	{ "", "pad", OPT_TEXT, &pad, .value = "RRGGBB", .help = "colour of the padding" },
	{ "", "alpha", OPT_CHOICE, &alpha, .value = "drop|over",
	    .help = "ignore transparency, or blend over the padding's colour" },
	{ "", "dtype", OPT_CHOICE, &dtype, .value = "f16|f32|u8|u16",
	    .help = "dtype of the pixels; only u16 keeps 16 bits" },
	{ "", "max-boxes", OPT_COUNT, &max_boxes, .value = "N", .most = 65535,
	    .help = "boxes of a sample; further ones are left out and counted" },
	{ "", "skip-empty", OPT_FLAG, &skip_empty,
	    .help = "also write frames without a box" },
	{ "", "min-visible", OPT_RATIO, &min_visible, .value = "R",
	    .help = "drop a box if a smaller share of it is left in the sample" },
	{ "", "boxes-stored", OPT_FLAG, &boxes_stored,
	    .help = "boxes refer to the picture before the rotation of EXIF" },
	{ "", "ignore-orientation", OPT_FLAG, &ignore_orientation,
	    .help = "do not rotate pictures by their EXIF data" },
	{ "", "dct-scale", OPT_FLAG, &dct_scale,
	    .help = "let the JPEG decoder shrink: faster, but other pixels" },
	{ "", "max-pixels", OPT_COUNT, &max_pixels, .value = "N", .least = 1,
	    .help = "refuse pictures with more pixels" },
	{ "", "buckets", OPT_TEXT, &buckets, .value = "default|K|WxH,...",
	    .help = "several sizes, each picture gets the nearest: seven of about a "
		    "megapixel, K learned from the pictures, or these" },
	{ "", "shard-size", OPT_SIZE, &shard_size, .value = "SIZE", .least = 4ull << 10,
	    .most = 1ull << 40,
	    .help = "target size of a shard, 4K to 1T; default 192M" },
	{ "", "shard-version", OPT_CHOICE, &shard_version, .value = "1|2",
	    .help = "1 has no metadata, and boxes in the dtype of the pixels" },
	{ "", "metadata", OPT_FLAG, &metadata,
	    .help = "leave out cache_ids, origins and block checksums" },
	{ "j", "threads", OPT_COUNT, &threads, .value = "N",
	    .help = "threads that decode; 0 for the number of processors" },
	{ "", "split", OPT_TEXT, &split, .value = "NAME=SHARE,...",
	    .help = "record a split for readers (--part): train=0.9,val=0.1" },
	{ "", "split-by", OPT_CHOICE, &split_by, .value = "id|run",
	    .help = "split by a hash of the cache_id, or of the run" },
	{ "", "split-seed", OPT_COUNT, &split_seed, .value = "N",
	    .help = "seed of that hash" },
	{ "", "max-invalid", OPT_TEXT, &max_invalid, .value = "N|P%",
	    .help = "limit on invalid frames: 12, 5% or 12,5%" },
	{ "", "max-missing", OPT_TEXT, &max_missing, .value = "N|P%",
	    .help = "limit on frames without an image" },
	{ "", "max-empty", OPT_TEXT, &max_empty, .value = "N|P%",
	    .help = "limit on frames without a box" },
	{ "", "thresholds", OPT_CHOICE, &thresholds, .value = "fail|warn",
	    .help = "effect of an exceeded limit" },
	TASK_OPTION,
	{ "", "samples", OPT_LIST, &samples_from, .value = "WAREHOUSE",
	    .help = "also use the samples in this warehouse, such as a task's" },
	{ "", "pack", OPT_FLAG, &pack,
	    .help = "only write shards of these samples to WAREHOUSE/packed; with "
		    "--shard those of the task" },
	{ "", "clear", OPT_FLAG, &clear,
	    .help = "discard all stored samples and build everything again" },
	{ "", "rehash", OPT_FLAG, &rehash,
	    .help = "read every source; do not trust sizes and times" },
	{ "k", "keep-going", OPT_FLAG, &keep_going,
	    .help = "continue after files that the system cannot or may not read; "
		    "their frames are left out as unreadable" },
	{ "", "push", OPT_TEXT, &push_url, .value = "URL",
	    .help =
		"put the shards of the version into this store, as cachex push does" },
	{ "", "producer", OPT_TEXT, &producer, .value = "TEXT",
	    .help = "with --push: the program that computed the values, as for push" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "read and check everything, write nothing" },
	{ "", "trace", OPT_FILE, &trace_file, .value = "FILE",
	    .help = "write events as JSON lines" },
	{ "", "metrics", OPT_FILE, &metrics_file, .value = "FILE",
	    .help = "write counts for Prometheus, every ten seconds" },
	{ .kind = OPT_END },
};

/* ---- limits on bad frames, from options and from the environment ------------------- */

/* A decimal number that ends at @p end, not at a NUL. */
static bool
read_number(const char *text, const char *end, double *out)
{
	char *stop;

	if (!isdigit((unsigned char)*text))
		return false;
	*out = strtod(text, &stop);
	return stop == end;
}

/* One of the two kinds, in text[0] to text[size - 1]. */
static bool
read_limit_part(const char *text, size_t n, struct lc__limit *out)
{
	char digits[32];
	double percent;

	if (n > 0 && text[n - 1] == '%') {
		if (out->has_ratio || !read_number(text, text + n - 1, &percent) ||
		    !(percent <= 100))
			return false;
		out->has_ratio = true;
		out->ratio = percent / 100;
		return true;
	}
	if (out->has_count || n >= sizeof(digits))
		return false;
	memcpy(digits, text, n);
	digits[n] = '\0';
	out->has_count = true;
	return count_parse(digits, &out->count);
}

/*
 * "12": more than 12 frames; "5%": more than 5 % of all; "12,5%": both. False with @p why
 * if it is invalid.
 */
static bool
limit_parse(const char *text, struct lc__limit *out, char *why, size_t room)
{
	struct lc__limit limit = { .has_count = false };
	const char *at = text;

	for (;;) {
		const size_t n = strcspn(at, ",");
		if (!read_limit_part(at, n, &limit)) {
			snprintf(why, room,
			    "'%s' is not a limit, such as 12, 5%% or 12,5%%", text);
			return false;
		}
		if (at[n] == '\0')
			break;
		at += n + 1;
	}
	*out = limit;
	return true;
}

/* A variable that is set and not empty. */
static const char *
limit_variable(const char *name, const char *end, char *out, size_t room)
{
	const char *text;

	snprintf(out, room, "WAREHOUSE_MAX_%s%s", name, end);
	text = getenv(out);
	return text != NULL && *text != '\0' ? text : NULL;
}

/*
 * WAREHOUSE_MAX_NAME and WAREHOUSE_MAX_NAME_RATIO, with @p name in capitals; *out stays
 * unchanged if neither is set.
 */
static bool
limit_environment(const char *name, struct lc__limit *out, char *why, size_t room)
{
	struct lc__limit limit = { .has_count = false };
	char what[64];
	const char *text = limit_variable(name, "", what, sizeof(what));

	if (text != NULL) {
		limit.has_count = true;
		if (!count_parse(text, &limit.count)) {
			snprintf(why, room, "%s: '%s' is not a number", what, text);
			return false;
		}
	}
	text = limit_variable(name, "_RATIO", what, sizeof(what));
	if (text != NULL) {
		limit.has_ratio = true;
		if (!read_number(text, text + strlen(text), &limit.ratio) ||
		    !(limit.ratio <= 1)) {
			snprintf(why, room, "%s: '%s' is not a ratio from 0 to 1", what,
			    text);
			return false;
		}
	}
	if (limit.has_count || limit.has_ratio)
		*out = limit;
	return true;
}

/* ---- options --------------------------------------------------------------------- */

/* "--size: what is wrong" */
static int
bad_option(const void *target, const char *why)
{
	char spelling[80];

	return report_usage("%s: %s",
	    opt_spelling(options, target, "build", spelling, sizeof(spelling)), why);
}

static int
bad_value(const void *target, const char *what, const char *text)
{
	char why[200];

	snprintf(why, sizeof(why), "'%.100s' is not a %s", text, what);
	return bad_option(target, why);
}

/* Is an option set by the command line or its own variable? Then the WAREHOUSE_ variables
 * do not apply. */
static bool
is_given(const void *target)
{
	for (const struct opt *opt = options; opt->kind != OPT_END; opt++)
		if (opt->target == target)
			return opt->source >= FROM_ENVIRONMENT;
	return false;
}

static int
fill_limit(const char *const *text, const char *name, struct lc__limit *out)
{
	char why[OPT_TEXT_ROOM];

	if (*text != NULL && !limit_parse(*text, out, why, sizeof(why)))
		return bad_option(text, why);
	if (!is_given(text) && !limit_environment(name, out, why, sizeof(why)))
		return report_usage("%s", why);
	return EXIT_DONE;
}

/* The limits, and the options whose variables have names of their own. */
static int
fill_limits(struct lc__ingest *in)
{
	struct lc__thresholds *limits = &in->thresholds;
	const char *text;
	int status = fill_limit(&max_invalid, "INVALID", &limits->invalid);

	if (status == EXIT_DONE)
		status = fill_limit(&max_missing, "MISSING", &limits->missing);
	if (status == EXIT_DONE)
		status = fill_limit(&max_empty, "EMPTY", &limits->empty);
	if (status != EXIT_DONE)
		return status;

	limits->warn = thresholds == 1;
	text = getenv("WAREHOUSE_THRESHOLDS");
	if (!is_given(&thresholds) && text != NULL && *text != '\0') {
		limits->warn = strcmp(text, "warn") == 0;
		if (!limits->warn && strcmp(text, "fail") != 0)
			return report_usage(
			    "WAREHOUSE_THRESHOLDS: '%s' is not one of fail|warn", text);
	}
	in->clear = clear;
	text = getenv("WAREHOUSE_CLEAR");
	if (!is_given(&clear) && text != NULL && *text != '\0') {
		in->clear = strcmp(text, "1") == 0;
		if (!in->clear && strcmp(text, "0") != 0)
			return report_usage(
			    "WAREHOUSE_CLEAR: '%s' is not a switch; use 1 or 0", text);
	}
	return EXIT_DONE;
}

static int
fill_buckets(struct lc__ingest *in)
{
	struct lc__recipe *recipe = in->recipe;
	uint64_t k;

	if (buckets == NULL)
		return EXIT_DONE;
	if (strcmp(buckets, "default") == 0) {
		const lc_bucket *all = lc_buckets_default(&recipe->n_buckets);
		memcpy(recipe->buckets, all, recipe->n_buckets * sizeof(*all));
		return EXIT_DONE;
	}
	if (count_parse(buckets, &k)) {
		if (k < 1 || k > LC_BUCKETS_MAX)
			return bad_value(&buckets, "number of buckets from 1 to 64",
			    buckets);
		in->learn_buckets = (size_t)k;
		return EXIT_DONE;
	}
	if (!picture_sizes(buckets, recipe->buckets, LC_BUCKETS_MAX, &recipe->n_buckets))
		return bad_value(&buckets, "list of sizes", buckets);
	return EXIT_DONE;
}

static int
fill_transform(struct lc__transform *transform)
{
	lc_bucket target;

	if (!picture_size(size, &target))
		return bad_value(&size, "size, such as 640x480", size);
	transform->width = target.width;
	transform->height = target.height;
	if (!picture_colour(pad, transform->pad))
		return bad_value(&pad, "colour, such as 727272", pad);
	transform->fit = (enum lc__fit)fit;
	transform->alpha = alpha ? LC__ALPHA_OVER : LC__ALPHA_DROP;
	transform->ignore_orientation = ignore_orientation;
	transform->dct_scale = dct_scale;
	transform->max_pixels = max_pixels;
	return EXIT_DONE;
}

static int
fill_recipe(struct lc__recipe *recipe)
{
	static const lc_dtype dtypes[] = { LC_F16, LC_F32, LC_U8, LC_U16 };

	if (unlabelled && layout != LC__LAYOUT_AUTO && layout != LC__LAYOUT_UNLABELLED)
		return report_usage("--unlabelled excludes another --layout");
	recipe->layout = unlabelled ? LC__LAYOUT_UNLABELLED
				    : (enum lc__label_layout)layout;
	recipe->dtype = dtypes[dtype];
	recipe->shard_version = (uint32_t)shard_version + 1;
	recipe->metadata = metadata && recipe->shard_version > 1;
	if (recipe->shard_version == 1 &&
	    (recipe->dtype == LC_U8 || recipe->dtype == LC_U16))
		return report_usage("--shard-version 1 has no %s",
		    lc_dtype_name(recipe->dtype));
	recipe->max_boxes = (uint32_t)max_boxes;
	recipe->skip_empty = skip_empty;
	recipe->min_visible = min_visible;
	recipe->boxes_stored = boxes_stored;
	recipe->shard_bytes = shard_size;
	if (split != NULL) {
		struct lc__split_parts parts;

		if (lc__parts_parse(split, &parts) != LC_OK)
			return report_usage("%s", lc_last_error()->text);
		if (!recipe->metadata)
			return report_usage("--split needs the metadata of samples");
		recipe->split = split;
		recipe->split_by_run = split_by;
		recipe->split_seed = split_seed;
		if (split_seed > INT64_MAX)
			return report_usage("--split-seed: at most 2^63 - 1");
	}
	return fill_transform(&recipe->transform);
}

/* ---- the build --------------------------------------------------------------------- */

static int
build(const struct lc__ingest *in)
{
	struct lc__ingest_result result;
	struct json json;
	lc_status done;
	lc_error error;
	int status;

	if (trace_is_on()) {
		json = trace_event("begin");
		jw_text(&json, "cachex", lc_version());
		jw_count(&json, "time_ms", lc__clock_wall_ms());
		jw_text(&json, "dataset", in->dataset);
		jw_text(&json, "warehouse", in->warehouse);
		trace_options(&json, options);
		trace_event_end(&json);
	}
	if (in->dry_run)
		interrupt_resume(INTERRUPT_AGAIN);
	else if (in->clear)
		interrupt_resume("run the same command without --clear to continue");
	progress_begin("build");
	progress_phase(NULL, lc__phase_name(LC__PHASE_SCAN));
	done = lc__ingest_run(in, &result);
	error = *lc_last_error();
	progress_end();
	for (int i = 0; i < LC__PHASES && trace_is_on(); i++) {
		json = trace_event("phase");
		jw_text(&json, "phase", lc__phase_name((enum lc__phase)i));
		jw_real(&json, "thread_seconds", (double)result.state.ns[i] / 1e9);
		trace_event_end(&json);
	}
	if (trace_is_on()) {
		json = trace_event("end");
		jw_text(&json, "status", lc_status_name(done));
		if (done != LC_OK)
			jw_text(&json, "error", error.text);
		build_tell_members(&json, &result);
		trace_event_end(&json);
	}
	status = build_tell_end(done, &result);
	if (status == EXIT_DONE && push_url != NULL && result.version_dir != NULL)
		status = push_job_shards(&job, result.version_dir);
	lc__ingest_result_free(&result);
	return status;
}

static int
run_build(int argc, char **argv)
{
	struct lc__recipe recipe;
	struct lc__ingest in = {
		.dataset = argv[0],
		.warehouse = argv[1],
		.labels = labels,
		.recipe = &recipe,
		.watch = &build_watch,
		.rehash = rehash,
		.keep_going = keep_going,
		.force_fs = settings.force_fs,
		.dry_run = dry_run,
		.samples_from = samples_from.items,
		.n_samples_from = samples_from.count,
	};
	const struct build_telling telling = { argv[1], metrics_file, dry_run != 0,
		pack != 0, &task };
	struct lc__class_map class_map = { .n = 0 };
	char *root = strdup(dataset_root != NULL ? dataset_root : argv[0]);
	int status;

	(void)argc;
	if (lc__is_store_url(argv[1])) {
		free(root);
		return report_usage(
		    "%s: build makes a directory; --push %s puts its shards "
		    "into a store",
		    argv[1], argv[1]);
	}
	for (size_t n = root != NULL ? strlen(root) : 0; n > 1 && root[n - 1] == '/';)
		root[--n] = '\0';
	lc__recipe_init(&recipe);
	recipe.dataset_root = root != NULL ? root : argv[0];
	in.threads = threads < 1024 ? (unsigned)threads : 1024;
	status = task_take(options, cmd_build.name, &task);
	if (pack) {
		in.pack = task.number;
		in.packs = task.of;
	} else if (task.of > 1) {
		in.task = task.number;
		in.tasks = task.of;
	}
	if (status == EXIT_DONE)
		status = fill_recipe(&recipe);
	if (status == EXIT_DONE)
		status = fill_buckets(&in);
	if (status == EXIT_DONE)
		status = fill_limits(&in);
	if (status == EXIT_DONE && in.clear && (pack || task.of > 1))
		status = report_usage("%s excludes --clear; clear first, without it",
		    pack ? "--pack" : "--shard");
	if (status == EXIT_DONE && pack && in.n_samples_from == 0)
		status = report_usage(
		    "--pack: give the warehouses of the samples to pack "
		    "with --samples");
	if (status == EXIT_DONE && push_url != NULL && (pack || task.of > 1))
		status = report_usage(
		    "--push: a task writes no version that could be pushed");
	if (status == EXIT_DONE && push_url != NULL)
		status = push_job_open(&job, push_url, producer);
	if (status == EXIT_DONE && push_url != NULL && !dry_run)
		status = push_job_probe(&job);
	if (status == EXIT_DONE && classes != NULL) {
		const lc_status read = lc__class_map_read(classes, &class_map);
		recipe.class_map = &class_map;
		status = read == LC_OK ? EXIT_DONE : report_status(read);
	}
	if (status == EXIT_DONE)
		status = trace_open(trace_file);
	if (status == EXIT_DONE)
		status = build_tell_begin(&telling);
	if (status == EXIT_DONE)
		status = build(&in);
	status = report_worse(status, trace_close());
	push_job_close(&job);
	lc__class_map_free(&class_map);
	free(root);
	return status;
}

const struct command cmd_build = {
	.name = "build",
	.operands = "DATASET WAREHOUSE",
	.summary = "make a warehouse from a labelled dataset",
	.text =
	    "Checks the labels of every frame below DATASET, decodes its image, scales "
	    "it to one size and stores it in the module samples of WAREHOUSE. When all "
	    "frames are stored, it writes them as TWH1 shards into a version of their "
	    "own, v<day>-<hash>, and points `current` to it.\n"
	    "The same files and options give the same bytes, for any number of "
	    "threads. Run an interrupted build again to continue it; a later build uses "
	    "the unchanged samples and shards again.\n"
	    "A frame that cannot become a sample is skipped, and its reason is recorded. A "
	    "file that the system cannot or may not read (an I/O error, a missing "
	    "permission) ends the build with exit status 4, unless --keep-going is "
	    "given. If a limit is exceeded, nothing is written, `current` stays, and the "
	    "exit status is 1.\n"
	    "With --shard I/N only the frames of task I of N are checked and stored, each "
	    "task in a warehouse of its own; auto takes I and N from a task of Slurm, "
	    "Kubernetes or MPI. Then a build with --samples for each of these warehouses "
	    "writes the same version as a single build. Packing can be divided, too: --pack "
	    "--shard I/N with --samples writes the shards of one task to WAREHOUSE/packed, "
	    "where the build of the version finds them. With --push the shards of the "
	    "version are also put into a store.\n"
	    "WAREHOUSE_CLEAR=1 is --clear. WAREHOUSE_MAX_INVALID, "
	    "WAREHOUSE_MAX_INVALID_RATIO and the same for MISSING and EMPTY are the "
	    "limits, WAREHOUSE_THRESHOLDS their effect; options override them.",
	.examples =
	    "cachex build photos warehouse --layout yolo --size 384\n"
	    "cachex build photos warehouse --max-invalid 1% --max-missing 0\n"
	    "cachex build photos warehouse --buckets 5 --trace trace.jsonl\n"
	    "cachex build photos part0 --shard 0/2\n"
	    "cachex build photos warehouse --samples part0 --samples part1 --pack "
	    "--shard 0/2\n"
	    "cachex build photos warehouse --samples part0 --samples part1",
	.completes = "dd",
	.resume = "run the same command to continue",
	.least = 2,
	.most = 2,
	.options = options,
	.run = run_build,
};
