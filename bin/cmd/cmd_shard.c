/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex shard: inspect, verify, extract and join TWH1 shards. */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fileio.h"
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

/* Call @p look for each file; a failure does not keep the others out. */
static int
each_file(int argc, char **argv, int (*look)(const char *path))
{
	int status = EXIT_DONE;

	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "-") == 0)
			return report_usage(
			    "-: a shard is a file that is mapped, "
			    "standard input is none; ./- is the file of that name");
	for (int i = 0; i < argc; i++)
		status = report_worse(status,
		    interrupt_pending() ? interrupt_status() : look(argv[i]));
	return status;
}

/* ---- inspect ----------------------------------------------------------------------- */

static uint64_t inspect_sample = OPT_UNSET;
static uint64_t ids = 5;

static struct opt inspect_options[] = {
	{ "", "sample", OPT_COUNT, &inspect_sample, .value = "N",
	    .help = "only this sample, counted from 0" },
	{ "", "ids", OPT_COUNT, &ids, .value = "N", .help = "show this many cache_ids" },
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
show_samples(const lc_shard *shard, struct json *json)
{
	const uint64_t samples = lc_shard_info_of(shard)->samples;
	const uint64_t first = inspect_sample == OPT_UNSET ? 0 : inspect_sample;
	const uint64_t count = inspect_sample == OPT_UNSET ? ids : 1;
	int64_t class_ids[MOST_CLASSES];
	lc_sample_origin origin;
	lc_sample found;

	for (uint64_t i = first; i - first < count; i++) {
		lc_status status;
		if (i >= samples && inspect_sample == OPT_UNSET)
			break;
		status = lc_shard_sample(shard, i, &found);
		if (status == LC_OK)
			status = lc_sample_read_origin(&found, &origin, class_ids,
			    MOST_CLASSES);
		if (status != LC_OK)
			return report_status(status);
		show_sample(json, i, &found, &origin, class_ids);
	}
	return EXIT_DONE;
}

/* Print the header, and the sample that --sample names or the first --ids samples. */
static int
inspect(const char *path)
{
	struct json json = { stdout, false };
	lc_shard *shard;
	const lc_status opened = lc_shard_open(path, &shard);
	int status;

	if (opened != LC_OK)
		return report_status(opened);
	if (settings.json) {
		show_header_json(&json, path, lc_shard_info_of(shard));
		jw_open(&json, "first", '[');
	} else {
		show_header_text(path, lc_shard_info_of(shard));
	}
	status = show_samples(shard, &json);
	if (settings.json) {
		jw_close(&json, ']');
		jw_end_line(&json);
	}
	lc_shard_close(shard);
	return status;
}

static int
run_shard_inspect(int argc, char **argv)
{
	return each_file(argc, argv, inspect);
}

static const struct command shard_inspect = {
	.name = "shard inspect",
	.operands = "FILE...",
	.summary = "show the header and the first cache_ids",
	.text = "Shows the header of each shard and its first cache_ids.",
	.examples = "cachex shard inspect shards/*.twh1",
	.completes = "f",
	.least = 1,
	.most = -1,
	.options = inspect_options,
	.run = run_shard_inspect,
};

/* ---- verify ------------------------------------------------------------------------ */

static struct opt no_options[] = { { .kind = OPT_END } };

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

static int
verify(const char *path)
{
	struct damage damage = { path, 0 };
	lc_progress progress = {
		.step = progress_step,
		.damage = show_damage,
		.ctx = &damage,
	};
	struct json json = { stdout, false };
	struct stat st;
	const bool directory = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	const char *note = "";
	lc_shard *shard = NULL;
	lc_status status;
	bool good;

	progress_begin("verify");
	if (directory) {
		status = lc_manifest_verify(path, &progress);
	} else {
		status = lc_shard_open(path, &shard);
		if (status == LC_OK && lc_shard_info_of(shard)->checksum_offset == 0)
			note = " (no checksums in it; sizes and offsets fit)";
		if (status == LC_OK)
			status = lc_shard_verify(shard, &progress);
		if (shard != NULL && status == LC_UNSUPPORTED)
			status = LC_OK;
		lc_shard_close(shard);
	}
	progress_end();
	if (status == LC_CORRUPT && damage.count == 0)
		show_damage(&damage, lc_last_error()->text);

	if (status == LC_NO_FILE && directory)
		return report_error(EXIT_NO,
		    "%s: no manifest.json: no export, or one that has not ended", path);
	if (status != LC_OK && status != LC_CORRUPT)
		return report_status(status);
	good = status == LC_OK;
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

static int
run_shard_verify(int argc, char **argv)
{
	return each_file(argc, argv, verify);
}

static const struct command shard_verify = {
	.name = "shard verify",
	.operands = "FILE...",
	.summary = "compare with checksums",
	.text = "Compares each shard with its checksums. A directory is compared with "
		"its manifest.json: every shard, its size and its SHA-256. Exit status "
		"3 says that damage was found.",
	.examples = "cachex shard verify shards",
	.completes = "f",
	.resume = INTERRUPT_AGAIN,
	.least = 1,
	.most = -1,
	.options = no_options,
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
	    .help = "what to write" },
	{ "", "bits", OPT_FLAG, &bits,
	    .help =
		"write dtypes that .npy cannot name, such as bf16, as raw bits (V2)" },
	{ "f", "force", OPT_FLAG, &force, .help = "replace files that exist" },
	{ "n", "dry-run", OPT_FLAG, &dry_run, .help = "name the files, write nothing" },
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
extract_sample(const char *path, const lc_shard *shard, uint64_t i, bool *damaged)
{
	char name[NAME_ROOM];
	lc_sample sample;
	lc_status found = lc_shard_sample(shard, i, &sample);
	int status;

	if (found == LC_OK) {
		found = lc_shard_verify_sample(shard, i);
		if (found == LC_UNSUPPORTED)
			found = LC_OK;
	}
	*damaged = found == LC_CORRUPT;
	if (found != LC_OK)
		return report_status(found);
	if (!name_of_id(sample.id, name))
		name_of_number(path, i, name);
	status = extract_tensor(name, "", &sample.image, &sample, i);
	if (lc_shard_info_of(shard)->max_boxes == 0 || status != EXIT_DONE)
		return status;
	status = extract_tensor(name, ".boxes", &sample.boxes, &sample, i);
	if (status == EXIT_DONE)
		status = extract_tensor(name, ".mask", &sample.mask, &sample, i);
	return status;
}

/* Reports damaged samples and leaves them out; other failures end the loop. */
static int
extract_samples(const char *path, const lc_shard *shard)
{
	const lc_shard_info *info = lc_shard_info_of(shard);
	int status = EXIT_DONE, one;
	bool damaged;

	if (only_sample != OPT_UNSET)
		return extract_sample(path, shard, only_sample, &damaged);
	for (uint64_t i = 0; i < info->samples; i++) {
		one = extract_sample(path, shard, i, &damaged);
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

/* Reports; an exit status. */
static int
extract(const char *path)
{
	lc_shard *shard;
	lc_status opened = lc_shard_open(path, &shard);
	int status;

	if (opened != LC_OK)
		return report_status(opened);
	if (!dry_run)
		opened = lc__make_dirs(output);
	if (opened == LC_OK) {
		progress_begin("extract");
		status = extract_samples(path, shard);
		progress_end();
	} else {
		status = report_status(opened);
	}
	lc_shard_close(shard);
	return status;
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
	.text = "Writes every sample to DIR as CACHE_ID.npy, or SHARD-NUMBER.npy where "
		"there are no cache_ids; boxes and masks go to NAME.boxes.npy and "
		"NAME.mask.npy. In file names, bytes other than letters, digits, dot, "
		"minus and underscore are written as %XX.",
	.examples = "cachex shard extract shards/*.twh1 -o samples --sample 0",
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
	const lc_status status = lc_shard_union(argv[0], (const char *const *)argv + 1,
	    (size_t)argc - 1, &joined);

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
	    "and the sets must stay where they are, seen from OUT. All shards must "
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
	.summary = "look into TWH1 shards",
	.text = "Nothing in a shard is trusted, and no module is needed.",
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
