/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every command of the tool with something that fails under it: files to work on, a run
 * without a fault to compare with, and what must hold after one with a fault.
 */
#ifndef T_FAULTED_H
#define T_FAULTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** A command line of the tool and the files that it needs. */
struct faulted_command {
	const char *name;
	const char *make;    /* shell commands that make the files; functions as in faulted.c */
	const char *line;    /* the arguments, separated by blanks */
	const char *input;   /* a file that becomes standard input, or NULL */
	unsigned flags;
};

#define FAULTED_TIMES   1u /* what it prints has times and rates in it: not compared */
#define FAULTED_ORDER   2u /* two runs without a fault differ in bytes */
#define FAULTED_KEEPS   4u /* what is done so far stays in files of its own, as documented */
#define FAULTED_MANY    8u /* a line of messages for each of several modules */
#define FAULTED_ARCHIVE 16u /* by libarchive, see ended_by_libarchive() */
#define FAULTED_ZIP     32u /* which writes a zip archive, see there */
#define FAULTED_FONTS   64u /* it finds a font by fontconfig, see drop_fontconfig() */

extern const struct faulted_command faulted_commands[];

/** What happened to one run of a command. */
struct faulted_run {
	int status;          /* exit status, 128 + signal, -1: hangs */
	uint64_t points;     /* at which something could fail */
	bool by_archive;     /* an allocation of libarchive's own */
	char fault[160];     /* what failed, for people; empty if nothing did */
};

/** What fails: point @p at, counted from 1 (0: none), and with @p and_on all after it that
 *  are like it, in variant @p variant of the ways to fail. */
struct faulted_fault {
	uint64_t at;
	unsigned variant;
	bool and_on;
};

struct faulted_engine {
	const char *name;
	unsigned variants;
	/** A message says "out of memory" where the command ends with 4. */
	bool memory;
	/** Run the program @p argv, of which nothing has been started, in the current
	 *  directory, with standard streams as they are to be. */
	void (*run)(char *const *argv, const char *const streams[3],
	    const struct faulted_fault *fault, struct faulted_run *out);
};

/**
 * A round: the files, a run without a fault, and @p points runs, or as many as FAULTS in the
 * environment says, with a random one each; where there are no more, or with FAULTS=all, with
 * every one. Ends the process with status 1 if one of them was wrong.
 */
void faulted_round(const struct faulted_engine *engine, const struct faulted_command *command,
    uint64_t seed, const char *dir, unsigned points);

/** Wait for a process of one's own at most some seconds, then kill it. Exit status, 128 +
 *  signal or -1. */
int faulted_wait(pid_t pid);
/** In a child: the streams, and no more than that. */
void faulted_streams(const char *const streams[3]);

#endif
