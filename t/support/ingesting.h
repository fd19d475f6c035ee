/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds of small warehouses, and what is compared of them. */
#ifndef T_INGESTING_H
#define T_INGESTING_H

#include "build/ingest.h"

/** A build with everything that it is given. Do not copy. */
struct ingesting {
	struct lc__recipe recipe;
	struct lc__ingest ingest;
	struct lc__ingest_watch watch;
	int steps;             /* this many steps are taken, then stop() is asked; below
	                          0: never */
	int (*stop)(void);     /* the step's answer, or no return; NULL: 1 */
	unsigned rejected, warned; /* how often the watch was told */
	char last[600];        /* the last thing that it was told */
};

/** 48 x 32 pixels, u8, 2 boxes at most, two threads, several shards. */
void ingesting_init(struct ingesting *in, const char *dataset,
    const char *warehouse);
/** Run; the status must be this one. @p out is freed by the caller, or NULL. */
void ingesting_run(struct ingesting *in, lc_status want,
    struct lc__ingest_result *out);
/** A build of @p dataset with the defaults, in a new warehouse. */
const char *ingesting_reference(const char *dataset);

/** WAREHOUSE/current/NAME, in a few buffers that are used in turn. */
const char *ingesting_path(const char *warehouse, const char *name);
/** What `current` points to. */
const char *ingesting_current(const char *warehouse);
/** Both warehouses' current versions have the same name and files, bytes and all. */
void ingesting_assert_same(const char *a, const char *b);
/** How many shards of the current version another version, by its name, has too. */
uint64_t ingesting_common_shards(const char *warehouse, const char *other);
/** That its shards are what its manifest says, and the summary's sums fit. */
void ingesting_assert_good(const char *warehouse);

#endif
