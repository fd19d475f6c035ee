/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/export.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "format/manifest.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

#define MANIFEST "manifest.json"
#define MOST_MANIFEST ((uint64_t)1 << 30)

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
		printf("%s  %s  %s\n", path,
		    count_human(info->samples, "sample", samples, sizeof(samples)),
		    size_human((double)info->file_size, size, sizeof(size)));
	}
}

/* A finished export leaves no shards in the directory but its own. */
static void
show_shards(const char *dir)
{
	struct lc__dir_list entries = { 0 };

	(void)!lc__listdir(dir, false, &entries);
	for (size_t i = 0; i < entries.n; i++) {
		char *path = lc__path_join(dir, entries.entries[i].name);
		lc_shard *shard = NULL;
		if (path != NULL && lc_shard_open(path, &shard) == LC_OK)
			show_shard(path, lc_shard_info_of(shard));
		lc_shard_close(shard);
		free(path);
	}
	lc__dir_list_free(&entries);
}

static void
show_result(const lc_export_result *result, bool dry_run, double seconds)
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
		printf(", %s stood already",
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

/* What else is wrong with DIR the library tells. */
static int
check_dir(const char *dir, const char *ours)
{
	char *theirs = dataset_in(dir);
	int status = EXIT_DONE;

	if (theirs != NULL && strcmp(theirs, ours) != 0)
		status = report_usage("%s: holds an export of %s; -f replaces it", dir,
		    lc__quote_id(theirs, strlen(theirs)));
	free(theirs);
	return status;
}

int
export_shards(lc_cache *cache, const char *module, const char *dir,
    const lc_export_options *how, bool force)
{
	lc_export_result result = { 0 };
	lc_status exported;
	double seconds;
	int status = EXIT_DONE;

	if (!force)
		status = check_dir(dir, how->dataset_root ? how->dataset_root : module);
	if (status != EXIT_DONE)
		return status;
	if (!how->dry_run)
		interrupt_resume(
		    "the same command goes on with the shards that are whole");
	progress_begin("export");
	exported = lc_export(cache, dir, how, &result);
	seconds = progress_end();
	if (exported != LC_OK)
		return report_status(exported);
	if (!how->dry_run)
		show_shards(dir);
	show_result(&result, how->dry_run, seconds);
	return EXIT_DONE;
}
