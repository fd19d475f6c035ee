/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "command.h"
#include "entries.h"
#include "format/manifest.h"
#include "json.h"
#include "module.h"
#include "progress.h"
#include "report.h"
#include "settings.h"
#include "size.h"

#define MANIFEST "manifest.json"
#define MOST_MANIFEST ((uint64_t)1 << 30)

static uint64_t shard_size = 192ull << 20;
static int shard_version;
static int metadata = 1;
static int sha256 = 1;
static uint64_t threads = 0;
static int order;
static const char *dataset_root;
static int force;
static int dry_run;

static struct opt options[] = {
	{ "", "shard-size", OPT_SIZE, &shard_size, .value = "SIZE",
	    .least = 4ull << 10, .most = 1ull << 40,
	    .help = "target size of a shard, 4K to 1T; default 192M" },
	{ "", "shard-version", OPT_CHOICE, &shard_version, .value = "auto|1|2",
	    .help = "auto: 1 for f16 and f32 without metadata, else 2" },
	{ "", "metadata", OPT_FLAG, &metadata,
	    .help = "leave out cache_ids and block checksums" },
	{ "", "sha256", OPT_FLAG, &sha256,
	    .help = "leave SHA-256 of the shards out of the manifest: faster" },
	{ "j", "threads", OPT_COUNT, &threads, .value = "N",
	    .help = "shards written at once; 0 for the number of processors" },
	{ "", "order", OPT_CHOICE, &order, .value = "commit|key",
	    .help = "order of the samples: as they were written, or by cache_id" },
	{ "", "dataset-root", OPT_TEXT, &dataset_root, .value = "TEXT",
	    .help = "dataset_root in the manifest; default MODULE" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "replace an export of something else" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "plan and report, write nothing" },
	{ .kind = OPT_END }
};

static void
show_shard(const char *path, const lc_shard_info *info)
{
	struct json json = { stdout, false };
	char samples[SIZE_TEXT], size[SIZE_TEXT];

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "shard", path);
		jw_count(&json, "samples", info->samples);
		jw_count(&json, "bytes", info->file_size);
		jw_end_line(&json);
	} else if (!settings.quiet) {
		printf("%s  %s  %s\n", path, count_human(info->samples, "sample",
		    samples, sizeof(samples)),
		    size_human((double)info->file_size, size, sizeof(size)));
	}
}

/* A finished export leaves no shards in the directory but its own. */
static void
show_shards(const char *dir)
{
	struct dirent **entries;
	const int n = entries_read(dir, &entries);

	for (int i = 0; i < n; i++) {
		char *path = lc__path_join(dir, entries[i]->d_name);
		lc_shard *shard = NULL;
		if (path != NULL && lc_shard_open(path, &shard) == LC_OK)
			show_shard(path, lc_shard_info_of(shard));
		lc_shard_close(shard);
		free(path);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
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
		printf(", %s stood already", count_human(result->reused, "shard",
		    shards, sizeof(shards)));
	if (!dry_run)
		printf(", %s/s", size_human((double)result->bytes / seconds, size,
		    sizeof(size)));
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

	if (path != NULL &&
	    lc__read_file(path, MOST_MANIFEST, &text) == LC_OK &&
	    lc__manifest_parse(text.data, text.size, path, &manifest) == LC_OK) {
		dataset = manifest.dataset_root;
		manifest.dataset_root = NULL;
	}
	lc__manifest_free(&manifest);
	lc__buf_free(&text);
	free(path);
	return dataset;
}

/* What else is wrong with DIR the library tells. */
static int
check_dir(const char *dir, const char *module)
{
	const char *ours = dataset_root ? dataset_root : module;
	char *theirs = force ? NULL : dataset_in(dir);
	int status = EXIT_DONE;

	if (theirs != NULL && strcmp(theirs, ours) != 0)
		status = report_usage("%s: holds an export of %s; -f replaces it",
		    dir, lc__quote_id(theirs, strlen(theirs)));
	free(theirs);
	return status;
}

static void
fill_options(lc_export_options *out)
{
	lc_export_options_init(out);
	out->shard_bytes = shard_size;
	out->shard_version = (uint32_t)shard_version;
	out->metadata = metadata;
	out->no_sha256 = !sha256;
	out->threads = threads < 1024 ? (unsigned)threads : 1024;
	out->order = order ? LC_BY_KEY : LC_BY_COMMIT;
	out->dataset_root = dataset_root;
	out->dry_run = dry_run;
	out->progress.step = progress_step;
}

static int
export(lc_cache *cache, const char *dir)
{
	lc_export_options how;
	lc_export_result result = { 0 };
	lc_status exported;
	double seconds;

	fill_options(&how);
	progress_begin("export");
	exported = lc_export(cache, dir, &how, &result);
	seconds = progress_end();
	if (exported != LC_OK)
		return report_file(exported);
	if (!dry_run)
		show_shards(dir);
	show_result(&result, seconds);
	return EXIT_DONE;
}

static int
run(int argc, char **argv)
{
	lc_cache *cache;
	int status = module_open(argv[0], &cache);

	(void)argc;
	if (status != EXIT_DONE)
		return status;
	status = check_dir(argv[1], argv[0]);
	if (status == EXIT_DONE)
		status = export(cache, argv[1]);
	return module_close(cache, status);
}

const struct command cmd_export = {
	.name = "export",
	.operands = "MODULE DIR",
	.summary = "write TWH1 shards and their manifest",
	.text =
	    "Writes the records of MODULE, which must all have one dtype and "
	    "shape, as TWH1 shards into DIR, and manifest.json last. The same "
	    "records and options give the same bytes. An export that was "
	    "interrupted goes on where it was. An older export of MODULE in DIR "
	    "is replaced; -f replaces one of something else too. twh1(5) "
	    "describes the files.",
	.examples =
	    "cachex export photos shards\n"
	    "cachex export faces shards --shard-version 1 --no-metadata --order key\n"
	    "cachex shard verify shards",
	.completes = "md",
	.least = 2,
	.most = 2,
	.options = options,
	.run = run
};
