/* SPDX-License-Identifier: BSD-2-Clause */
/* One line of progress on standard error, for work longer than a second. */
#ifndef CACHEX_UI_PROGRESS_H
#define CACHEX_UI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"

/**
 * Begin; @p what names the work ("verify photos"). Signals are deferred until
 * progress_end(), so that the work can unwind.
 */
void progress_begin(const char *what);
/** For lc_progress.phase: a phase of the work begins, "scan": the line names it, and
 *  counts start again. @p phase is borrowed. Does nothing outside of progress_begin() and
 *  progress_end(). */
void progress_phase(void *ctx, const char *phase);
/** For lc_progress.step: bytes done and to do (0: unknown). Non-zero: stop. */
int progress_step(void *ctx, uint64_t done, uint64_t total);
/** Count items in addition to the bytes. */
void progress_items(uint64_t done, uint64_t total);
/** Count what matters in addition: "12000 examples/s". @p noun is borrowed. */
void progress_rate(const char *noun, uint64_t done);
/** Where the work was when a signal was first seen, " in scan after 12 of 34", for the
 *  message that it was stopped; empty if nothing is known. */
const char *progress_reached(void);
/** Is there a line on the terminal? */
bool progress_is_shown(void);
/** Erase the line, so that a message can be printed. */
void progress_clear(void);
/** The work has ended; erases the line. Returns seconds since progress_begin(). */
double progress_end(void);

#endif
