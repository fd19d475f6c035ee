/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex shard: inspect, verify, extract and join TWH1 shards, in files and in stores. */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fileio.h"
#include "cmd/stores.h"
#include "objects/names.h"
#include "objects/url.h"
#include "ui/columns.h"
#include "ui/command.h"
#include "ui/input.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/opt.h"
#include "ui/output.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "value/tensor.h"
#include "warehouse/tool.h"

/* Call @p look for each file; continue after a failure. */
static int
each_file(int argc, char **argv, int (*look)(const char *path))
{
	int status = EXIT_DONE;

	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "-") == 0)
			return report_usage(
			    "-: a shard must be a file that can be mapped, not "
			    "standard input; use ./- for a file of that name");
	for (int i = 0; i < argc; i++)
		status = report_worse(status,
		    interrupt_pending() ? interrupt_status() : look(argv[i]));
	return status;
}

/* ---- shards of files and of stores ------------------------------------------------------ */

/* A shard that is looked at. */
struct shard {
	const char *path; /* of the file, or the URL of the object */
	const lc_shard_info *info;
	const lc_shard *file;    /* or NULL */
	lc_warehouse *warehouse; /* of a store, where its samples begin at `first` */
	uint64_t first;
};

/* Read a sample, and compare it with its checksums if @p verify is set; a sample of a
 * store is always compared. To be released. */
static lc_status
shard_sample(const struct shard *shard, uint64_t i, bool verify, lc_sample *out)
{
	lc_status status;

	if (i >= shard->info->samples)
		return lc__error(LC_NOT_FOUND, 0,
		    "%s: no sample %llu; there are %llu samples", shard->path,
		    (unsigned long long)i, (unsigned long long)shard->info->samples);
	if (shard->file == NULL)
		return lc_warehouse_sample(shard->warehouse, shard->first + i, out);
	return_if_error(lc_shard_sample(shard->file, i, out));
	status = verify ? lc_shard_verify_sample(shard->file, i) : LC_OK;
	return status == LC_UNSUPPORTED ? LC_OK : status;
}

static void
shard_release(const struct shard *shard, lc_sample *sample)
{
	if (shard->file == NULL)
		lc_warehouse_release(shard->warehouse, sample);
}

/* The shards of the generation, or the one of them with this name. */
static int
each_of_store(struct store_look *store, const char *only,
    int (*look)(const struct shard *shard))
{
	const char *url = lc_warehouse_info_of(store->warehouse)->path;
	const uint64_t n = lc_warehouse_info_of(store->warehouse)->shards;
	struct shard shard = { .warehouse = store->warehouse };
	int status = EXIT_DONE;
	bool found = only == NULL;

	for (uint64_t i = 0; i < n && status < EXIT_SYSTEM; i++) {
		struct lc__manifest_shard said;
		lc_shard_info info;
		char *path = NULL;
		lc_status opened = lc__warehouse_shard(store->warehouse, i, &said);

		/* Without this manifest of parts, the shards after it are not known. */
		if (opened != LC_OK)
			return report_worse(status, report_status(opened));
		if (only == NULL || strcmp(said.relative_path, only) == 0) {
			found = true;
			path = lc__path_join(url, said.relative_path);
			opened = path != NULL
			    ? lc__warehouse_shard_info(store->warehouse, i, &info)
			    : lc__no_memory(url);
			shard.path = path;
			shard.info = &info;
			status = report_worse(status,
			    opened == LC_OK ? look(&shard) : report_status(opened));
			if (interrupt_pending())
				status = interrupt_status();
		}
		shard.first += said.samples;
		free(said.relative_path);
		free(path);
	}
	if (!found && status == EXIT_DONE)
		return report_error(EXIT_NO, "%s/%s: is not in the generation", url,
		    only);
	return status;
}

/* The store of "s3://bucket/feats/obj/4f/4f….twh1", malloc'ed, and the name of the object; of
 * another URL all of it, and NULL. */
static char *
split_url(const char *url, const char **object, char sha256[65])
{
	for (const char *at = strstr(url, "/obj/"); at != NULL;
	     at = strstr(at + 1, "/obj/")) {
		if (!lc__shard_of_name(at + 1, sha256))
			continue;
		*object = at + 1;
		return strndup(url, (size_t)(at - url));
	}
	*object = NULL;
	return strdup(url);
}

