/* SPDX-License-Identifier: BSD-2-Clause */
/* What all batches of a reader have in common. */
#ifndef LC_STREAM_JOB_H
#define LC_STREAM_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "order/split.h"
#include "stream/batch.h"
#include "stream/requests.h"
#include "stream/stream.h"

struct lc__reader_rule {
	lc_stream *stream;
	struct lc__share share;
	size_t rows;         /* of the share */
	uint64_t window;     /* units; 0: records */
	bool has_lengths;    /* a unit is one of the first axis, not a record */
	bool views, documents;
	bool heads;          /* only those are read: in place, and not verified */
	pthread_mutex_t lock; /* guards the making of what follows */
	atomic_bool named;   /* the fields are known */
	char **names;        /* of fields, malloc'ed and each too */
	size_t n_fields;
};

/** Check options and take what they say; @p rule is zeros and to be freed with
 *  lc__reader_rule_end() also if that fails. */
LC_CHECKED lc_status lc__reader_rule_begin(struct lc__reader_rule *rule,
    lc_stream *stream, const lc_reader_options *options);
void lc__reader_rule_end(struct lc__reader_rule *rule);

/** Take options or the defaults. */
LC_CHECKED lc_status lc__reader_options_take(const lc_reader_options *given,
    lc_reader_options *out);

/** The fields, if they are known by now. */
static inline bool
lc__reader_rule_named(const struct lc__reader_rule *rule)
{
	return atomic_load_explicit(&rule->named, memory_order_acquire);
}

/** Give the fields their names, unless they have them; owns @p names then. */
void lc__reader_rule_name(struct lc__reader_rule *rule, char **names, size_t n);

/* What one thread needs to read batches, one after another. */

/** What the batches cost that were read. */
struct lc__job_counts {
	uint64_t examples, bytes, stored_bytes, reads, runs, chunks;
	uint64_t directory_hits, directory_misses;
};

/** How much of a source's records the last batch read. */
struct lc__read_share {
	uint64_t touched, stored; /* bytes, and of the whole records */
};

struct lc__job {
	struct lc__job *next;          /* in a list */
	struct lc__reader_rule *rule;   /* borrowed */
	struct lc__standing *standing; /* held; what follows belongs to it */
	struct lc__walk *walks;        /* of sources */
	struct lc__cursor **cursors;   /* of sources; NULL until it is used */
	bool *begun;                   /* which cursors are */
	struct lc__spot *spots;        /* of rows */
	struct lc__requests wants;     /* rows in the order of what they begin with */
	struct lc__requests parts;     /* of windows: parts of chunks */
	struct lc__requests requests;  /* records */
	struct lc__read_share *portions;  /* of sources */
	struct lc__extents extents;    /* that the system is asked for */
	size_t fetched;                /* requests that the processor was asked for */
	uint64_t fetched_bytes;        /* of those of them that were not read */
	lc_tensor *tensors;            /* of the fields of a record, or of all rows */
	size_t tensor_room;
	bool uneven;                   /* records differed: look before copying */
	struct lc__job_counts counts;  /* of the last batch */
};

LC_CHECKED lc_status lc__job_new(struct lc__reader_rule *rule,
    struct lc__job **out);
/** NULL is harmless. */
void lc__job_free(struct lc__job *job);

/** Which examples a batch has. */
struct lc__job_batch {
	uint64_t number;
	uint64_t first, end; /* examples of the whole batch */
};

/**
 * Read this reader's share of a batch.
 * @param out  memory for it, clear
 * @return as lc_reader_next(), of one batch that is there
 */
LC_CHECKED lc_status lc__job_read(struct lc__job *job,
    struct lc__standing *standing, const struct lc__job_batch *which,
    struct lc__batch *out);

/** The cursor of a source, begun. */
LC_CHECKED lc_status lc__job_cursor(struct lc__job *job, uint32_t source,
    struct lc__cursor **out);

/** Room for so many tensors in job->tensors. */
LC_CHECKED lc_status lc__job_need_tensors(struct lc__job *job, size_t n);

/* The bytes of a batch: from records to the rows of its fields. */

/** Read all requests of a job into a batch whose first @p filled rows they are, and
 *  make the other rows padding. */
LC_CHECKED lc_status lc__fetch(struct lc__job *job, struct lc__batch *batch,
    size_t filled);

/** A batch of padding alone, of the shapes that a record has. */
LC_CHECKED lc_status lc__fetch_shapes(struct lc__job *job,
    const struct lc__request *record, struct lc__batch *batch);

/* Parts of it. */

/** Ask the system for all requests, and count them. */
LC_CHECKED lc_status lc__fetch_ask(struct lc__job *job);

/** Ask the processor for what is behind request @p i, which is read next. */
void lc__fetch_ahead(struct lc__job *job, size_t i);

/** The rows that request @p i needs of its record; NULL: all. */
const struct lc__row_span *lc__fetch_rows(const struct lc__job *job, size_t i,
    struct lc__row_span *room);

/** Read the record of a request: its tensors and its id; @p rows as of
 *  lc__cursor_read(). */
LC_CHECKED lc_status lc__fetch_record(struct lc__job *job,
    const struct lc__request *r, const struct lc__row_span *rows, lc_tensor *tensors,
    lc_id *id);

/** As above, and those read before are not needed any more. */
LC_CHECKED lc_status lc__fetch_instead(struct lc__job *job,
    const struct lc__request *r, const struct lc__row_span *rows, lc_tensor *tensors,
    lc_id *id);

/** A field of another dtype or shape than the others of the batch: LC_SCHEMA. */
lc_status lc__fetch_differs(const struct lc__job *job, uint32_t source, lc_id id,
    size_t field, const lc_tensor *tensor, const lc_tensor *others);

/** As lc__fetch(), of windows. */
LC_CHECKED lc_status lc__fetch_windows(struct lc__job *job,
    struct lc__batch *batch, size_t filled);

/** Dtype and shape of a field of windows. */
LC_CHECKED lc_status lc__fetch_window_shape(const struct lc__job *job,
    struct lc__batch *batch, size_t field, const lc_tensor *form);

#endif
