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
	const struct stream_sources *sources; /* for the names of sources */
	lc_stream *stream;
	lc_stream_info info; /* the stream's, when it was opened */
	bool windows;        /* examples are windows, not records */
	uint64_t window;     /* units of a window */
	/* A token was used: files of batches may already exist. */
	bool resumed;
	struct read_shared *shared; /* memory for the frames' tensors, or NULL */
	int widths[4];              /* widths of the columns of a list */
};

/** Write a batch to standard output or files. Reports errors; returns an exit
 *  status. */
typedef int read_output_fn(struct read_output *out, const lc_batch *batch);

read_output_fn read_list, read_ids, read_sum, read_frames, read_npy_files;

/** Call before the first batch of a list, after out->info is set. */
void read_list_begin(struct read_output *out);

/** Write the end of the frames, after the last batch. Returns an exit status. */
int read_frames_end(void);

/* ---- memory shared with the program that reads the frames, read_shared.c ------------ */

struct read_shared;

/** Use the file of descriptor @p fd, which stays open. Reports errors; returns an exit
 *  status. */
int read_shared_open(uint64_t fd, struct read_shared **out);
/** Make a reader allocate the tensors of its batches in the shared memory. */
void read_shared_fill(struct read_shared *s, lc_reader_options *how);
/** The offset in the file of a batch's tensor. */
uint64_t read_shared_offset(struct read_shared *s, const void *memory);
/** Call after a batch's frame is written: keeps the batch until the other side gives it
 *  back, and releases those given back so far. Reports errors; returns an exit
 *  status. */
int read_shared_hold(struct read_shared *s, const lc_batch *batch);
/** Wait until a batch is given back. Reports errors; returns an exit status. */
int read_shared_wait(struct read_shared *s);
/** Call after the last frame: waits until all batches are given back or standard input
 *  ends, so that the other side never writes to a pipe without a reader. Reports
 *  errors; returns an exit status. */
int read_shared_finish(struct read_shared *s);
/** Report the error of the shared memory if it made lc_reader_next() fail. Returns its
 *  exit status, or EXIT_DONE if there was none. */
int read_shared_failed(const struct read_shared *s);
/** Release all batches. Call this before the reader is closed. */
void read_shared_release(struct read_shared *s);
/** Call after the reader is closed. The file keeps its contents. NULL is harmless. */
void read_shared_close(struct read_shared *s);

/* ---- Reading a stream from batch to batch and writing it out: what read and follow do - */

struct read_job {
	const char *source; /* name of the source, for messages */
	const struct read_options *opts;
	const struct stream_order *order;
	uint32_t reader, readers; /* r of R */
	lc_split split;
	bool follow; /* the source may grow while it is read */
	/* Range of batches; last = UINT64_MAX: from the token's position, to the end.
	 * */
	uint64_t first, last;
	uint64_t count;             /* most batches to read */
	struct read_shared *shared; /* memory for frames, or NULL */
	/** Called whenever nothing is left to read, to report how far the source is. May
	 *  be NULL. */
	void (*idle)(struct stream_sources *sources);
};

/** Read from sources that are open. Reports errors; returns an exit status. */
int read_run(const struct read_job *job, struct stream_sources *sources);

#endif