static int
look_at_store(const char *operand, bool ranges, int (*look)(const struct shard *shard))
{
	struct store_look store = { NULL, NULL };
	char sha256[65];
	const char *object;
	char *url = split_url(operand, &object, sha256);
	lc_status opened;
	int status;

	if (url == NULL)
		return report_no_memory();
	opened = store_look(url, ranges, &store);
	if (opened == LC_OK) {
		status = each_of_store(&store, object, look);
		store_look_end(&store);
	} else {
		status = report_argument(opened);
	}
	free(url);
	return status;
}

/* Open a file, or the shards of a store, which are read by ranges if @p ranges says so, and
 * call @p look for each. Reports; an exit status. */
static int
look_at(const char *operand, bool ranges, int (*look)(const struct shard *shard))
{
	struct shard shard = { .path = operand };
	lc_shard *file;
	lc_status opened;
	int status;

	if (lc__is_store_url(operand))
		return look_at_store(operand, ranges, look);
	opened = lc_shard_open(operand, &file);
	if (opened != LC_OK)
		return report_status(opened);
	shard.file = file;
	shard.info = lc_shard_info_of(file);
	status = look(&shard);
	lc_shard_close(file);
	return status;
}

/* ---- inspect ----------------------------------------------------------------------- */

static uint64_t inspect_sample = OPT_UNSET;
static uint64_t ids = 5;

static struct opt inspect_options[] = {
	{ "", "sample", OPT_COUNT, &inspect_sample, .value = "N",
	    .help = "only this sample, counted from 0" },
	{ "", "ids", OPT_COUNT, &ids, .value = "N", .help = "print this many cache_ids" },
	STORE_LOOK_OPTIONS,
	{ .kind = OPT_END },
};

static void
show_header_json(struct json *json, const char *path, const lc_shard_info *info)
{
	jw_open(json, NULL, '{');
	jw_text(json, "file", path);
	jw_count(json, "version", info->version);
	jw_text(json, "dtype", lc_dtype_name(info->dtype));
	jw_text(json, "boxes_dtype", lc_dtype_name(info->boxes_dtype));
	jw_count(json, "channels", info->channels);
	jw_count(json, "height", info->height);
	jw_count(json, "width", info->width);
	jw_count(json, "max_boxes", info->max_boxes);
	jw_count(json, "samples", info->samples);
	jw_count(json, "image_offset", info->image_offset);
	jw_count(json, "boxes_offset", info->boxes_offset);
	jw_count(json, "mask_offset", info->mask_offset);
	jw_count(json, "meta_offset", info->meta_offset);
	jw_count(json, "checksum_offset", info->checksum_offset);
	jw_count(json, "file_size", info->file_size);
}

static void
show_header_text(const char *path, const lc_shard_info *info)
{
	const struct {
		const char *label;
		uint64_t value;
	} rows[] = {
		{ "samples", info->samples },
		{ "max_boxes", info->max_boxes },
		{ "image_offset", info->image_offset },
		{ "boxes_offset", info->boxes_offset },
		{ "mask_offset", info->mask_offset },
		{ "meta_offset", info->meta_offset },
		{ "checksum_offset", info->checksum_offset },
		{ "file_size", info->file_size },
	};

	printf("%s%s%s\n", report_bold(stdout), path, report_plain(stdout));
	printf("  %-16s %u\n", "version", info->version);
	printf("  %-16s %s[%u,%u,%u]\n", "image", lc_dtype_name(info->dtype),
	    info->channels, info->height, info->width);
	if (info->max_boxes > 0)
		printf("  %-16s %s[%u,4]\n", "boxes", lc_dtype_name(info->boxes_dtype),
		    info->max_boxes);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		printf("  %-16s %llu\n", rows[i].label,
		    (unsigned long long)rows[i].value);
}

#define MOST_CLASSES 4096 /* of a sample that are shown */

