/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress of a migration: the record "state" of the module "stage2", next to the
 * claims. A step of the migration changes claims and state together, or neither. Inputs
 * (lc_writer_open()) would do that too, but they refuse an existing cache_id, while
 * claims of a file that was changed are made again; and a module with inputs has no other
 * puts. So these are plain puts, through a handle that commits only when it is told to: a
 * commit otherwise happens at flush_every records, chunk_bytes bytes or
 * flush_interval_ms; a step stays below the first two, and the third is off.
 */
#ifndef CACHEX_MIGRATE_STATE_H
#define CACHEX_MIGRATE_STATE_H

#include <stdbool.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** The most lines, and bytes of lines, in a step. A claim takes at most twice the size of
 *  its line's path, and some hundred bytes. */
#define LC__STEP_LINES 16384
#define LC__STEP_BYTES ((size_t)16 << 20)

/** The next action. */
enum lc__stage2_phase {
	LC__STAGE2_LINES = 0, /* go on with the lines */
	LC__STAGE2_SWAP = 1,  /* replace the old file by the new one */
	LC__STAGE2_FILL = 2,  /* run the encoders */
	LC__STAGE2_DONE = 3
};

/** The results for the records of a migration, each counted once. */
struct lc__stage2_counts {
	uint64_t migrated; /* lines that are of version 2 now, and were not before */
	uint64_t enriched; /* of the others, those that lacked what an encoder computes */
	uint64_t extracted; /* of the others, those whose array was extracted */
	uint64_t skipped;   /* of the others, those that lacked nothing */
	uint64_t bad;       /* lines that stay unchanged; in none of the above */
	uint64_t blank;     /* lines without a record */
	uint64_t newer;   /* lines of a version above 2, which stay unchanged; likewise */
	uint64_t foreign; /* lines of records with an image_id that is not derived from
	                   * their path: they stay unchanged, likewise, or if tensors are
	                   * replaced (-f) get another id and are counted above as well */
	uint64_t left;    /* lines after the limit of a run; likewise */
	uint64_t shared;  /* records whose simplest image_id belongs to another record */
	uint64_t extreme; /* records with a ratio outside of 0.4 to 2.5 */
};

#define LC__STAMP_ROOM 96
#define LC__STATE_TEXT 4200

struct lc__stage2_state {
	uint64_t generation; /* of the file's content; see claims.h */
	uint64_t phase;      /* enum lc__stage2_phase */
	uint64_t rewriting;  /* the new file has been begun */
	uint64_t in, out;    /* bytes of the old file that are done, bytes of the new one
	                   * that are durable */
	uint64_t line;       /* lines that are done */
	uint64_t
	    limit_line;  /* the last one that was processed, before a limit was reached */
	uint64_t passes; /* 1 << pass, for those that were ever run */
	uint64_t original_generation; /* of the file that `original` is */
	struct lc__stage2_counts counts;
	char file[LC__STATE_TEXT];     /* its absolute path */
	char recipe[LC__STATE_TEXT];   /* the options that determine what is done with a
	                              * line */
	char backup[LC__STATE_TEXT];   /* path of the original, existing or future; "" */
	char original[LC__STATE_TEXT]; /* the last backup; "" */
	char stamp[LC__STAMP_ROOM];    /* of the file to which the offsets refer */
	char renewed[LC__STAMP_ROOM];  /* of the new one, once it is complete; "" */
};

/** Open the module for writing, as described above; created if it is missing. */
LC_CHECKED lc_status lc__stage2_module(const char *dir, lc_cache **out);
/** Read it. LC_NOT_FOUND if there is none. */
LC_CHECKED lc_status lc__stage2_load(lc_cache *cache, struct lc__stage2_state *out);
/** Put it and commit everything that is pending. */
LC_CHECKED lc_status lc__stage2_store(lc_cache *cache,
    const struct lc__stage2_state *state);

/** Identifies a file's content: size, time, and a hash over the first and the last
 *  MiB. */
LC_CHECKED lc_status lc__stage2_stamp(int fd, const char *path, char out[LC__STAMP_ROOM]);

#endif
