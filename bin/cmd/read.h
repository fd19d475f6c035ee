/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a stream from batch to batch and writing it out: what read and follow do. */
#ifndef CACHEX_CMD_READ_H
#define CACHEX_CMD_READ_H

#include <stdbool.h>

#include "cmd/stream_sources.h"
#include "lmdbcache.h"

/* ---- output of batches, each form in its read_FORM.c ------------------------------- */

struct read_output {
	const struct read_options *opts;
	const struct stream_sources *sources; /* the names of sources */
	lc_stream *stream;
	lc_stream_info info;        /* of it, when it was opened */
	bool windows;               /* examples are windows, */
	uint64_t window;            /* of so many units */
	bool resumed;               /* files of batches may already exist */
	struct read_shared *shared; /* memory that frames point to, or NULL */
	int widths[4];              /* of the columns of a list */
};

/** The batch on standard output, or in files; an exit status, reported. */
typedef int read_output_fn(struct read_output *out, const lc_batch *batch);

read_output_fn read_list, read_ids, read_sum, read_frames, read_npy_files;

/** Before the first batch of a list, when out->info is known. */
void read_list_begin(struct read_output *out);

/** All batches are out. Frames tell the reader so; an exit status. */
int read_frames_end(void);

/* ---- memory shared with the program that reads the frames, read_shared.c ------------ */

struct read_shared;

/** Take the file of descriptor @p fd, which stays open; reports; an exit status. */
int read_shared_open(uint64_t fd, struct read_shared **out);
/** Have a reader put the tensors of its batches there. */
void read_shared_fill(struct read_shared *s, lc_reader_options *how);
/** Where in the file a batch's tensor begins. */
uint64_t read_shared_offset(struct read_shared *s, const void *memory);
/** The batch's frame is out: keep the batch until the other side gives it back, and
 *  release those that it gave back meanwhile. Reports; an exit status. */
int read_shared_hold(struct read_shared *s, const lc_batch *batch);
/** Wait until something is given back; reports; an exit status. */
int read_shared_wait(struct read_shared *s);
/** After the last frame: wait until all are given back, or standard input ends, so that
 *  the other side never writes to a pipe without a reader; reports; an exit status. */
int read_shared_finish(struct read_shared *s);
/** Report the error that made lc_reader_next() fail, if it was one of this memory; an
 *  exit status, EXIT_DONE if not. */
int read_shared_failed(const struct read_shared *s);
/** Release all batches; before the reader is closed. */
void read_shared_release(struct read_shared *s);
/** After the reader is closed. What was written stays in the file. NULL is harmless. */
void read_shared_close(struct read_shared *s);

/* ---- Reading a stream from batch to batch and writing it out: what read and follow do - */

struct read_job {
	const char *source; /* its name, for messages */
	const struct read_options *opts;
	const struct stream_order *order;
	uint32_t reader, readers; /* r of R */
	lc_split split;
	bool follow;          /* the source may grow */
	uint64_t first, last; /* batches; UINT64_MAX: from where the token is, all */
	uint64_t count;       /* batches at most */
	struct read_shared *shared; /* for frames, or NULL */
	/** Tells how far the source is, whenever nothing is left to read; may be
	 *  NULL. */
	void (*idle)(struct stream_sources *sources);
};

/** Read from the opened sources; reports; an exit status. */
int read_run(const struct read_job *job, struct stream_sources *sources);

#endif
