/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A data file of LMDB for other software: the main table only, one value a key. Nobody
 * else sees the file before it is finished, so that it needs no lock file, and nothing is
 * on disk before its maker syncs it.
 */
#ifndef LC_ENV_FOREIGN_WRITE_H
#define LC_ENV_FOREIGN_WRITE_H

#include "lmdbcache.h"

struct lc__foreign_writer;

/** The longest key. */
#define LC__FOREIGN_KEY_MAX 511

/** Begin in an empty file. @p path is that for messages. LC_NO_MEMORY, LC_IO … */
LC_CHECKED lc_status lc__foreign_create(const char *file, const char *path,
    struct lc__foreign_writer **out);
/** Add a key that is not there yet, of 1 to LC__FOREIGN_KEY_MAX bytes; its value is
 *  @p head and then @p body. LC_NO_SPACE, LC_UNSUPPORTED for a value of 2 GiB and more. */
LC_CHECKED lc_status lc__foreign_put(struct lc__foreign_writer *writer, lc_id key,
    lc_id head, lc_id body);
/** Write what is left. Frees the writer, also on failure. */
LC_CHECKED lc_status lc__foreign_finish(struct lc__foreign_writer *writer);
/** Give up. NULL is harmless. */
void lc__foreign_discard(struct lc__foreign_writer *writer);

#endif
