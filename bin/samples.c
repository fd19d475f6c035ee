/* SPDX-License-Identifier: BSD-2-Clause */
#include "samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fileio.h"
#include "entries.h"
#include "report.h"

static bool
is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int
no_memory(void)
{
	report_error("out of memory");
	return EXIT_SYSTEM;
}

/* ---- shards ---------------------------------------------------------------------- */

/* Takes @p path over, also when it fails. */
static int
add_shard(struct samples *samples, char *path)
{
	struct samples_shard *shard;

	if (path == NULL)
		return no_memory();
	if (samples->n_shards == samples->room) {
		const size_t room = samples->room ? samples->room * 2 : 16;
		struct samples_shard *shards = reallocarray(samples->shards, room,
		    sizeof(*shards));
		if (shards == NULL) {
			free(path);
			return no_memory();
		}
		samples->shards = shards;
		samples->room = room;
	}
	shard = &samples->shards[samples->n_shards++];
	*shard = (struct samples_shard) { .path = path, .first = samples->count,
	    .count = 1 };
	if (lc_shard_open(path, &shard->shard) == LC_OK) {
		const lc_shard_info *info = lc_shard_info_of(shard->shard);
		shard->count = info->samples;
		if (info->max_boxes > samples->max_boxes)
			samples->max_boxes = info->max_boxes;
	} else {
		shard->error = *lc_last_error();
	}
	samples->count += shard->count;
	return EXIT_DONE;
}

static bool
is_shard_name(const char *name)
{
	const size_t n = strlen(name);

	return n > 5 && strcmp(name + n - 5, ".twh1") == 0;
}

/* The shards in a directory and, of a warehouse with buckets, one level below. */
static int
add_directory(struct samples *samples, const char *dir, bool below)
{
	struct dirent **entries;
	const int n = entries_read(dir, &entries);
	int status = EXIT_DONE;

	if (n == -1)
		return report_errno(dir);
	for (int i = 0; i < n; i++) {
		char *path = lc__path_join(dir, entries[i]->d_name);
		if (path == NULL)
			status = report_worse(status, no_memory());
		else if (status != EXIT_DONE)
			free(path);
		else if (is_shard_name(entries[i]->d_name))
			status = add_shard(samples, path);
		else {
			if (below && is_directory(path))
				status = add_directory(samples, path, false);
			free(path);
		}
		free(entries[i]);
	}
	free(entries);
	return status;
}

static int
open_shards(const char *path, struct samples *samples)
{
	int status;

	if (!is_directory(path)) {
		status = add_shard(samples, strdup(path));
		if (status == EXIT_DONE && samples->shards[0].shard == NULL)
			status = report_file(lc__error_raise(&samples->shards[0].error));
		return status;
	}
	status = add_directory(samples, path, true);
	if (status == EXIT_DONE && samples->n_shards == 0) {
		report_error("%s: neither a warehouse nor a directory with shards",
		    path);
		return EXIT_DATA;
	}
	return status;
}

/* ---- either ------------------------------------------------------------------------ */

static lc_status
open_warehouse(const char *path, bool verify, lc_warehouse **out)
{
	lc_warehouse_options options;

	lc_warehouse_options_init(&options);
	options.verify = verify ? LC_VERIFY_LAZY : LC_VERIFY_NONE;
	options.sources = LC_SOURCES_IGNORE;
	options.ignore_thresholds = 1;
	return lc_warehouse_open(path, &options, out);
}

int
samples_open(const char *path, bool verify, struct samples *out)
{
	struct samples samples = { .verify = verify };
	lc_status opened = LC_NOT_MODULE;
	int status = EXIT_DONE;

	if (is_directory(path))
		opened = open_warehouse(path, verify, &samples.warehouse);
	if (opened == LC_OK) {
		const lc_warehouse_info *info = lc_warehouse_info_of(samples.warehouse);
		samples.count = info->samples;
		samples.max_boxes = info->max_boxes;
	} else if (opened == LC_NOT_MODULE || opened == LC_NOT_FOUND) {
		status = open_shards(path, &samples);
	} else {
		status = report_file(opened);
	}
	if (status == EXIT_DONE)
		*out = samples;
	else
		samples_close(&samples);
	return status;
}

static const struct samples_shard *
shard_of(const struct samples *samples, uint64_t i)
{
	size_t low = 0, high = samples->n_shards;

	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;
		if (samples->shards[middle].first <= i)
			low = middle;
		else
			high = middle;
	}
	return &samples->shards[low];
}

lc_status
samples_get(const struct samples *samples, uint64_t i, lc_sample *out)
{
	const struct samples_shard *shard;
	lc_status status;

	if (samples->warehouse != NULL)
		return lc_warehouse_sample(samples->warehouse, i, out);
	shard = shard_of(samples, i);
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
