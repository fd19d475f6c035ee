/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LMDB environments of other software, read in the order of their keys: only the main
 * table, with one value for each key. Nothing is written next to one. If it has a usable
 * lock file, its writers see this reader; if not, every step checks that no writer has
 * committed meanwhile.
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
	bool table; /* the key names a table, not a value */
};

/** Do these bytes begin an LMDB data file, of any kind of machine? */
bool lc__foreign_is(const void *first, size_t size);
/** Does a directory contain one, or only its lock file? In that case lc__foreign_open()
 *  reports that the data file is missing. Fails if the directory cannot be read. */
LC_CHECKED lc_status lc__foreign_is_dir(const char *path, bool *out);

/**
 * Open a directory that contains data.mdb, or a data file. All pages that lead to values
 * are checked before LMDB reads them.
 * @return LC_OK; LC_NOT_MODULE if it is not an environment for this kind of machine;
 * LC_VERSION; LC_CORRUPT; LC_UNSUPPORTED for several values for a key, or keys in another
 * order; LC_INVALID for a module of this library; LC_BUSY while it is written without
 * pause; as open(2).
 */
LC_CHECKED lc_status lc__foreign_open(const char *path, struct lc__foreign **out);

/** Keys of the main table. */
uint64_t lc__foreign_count(const struct lc__foreign *foreign);

/** Step to the next key. LC_END after the last; LC_CHANGED as below. */
LC_CHECKED lc_status lc__foreign_next(struct lc__foreign *foreign,
    struct lc__foreign_entry *out);

/** Was everything since the last step read correctly? LC_OK; LC_CHANGED if another
 *  process wrote and could not know that the old pages were still in use. */
LC_CHECKED lc_status lc__foreign_check(const struct lc__foreign *foreign);

/** NULL is allowed. */
void lc__foreign_close(struct lc__foreign *foreign);

/* ---- writing ------------------------------------------------------------------- */

/*
 * A data file for other software: only the main table, with one value for each key. No
 * other process sees the file before it is finished, so it needs no lock file. The caller
 * syncs the file at the end.
 */

struct lc__foreign_writer;

/** The longest key. */
#define LC__FOREIGN_KEY_MAX 511

/** Begin in an empty file. @p path is its name for messages. LC_NO_MEMORY, LC_IO ... */
LC_CHECKED lc_status lc__foreign_create(const char *file, const char *path,
    struct lc__foreign_writer **out);
/** Add a new key of 1 to LC__FOREIGN_KEY_MAX bytes; its value is @p head followed by @p
 *  body. LC_NO_SPACE, LC_UNSUPPORTED for a value of 2 GiB or more. */
LC_CHECKED lc_status lc__foreign_put(struct lc__foreign_writer *writer, lc_id key,
    lc_id head, lc_id body);
/** Write the rest. Frees the writer, also on failure. */
LC_CHECKED lc_status lc__foreign_finish(struct lc__foreign_writer *writer);
/** Discard it. NULL is allowed. */
void lc__foreign_discard(struct lc__foreign_writer *writer);

#endif
