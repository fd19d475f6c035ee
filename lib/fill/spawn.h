/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts a shell command as a process of its own, from a process with threads. */
#ifndef LC_FILL_SPAWN_H
#define LC_FILL_SPAWN_H

#include <sys/types.h>

#include "lmdbcache.h"

/** A process and our ends of its pipes, which never block. */
struct lc__spawned {
	pid_t pid; /* also the number of its process group */
	int in;    /* written to: its standard input */
	int out;   /* read from: its standard output */
	int err;   /* and its standard error */
};

/**
 * Run /bin/sh -c @p command in a process group of its own, with no signal blocked
 * and SIGPIPE not ignored, no descriptors but these three, and killed when the calling thread ends.
 * @return LC_OK; LC_FAILED if there is no shell; what the system refused.
 */
LC_CHECKED lc_status lc__spawn(const char *command, char *const *environment,
    struct lc__spawned *out);

#endif