/* Only the members that the sample's row has. */
static void
show_origin_json(struct json *json, const lc_sample_origin *origin,
    const int64_t *class_ids)
{
	char *run = strndup(origin->run_id.size ? origin->run_id.data : "",
	    origin->run_id.size);

	if (run != NULL && *run != '\0')
		jw_text(json, "run_id", run);
	free(run);
	if (origin->has_frame_id)
		jw_count(json, "frame_id", origin->frame_id);
	if (origin->original_width > 0) {
		jw_count(json, "original_width", origin->original_width);
		jw_count(json, "original_height", origin->original_height);
	}
	if (origin->boxes_total > 0)
		jw_count(json, "boxes_total", origin->boxes_total);
	if (origin->n_classes == 0)
		return;
	jw_open(json, "class_ids", '[');
	for (uint32_t i = 0; i < origin->n_classes && i < MOST_CLASSES; i++) {
		jw_key(json, NULL);
		fprintf(json->out, "%lld", (long long)class_ids[i]);
	}
	jw_close(json, ']');
}

static void
show_sample(struct json *json, uint64_t i, const lc_sample *found,
    const lc_sample_origin *origin, const int64_t *class_ids)
{
	char text[LC__TENSOR_TEXT];

	if (settings.json) {
		jw_open(json, NULL, '{');
		jw_count(json, "sample", i);
		if (found->id.size > 0)
			jw_id(json, found->id);
		jw_type(json, &found->image);
		show_origin_json(json, origin, class_ids);
		jw_close(json, '}');
		return;
	}
	printf("  sample %-9llu %s  ", (unsigned long long)i,
	    lc__tensor_describe(&found->image, text, sizeof(text)));
	ident_print(stdout, found->id);
	if (origin->original_width > 0)
		printf("  of %ux%u", origin->original_width, origin->original_height);
	if (origin->boxes_total > 0)
		printf("  boxes %llu", (unsigned long long)origin->boxes_total);
	putchar('\n');
}

static int
show_samples(const struct shard *shard, struct json *json)
{
	const uint64_t first = inspect_sample == OPT_UNSET ? 0 : inspect_sample;
	const uint64_t count = inspect_sample == OPT_UNSET ? ids : 1;
	int64_t class_ids[MOST_CLASSES];
	lc_sample_origin origin;
	lc_sample found;

	for (uint64_t i = first; i - first < count; i++) {
		lc_status status;
		if (i >= shard->info->samples && inspect_sample == OPT_UNSET)
			break;
		status = shard_sample(shard, i, false, &found);
		if (status != LC_OK)
			return report_status(status);
		status = lc_sample_read_origin(&found, &origin, class_ids, MOST_CLASSES);
		if (status == LC_OK)
			show_sample(json, i, &found, &origin, class_ids);
		shard_release(shard, &found);
		if (status != LC_OK)
			return report_status(status);
	}
	return EXIT_DONE;
}

/* Print the header, and the sample that --sample names or the first --ids samples. */
static int
inspect_one(const struct shard *shard)
{
	struct json json = { stdout, false };
	int status;

	if (settings.json) {
		show_header_json(&json, shard->path, shard->info);
		jw_open(&json, "first", '[');
	} else {
		show_header_text(shard->path, shard->info);
	}
	status = show_samples(shard, &json);
	if (settings.json) {
		jw_close(&json, ']');
		jw_end_line(&json);
	}
	return status;
}

static int
inspect(const char *operand)
{
	return look_at(operand, true, inspect_one);
}

static int
run_shard_inspect(int argc, char **argv)
{
	return each_file(argc, argv, inspect);
}

static const struct command shard_inspect = {
	.name = "shard inspect",
	.operands = "FILE...",
	.summary = "print the header and the first cache_ids",
	.text =
	    "Prints the header of each shard and its first cache_ids. FILE may be the "
	    "URL of a store, whose newest generation is read, or of a shard in it; "
	    "only headers and these samples are fetched.",
	.examples = "cachex shard inspect shards/*.twh1\n"
		    "cachex shard inspect s3://bucket/feats",
	.completes = "f",
	.least = 1,
	.most = -1,
	.options = inspect_options,
	.run = run_shard_inspect,
};

/* ---- verify ------------------------------------------------------------------------ */

static struct opt no_options[] = { { .kind = OPT_END } };

static struct opt verify_options[] = {
	{ "", "generation", OPT_COUNT, &store_fetch.generation, .value = "N", .least = 1,
	    .help = "for a store: generation to compare; default the newest" },
	STORE_OPTIONS,
	{ .kind = OPT_END },
};

/* The file that is verified, and how much damage it has. */
struct damage {
	const char *path;
	unsigned count;
};

