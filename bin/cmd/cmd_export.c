/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex export: TWH1 shards, and files of other systems. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "cmd/export.h"
#include "cmd/push_job.h"
#include "cmd/stores.h"
#include "format/manifest.h"
#include "formats/outfile.h"
#include "formats/formats.h"
#include "objects/url.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"
#include "ui/suggest.h"

static int format;
static const char *field;
static uint64_t shard_size = 192ull << 20;
static uint64_t shard_records;
static int by_bucket;
static uint64_t bucket_scale = 1;
static const char *bucket_field;
static int missing;
static int bits;
static int shard_version;
static struct opt_list metadata;
static int no_metadata;
static int sha256 = 1;
static uint64_t threads = 0;
static int order, by_input;
static const char *dataset_root;
static const char *push_url, *producer = "";
static int force;
static int dry_run;

static struct push_job job; /* with --push */

static struct opt options[] = {
	{ "", "format", OPT_CHOICE, &format,
	    .value = "auto|lmdb|mds|npy|npz|safetensors|twh1|webdataset",
	    .help = "output format; auto follows TARGET's name, else twh1" },
	{ "", "field", OPT_TEXT, &field, .value = "PATH",
	    .help = "one part of each record: names and positions separated by dots" },
	{ "", "bits", OPT_FLAG, &bits,
	    .help =
		"write dtypes that the format cannot name, such as bf16, as raw bits (V2)" },
	{ "", "shard-size", OPT_SIZE, &shard_size, .value = "SIZE", .least = 4ull << 10,
	    .most = 1ull << 40,
	    .help = "target size of a shard, 4K to 1T; default 192M" },
	{ "", "shard-records", OPT_COUNT, &shard_records, .value = "N",
	    .help = "records in a webdataset or mds shard; default 0, as many as fit" },
	{ "", "by-bucket", OPT_FLAG, &by_bucket,
	    .help = "webdataset, mds: a series of shards for each aspect bucket" },
	{ "", "bucket-scale", OPT_COUNT, &bucket_scale, .value = "N", .least = 1,
	    .most = 65535,
	    .help =
		"take the bucket from a tensor's dimensions, with N pixels per element, 8 "
		"for latents" },
	{ "", "bucket-field", OPT_TEXT, &bucket_field, .value = "PATH",
	    .help =
		"the part with the bucket, as \"1024x1024\"; default: aspect_bucket, or "
		"width and height, or the dimensions of the first tensor" },
	{ "", "missing", OPT_CHOICE, &missing, .value = "refuse|drop",
	    .help =
		"records of a join without a partner: refuse them as an error, or drop "
		"and count them" },
	{ "", "shard-version", OPT_CHOICE, &shard_version, .value = "auto|1|2",
	    .help = "auto: 1 for f16 and f32 without metadata, else 2" },
	{ "", "metadata", OPT_LIST, &metadata, .value = "NAME=TEXT",
	    .help = "safetensors: a string of __metadata__; once for each" },
	{ "", "no-metadata", OPT_FLAG, &no_metadata,
	    .help = "leave out cache_ids and block checksums" },
	{ "", "sha256", OPT_FLAG, &sha256,
	    .help = "leave SHA-256 of the shards out of the manifest: faster" },
	{ "j", "threads", OPT_COUNT, &threads, .value = "N",
	    .help = "shards written at the same time; 0 for the number of processors" },
	{ "", "order", OPT_CHOICE, &order, .value = "published|commit|key",
	    .help = "order of the records: of the module's inputs, as written, or by "
		    "cache_id" },
	{ "", "by-input", OPT_FLAG, &by_input,
	    .help = "write separate shards for each input of the module" },
	{ "", "dataset-root", OPT_TEXT, &dataset_root, .value = "TEXT",
	    .help = "dataset_root in the manifest; default MODULE" },
	{ "", "push", OPT_TEXT, &push_url, .value = "URL",
	    .help = "put the shards into this store, as cachex push does" },
	{ "", "producer", OPT_TEXT, &producer, .value = "TEXT",
	    .help = "with --push: the program that computed the values, as for push" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "replace an existing TARGET, also an export of something else" },
	{ "n", "dry-run", OPT_FLAG, &dry_run, .help = "plan and report, write nothing" },
	STORE_OPTIONS,
	STORE_SINGLE_PUBLISHER,
	{ .kind = OPT_END },
};

