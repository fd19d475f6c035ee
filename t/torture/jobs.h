/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands of the tool that write, each with the files that it starts from, and the rules
 * for what there may be if it is cut off.
 *
 * A job has a directory with `in`, which it reads only, and `state`, its working
 * directory, which has all that it writes.
 */
#ifndef T_TORTURE_JOBS_H
#define T_TORTURE_JOBS_H

#include "tree.h"

struct job {
	const char *name;
	/** Make `in` and `state` below @p dir; the working directory is @p dir. */
	void (*make)(const char *dir, uint64_t seed);
	const char *command; /* operands of cachex, with a blank between each */
	unsigned flags;      /* JOB_ */
	const char *damaged;  /* module that is not good before the command; or NULL */
	const char *changing; /* file that changes many times; or NULL */
};

#define JOB_WHOLE 1u /* modules change as a whole: no state in between */
#define JOB_ONCE 2u  /* refuses what is done already */
#define JOB_LATE 4u  /* files are on disk at the end only */

extern const struct job jobs[]; /* the last one has no name */
#define JOBS_MAX 100

/** The job of this name. */
const struct job *job_find(const char *name);

/** A job with all there was before its command and is after it. */
struct job_run {
	const struct job *job;
	const char *dir;      /* absolute */
	struct tree before, after;
	uint64_t steps;       /* records of record_io */
	/* Called in the command's process, last of all; NULL unless set after job_start(). */
	void (*begin)(void *ctx);
	void *ctx;
	int status;           /* of the command */
};

/** Make it in @p dir, and run the command once undisturbed, under record_io, whose log is
 *  the file `log` there and ends with a promise. `state` is as the command left it, and
 *  the working directory is @p dir. */
void job_start(struct job_run *run, const struct job *job, const char *dir, uint64_t seed);
void job_end(struct job_run *run);

/** `state` as it was before the command. */
void job_reset(const struct job_run *run);

/** Run the command in a child of the caller: does not return. @p kill_at: the record
 *  after which it dies, 0 for none. */
void job_exec(const struct job_run *run, uint64_t kill_at, bool halfway);
/** Run it to its end: the exit status, or 128 + the signal. */
int job_command(const struct job_run *run, uint64_t kill_at, bool halfway);

enum job_moment {
	JOB_KILLED, /* while it ran */
	JOB_CUT,    /* while it ran, by a loss of power */
	JOB_FAILED, /* it ended with an error, and has cleaned up */
	JOB_DONE    /* after it had ended */
};

/** Does what the command said last, messages and output, have a message? */
bool job_has_message(const struct job_run *run);

/** What is in the directory @p state may be there when the command was cut off at this
 *  moment. Ends the process if not. */
void job_check(const struct job_run *run, const char *state, enum job_moment moment);
/** Run the command again: it ends the work, and `state` is what it should be. */
void job_finish(const struct job_run *run);

/** cp -a. */
void job_copy(const char *from, const char *to);

#endif
