/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which record has which image_id: a record "id:IMAGE_ID" in the migration's module
 * for each, so that a run that was interrupted, and each later one, gives the same
 * ids to the same records, however many there are.
 *
 * A claim names the record's image_path, its line, and the generation of the file that
 * has it there: a file that was changed since is of another generation. Claims of
 * older generations keep their ids for their paths; within one generation a second
 * record of the same path is another record.
 */
#ifndef CACHEX_MIGRATE_CLAIMS_H
#define CACHEX_MIGRATE_CLAIMS_H

#include <stdbool.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** Whose claims are read and made. */
struct lc__claimant {
	lc_cache *cache; /* the migration's module; puts stay pending */
	uint64_t generation;
	uint64_t line;
	lc_id path;
	/** May the record have what is stored under this id? Asked unless the claim is
	 *  this very line's. NULL: yes. */
	lc_status (*may)(void *ctx, lc_id id, bool *out);
	void *ctx;
};

/** What became of a claim. */
struct lc__claimed {
	bool first;  /* nobody ever had the id */
	bool sure;   /* it was this very line's before */
	bool second; /* others have simpler ids */
};

/**
 * The id of a record that has none yet: the first that is free or its own of the file
 * name without its extension, the file name, the path, PATH#2, PATH#3 ...
 * @param id  gets it
 * @return LC_INVALID if the path names no file.
 */
LC_CHECKED lc_status lc__claims_choose(const struct lc__claimant *who, struct lc__buf *id,
    struct lc__claimed *out);

/** Is it one of the ids that lc__claims_choose() can give to a record of this path? */
bool lc__claims_is_of(lc_id path, lc_id id);

/** Claim an id that the record has. LC_EXISTS if another record of this generation has
 *  it, with its line. */
LC_CHECKED lc_status lc__claims_keep(const struct lc__claimant *who, lc_id id,
    struct lc__claimed *out);

/** The id that this line has been given. LC_NOT_FOUND if it has none. */
LC_CHECKED lc_status lc__claims_find(const struct lc__claimant *who, struct lc__buf *id);

/** The id of the record that this line of an older copy of the file was: the one of its
 *  path's ids that is claimed for this line. Unless the copy is known to have the lines of
 *  this generation (@p exact), no other id may be claimed for the path. LC_NOT_FOUND if
 *  there is none. */
LC_CHECKED lc_status lc__claims_match(const struct lc__claimant *who, bool exact,
    struct lc__buf *id);

/** LC_OK if the id is claimed for this path and line; else LC_INVALID with by whom. */
LC_CHECKED lc_status lc__claims_check(const struct lc__claimant *who, lc_id id);

#endif