static void
show_damage(void *ctx, const char *line)
{
	struct damage *damage = ctx;
	struct json json = { stdout, false };

	damage->count++;
	progress_clear();
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "file", damage->path);
		jw_text(&json, "damage", line);
		jw_end_line(&json);
	} else {
		printf("%s\n", line);
	}
}

static void
show_store_damage(void *ctx)
{
	show_damage(ctx, lc_last_error()->text);
}

static int
show_verdict(const char *path, bool good, const char *note)
{
	struct json json = { stdout, false };

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "file", path);
		jw_flag(&json, "ok", good);
		jw_end_line(&json);
	} else if (!settings.quiet || !good) {
		printf("%s: %s%s\n", path, good ? "good" : "damaged", note);
	}
	return good ? EXIT_DONE : EXIT_DATA;
}

/* Compare the objects of the store itself, not copies in a cache. */
static int
verify_store(const char *operand)
{
	struct damage damage = { operand, 0 };
	const char *object;
	char sha256[65];
	char *url = split_url(operand, &object, sha256);
	lc_status status;

	if (url == NULL)
		return report_no_memory();
	progress_begin("verify");
	status = object != NULL
	    ? store_verify_shard(url, object, sha256)
	    : store_verify_generation(url, show_store_damage, &damage);
	progress_end();
	free(url);
	if (status == LC_CORRUPT)
		show_store_damage(&damage);
	return status == LC_OK || status == LC_CORRUPT
	    ? show_verdict(operand, damage.count == 0, "")
	    : report_argument(status);
}

static int
verify(const char *path)
{
	struct damage damage = { path, 0 };
	lc_progress progress = {
		.step = progress_step,
		.damage = show_damage,
		.ctx = &damage,
	};
	struct stat st;
	const bool directory = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	const char *note = "";
	lc_shard *shard = NULL;
	lc_status status;

	if (lc__is_store_url(path))
		return verify_store(path);
	progress_begin("verify");
	if (directory) {
		status = lc_manifest_verify(path, &progress);
	} else {
		status = lc_shard_open(path, &shard);
		if (status == LC_OK && lc_shard_info_of(shard)->checksum_offset == 0)
			note = " (it has no checksums; sizes and offsets are right)";
		if (status == LC_OK)
			status = lc_shard_verify(shard, &progress);
		if (shard != NULL && status == LC_UNSUPPORTED)
			status = LC_OK;
		lc_shard_close(shard);
	}
	progress_end();
	if (status == LC_CORRUPT && damage.count == 0)
		show_damage(&damage, lc_last_error()->text);

	if (status == LC_NO_FILE && directory && store_is_directory(path))
		return report_usage("%s: is a store; name it file:%s", path, path);
	if (status == LC_NO_FILE && directory)
		return report_error(EXIT_NO,
		    "%s: no manifest.json; not an export, or an unfinished one", path);
	if (status != LC_OK && status != LC_CORRUPT)
		return report_status(status);
	return show_verdict(path, status == LC_OK, note);
}

static int
run_shard_verify(int argc, char **argv)
{
	return each_file(argc, argv, verify);
}

static const struct command shard_verify = {
	.name = "shard verify",
	.operands = "FILE...",
	.summary = "compare shards with their checksums",
	.text =
	    "Compares each shard with its checksums. A directory is compared with "
	    "its manifest.json: every shard, its size and its SHA-256; so is the newest "
	    "generation of a store, which is a URL and is read whole. Exit status 3 "
	    "means that damage was found.",
	.examples = "cachex shard verify shards\n"
		    "cachex shard verify s3://bucket/feats",
	.completes = "f",
	.resume = INTERRUPT_AGAIN,
	.least = 1,
	.most = -1,
	.options = verify_options,
	.run = run_shard_verify,
};

/* ---- extract ----------------------------------------------------------------------- */

static const char *output;
static uint64_t only_sample = OPT_UNSET;
static int format;
static int bits;
static int force;
static int dry_run;

enum { FORMAT_NPY, FORMAT_RAW };

static struct opt extract_options[] = {
	{ "o", "output", OPT_DIR, &output, .value = "DIR",
	    .help = "write the samples into this directory" },
	{ "", "sample", OPT_COUNT, &only_sample, .value = "N",
	    .help = "only this sample, counted from 0" },
	{ "", "format", OPT_CHOICE, &format, .value = "npy|raw",
	    .help = "output format" },
	{ "", "bits", OPT_FLAG, &bits,
	    .help =
		"write dtypes that .npy cannot name, such as bf16, as raw bits (V2)" },
	{ "f", "force", OPT_FLAG, &force, .help = "replace existing files" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "print the names of the files, write nothing" },
	STORE_LOOK_OPTIONS,
	{ .kind = OPT_END },
};

