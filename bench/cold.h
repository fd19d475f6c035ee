/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that have to be read from the disk. */
#ifndef BENCH_COLD_H
#define BENCH_COLD_H

/**
 * Drop a file's pages from the page cache. Nobody may have it mapped. Ends the program
 * if pages stay.
 */
void cold_drop(const char *path);

#endif
