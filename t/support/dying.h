/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that kills itself at a step of what it writes, as a machine may at any. The
 * program has to be linked with -rdynamic, so that liblmdb's calls are caught too. */
#ifndef T_DYING_H
#define T_DYING_H

#include <stdbool.h>

enum dying_steps {
	DYING_STORE, /* writes at an offset or of several parts, and fdatasync: liblmdb's */
	DYING_FILES  /* and all that changes other files: write, fsync, rename, unlink … */
};

/**
 * From here on calls count as steps, of all threads; the one that is the @p at-th kills
 * the process before it is made, or behind its first half if it writes and @p halfway
 * is set. 0: none does.
 */
void dying_begin(unsigned at, bool halfway, enum dying_steps steps);
/** No more calls count. */
void dying_end(void);

#endif
