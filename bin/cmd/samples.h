/* SPDX-License-Identifier: BSD-2-Clause */
/* The samples of a warehouse, a shard or a directory of shards, by number. */
#ifndef CACHEX_CMD_SAMPLES_H
#define CACHEX_CMD_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

/** One of the shards. A shard that cannot be opened counts as one sample. */
struct samples_shard {
	char *path;
	lc_shard *shard; /* NULL if the shard cannot be opened */
	lc_error error;  /* the reason why it cannot be opened */
	uint64_t first;  /* number of its first sample */
	uint64_t count;  /* number of its samples */
};

struct samples {
	lc_warehouse *warehouse;      /* NULL if `shards` are used */
	struct samples_shard *shards; /* sorted by name */
	size_t n_shards, room;
	uint64_t count;     /* number of samples in all */
	uint32_t max_boxes; /* the most rows of boxes in any sample */
	bool verify;        /* compare checksums before a sample is given */
	/* The path is a warehouse that does not open, which has been reported; `shards`
	 * are those that exist. */
	bool damaged;
};

/**
 * Open the samples of @p path. A warehouse is opened even if it is stale or its
 * validation failed, because the caller only looks at it. Reports errors; returns an
 * exit status.
 */
int samples_open(const char *path, bool verify, struct samples *out);
/**
 * Sample @p i, valid until samples_release(). LC_CORRUPT, LC_NOT_MODULE … for one
 * that is damaged.
 */
LC_CHECKED lc_status samples_get(const struct samples *samples, uint64_t i,
    lc_sample *out);
void samples_release(const struct samples *samples, lc_sample *sample);
void samples_close(struct samples *samples);

#endif
