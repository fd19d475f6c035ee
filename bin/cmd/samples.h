/* SPDX-License-Identifier: BSD-2-Clause */
/* The samples of a warehouse, a shard or a directory of shards, by number. */
#ifndef CACHEX_CMD_SAMPLES_H
#define CACHEX_CMD_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

/** A shard among them; one that cannot be opened counts as one sample. */
struct samples_shard {
	char *path;
	lc_shard *shard; /* NULL if it cannot be opened, */
	lc_error error;  /* for this reason */
	uint64_t first;  /* number of its first sample */
	uint64_t count;  /* how many */
};

struct samples {
	lc_warehouse *warehouse;      /* or */
	struct samples_shard *shards; /* in the order of their names */
	size_t n_shards, room;
	uint64_t count;     /* all samples */
	uint32_t max_boxes; /* the most rows of boxes of any */
	bool verify;        /* compare checksums before a sample is given */
	bool damaged;       /* a warehouse that does not open, which has been
	                                 reported: what shards there are */
};

/**
 * Open what @p path names. A warehouse is opened also if it is stale or its
 * validation failed: it is only looked at. Reports; an exit status.
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
