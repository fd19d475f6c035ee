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
	lc_stream_info info; /* of it, when it was opened */
	bool windows;        /* examples are windows, */
	uint64_t window;     /* of so many units */
	bool resumed;        /* files of batches may stand there already */
	int widths[4];       /* of the columns of a list */
};

/** The batch on standard output, or in files; an exit status, reported. */
typedef int read_output_fn(struct read_output *out, const lc_batch *batch);

read_output_fn read_list, read_ids, read_sum, read_frames, read_npy_files;

/** Before the first batch of a list, when out->info is known. */
void read_list_begin(struct read_output *out);

/** All batches are out. Frames tell the reader so; an exit status. */
int read_frames_end(void);

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
	/** Tells how far the source is, whenever nothing is left to read; may be
	 *  NULL. */
	void (*idle)(struct stream_sources *sources);
};

/** Read from the opened sources; reports; an exit status. */
int read_run(const struct read_job *job, struct stream_sources *sources);

#endif
