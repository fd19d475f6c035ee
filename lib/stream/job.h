/* SPDX-License-Identifier: BSD-2-Clause */
/* What one thread needs to read batches, one after another. */
#ifndef LC_STREAM_JOB_H
#define LC_STREAM_JOB_H

#include "stream/batch.h"
#include "stream/reader_rule.h"
#include "stream/requests.h"

/** What the batches cost that were read. */
struct lc__job_counts {
	uint64_t examples, bytes, stored_bytes, reads, runs, chunks;
	uint64_t directory_hits, directory_misses;
};

/** How much of a source's records the last batch read. */
struct lc__portion {
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
	struct lc__portion *portions;  /* of sources */
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

#endif
