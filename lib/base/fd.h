/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening files. Descriptors 0 to 2 belong to the program: where they are closed, the
 * next file opened gets such a number, and whatever the program prints lands in it.
 * So the library opens files with these functions alone. All of their descriptors are
 * 3 or higher and closed in exec(3); they fail as the system's functions do.
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
 * Around a call into another library that opens files by itself: until
 * lc__fds_release() no new descriptor of this process is below 3, as the free ones
 * are taken. They stay as good as closed: reads and writes there fail with EBADF.
 * Calls from several threads may overlap. errno is kept.
 */
void lc__fds_hold(void);
void lc__fds_release(void);

#endif
