/* SPDX-License-Identifier: BSD-2-Clause */
/* The directory that a bench writes its data sets to. */
#ifndef BENCH_SCRATCH_H
#define BENCH_SCRATCH_H

#include <stdint.h>

/**
 * A fresh directory under $BENCH_DIR, or under the working directory, removed
 * when the program ends, however it ends. Refuses a file system in memory, where
 * durable writes mean nothing, and one with less than @p bytes free.
 */
const char *scratch_make(uint64_t bytes);
/** Remove what stands in it now, and wait for that. */
void scratch_end(void);

/** "ext4" and the like. */
const char *scratch_filesystem(void);

/** rm -rf. */
void scratch_remove(const char *path);

/** Bytes that the files below a directory take up: allocated, or as their sizes say. */
double scratch_allocated(const char *dir);
double scratch_size(const char *dir);

#endif
