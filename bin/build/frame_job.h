/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One frame of a dataset: taken from the module if its files are what they were,
 * else read, checked, decoded and transformed. A thread's work.
 */
#ifndef CACHEX_BUILD_FRAME_JOB_H
#define CACHEX_BUILD_FRAME_JOB_H

#include "base/team.h"
#include "build/infile.h"
#include "build/ingest.h"
#include "build/store.h"
#include "labels/dataset.h"

/** An image's file that is larger is refused. */
#define LC__IMAGE_LIMIT ((uint64_t)1 << 30)

/** What all threads read. */
struct lc__frame_how {
	const struct lc__recipe *recipe;
	const struct lc__dataset *dataset;
	const struct lc__store *store;
	int root;              /* the dataset's directory */
	bool rehash;           /* sizes and times are not trusted */
	bool keep_going;       /* a file that the system refuses does not end it */
	bool stored_only;      /* a frame without a record that is right ends it */
	struct lc__team *team; /* grants memory for files */
};

/** A thread's own. */
struct lc__frame_worker {
	const struct lc__frame_how *how;
	struct lc__workspace *workspace;
	struct lc__buf file; /* the file that is being read */
	uint64_t held;       /* bytes of it that the team granted */
};

/** What the module has of a frame. */
struct lc__reused {
	bool any;                 /* a record that may still be right */
	lc_cache *from;           /* the module that has it */
	lc_value *about;          /* what `sample` borrows */
	struct lc__sample sample; /* without its tensors */
	struct lc__seen seen;
	bool image_looked, image_same; /* whether its image is there as it was */
};

/** What became of a frame. Zero it before its first use; its memory is used again
 *  for another frame. */
struct lc__frame_job {
	uint64_t number; /* of the frame */
	uint64_t turn;   /* the team's job */
	struct lc__sample sample;
	bool reused;  /* `sample` is what the module has */
	bool put;     /* it is to be stored */
	bool touched; /* `kept.seen` is */
	uint64_t ns[LC__PHASES];
	uint64_t bytes_read;

	struct lc__buf key;     /* its cache_id, ended by a NUL */
	struct lc__reused kept; /* of `reused`: what `sample` borrows */
	struct lc__label label; /* of a new one: the same */
	char detail[600];
	uint8_t *planes;
	size_t planes_room;
	struct lc__buf boxes, class_ids, clipped;
};

LC_CHECKED lc_status lc__frame_worker_init(struct lc__frame_worker *worker,
    const struct lc__frame_how *how);

void lc__frame_worker_free(struct lc__frame_worker *worker);

/** Read a file into the thread's buffer; for what is wrong with it see job->detail. */
LC_CHECKED lc_status lc__frame_worker_read(struct lc__frame_worker *worker,
    struct lc__frame_job *job, const char *path, uint64_t limit,
    struct lc__source_note *note, enum lc__infile_fate *fate);

/** Forget the file. */
void lc__frame_worker_let_go(struct lc__frame_worker *worker);

/** Find what the module has of a frame; set job->reused, and job->sample, if the
 *  frame's files are what they were. */
LC_CHECKED lc_status lc__reused_find(struct lc__frame_worker *worker,
    struct lc__frame_job *job, const struct lc__frame *frame);

/** Whether the pixels that the module has are of the image at @p path as it is now. */
LC_CHECKED lc_status lc__reused_image(struct lc__frame_worker *worker,
    struct lc__frame_job *job, const char *path, bool *same);

/** Make frame job->number. A failure stops the build. */
LC_CHECKED lc_status lc__frame_job_run(struct lc__frame_worker *worker,
    struct lc__frame_job *job);

/** Forget the frame, keep the memory. */
void lc__frame_job_clear(struct lc__frame_job *job);

void lc__frame_job_free(struct lc__frame_job *job);

/** Read and check the label of a frame; a reason is in job->sample. */
LC_CHECKED lc_status lc__frame_job_label(struct lc__frame_worker *worker,
    struct lc__frame_job *job, const struct lc__frame *frame);

/** Where the image of a frame is, if its label has been read. */
const char *lc__frame_image(const struct lc__frame *frame, const struct lc__label *label);

/* ---- all frames -------------------------------------------------------------------- */

/** Threads that work on frames, and the walk over the frames that keeps them busy. */
struct lc__frame_team {
	struct lc__frame_how how; /* its team is this one's */
	/** What a thread does with frame->number; a failure ends the walk at that frame. */
	lc_status (*work)(struct lc__frame_worker *worker, struct lc__frame_job *frame);
	unsigned threads;    /* wanted */
	uint64_t first;      /* frame of the walk */
	uint64_t step;       /* from one to the next; 0 is 1 */
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

/** How many frames first, first + step ... there are of all. */
uint64_t lc__frames_of(uint64_t frames, uint64_t first, uint64_t step);

/** Walk over frames of the dataset, all without a step. @return LC_OK, or what ended it first. */
LC_CHECKED lc_status lc__frame_team_walk(struct lc__frame_team *pool);

#endif
