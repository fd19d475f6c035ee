/* SPDX-License-Identifier: BSD-2-Clause */
/* Shards from files into memory: all their bytes, or their sections only. */
#ifndef LC_WAREHOUSE_LOAD_H
#define LC_WAREHOUSE_LOAD_H

#include <stdint.h>

#include "base/team.h"
#include "lmdbcache.h"
#include "warehouse/files.h"

/**
 * Memory of a shard's size that has its header, its row offsets with the whole
 * blocks in which they lie, and its block checksums, each in its place; all other
 * bytes are zero and take no memory. The file may say what it likes.
 */
LC_CHECKED lc_status lc__load_sections(int fd, const char *path, uint64_t size,
    unsigned char **memory);

/** All bytes, in huge pages where the system has them. Counts steps of the work. */
LC_CHECKED lc_status lc__load_all(int fd, const char *path, uint64_t size,
    struct lc__team *team, unsigned char **memory);

/** Give the memory of @p size bytes back. */
void lc__load_free(unsigned char *memory, uint64_t size);

/** Read exactly this range of a file; LC_CORRUPT if it ends before. */
LC_CHECKED lc_status lc__load_range(int fd, const char *path, uint64_t from,
    uint64_t size, void *out);

#endif
