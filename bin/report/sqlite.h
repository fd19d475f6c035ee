/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a report as an SQLite database, whose tables cachex-warehouse(1) describes.
 * Only sqlite.c includes sqlite3.h.
 */
#ifndef CACHEX_REPORT_SQLITE_H
#define CACHEX_REPORT_SQLITE_H

#include <stdint.h>

#include "lmdbcache.h"
#include "report/facts.h"
#include "report/survey.h"

/** A database that is being written. */
struct lc__sqlite;

/**
 * Check whether a new database may replace @p path, without opening it in SQLite.
 * @return LC_OK if the file is empty or a report's database; LC_NO_FILE if there is
 * none; LC_INVALID for any other file; LC_BUSY if a journal lies beside it: a program
 * writes the file, or died while it wrote; LC_IO.
 */
LC_CHECKED lc_status lc__sqlite_may_replace(const char *path);

/** Create the tables in an empty file that nobody else uses, and begin a
 *  transaction. */
LC_CHECKED lc_status lc__sqlite_begin(const char *path, struct lc__sqlite **out);
/** Add a sample and its boxes. */
LC_CHECKED lc_status lc__sqlite_sample(struct lc__sqlite *db,
    const struct lc__observation *observation);
/** Add the other tables, commit and close. Frees @p db, also after a failure. */
LC_CHECKED lc_status lc__sqlite_end(struct lc__sqlite *db, const struct lc__facts *facts);
/** Close without a commit; does not remove the file. NULL is harmless. */
void lc__sqlite_discard(struct lc__sqlite *db);

#endif