/* By the choices of --order. */
static const unsigned orders[] = { LC_BY_ORDER, LC_BY_COMMIT, LC_BY_KEY };

/* ---- the format implied by the target's name ------------------------------------- */

/* Endings of formats that are not chosen by their ending. */
static const struct {
	const char *ending;
	const char *what;
} foreign[] = {
	{ "npy", "a .npy file" },
	{ "twh1", "a TWH1 shard" },
	{ "mds", "MDS" },
	{ "parquet", "Parquet" },
	{ "arrow", "Arrow" },
	{ "feather", "Arrow" },
	{ "h5", "HDF5" },
	{ "hdf5", "HDF5" },
	{ "zarr", "Zarr" },
	{ "tfrecord", "a TFRecord" },
	{ "tfrecords", "a TFRecord" },
	{ "onnx", "ONNX" },
	{ "pt", "a file of PyTorch" },
	{ "pth", "a file of PyTorch" },
	{ "pkl", "a pickle" },
	{ "pickle", "a pickle" },
	{ "json", "JSON" },
	{ "jsonl", "JSON" },
	{ "ndjson", "JSON" },
	{ "csv", "CSV" },
	{ "tsv", "CSV" },
	{ "txt", "text" },
	{ "msgpack", "MessagePack" },
	{ "sqlite", "SQLite" },
	{ "db", "a database" },
	{ "zip", "a zip archive" },
	{ "gz", "a compressed file" },
	{ "tgz", "a compressed file" },
	{ "bz2", "a compressed file" },
	{ "xz", "a compressed file" },
	{ "txz", "a compressed file" },
	{ "zst", "a compressed file" },
	{ "lz4", "a compressed file" },
	{ "7z", "a compressed file" },
};

/* Refuse an ending of a format that export does not write, and a misspelt one, such as
 * "out.safetensor". */
static int
check_ending(const char *target)
{
	const char *slash = strrchr(target, '/');
	const char *name = slash ? slash + 1 : target;
	const char *dot = strrchr(name, '.');
	const char *ending = dot != NULL ? dot + 1 : "";
	struct suggest suggest;
	char low[64];
	size_t size;

	if (dot == name || *ending == '\0' || strlen(ending) >= sizeof(low))
		return EXIT_DONE;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (strcasecmp(ending, foreign[i].ending) == 0)
			return report_usage(
			    "%s: looks like %s; cachex writes lmdb, mds, npy, "
			    "npz, safetensors, twh1 and webdataset; choose one with --format",
			    target, foreign[i].what);
	for (size = 0; ending[size] != '\0'; size++)
		low[size] = (char)tolower((unsigned char)ending[size]);
	low[size] = '\0';
	suggest_start(&suggest, low);
	for (size_t i = 0; lc__outgoing_formats[i] != NULL; i++)
		if (lc__outgoing_formats[i]->suffix != NULL)
			suggest_word(&suggest, lc__outgoing_formats[i]->suffix + 1);
	if (suggest_best(&suggest) == NULL)
		return EXIT_DONE;
	return report_usage("%s: no format has this ending; did you mean %.*s%s? "
			    "--format twh1 writes a directory of shards",
	    target, (int)(ending - target), target, suggest_best(&suggest));
}

/* ---- an export as TWH1 shards ------------------------------------------------------ */

#define MANIFEST "manifest.json"
#define MOST_MANIFEST ((uint64_t)1 << 30)

/* After a successful export the directory has only the shards of this export. */
static void
show_shards(const char *dir)
{
	struct json json = { stdout, false };
	struct lc__dir_list entries = { 0 };
	char samples[SIZE_TEXT], size[SIZE_TEXT];

	(void)!lc__listdir(dir, false, &entries);
	for (size_t i = 0; i < entries.n; i++) {
		char *path = lc__path_join(dir, entries.entries[i].name);
		const lc_shard_info *info;
		lc_shard *shard = NULL;

		if (path == NULL || lc_shard_open(path, &shard) != LC_OK) {
			free(path);
			continue;
		}
		info = lc_shard_info_of(shard);
		if (settings.json) {
			jw_open(&json, NULL, '{');
			jw_text(&json, "shard", path);
			jw_count(&json, "samples", info->samples);
			jw_count(&json, "bytes", info->file_size);
			jw_end_line(&json);
		} else if (!settings.quiet) {
			printf("%s  %s  %s\n", path,
			    count_human(info->samples, "sample", samples,
				sizeof(samples)),
			    size_human((double)info->file_size, size, sizeof(size)));
		}
		lc_shard_close(shard);
		free(path);
	}
	lc__dir_list_free(&entries);
}

