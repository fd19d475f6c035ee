/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A job: what one thread needs to read batches, one after another. It keeps a cursor of
 * each source and the memory of its lists from batch to batch. A batch is read in steps:
 *
 *	job.c       which records it needs, sorted by where they are
 *	prefetch.c  asks the system for them
 *	fetch.c     reads them, and copies them into the fields of the batch
 */
#ifndef LC_STREAM_JOB_H
#define LC_STREAM_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "order/split.h"
#include "stream/batch.h"
#include "stream/requests.h"
#include "stream/stream.h"

/* ---- what all batches of a reader share ------------------------------------------ */

struct lc__reader_rule {
	lc_stream *stream;      /* held */
	struct lc__share share; /* of each batch */
	size_t rows;            /* of the share */
	uint64_t window;        /* units; 0: an example is a record */
	bool has_lengths;       /* a unit is one of the first axis, not a record */
	bool views, documents;
	struct lc__batch_memory memory; /* for the data of fields */
	bool heads; /* only the heads of records are read: views without verification */
	pthread_mutex_t lock; /* guards the setting of the members below */
	atomic_bool named;    /* the fields are known, and no longer change */
	char **names;         /* of fields, malloc'ed and each too */
	size_t n_fields;
};

/** Check the caller's options; NULL for the defaults. */
LC_CHECKED lc_status lc__reader_options_take(const lc_reader_options *given,
    lc_reader_options *out);

/** Create the rule from checked options; @p rule is all zero before. Free it with
 *  lc__reader_rule_end(), also after a failure. */
LC_CHECKED lc_status lc__reader_rule_begin(struct lc__reader_rule *rule,
    lc_stream *stream, const lc_reader_options *options);
void lc__reader_rule_end(struct lc__reader_rule *rule);

/** Are the fields known? Any thread may ask. */
static inline bool
lc__reader_rule_named(const struct lc__reader_rule *rule)
{
	return atomic_load_explicit(&rule->named, memory_order_acquire);
}

/** Set the names of the fields, unless another thread was faster. Takes ownership of @p
 *  names. */
void lc__reader_rule_name(struct lc__reader_rule *rule, char **names, size_t n);

/* ---- the job ------------------------------------------------------------------------- */

/** The cost of the last batch. */
struct lc__job_counts {
	uint64_t examples, bytes, stored_bytes, reads, runs, chunks;
	uint64_t directory_hits, directory_misses;
};

/** How much of a source's records the last batch read. */
struct lc__read_fraction {
	uint64_t touched, stored; /* bytes read, and bytes of the whole records */
};

/** The examples of a batch. */
struct lc__job_batch {
	uint64_t number;
	uint64_t first, end; /* examples of the whole batch, of all readers */
};

struct lc__job {
	struct lc__job *next;                    /* in a list */
	struct lc__reader_rule *rule;            /* borrowed */
	struct lc__stream_state *state;          /* held; the members below belong to it
	                                          * */
	struct lc__sequence_cursor *examples;    /* of sources */
	struct lc__cursor **cursors;             /* of sources; NULL until it is used */
	bool *begun;                             /* which cursors have begun */
	struct lc__sequence_position *positions; /* of rows */
	struct lc__requests rows;     /* one for each row, sorted by the position of its
	                               * first unit */
	struct lc__requests pieces;   /* of windows: pieces of chunks */
	struct lc__requests requests; /* records */
	struct lc__read_fraction *fractions; /* of sources */
	struct lc__extents extents;          /* to be prefetched */
	bool has_parts;                      /* parts of records are prefetched */
	size_t fetched;         /* requests prefetched into the processor's cache */
	uint64_t fetched_bytes; /* bytes of those of them that were not read yet */
	lc_tensor *tensors;     /* of the fields of a record, or of all rows */
	size_t tensor_room;
	void **places; /* of the fields of a record that is copied */
	size_t place_room;
	bool uneven; /* records once differed in shape: compare before copying */
	struct lc__job_counts counts;
};

LC_CHECKED lc_status lc__job_new(struct lc__reader_rule *rule, struct lc__job **out);
/** NULL is allowed. */
void lc__job_free(struct lc__job *job);

/** Begin a batch: from now on the job reads from @p state, and its counts are 0. */
void lc__job_begin(struct lc__job *job, struct lc__stream_state *state);

/**
 * End it: release the snapshots of the cursors. If @p status is LC_OK and the batch has
 * views, they need the snapshots: the batch gets them as pins.
 * @return @p status, or LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__job_end(struct lc__job *job, struct lc__batch *batch,
    lc_status status);

/** The cursor of a source, begun. */
LC_CHECKED lc_status lc__job_cursor(struct lc__job *job, uint32_t source,
    struct lc__cursor **out);

/** Set the members of a batch that describe its rows, and list in job->requests what this
 *  reader's part of it needs, sorted. @p filled is the number of rows that are not
 *  padding. */
LC_CHECKED lc_status lc__job_request(struct lc__job *job,
    const struct lc__job_batch *which, struct lc__batch *batch, size_t *filled);

/** The request of a single example: of the record with which it begins. job->requests is
 *  empty afterwards. */
LC_CHECKED lc_status lc__job_request_example(struct lc__job *job, uint64_t example,
    struct lc__request *out);

/** Make room for this many tensors in job->tensors. */
LC_CHECKED lc_status lc__job_need_tensors(struct lc__job *job, size_t n);

/** The rows that request @p i needs of its record; NULL: all of them. */
const struct lc__row_span *lc__job_rows(const struct lc__job *job, size_t i,
    struct lc__row_span *room);

/** Read the record of a request: its tensors and its id; @p rows as of
 *  lc__cursor_read(). */
LC_CHECKED lc_status lc__job_read_record(struct lc__job *job, const struct lc__request *r,
    const struct lc__row_span *rows, lc_tensor *tensors, lc_id *id);

/** The same if the previous record is no longer needed: the memory of its decoded tensors
 *  is reused. */
LC_CHECKED lc_status lc__job_read_next(struct lc__job *job, const struct lc__request *r,
    const struct lc__row_span *rows, lc_tensor *tensors, lc_id *id);

/** The same of a whole record, copied as by lc__cursor_copy(). */
LC_CHECKED lc_status lc__job_copy_next(struct lc__job *job, const struct lc__request *r,
    struct lc__copier *copier, lc_tensor *tensors, lc_id *id);

/** The error for a field of a request's record with another dtype or shape than in other
 *  records: LC_SCHEMA; the status of lc__cursor_go(). */
lc_status lc__job_differs(const struct lc__job *job, const struct lc__request *r,
    lc_id id, size_t field, const lc_tensor *tensor, const lc_tensor *others);

/* ---- its steps ----------------------------------------------------------------------- */

/** Prefetch the bytes of all requests, and count them. Records the addresses of the
 *  records. */
LC_CHECKED lc_status lc__prefetch(struct lc__job *job);

/** Prefetch into the processor's cache the records to be read soon after request @p i,
 *  which is read next. */
void lc__prefetch_lines(struct lc__job *job, size_t i);

/**
 * Read this reader's part of a batch.
 * @param out  memory for it, clear
 * @return as lc_reader_next() for an existing batch
 */
LC_CHECKED lc_status lc__fetch_batch(struct lc__job *job, struct lc__stream_state *state,
    const struct lc__job_batch *which, struct lc__batch *out);

#endif
