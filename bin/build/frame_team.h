/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that work on frames, and the walk over all frames that keeps them busy. */
#ifndef CACHEX_BUILD_FRAME_TEAM_H
#define CACHEX_BUILD_FRAME_TEAM_H

#include "build/frame_job.h"

struct lc__frame_team {
	struct lc__frame_how how; /* its team is this one's */
	/** What a thread does with frame->number; a failure ends the walk at that frame. */
	lc_status (*work)(struct lc__frame_worker *worker, struct lc__frame_job *frame);
	unsigned threads;    /* wanted */
	uint64_t slot_bytes; /* that a frame's result may take */

	/** The walk's own thread calls take() for each frame in order, and idle() from
	 *  time to time while it waits. Another status than LC_OK ends the walk. */
	lc_status (*take)(void *ctx, struct lc__frame_job *frame);
	lc_status (*idle)(void *ctx);
	void *ctx;

	struct lc__team team;             /* from here on the walk's own */
	struct lc__frame_job *slots;      /* as many as the team's window */
	struct lc__frame_worker *workers; /* one a thread */
	unsigned n_workers;
};

/** Walk over all frames of the dataset. @return LC_OK, or what ended it first. */
LC_CHECKED lc_status lc__frame_team_walk(struct lc__frame_team *pool);

#endif