static void
show_result(const lc_export_result *result, double seconds)
{
	struct json json = { stdout, false };
	char samples[SIZE_TEXT], shards[SIZE_TEXT], size[SIZE_TEXT];

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_count(&json, "shards", result->shards);
		jw_count(&json, "reused", result->reused);
		jw_count(&json, "samples", result->samples);
		jw_count(&json, "bytes", result->bytes);
		jw_real(&json, "seconds", seconds);
		jw_flag(&json, "dry_run", dry_run);
		jw_end_line(&json);
		return;
	}
	if (settings.quiet)
		return;
	printf("%s%s in %s, %s", dry_run ? "would write " : "",
	    count_human(result->samples, "sample", samples, sizeof(samples)),
	    count_human(result->shards, "shard", shards, sizeof(shards)),
	    size_human((double)result->bytes, size, sizeof(size)));
	if (result->reused > 0)
		printf(", %s existed already",
		    count_human(result->reused, "shard", shards, sizeof(shards)));
	if (!dry_run)
		printf(", %s/s",
		    size_human((double)result->bytes / seconds, size, sizeof(size)));
	putchar('\n');
}

/* The dataset that the manifest in DIR names, NULL if there is no manifest. */
static char *
dataset_in(const char *dir)
{
	struct lc__manifest manifest = { 0 };
	struct lc__buf text = { 0 };
	char *path = lc__path_join(dir, MANIFEST);
	char *dataset = NULL;

	if (path != NULL && lc__read_regular(path, MOST_MANIFEST, &text) == LC_OK &&
	    lc__manifest_parse(text.data, text.size, path, &manifest) == LC_OK) {
		dataset = manifest.dataset_root;
		manifest.dataset_root = NULL;
	}
	lc__manifest_free(&manifest);
	lc__buf_free(&text);
	free(path);
	return dataset;
}

static int
export_shards(lc_cache *cache, const char *module, const char *dir)
{
	const char *ours = dataset_root != NULL ? dataset_root : module;
	char *theirs = force ? NULL : dataset_in(dir);
	const bool others = theirs != NULL && strcmp(theirs, ours) != 0;
	lc_export_result result = { 0 };
	lc_export_options how;
	lc_status exported;
	double seconds;

	/* The library reports anything else that is wrong with the directory. */
	if (others)
		report_usage("%s: holds an export of %s; -f replaces it", dir,
		    lc__quote_id(theirs, strlen(theirs)));
	free(theirs);
	if (others)
		return EXIT_USAGE;
	lc_export_options_init(&how);
	how.shard_bytes = shard_size;
	how.shard_version = (uint32_t)shard_version;
	how.metadata = !no_metadata;
	how.no_sha256 = !sha256;
	how.threads = threads < 1024 ? (unsigned)threads : 1024;
	how.order = orders[order];
	how.by_input = by_input;
	how.dataset_root = dataset_root;
	how.dry_run = dry_run;
	how.progress.step = progress_step;
	how.progress.phase = progress_phase;

	if (!dry_run)
		interrupt_resume(
		    "complete shards stay; run the same command to continue");
	progress_begin("export");
	exported = lc_export(cache, dir, &how, &result);
	seconds = progress_end();
	if (exported != LC_OK)
		return report_status(exported);
	if (!dry_run)
		show_shards(dir);
	show_result(&result, seconds);
	return push_url == NULL || dry_run ? EXIT_DONE : push_job_shards(&job, dir);
}

/* ---- the command ------------------------------------------------------------------- */

enum {
	FORMAT_AUTO,
	FORMAT_LMDB,
	FORMAT_MDS,
	FORMAT_NPY,
	FORMAT_NPZ,
	FORMAT_SAFETENSORS,
	FORMAT_TWH1,
	FORMAT_WEBDATASET
};

static const char *const formats[] = { "", "lmdb", "mds", "npy", "npz", "safetensors",
	"twh1", "webdataset" };

#define BIT(format) (1u << (format))
#define OTHERS (~BIT(FORMAT_TWH1))