#define NAME_ROOM 256  /* what a file system takes, with a NUL */
#define SUFFIX_ROOM 24 /* ".boxes.npy" and the temporary file's ending */

/* The cache_id with %XX for bytes that mean something in file names; false if too long. */
static bool
name_of_id(lc_id id, char out[NAME_ROOM])
{
	const unsigned char *bytes = id.data;
	size_t used = 0;

	for (size_t i = 0; i < id.size; i++) {
		const bool plain = isalnum(bytes[i]) || bytes[i] == '-' ||
		    bytes[i] == '_' || (bytes[i] == '.' && i > 0);
		if (used + 3 + SUFFIX_ROOM >= NAME_ROOM)
			return false;
		used += (size_t)snprintf(out + used, NAME_ROOM - used,
		    plain ? "%c" : "%%%02X", bytes[i]);
	}
	return used > 0;
}

/* "photos-00000-000012" for sample 12 of photos-00000.twh1. */
static void
name_of_number(const char *path, uint64_t i, char out[NAME_ROOM])
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	const char *dot = strrchr(base, '.');
	const size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);

	snprintf(out, NAME_ROOM, "%.*s-%06llu", (int)(n < 200 ? n : 200), base,
	    (unsigned long long)i);
}

/* One tensor of a sample into DIR/NAME PART SUFFIX. */
static int
extract_tensor(const char *name, const char *part, const lc_tensor *tensor,
    const lc_sample *sample, uint64_t i)
{
	char file[NAME_ROOM + SUFFIX_ROOM];
	struct json json = { stdout, false };
	struct output out;
	char *path;
	int status = EXIT_DONE;

	snprintf(file, sizeof(file), "%s%s%s", name, part,
	    format == FORMAT_RAW ? ".raw" : ".npy");
	path = lc__path_join(output, file);
	if (path == NULL)
		return report_errno(file);
	if (!dry_run)
		status = output_add(&out, path, force);
	if (!dry_run && status == EXIT_DONE) {
		if (format == FORMAT_RAW)
			fwrite(tensor->data, 1, tensor->nbytes, out.stream);
		else
			status = npy_write(out.stream, tensor, bits);
		output_failed(&out);
		status = output_end(&out, status);
	}
	if (status == EXIT_DONE && settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "file", path);
		jw_count(&json, "sample", i);
		if (sample->id.size > 0)
			jw_id(&json, sample->id);
		jw_end_line(&json);
	} else if (status == EXIT_DONE && !settings.quiet) {
		printf("%s\n", path);
	}
	free(path);
	return status;
}

/* Sets *damaged if the sample does not match its checksums. */
static int
extract_sample(const struct shard *shard, uint64_t i, bool *damaged)
{
	char name[NAME_ROOM];
	lc_sample sample;
	const lc_status found = shard_sample(shard, i, true, &sample);
	int status;

	*damaged = found == LC_CORRUPT;
	if (found != LC_OK)
		return report_status(found);
	if (!name_of_id(sample.id, name))
		name_of_number(shard->path, i, name);
	status = extract_tensor(name, "", &sample.image, &sample, i);
	if (shard->info->max_boxes > 0 && status == EXIT_DONE)
		status = extract_tensor(name, ".boxes", &sample.boxes, &sample, i);
	if (shard->info->max_boxes > 0 && status == EXIT_DONE)
		status = extract_tensor(name, ".mask", &sample.mask, &sample, i);
	shard_release(shard, &sample);
	return status;
}

/* Reports damaged samples and leaves them out; other failures end the loop. */
static int
extract_samples(const struct shard *shard)
{
	const lc_shard_info *info = shard->info;
	int status = EXIT_DONE, one;
	bool damaged;

	if (only_sample != OPT_UNSET)
		return extract_sample(shard, only_sample, &damaged);
	for (uint64_t i = 0; i < info->samples; i++) {
		one = extract_sample(shard, i, &damaged);
		status = report_worse(status, one);
		if (one != EXIT_DONE && !damaged)
			break;
		progress_items(i + 1, info->samples);
		if (progress_step(NULL, (i + 1) * info->file_size / info->samples,
			info->file_size) != 0)
			return report_status(LC_CANCELLED);
	}
	return status;
}

