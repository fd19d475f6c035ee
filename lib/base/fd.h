/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening files. Descriptors 0 to 2 belong to the program: if one is closed, the next
 * file opened gets its number, and what the program prints ends up in that file. So the
 * library opens files only by these functions. Their descriptors are 3 or higher and
 * closed by exec(3); they fail like the system's functions.
 */
#ifndef LC_BASE_FD_H
#define LC_BASE_FD_H

#include <stdio.h>
#include <sys/types.h>

/** As open(2), with O_CLOEXEC. */
int lc__open(const char *path, int flags, ... /* mode_t mode */);
/** As openat(2), with O_CLOEXEC. */
int lc__openat(int dir, const char *path, int flags, ... /* mode_t mode */);
/** As fopen(3); @p mode must contain "e". */
FILE *lc__fopen(const char *path, const char *mode);
/** As pipe2(2), with O_CLOEXEC. */
int lc__pipe(int ends[2]);

/**
 * Call these before and after a function of another library that opens files itself:
 * until lc__fds_release() the process gets no new descriptor below 3, because the free
 * ones are occupied. They behave as if closed: reads and writes fail with EBADF. Calls
 * from several threads may overlap. errno is kept.
 */
void lc__fds_hold(void);
void lc__fds_release(void);

#endif
