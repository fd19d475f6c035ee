/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocations that fail on demand. A program that links fail_malloc.c with the linker's
 * --wrap for each of these functions has all of its own and the library's under control. */
#ifndef T_FAIL_MALLOC_H
#define T_FAIL_MALLOC_H

#include <stdbool.h>

/** Let the @p n-th allocation from now on fail, counted from 1; with @p and_on all after
 *  it too. 0: none. */
void fail_malloc(long n, bool and_on);

/** How many have failed since fail_malloc(). */
long fail_malloc_hits(void);

#endif
