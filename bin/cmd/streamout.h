/* SPDX-License-Identifier: BSD-2-Clause */
/* What is written of batches, each form in its bin/stream_FORM.c. */
#ifndef CACHEX_CMD_STREAMOUT_H
#define CACHEX_CMD_STREAMOUT_H

#include "cmd/streaming.h"

struct streamout {
	const struct readopts *opts;
	const struct streaming *streaming; /* the names of sources */
	lc_stream *stream;
	lc_stream_info info;  /* of it, when it was opened */
	bool windows;         /* examples are windows, */
	uint64_t window;      /* of so many units */
	bool resumed;         /* files of batches may stand there already */
	int widths[4];        /* of the columns of a list */
};

/** The batch on standard output, or in files; an exit status, reported. */
typedef int streamout_batch(struct streamout *out, const lc_batch *batch);

streamout_batch stream_list, stream_ids, stream_sum, stream_frames, stream_npy;

/** Before the first batch of a list, when out->info is known. */
void stream_list_begin(struct streamout *out);

/** All batches are out. Frames tell the reader so; an exit status. */
int stream_frames_end(void);

#endif
