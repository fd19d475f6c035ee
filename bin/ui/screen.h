/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A terminal that shows values as they change: lines are drawn over the last ones, keys are
 * read at once. Without a terminal, or on a dumb one, the lines follow each other, and nothing is read.
 */
#ifndef CACHEX_UI_SCREEN_H
#define CACHEX_UI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

/** What screen_wait() returns instead of a key. */
enum screen_event {
	SCREEN_TIME = -1,    /* the time is over */
	SCREEN_RESIZED = -2, /* the terminal has another size: draw again */
	SCREEN_STOPPED =
	    -3, /* by a signal or Ctrl-C: interrupt_status() is the exit status */
};

/**
 * Begin. With @p whole the terminal's other screen is used, and what was there before comes
 * back at the end. Signals are deferred until screen_close().
 */
void screen_open(bool whole);

/** Is it drawn on a terminal? */
bool screen_is_terminal(void);

/** Columns and rows of the terminal; 80 and 24 without one. */
void screen_size(int *columns, int *rows);

/** Begin a picture: on a terminal the cursor goes to where the last one began. */
void screen_begin(void);

/**
 * A line of it, cut to the columns of a terminal; @p bold where that is possible. Further
 * lines than a terminal has rows are not shown.
 */
void screen_line(bool bold, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Show the picture. */
void screen_end(void);

/** Wait for a key, at most @p ns. A key, or enum screen_event. */
int screen_wait(uint64_t ns);

/** Restore the terminal. Harmless twice. */
void screen_close(void);

#endif
