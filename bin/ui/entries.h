/* SPDX-License-Identifier: BSD-2-Clause */
/* What is in a directory. */
#ifndef CACHEX_UI_ENTRIES_H
#define CACHEX_UI_ENTRIES_H

#include <dirent.h>

/**
 * The entries of a directory in byte order, without those whose name begins
 * with a dot: as scandir(), -1 with errno or their number; the caller frees
 * each and the array.
 */
int entries_read(const char *dir, struct dirent ***out);

#endif