/* The options that apply to some formats only. */
static const struct {
	const void *target; /* as in the table of options */
	unsigned formats;
} fits[] = {
	{ &shard_size, BIT(FORMAT_TWH1) | BIT(FORMAT_WEBDATASET) | BIT(FORMAT_MDS) },
	{ &shard_records, BIT(FORMAT_WEBDATASET) | BIT(FORMAT_MDS) },
	{ &shard_version, BIT(FORMAT_TWH1) },
	{ &metadata, BIT(FORMAT_SAFETENSORS) },
	{ &no_metadata, BIT(FORMAT_TWH1) },
	{ &sha256, BIT(FORMAT_TWH1) },
	{ &threads, BIT(FORMAT_TWH1) },
	{ &by_input, BIT(FORMAT_TWH1) },
	{ &dataset_root, BIT(FORMAT_TWH1) },
	{ &push_url, BIT(FORMAT_TWH1) },
	{ &producer, BIT(FORMAT_TWH1) },
	{ &field, OTHERS },
	{ &bits, OTHERS & ~BIT(FORMAT_SAFETENSORS) },
	{ &by_bucket, BIT(FORMAT_WEBDATASET) | BIT(FORMAT_MDS) },
	{ &bucket_scale, BIT(FORMAT_WEBDATASET) | BIT(FORMAT_MDS) },
	{ &bucket_field, BIT(FORMAT_WEBDATASET) | BIT(FORMAT_MDS) },
};

static enum opt_source
source_of(const void *target)
{
	const struct opt *opt = options;

	while (opt->target != target)
		opt++;
	return opt->source;
}

/* An option that does not apply is an error on the command line, but not in a variable or
 * setting, which may be meant for other exports. */
static int
check_fits(int chosen)
{
	char spelling[80];

	for (size_t i = 0; i < sizeof(fits) / sizeof(fits[0]); i++)
		if (source_of(fits[i].target) == FROM_OPTION &&
		    (fits[i].formats & BIT(chosen)) == 0)
			return report_usage("%s does not apply to %s",
			    opt_spelling(options, fits[i].target, cmd_export.name,
				spelling, sizeof(spelling)),
			    formats[chosen]);
	if (by_input && chosen == FORMAT_TWH1 && orders[order] != LC_BY_ORDER)
		return report_usage("--by-input works only with --order published");
	if (source_of(&producer) == FROM_OPTION && push_url == NULL)
		return report_usage("--producer needs --push");
	for (size_t i = 0; i < metadata.count; i++)
		if (strchr(metadata.items[i], '=') == NULL)
			return report_usage("--metadata %s: not NAME=TEXT",
			    metadata.items[i]);
	if (!by_bucket &&
	    (source_of(&bucket_scale) == FROM_OPTION ||
		source_of(&bucket_field) == FROM_OPTION))
		return report_usage("%s needs --by-bucket",
		    source_of(&bucket_scale) == FROM_OPTION ? "--bucket-scale"
							    : "--bucket-field");
	return EXIT_DONE;
}

/*
 * The format that the options or the target's name say. "-" and an ending that looks like
 * another format, or nearly like one of ours, are refused. Reports; an exit status.
 */
static int
choose(const char *target, int *out)
{
	const bool to_stdout = lc__out_is_stdout(target);
	const struct lc__outgoing_format *found = NULL;
	int status = EXIT_DONE;

	*out = format;
	if (format == FORMAT_AUTO) {
		if (to_stdout)
			return report_usage("-: standard output needs --format npz or "
					    "webdataset");
		*out = FORMAT_TWH1;
		found = lc__outgoing_of(target);
		if (found == NULL)
			status = check_ending(target);
	}
	for (int i = 1; found != NULL && i <= FORMAT_WEBDATASET; i++)
		if (strcmp(formats[i], found->name) == 0)
			*out = i;
	if (status != EXIT_DONE || !to_stdout)
		return status;
	found = lc__outgoing_named(formats[*out]);
	if (found == NULL || !found->streams)
		return report_usage("-: %s cannot be written to standard output; npz "
				    "and webdataset can",
		    found ? found->name : "twh1");
	if (isatty(STDOUT_FILENO))
		return report_usage("standard output is a terminal; use a pipe, or "
				    "name a file");
	return EXIT_DONE;
}

