/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "cmd/warehouse.h"
#include "ui/report.h"
#include "warehouse/place.h"

/* Whether there is such a directory, in *is. Fails only if the system refuses to
 * tell. */
static lc_status
find_directory(const char *path, bool *is)
{
	struct stat st;

	*is = stat(path, &st) == 0;
	if (!*is && errno != ENOENT && errno != ENOTDIR)
		return lc__error_sys(errno, "%s: stat", path);
	*is = *is && S_ISDIR(st.st_mode);
	return LC_OK;
}

/* ---- shards --------------------------------------------------------------------- */

/* Takes ownership of @p path, also after a failure. */
static int
add_shard(struct samples *samples, char *path)
{
	struct samples_shard *shard;

	if (path == NULL ||
	    lc__array_reserve(&samples->shards, &samples->room, samples->n_shards + 1,
		NULL) != LC_OK) {
		free(path);
		return report_no_memory();
	}
	shard = &samples->shards[samples->n_shards++];
	*shard = (struct samples_shard){
		.path = path,
		.first = samples->count,
		.count = 1,
	};
	if (lc_shard_open(path, &shard->shard) == LC_OK) {
		const lc_shard_info *info = lc_shard_info_of(shard->shard);
		shard->count = info->samples;
		if (info->max_boxes > samples->max_boxes)
			samples->max_boxes = info->max_boxes;
	} else {
		shard->error = *lc_last_error();
	}
	if (!lc__add64(samples->count, shard->count, &samples->count))
		return report_error(EXIT_DATA, "%s: too many samples", path);
	return EXIT_DONE;
}

/* List the shards in a directory and, for a warehouse with buckets, one level below. */
static int
add_directory(struct samples *samples, const char *dir, bool below)
{
	struct lc__dir_list entries = { 0 };
	int status = EXIT_DONE;

	if (lc__listdir(dir, false, &entries) != LC_OK)
		status = report_library(EXIT_SYSTEM);
	for (size_t i = 0; i < entries.n; i++) {
		const char *name = entries.entries[i].name;
		const size_t n = strlen(name);
		const bool is_shard = n > 5 && strcmp(name + n - 5, ".twh1") == 0;
		char *path = lc__path_join(dir, name);

		if (path == NULL)
			status = report_worse(status, report_no_memory());
		else if (status != EXIT_DONE)
			free(path);
		else if (is_shard)
			status = add_shard(samples, path);
		else {
			bool directory = false;
			lc_status found = LC_OK;

			if (below)
				found = find_directory(path, &directory);
			if (below && found == LC_OK && !directory)
				found = lc__no_lost_link(path);
			if (found != LC_OK)
				status = report_status(found);
			else if (directory)
				status = add_directory(samples, path, false);
			free(path);
		}
	}
	lc__dir_list_free(&entries);
	return status;
}

static int
open_shards(const char *dir, struct samples *samples)
{
	const int status = add_directory(samples, dir, true);

	if (status != EXIT_DONE || samples->n_shards > 0)
		return status;
	if (samples->damaged)
		return EXIT_DATA;
	return report_error(EXIT_DATA,
	    "%s: neither a warehouse nor a directory with shards", dir);
}

/* ---- either --------------------------------------------------------------------- */

static int
open_directory(const char *path, struct samples *samples)
{
	const lc_warehouse_info *info;
	char *version;
	lc_status opened = lc__version_find(path, &version);
	int status = EXIT_DONE;

	if (opened == LC_NOT_MODULE)
		return open_shards(path, samples);
	if (opened != LC_OK)
		return report_status(opened);
	opened = warehouse_open_to_look(path,
	    samples->verify ? LC_VERIFY_ONCE : LC_VERIFY_NEVER, &samples->warehouse);
	if (opened == LC_CORRUPT || opened == LC_NO_FILE || opened == LC_NOT_MODULE) {
		/* Open the shards of a version that does not open as a warehouse, one
		 * by one. */
		report_library(EXIT_DATA);
		samples->damaged = true;
		status = open_shards(version, samples);
	} else if (opened != LC_OK) {
		status = report_status(opened);
	} else {
		info = lc_warehouse_info_of(samples->warehouse);
		samples->count = info->samples;
		samples->max_boxes = info->max_boxes;
	}
	free(version);
	return status;
}

int
samples_open(const char *path, bool verify, struct samples *out)
{
	struct samples samples = { .verify = verify };
	bool directory;
	const lc_status found = find_directory(path, &directory);
	int status;

	if (found != LC_OK)
		return report_status(found);
	status = directory ? open_directory(path, &samples)
			   : add_shard(&samples, strdup(path));
	if (status == EXIT_DONE && !directory && samples.shards[0].shard == NULL)
		status = report_status(lc__error_raise(&samples.shards[0].error));
	if (status == EXIT_DONE)
		*out = samples;
	else
		samples_close(&samples);
	return status;
}

lc_status
samples_get(const struct samples *samples, uint64_t i, lc_sample *out)
{
	const struct samples_shard *shard;
	size_t low = 0, high = samples->n_shards;
	lc_status status;

	if (samples->warehouse != NULL)
		return lc_warehouse_sample(samples->warehouse, i, out);
	/* Find the last shard whose first sample is not after the given one. */
	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;

		if (samples->shards[middle].first <= i)
			low = middle;
		else
			high = middle;
	}
	shard = &samples->shards[low];
	if (shard->shard == NULL)
		return lc__error_raise(&shard->error);
	status = lc_shard_sample(shard->shard, i - shard->first, out);
	if (status == LC_OK && samples->verify) {
		status = lc_shard_verify_sample(shard->shard, i - shard->first);
		if (status == LC_UNSUPPORTED)
			status = LC_OK;
	}
	return status;
}

void
samples_release(const struct samples *samples, lc_sample *sample)
{
	if (samples->warehouse != NULL)
		lc_warehouse_release(samples->warehouse, sample);
}

void
samples_close(struct samples *samples)
{
	lc_warehouse_close(samples->warehouse);
	for (size_t i = 0; i < samples->n_shards; i++) {
		lc_shard_close(samples->shards[i].shard);
		free(samples->shards[i].path);
	}
	free(samples->shards);
	memset(samples, 0, sizeof(*samples));
}
