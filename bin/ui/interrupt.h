/* SPDX-License-Identifier: BSD-2-Clause */
/* SIGINT, SIGTERM and SIGHUP: clean up, then end with 128 + the signal. */
#ifndef CACHEX_UI_INTERRUPT_H
#define CACHEX_UI_INTERRUPT_H

#include <sys/types.h>

#include <stdbool.h>

/** Catch the signals that are not ignored. SIGPIPE ends the process quietly, and
 *  exceeding a file size limit is an error like any other. */
void interrupt_install(void);
/**
 * While set, the first signal is only recorded, for work that must unwind; a second one
 * still ends the process.
 */
void interrupt_defer(bool defer);
/** The recorded signal, 0 if none. */
int interrupt_pending(void);
/**
 * lc__make_temporary() for the one file to remove if a signal ends the process. The
 * path must stay until interrupt_keep().
 */
int interrupt_create(char *path, mode_t mode);
/** The file stays, or has been removed. */
void interrupt_keep(void);
/**
 * How to continue after a signal has stopped the work, for the line that reports it;
 * NULL, the default, for work too short to need one. Borrowed; it needs no escapes in
 * JSON.
 */
void interrupt_resume(const char *how);
/** For commands that change nothing before their end. */
#define INTERRUPT_AGAIN "run the same command to start again"
/** Print that line if this exit status comes from a signal; the status. */
int interrupt_tell(int status);
/** The exit status for stopped work: 130 for SIGINT. */
int interrupt_status(void);

#endif