static void
fill_choice(int chosen, struct export_choice *out)
{
	*out = (struct export_choice) {
		.format = lc__outgoing_named(formats[chosen]),
		.how = { .bits = bits, .force = force, .dry_run = dry_run,
		    .shard_bytes = shard_size, .shard_records = shard_records,
		    .metadata = chosen == FORMAT_SAFETENSORS ? metadata.items : NULL,
		    .n_metadata = chosen == FORMAT_SAFETENSORS ? metadata.count : 0, },
		.order = orders[order], .field = field,
		.by_bucket = by_bucket, .bucket_scale =
		    source_of(&bucket_scale) == FROM_DEFAULT ? 0 : bucket_scale,
		.bucket_field = bucket_field
	};
}

/* "a+b+c": records of several modules as one. */
static int
export_joined(char **argv, int chosen)
{
	struct stream_source source = { .name = strdup(argv[0]) };
	struct export_choice choice;
	lc_source_options how;
	int status;

	if (source.name == NULL)
		return report_errno("memory");
	if (chosen == FORMAT_TWH1) {
		free(source.name);
		return report_usage("TWH1 shards hold the records of one module; "
				    "use another --format for a join");
	}
	lc_source_options_init(&how);
	fill_choice(chosen, &choice);
	status = stream_source_open_join(&source, &how, (lc_missing)missing);
	if (status == EXIT_DONE)
		status = export_join_new(&source, (lc_missing)missing, &choice.join);
	if (status == EXIT_DONE)
		status = export_records(source.cache, argv[1], &choice);
	export_join_free(choice.join);
	return stream_source_close(&source, status);
}

static int
run_export(int argc, char **argv)
{
	struct export_choice choice;
	lc_cache *cache;
	int chosen;
	int status = choose(argv[1], &chosen);

	(void)argc;
	if (lc__is_store_url(argv[1]))
		return report_usage(
		    "%s: export writes files; --push %s puts shards into a "
		    "store",
		    argv[1], argv[1]);
	if (status == EXIT_DONE)
		status = check_fits(chosen);
	if (status == EXIT_DONE && stream_name_is_join(argv[0]))
		return export_joined(argv, chosen);
	if (status == EXIT_DONE)
		status = module_open(argv[0], &cache);
	if (status != EXIT_DONE)
		return status;
	if (chosen == FORMAT_TWH1) {
		if (push_url != NULL)
			status = push_job_open(&job, push_url, producer);
		if (status == EXIT_DONE && push_url != NULL && !dry_run)
			status = push_job_probe(&job);
		if (status == EXIT_DONE)
			status = export_shards(cache, argv[0], argv[1]);
		push_job_close(&job);
	} else {
		fill_choice(chosen, &choice);
		status = export_records(cache, argv[1], &choice);
	}
	return module_close(cache, status);
}

const struct command cmd_export = {
	.name = "export",
	.operands = "MODULE TARGET",
	.summary = "write TWH1 shards, or files of other systems",
	.text =
	    "Writes the records of MODULE to TARGET: as one .npz or safetensors file "
	    "or one WebDataset shard, by TARGET's name or --format; as a directory of "
	    ".npy files, of WebDataset shards or of MDS; as an LMDB environment; or else as "
	    "TWH1 shards. An ending that looks like a file of another kind is refused; with "
	    "--format any name is accepted. - is standard output, for npz and webdataset. "
	    "cachex-export(1) has the rules of each format. If the format cannot hold a "
	    "record, the export fails and writes nothing.\n"
	    "MODULE may be a join, a+b+c: each record of a with the records of b and c that "
	    "have the same cache_id, as parts a, b and c of one record; not as TWH1.\n"
	    "For TWH1 all records of MODULE must have one dtype and shape. The shards go "
	    "into the directory TARGET, and manifest.json last. The same records and "
	    "options give the same bytes. Run an interrupted export again to continue. "
	    "An older export of MODULE in TARGET is replaced; -f also replaces an export "
	    "of something else. With --push the shards are also put into a store. twh1(5) "
	    "describes the files.",
	.examples =
	    "cachex export photos shards\n"
	    "cachex export faces shards --shard-version 1 --no-metadata --order key\n"
	    "cachex shard verify shards\n"
	    "cachex export photos shards --push file:///mnt/store\n"
	    "cachex export faces faces.safetensors --metadata model=resnet50\n"
	    "cachex export dinov3+vae_latents+t5_hidden shards --format mds\n"
	    "cachex export latents shards --format webdataset --by-bucket --bucket-scale 8",
	.completes = "md",
	.resume = INTERRUPT_AGAIN,
	.least = 2,
	.most = 2,
	.options = options,
	.run = run_export,
};
