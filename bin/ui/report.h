/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages, exit statuses and the two standard streams. */
#ifndef CACHEX_UI_REPORT_H
#define CACHEX_UI_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/image_name.h"
#include "lmdbcache.h"

/** Exit statuses, as cachex(1) documents them. */
enum exit_status {
	EXIT_DONE = 0,  /* done; yes */
	EXIT_NO = 1,    /* not found; no, as the answer to a question */
	EXIT_USAGE = 2, /* wrong option, operand, variable or configuration */
	EXIT_DATA = 3,  /* bad input data; damage in what is stored */
	EXIT_SYSTEM = 4 /* I/O, space, permission, memory */
	/* 128 + the signal's number, if one stopped it: see interrupt.h */
};

/** The name that messages start with: "cachex: put: ". */
void report_command(const char *name);

/** What comes before "cachex:" in errors and notes, "FILE:LINE: ", borrowed; NULL for nothing.
 *  In JSON it is a member, "place", without the ": ". */
void report_place(const char *place);

/** Print messages as JSON even if the settings do not ask for it. */
void report_as_json(bool json);

/**
 * One line on standard error; with --json it is an object {"error": {...}}.
 * @param exit  the exit status that this error alone leads to, which is returned
 */
int report_error(int exit, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** The same with EXIT_USAGE. */
#define report_usage(...) report_error(EXIT_USAGE, __VA_ARGS__)

/** The same with EXIT_SYSTEM: "out of memory". */
int report_no_memory(void);

/** The same with the library's last error. */
int report_library(int exit);

/**
 * The line for work that a signal stopped, "stopped WHERE; HOW"; may be called by the
 * signal's handler: it only writes. @p where begins with a blank or is empty.
 */
void report_stopped(int exit, const char *where, const char *how);

/** A line on standard error unless -q; with --json {"note": {...}}. */
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * Report how many images of unread kinds were ignored, if any were. An exit status:
 * EXIT_DATA if nothing else was found, which is then an error.
 */
int report_ignored(const struct lc__images_ignored *ignored, bool nothing_else);

/** Print the library's last error and return the exit status that fits. */
int report_status(lc_status status);

/** As report_status(), where LC_INVALID means the user's argument. */
int report_argument(lc_status status);

/** Print "PATH: text of errno" and return EXIT_SYSTEM. */
int report_errno(const char *path);

/** The worse of two exit statuses, for commands that continue after a failure. */
int report_worse(int a, int b);

/** True if standard output cannot be written; call it right after writing. */
bool report_output_failed(void);

/** Flush standard output; an exit status, EXIT_SYSTEM if it cannot be written. */
int report_finish(int status);

/** Starts and ends bold text on @p stream, "" where colour is off. */
const char *report_bold(FILE *stream);

const char *report_plain(FILE *stream);

/** Ask on the terminal; EXIT_DONE for yes. Where that is impossible, EXIT_USAGE. */
int ask(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** The usage error without a terminal to ask on. */
int ask_impossible(void);

/** Print a line that names a finding; as JSON under the name @p what. */
void finding_show(const char *module, const char *what, const char *line);

#endif
