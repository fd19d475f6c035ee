/* SPDX-License-Identifier: BSD-2-Clause */
/* Assertions for the engine's tests: in a test's body (assert_), and in the threads
 * and child processes that it starts (need_), where check's own must not be used. */
#ifndef T_NEED_H
#define T_NEED_H

#include <check.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lmdbcache.h"

/** In a test's body: the call returns @p want; the report carries the error's text. */
#define assert_status(expr, want) \
	do { \
		const lc_status got_ = (expr); \
		ck_assert_msg(got_ == (want), "%s is '%s' (%s), expected '%s'", \
		    #expr, lc_status_name(got_), lc_last_error()->text, \
		    lc_status_name(want)); \
	} while (0)
#define assert_ok(expr) assert_status(expr, LC_OK)

/** Anywhere: if not, say where on standard error and end the process with status 1. */
#define need(cond) need_true((cond), __FILE__, __LINE__, #cond)
#define need_status(expr, want) \
	need_same_status((expr), (want), __FILE__, __LINE__, #expr)
#define need_ok(expr) need_status(expr, LC_OK)

void need_true(bool cond, const char *file, int line, const char *what);
void need_same_status(lc_status got, lc_status want, const char *file, int line,
    const char *what);

/** Run @p fn in a child that ends with status 0 when it returns. */
pid_t child_start(void (*fn)(void *ctx), void *ctx);
/** Wait for a child: its exit status, or 128 + the signal that ended it. */
int child_wait(pid_t pid);
/** Both: run @p fn in a child to its end. */
int child_run(void (*fn)(void *ctx), void *ctx);

#endif
