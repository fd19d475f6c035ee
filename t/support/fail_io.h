/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls that fail on demand. A program that links fail_io.c with the linker's --wrap
 * for each of these functions has its own calls and the library's under control, not those
 * that libraries of others make. */
#ifndef T_FAIL_IO_H
#define T_FAIL_IO_H

#include <stdbool.h>

/** Let the @p n-th call from now on fail with @p error, counted from 1; with @p and_on all
 *  after it too. 0: none. close() closes and then fails. */
void fail_io(long n, int error, bool and_on);

/** Calls of this function alone count and fail, "link"; NULL: of all again. */
void fail_io_only(const char *name);

/** How many have failed since fail_io(). */
long fail_io_hits(void);

/** The function that failed first since fail_io(), "pread"; NULL: none. */
const char *fail_io_name(void);

#endif
