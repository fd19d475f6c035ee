/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every attack shares: rounds with a seed and a directory of their own, for as long
 * as they are wanted, and the report. See README in this directory.
 */
#ifndef T_TORTURE_H
#define T_TORTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "need.h"
#include "run.h"

/** Different numbers that an attack can count. */
#define TORTURE_COUNTS 8

/** One kind of round; a line of TAP. */
struct torture_case {
	const char *name;
	/** Attack and check; ends the process through need() if something is wrong. All
	 *  that is random follows from @p seed. @p dir exists, is empty and private. */
	void (*round)(uint64_t seed, const char *dir);
	unsigned rounds; /* in a slice */
};

struct torture {
	const char *name;
	const struct torture_case *cases; /* the last one has no name */
	const char *counts[TORTURE_COUNTS]; /* what is counted: "kills", "records …" */
	unsigned seconds; /* a round that takes longer hangs; 0: 60 */
};

/**
 * Run an attack: its slice, or rounds of all cases in turn for TORTURE_SECONDS. Each
 * round runs in a process of its own, whose children end with it.
 * @return the exit status for main()
 */
int torture_run(const struct torture *attack);

/** A path in the build directory, absolute: rounds may change their working directory. In
 *  a few buffers that are used in turn. */
const char *torture_built(const char *name);

/** The name of the case that the caller's round is of. */
const char *torture_case_name(void);

/** Add to the count number @p which; from any process of the round. */
void torture_count(unsigned which, uint64_t n);

/** Memory that the processes of a round share; zeroed, never freed. */
void *torture_shared(size_t size);

/** Sleep for a random time below @p most microseconds. */
void torture_sleep(uint64_t *random, unsigned most);

/** kill -9 and wait. True if the process was still running: it must not have failed. */
bool torture_kill(pid_t pid);

/** Remove a directory and all below. */
void torture_remove(const char *dir);

#endif
