/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far a migration is: the record "state" of the module "stage2", beside the
 * claims.
 *
 * A step of the migration changes claims and state together, or neither. Inputs
 * (lc_writer_open()) would do that too, but refuse a cache_id that is there, and a file
 * that was changed has its claims made anew; a module with inputs has no other
 * puts. So these are plain puts, of a handle that commits when it is told to, and then
 * all at once: as lc_options says, a commit comes at flush_every records, chunk_bytes
 * bytes or flush_interval_ms, and a step stays below the first two and the third is
 * never.
 */
#ifndef CACHEX_MIGRATE_STATE_H
#define CACHEX_MIGRATE_STATE_H

#include <stdbool.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** At most so many lines and bytes of lines are a step. A claim takes its line's path
 *  twice at most, and some hundred bytes. */
#define LC__STEP_LINES 16384
#define LC__STEP_BYTES ((size_t)16 << 20)

/** What is to be done next. */
enum lc__stage2_phase {
	LC__STAGE2_LINES = 0, /* go on with the lines */
	LC__STAGE2_SWAP = 1,  /* put the new file in the old one's place */
	LC__STAGE2_FILL = 2,  /* run the encoders */
	LC__STAGE2_DONE = 3
};

/** What the records of a migration came to, each counted once. */
struct lc__stage2_counts {
	uint64_t migrated; /* lines that are of version 2 now, and were not */
	uint64_t
	    enriched; /* of the others, those that lacked what an encoder is there for */
	uint64_t extracted; /* of the others, those whose array was extracted */
	uint64_t skipped;   /* of the others, those that lacked nothing */
	uint64_t bad;       /* lines that stay as they are; in none of the above */
	uint64_t blank;     /* lines without a record */
	uint64_t newer; /* lines of a version above 2, which stay as they are; likewise */
	uint64_t foreign; /* lines of records with an image_id that is not of their path:
	                       they stay as they are, likewise, or if tensors are replaced
	                       (-f) get another id and are counted above as well */
	uint64_t left;    /* lines after the limit of a run; likewise */
	uint64_t shared;  /* records whose simplest image_id was another's */
	uint64_t extreme; /* records with a ratio outside of 0.4 to 2.5 */
};

#define LC__STAMP_ROOM 96
#define LC__STATE_TEXT 4200

struct lc__stage2_state {
	uint64_t generation; /* of the file's content; see claims.h */
	uint64_t phase;      /* enum lc__stage2_phase */
	uint64_t rewriting;  /* the new file has been begun */
	uint64_t in, out; /* bytes of the old file that are done, of the new one that are
	                         durable */
	uint64_t line;    /* lines that are done */
	uint64_t
	    limit_line;  /* the last one that was looked at, before a limit was reached */
	uint64_t passes; /* 1 << pass of those that were ever run */
	uint64_t original_generation; /* of the file that `original` is */
	struct lc__stage2_counts counts;
	char file[LC__STATE_TEXT];   /* its absolute path */
	char recipe[LC__STATE_TEXT]; /* the options that decide what becomes of a line */
	char backup[LC__STATE_TEXT]; /* where the original is kept, or will be; "" */
	char original[LC__STATE_TEXT]; /* the backup that was made last; "" */
	char stamp[LC__STAMP_ROOM];    /* of the file that the offsets are of */
	char renewed[LC__STAMP_ROOM];  /* of the new one, once it is whole; "" */
};

/** Open the module for writing, as told above, made if it is missing. */
LC_CHECKED lc_status lc__stage2_module(const char *dir, lc_cache **out);
/** Read it. LC_NOT_FOUND if there is none. */
LC_CHECKED lc_status lc__stage2_load(lc_cache *cache, struct lc__stage2_state *out);
/** Put it and commit all that is pending. */
LC_CHECKED lc_status lc__stage2_store(lc_cache *cache,
    const struct lc__stage2_state *state);

/** What tells a file's content from another one's: size, time, and a hash over the first
 *  and the last MiB. */
LC_CHECKED lc_status lc__stage2_stamp(int fd, const char *path, char out[LC__STAMP_ROOM]);

#endif