static int
extract_one(const struct shard *shard)
{
	int status;

	if (!dry_run && lc__make_dirs(output) != LC_OK)
		return report_status(lc_last_error()->status);
	progress_begin("extract");
	status = extract_samples(shard);
	progress_end();
	return status;
}

/* Reports; an exit status. */
static int
extract(const char *operand)
{
	return look_at(operand, only_sample != OPT_UNSET, extract_one);
}

static int
run_shard_extract(int argc, char **argv)
{
	if (output == NULL)
		return report_usage("extract needs -o DIR");
	return each_file(argc, argv, extract);
}

static const struct command shard_extract = {
	.name = "shard extract",
	.operands = "FILE... -o DIR",
	.summary = "write every sample to a file",
	.text = "Writes every sample to DIR as CACHE_ID.npy, or SHARD-NUMBER.npy if "
		"there are no cache_ids; boxes and masks go to NAME.boxes.npy and "
		"NAME.mask.npy. In file names, bytes other than letters, digits, dot, "
		"minus and underscore are written as %XX. FILE may be the URL of a store "
		"or of a shard in it.",
	.examples = "cachex shard extract shards/*.twh1 -o samples --sample 0\n"
		    "cachex shard extract s3://bucket/feats -o samples",
	.completes = "f",
	.resume = "written files stay; run the same command with -f to start again",
	.least = 1,
	.most = -1,
	.options = extract_options,
	.run = run_shard_extract,
};

/* ---- union ------------------------------------------------------------------------- */

static int
run_shard_union(int argc, char **argv)
{
	struct json json = { stdout, false };
	lc_union_result joined;
	lc_status status;

	for (int i = 0; i < argc; i++)
		if (lc__is_store_url(argv[i]))
			return report_usage("%s: union joins directories; cachex pull "
					    "fetches a generation into one",
			    argv[i]);
	status = lc_shard_union(argv[0], (const char *const *)argv + 1, (size_t)argc - 1,
	    &joined);
	if (status == LC_EXISTS)
		return report_error(EXIT_USAGE, "%s", lc_last_error()->text);
	if (status != LC_OK)
		return report_status(status);
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "directory", argv[0]);
		jw_count(&json, "parts", joined.parts);
		jw_count(&json, "shards", joined.shards);
		jw_count(&json, "samples", joined.samples);
		jw_count(&json, "bytes", joined.bytes);
		jw_end_line(&json);
	} else if (!settings.quiet) {
		printf("%s: %llu samples in %llu shards of %llu parts\n", argv[0],
		    (unsigned long long)joined.samples, (unsigned long long)joined.shards,
		    (unsigned long long)joined.parts);
	}
	return EXIT_DONE;
}

static const struct command shard_union = {
	.name = "shard union",
	.operands = "OUT SET...",
	.summary = "join sets of shards without copying",
	.text =
	    "Writes OUT/manifest.json, which names the manifests of the sets: reading "
	    "OUT gives their samples one after another. No shard is opened or copied, "
	    "and the sets must keep their places relative to OUT. All shards must "
	    "have one dtype and one shape.",
	.examples = "cachex shard union all part-0 part-1 part-2",
	.completes = "f",
	.resume = INTERRUPT_AGAIN,
	.least = 2,
	.most = -1,
	.options = no_options,
	.run = run_shard_union,
};

/* ---- the command ------------------------------------------------------------------- */

static const struct command *const subcommands[] = { &shard_inspect, &shard_verify,
	&shard_extract, &shard_union, NULL };

const struct command cmd_shard = {
	.name = "shard",
	.operands = "inspect|verify|extract|union FILE...",
	.summary = "inspect, verify and extract TWH1 shards",
	.text =
	    "Shards are not trusted: all sizes and offsets are checked. No module is needed.",
	.examples = "cachex shard inspect shards/*.twh1\n"
		    "cachex shard verify shards\n"
		    "cachex shard extract shards/*.twh1 -o samples --sample 0\n"
		    "cachex shard union all part-0 part-1",
	.completes = "",
	.least = 1,
	.most = -1,
	.subcommands = subcommands,
	.options = no_options,
};
