/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of lib/warehouse/sources*.c share. */
#ifndef LC_WAREHOUSE_SOURCES_PRIVATE_H
#define LC_WAREHOUSE_SOURCES_PRIVATE_H

#include "warehouse/sources.h"

/** Whether a list may have it: it stays below the root, or is an absolute file. */
bool lc__sources_path_ok(const char *path, bool directory);
/** Append a path as the text has it: one line, whatever is in it. */
void lc__sources_put_path(const char *path, struct lc__buf *out);
/** lc__sources_hash_file(), with @p path from directory @p dir. */
LC_CHECKED lc_status lc__sources_hash_at(int dir, const char *path, uint64_t hash[2],
    uint64_t *size);

#endif
