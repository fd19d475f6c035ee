/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Join: the records of a source, each with those of other modules that have its
 * cache_id, as one record.
 *
 * 1. The first source gives the order: its chunks, shuffles, ranks and tokens are those
 *    of the join. Partners are only looked up.
 * 2. Opening takes one snapshot of each partner and keeps it, as a view would, until
 *    the source is closed: all records of a stream are of one commit.
 * 3. Opening reads every cache_id of the first source and looks it up in each partner.
 *    So the records that lack a partner are counted before the first batch, and are
 *    refused or left out; the set does not change while the source is open. That costs
 *    a look-up a record and partner, and up to three bytes a record where some are left out.
 * 4. A field is "module.field", and "module" where the record is one tensor; dots in
 *    a module's name are escaped as in any path, so that names cannot collide.
 * 5. A join does not grow. Its chunks are those of the first source one to one, also
 *    those of which nothing is left, so that generations mean the same.
 * 6. The hash of a chunk covers which records are left and where the partners' records
 *    are: a token is refused when a record of any of the modules has been replaced,
 *    and is good when the modules only grew.
 * 7. A part of a split is a join without partners, which leaves out the other parts; or
 *    a join does so as well.
 * 8. Checksums are compared when a record is read, not when cache_ids are.
 */
#ifndef LC_STREAM_SOURCE_JOIN_H
#define LC_STREAM_SOURCE_JOIN_H

#include "order/parts.h"
#include "stream/selection.h"
#include "stream/source.h"
#include "store/cache.h"
#include "store/lookup.h"

/** A module in which records are looked up. */
struct lc__join_partner {
	lc_cache *cache;               /* kept open */
	struct lc__env *env;           /* of it */
	char *name;                    /* escaped: its fields begin with this; malloc'ed
	                                * */
	struct lc__snapshot *snapshot; /* kept */
	pthread_mutex_t lock;          /* held while the snapshot is used */
	uint64_t missing;              /* number of the first source's records that it
	                                * does not have */
};

struct lc__join_source {
	lc_source source;
	lc_source *first;       /* owned */
	char *name;             /* with which the fields of the first begin; malloc'ed;
	                         * NULL: a single source, whose fields keep their names */
	struct lc__layout *all; /* of the first source, held */
	struct lc__join_partner *partners;
	size_t n;                    /* of them; that are begun */
	struct lc__selection **kept; /* for each chunk; NULL: all of its records */
	uint64_t chunks;
	struct lc__split_parts parts; /* the split, if only one part of it is read */
	size_t part;                  /* the part */
};

static inline struct lc__join_source *
lc__join_source_of(lc_source *source)
{
	return (struct lc__join_source *)source;
}

/**
 * If the options name one part of a split: create a source with only that part. It takes
 * ownership of @p source, which is closed on failure. Otherwise @p out is @p source.
 */
LC_CHECKED lc_status lc__source_take_part(lc_source *source,
    const lc_source_options *options, lc_source **out);

LC_CHECKED lc_status lc__join_cursor_new(lc_source *source, struct lc__cursor **out);

/**
 * Find the record of a partner in its snapshot; the caller holds its lock.
 * @param verify  when the buckets of the index are compared with their checksums
 * @return LC_OK; LC_NOT_FOUND; LC_CORRUPT.
 */
LC_CHECKED lc_status lc__join_find(struct lc__join_partner *partner, lc_id id,
    lc_verify_mode verify, struct lc__lookup *out);

/** The rest of a field after the name of a module: its path in the record, "." for the
 *  whole record; NULL if the field does not belong to that module. @p name NULL: the
 *  field itself. */
const char *lc__join_field(const char *name, const char *field);

#endif
