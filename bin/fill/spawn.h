/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts a shell command as a separate process, from a process with threads. */
#ifndef CACHEX_FILL_SPAWN_H
#define CACHEX_FILL_SPAWN_H

#include <sys/types.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** A process and our ends of its pipes, which do not block. */
struct lc__spawned {
	pid_t pid;
	int in;  /* written to: its standard input */
	int out; /* read from: its standard output */
	int err; /* and its standard error */
};

/** The command to run. */
struct lc__command {
	const char *text; /* for /bin/sh -c */
	char *const *environment;
	pid_t group; /* process group to join; 0: its own group, and the process is killed
	              * when the calling thread ends */
};

/**
 * Run a command with no signal blocked, SIGPIPE not ignored, and only these three
 * descriptors.
 * @return LC_OK; LC_FAILED if there is no shell; the error of the system.
 */
LC_CHECKED lc_status lc__spawn(const struct lc__command *command,
    struct lc__spawned *out);

/**
 * Append the text for /bin/sh, with a NUL: the command, prefixed with "exec" if it is a
 * single one. Many shells otherwise stay around such a command: then the process that the
 * system kills with cachex, and whose end and pipes cachex watches, would be the shell.
 */
void lc__shell_script(const char *command, struct lc__buf *out);

#endif
