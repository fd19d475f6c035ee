/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The states in which a loss of power may leave a disk, from a log of record_io.
 *
 * The rules are those of POSIX at its strictest. What an fsync or fdatasync of a file
 * covered is there, and so is a write through O_DSYNC, that one alone; names are there
 * after an fsync of their directory. Everything else may have reached the disk or not,
 * in any order, a write also in parts, or as the file's size without its bytes.
 */
#ifndef T_REPLAY_IO_H
#define T_REPLAY_IO_H

#include "replay_log.h"

/** Syncs that do not happen, to see that the check finds it. */
#define REPLAY_FORGET_FILES 0x1u   /* fsync and fdatasync of files */
#define REPLAY_FORGET_WRITTEN 0x2u /* O_DSYNC */
#define REPLAY_FORGET_DIRS 0x4u    /* fsync of directories */

struct replay_plan {
	const char *dir;  /* an empty directory to build states in */
	unsigned all_of;  /* every subset of so many unsynced calls; of more: all but one,
	                     one alone, and random ones */
	unsigned random;  /* how many of each of these */
	unsigned torn;    /* ways to tear each write */
	unsigned forgets; /* REPLAY_FORGET_ */
	unsigned one_in;  /* only one of so many states, at random, but all of those after a
	                     promise; 0 and 1: all */
	size_t forgets_one; /* the sync that is the n-th event; 0 for none */
	uint64_t seed;
};

struct replay_state {
	size_t cut;       /* the power fails behind so many events */
	bool whole;       /* everything took effect: what the program itself saw */
	const char *dir;  /* the state; the check may change it */
	const char *what; /* the unsynced calls and what became of them, for messages */
};

/** Look at a state; false ends the replay. */
typedef bool (*replay_check)(void *ctx, const struct replay_state *state);

/**
 * Build every state of the plan, the cuts in their order and of each cut the whole one
 * first. @return how many there were.
 */
size_t replay_states(const struct replay_log *log, const struct replay_plan *plan,
    replay_check check, void *ctx);

/** The first path where the end of the log and the directory that was recorded differ,
 *  NULL if none does. Allocated. */
char *replay_compare(const struct replay_log *log, const char *dir);

#endif
