/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a store has besides generations and manifests of parts (remote/generations.h),
 * read and checked: runs, receipts, and the list of all objects. A named object that is
 * missing is damage: LC_CORRUPT, which names it.
 */
#ifndef CACHEX_PUBLISH_STORED_H
#define CACHEX_PUBLISH_STORED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "format/manifest.h"
#include "lmdbcache.h"
#include "objects/objects.h"

#include "publish/receipt.h"
#include "remote/generations.h"

/** The run from which a generation was published, by its manifest; "" if it does not
 *  say. */
void lc__generation_run(const struct lc__manifest *manifest, char run[LC__RUN_ID]);

/**
 * Append the text of a manifest of a store, as in cachex-store(5): its version is derived
 * from its recipe, and its summary counts the samples. It does not depend on the writer
 * or the time.
 * @param manifest  dataset_root, transform and the members for shards and parts; the rest
 *                  is ignored
 * @param recipe    JSON text, which gets a terminator
 * @return LC_OK; LC_INVALID for text that is not UTF-8; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__stored_format(const struct lc__manifest *manifest,
    struct lc__buf *recipe, uint64_t samples, struct lc__buf *out);

/** Read a run's recipe. LC_NO_FILE if there is no such run. */
LC_CHECKED lc_status lc__parts_recipe_read(struct lc__objects *store, const char *run,
    struct lc__parts_recipe *out);

/** Read a part's receipt. LC_NO_FILE if there is none; LC_CORRUPT also if it is for
 *  another run or part. */
LC_CHECKED lc_status lc__receipt_read(struct lc__objects *store,
    const struct lc__parts_recipe *recipe, uint64_t part, struct lc__receipt *out);

/** The runs that have a recipe, sorted by id. */
struct lc__run_list {
	struct lc__run_listed {
		char id[LC__RUN_ID];
		bool recipe;        /* it has one */
		uint64_t receipts;  /* how many are listed */
		uint64_t bytes;     /* of all its objects */
		uint64_t newest_ms; /* the time of the newest of them */
	} * all;                    /* malloc'ed */
	size_t n, room;
};

LC_CHECKED lc_status lc__runs_list(struct lc__objects *store, struct lc__run_list *out);

/** The receipts of a run, with or without a recipe. */
struct lc__receipt_list {
	uint64_t *parts; /* their numbers; malloc'ed */
	size_t n, room;
};

LC_CHECKED lc_status lc__receipts_list(struct lc__objects *store, const char *run,
    struct lc__receipt_list *out);

/** All shards, or all manifests of parts, sorted. */
struct lc__stock {
	struct lc__stocked {
		char sha256[65];
		bool wanted; /* for the caller; false at first */
		uint64_t size, time_ms;
	} * all; /* malloc'ed */
	size_t n, room;
};

LC_CHECKED lc_status lc__stock_list(struct lc__objects *store, bool parts,
    struct lc__stock *out);
/** NULL if it is not among them. */
struct lc__stocked *lc__stock_find(const struct lc__stock *stock, const char *sha256);

#endif
