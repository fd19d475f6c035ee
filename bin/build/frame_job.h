/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One frame of a dataset: taken from the module if its files are unchanged, else read,
 * checked, decoded and transformed. Done by a thread.
 */
#ifndef CACHEX_BUILD_FRAME_JOB_H
#define CACHEX_BUILD_FRAME_JOB_H

#include "base/team.h"
#include "build/infile.h"
#include "build/ingest.h"
#include "build/store.h"
#include "labels/dataset.h"

/** A larger image file is refused. */
#define LC__IMAGE_LIMIT ((uint64_t)1 << 30)

/** What all threads read. */
struct lc__frame_how {
	const struct lc__recipe *recipe;
	const struct lc__dataset *dataset;
	const struct lc__store *store;
	int root;              /* the dataset's directory */
	bool rehash;           /* do not trust sizes and times */
	bool keep_going;       /* a file that the system refuses does not end the build */
	bool stored_only;      /* a frame without a valid record ends the build */
	struct lc__team *team; /* grants memory for files */
};

/** A thread's own. */
struct lc__frame_worker {
	const struct lc__frame_how *how;
	struct lc__workspace *workspace;
	struct lc__buf file; /* the file being read */
	uint64_t held;       /* its share of the team's memory */
};

/** What is stored of a frame. */
struct lc__reused {
	bool any;                 /* a record that may still be valid */
	lc_cache *from;           /* the module with it */
	lc_value *about;          /* memory from which `sample` borrows */
	struct lc__sample sample; /* without its tensors */
	struct lc__seen seen;
	bool image_looked, image_same; /* its image exists unchanged */
};

/** The result for a frame. Zero it before its first use; its memory is reused for other
 *  frames. */
struct lc__frame_job {
	uint64_t number; /* of the frame */
	uint64_t turn;   /* the team's job */
	struct lc__sample sample;
	bool reused;  /* `sample` is the stored one */
	bool put;     /* it must be stored */
	bool touched; /* `kept.seen` must be stored */
	uint64_t ns[LC__PHASES];
	uint64_t bytes_read;

	struct lc__buf key;     /* its cache_id, followed by a NUL */
	struct lc__reused kept; /* for a stored sample: memory from which it borrows */
	struct lc__label label; /* for a new one: the same */
	char detail[600];
	uint8_t *planes;
	size_t planes_room;
	struct lc__buf boxes, class_ids, clipped;
};

LC_CHECKED lc_status lc__frame_worker_init(struct lc__frame_worker *worker,
    const struct lc__frame_how *how);

void lc__frame_worker_free(struct lc__frame_worker *worker);

/** Read a file into the thread's buffer; job->detail says what is wrong with it. */
LC_CHECKED lc_status lc__frame_worker_read(struct lc__frame_worker *worker,
    struct lc__frame_job *job, const char *path, uint64_t limit,
    struct lc__source_note *note, enum lc__infile_fate *fate);

/** Drop the file. */
void lc__frame_worker_let_go(struct lc__frame_worker *worker);

/** Find what is stored of a frame; set job->reused, and job->sample, if the frame's files
 *  are unchanged. */
LC_CHECKED lc_status lc__reused_find(struct lc__frame_worker *worker,
    struct lc__frame_job *job, const struct lc__frame *frame);

/** Are the stored pixels those of the present image at @p path? */
LC_CHECKED lc_status lc__reused_image(struct lc__frame_worker *worker,
    struct lc__frame_job *job, const char *path, bool *same);

/** Process frame job->number. A failure stops the build. */
LC_CHECKED lc_status lc__frame_job_run(struct lc__frame_worker *worker,
    struct lc__frame_job *job);

/** Drop the frame, keep the memory. */
void lc__frame_job_clear(struct lc__frame_job *job);

void lc__frame_job_free(struct lc__frame_job *job);

/** Read and check the label of a frame; a rejection is in job->sample. */
LC_CHECKED lc_status lc__frame_job_label(struct lc__frame_worker *worker,
    struct lc__frame_job *job, const struct lc__frame *frame);

/** The path of a frame's image, once its label was read. */
const char *lc__frame_image(const struct lc__frame *frame, const struct lc__label *label);

/* ---- all frames -------------------------------------------------------------------- */

/** Threads that process frames, and the walk over the frames that keeps them busy. */
struct lc__frame_team {
	struct lc__frame_how how; /* its team is this one's */
	/** Processes frame->number on a thread; a failure ends the walk at that frame. */
	lc_status (*work)(struct lc__frame_worker *worker, struct lc__frame_job *frame);
	unsigned threads;    /* threads wanted */
	uint64_t first;      /* number of frames in the walk */
	uint64_t step;       /* from one to the next; 0 is 1 */
	uint64_t slot_bytes; /* largest size of a frame's result */

	/** The walk's own thread calls take() for each frame in order, and idle() now and
	 *  then while it waits. A status other than LC_OK ends the walk. */
	lc_status (*take)(void *ctx, struct lc__frame_job *frame);
	lc_status (*idle)(void *ctx);
	void *ctx;

	struct lc__team team;             /* the members below are the walk's own */
	struct lc__frame_job *slots;      /* as many as the team's window */
	struct lc__frame_worker *workers; /* one for each thread */
	unsigned n_workers;
};

/** The number of frames first, first + step ... in the dataset. */
uint64_t lc__frames_of(uint64_t frames, uint64_t first, uint64_t step);

/** Walk over frames of the dataset; without a step over all.
 *  @return LC_OK, or the status that ended it first. */
LC_CHECKED lc_status lc__frame_team_walk(struct lc__frame_team *pool);

#endif
