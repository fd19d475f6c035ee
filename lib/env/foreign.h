/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LMDB environments of other software, read in the order of their keys: the main
 * table only, one value a key.
 *
 * Nothing is written beside one: where it has a lock file that can be used, its
 * writers see this reader; where it has none, that no writer commits meanwhile is
 * looked after at every step.
 */
#ifndef LC_ENV_FOREIGN_H
#define LC_ENV_FOREIGN_H

#include <stdbool.h>

#include "env/env.h"

struct lc__foreign;

/** A key and its value; borrowed until the next step. */
struct lc__foreign_entry {
	lc_id key;
	struct lc__slice value;
	bool table; /* the key names a table: there is no value */
};

/** Do these bytes begin a data file of LMDB, on whatever machine? */
bool lc__foreign_is(const void *first, size_t size);
/** Does a directory hold one, or only its lock file? Then lc__foreign_open() says that the
 *  data file is missing. Fails where the system does not let it be read. */
LC_CHECKED lc_status lc__foreign_is_dir(const char *path, bool *out);

/**
 * Open a directory that holds data.mdb, or a data file. All pages that lead to
 * values are checked before LMDB sees them.
 * @return LC_OK; LC_NOT_MODULE if it is not an environment of this kind of machine;
 * LC_VERSION; LC_CORRUPT; LC_UNSUPPORTED for several values a key or keys in
 * another order; LC_INVALID for a module of this library; LC_BUSY while it is
 * written without a rest; as open(2).
 */
LC_CHECKED lc_status lc__foreign_open(const char *path, struct lc__foreign **out);

/** Keys of the main table. */
uint64_t lc__foreign_count(const struct lc__foreign *foreign);

/** Step to the next key. LC_END after the last; LC_CHANGED as below. */
LC_CHECKED lc_status lc__foreign_next(struct lc__foreign *foreign,
    struct lc__foreign_entry *out);

/** What was read since the last step is right: LC_OK; LC_CHANGED if another process
 *  wrote, and could not know that the old bytes were still needed. */
LC_CHECKED lc_status lc__foreign_check(const struct lc__foreign *foreign);

/** NULL is harmless. */
void lc__foreign_close(struct lc__foreign *foreign);

/* ---- writing ------------------------------------------------------------------- */

/*
 * A data file for other software: the main table only, one value a key. Nobody else sees
 * the file before it is finished, so it needs no lock file. Nothing is on disk before the
 * caller syncs the file.
 */

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
