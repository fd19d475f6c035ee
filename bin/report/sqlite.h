/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A report as an SQLite database; cachex-warehouse(1) describes its tables.
 * Nothing but sqlite.c includes sqlite3.h.
 */
#ifndef CACHEX_REPORT_SQLITE_H
#define CACHEX_REPORT_SQLITE_H

#include <stdint.h>

#include "lmdbcache.h"
#include "report/facts.h"
#include "report/survey.h"

/** A database being written. */
struct lc__sqlite;

/**
 * Whether a new database may take the place of @p path, which is not opened.
 * @return LC_OK if the file is a database of this kind, or empty;
 * LC_NO_FILE if there is nothing; LC_INVALID for anything else; LC_BUSY if
 * there is a journal beside it: a program writes the file, or died while it did; LC_IO.
 */
LC_CHECKED lc_status lc__sqlite_may_replace(const char *path);

/** Begin, in an empty file without other users: the schema and a transaction. */
LC_CHECKED lc_status lc__sqlite_begin(const char *path, struct lc__sqlite **out);
/** Add a sample and its boxes. */
LC_CHECKED lc_status lc__sqlite_sample(struct lc__sqlite *db,
    const struct lc__observation *observation);
/** Add everything else, commit and close. Frees @p db, also after a failure. */
LC_CHECKED lc_status lc__sqlite_end(struct lc__sqlite *db, const struct lc__facts *facts);
/** Close without a commit; the file is left as it is. NULL is harmless. */
void lc__sqlite_discard(struct lc__sqlite *db);

#endif
