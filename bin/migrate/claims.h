/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which record has which image_id: a record "id:IMAGE_ID" in the migration's module for
 * each, so that a run that was interrupted, and every later one, gives the same ids to
 * the same records, however many there are.
 *
 * A claim contains the record's image_path, its line, and the generation of the file: a
 * file that was changed since has another generation. Claims of older generations keep
 * their ids for their paths; within one generation a second record with the same path is
 * another record.
 */
#ifndef CACHEX_MIGRATE_CLAIMS_H
#define CACHEX_MIGRATE_CLAIMS_H

#include <stdbool.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** The module and file of the claims. */
struct lc__claimant {
	lc_cache *cache; /* the migration's module; puts stay pending */
	uint64_t generation;
	uint64_t line;
	lc_id path;
	/** May the record have what is stored under this id? Asked unless the claim is
	 *  for the same line. NULL: yes. */
	lc_status (*may)(void *ctx, lc_id id, bool *out);
	void *ctx;
};

/** The result of a claim. */
struct lc__claimed {
	bool first;  /* the id was never used */
	bool sure;   /* the id was used by the same line before */
	bool second; /* other records have simpler ids */
};

/**
 * Choose the id of a record without one: the first free or own one of: the file name
 * without its extension, the file name, the path, PATH#2, PATH#3 ...
 * @param id  the id
 * @return LC_INVALID if the path has no file name.
 */
LC_CHECKED lc_status lc__claims_choose(const struct lc__claimant *who, struct lc__buf *id,
    struct lc__claimed *out);

/** Can lc__claims_choose() give this id to a record with this path? */
bool lc__claims_is_of(lc_id path, lc_id id);

/** Claim the id that a record has. LC_EXISTS, with its line, if another record of this
 *  generation has it. */
LC_CHECKED lc_status lc__claims_keep(const struct lc__claimant *who, lc_id id,
    struct lc__claimed *out);

/** The id given to this line. LC_NOT_FOUND if it has none. */
LC_CHECKED lc_status lc__claims_find(const struct lc__claimant *who, struct lc__buf *id);

/**
 * The id of the record in this line of an older copy of the file: of the ids for its
 * path, the one claimed for this line. Unless the copy is known to have the lines of this
 * generation (@p exact), no other id may be claimed for the path. LC_NOT_FOUND if there
 * is none.
 */
LC_CHECKED lc_status lc__claims_match(const struct lc__claimant *who, bool exact,
    struct lc__buf *id);

/** LC_OK if the id is claimed for this path and line; else LC_INVALID, naming the
 *  owner. */
LC_CHECKED lc_status lc__claims_check(const struct lc__claimant *who, lc_id id);

#endif
