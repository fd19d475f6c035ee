/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts a shell command as a process of its own, from a process with threads. */
#ifndef CACHEX_FILL_SPAWN_H
#define CACHEX_FILL_SPAWN_H

#include <sys/types.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** A process and our ends of its pipes, which never block. */
struct lc__spawned {
	pid_t pid;
	int in;  /* written to: its standard input */
	int out; /* read from: its standard output */
	int err; /* and its standard error */
};

/** What is to be run. */
struct lc__command {
	const char *text; /* for /bin/sh -c */
	char *const *environment;
	pid_t group; /* process group to join; 0: one of its own, and the
	                             process is killed when the calling thread ends */
};

/**
 * Run a command with no signal blocked and SIGPIPE not ignored, and no descriptors but
 * these three.
 * @return LC_OK; LC_FAILED if there is no shell; what the system refused.
 */
LC_CHECKED lc_status lc__spawn(const struct lc__command *command,
    struct lc__spawned *out);

/**
 * Append what /bin/sh is to run, with a NUL: the command, with "exec" in front of it if
 * it is a single one. Many shells stay around such a command otherwise: the process that
 * the system kills with us, and whose end and pipes we watch, would be the shell.
 */
void lc__shell_script(const char *command, struct lc__buf *out);

#endif
