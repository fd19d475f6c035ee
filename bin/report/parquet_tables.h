/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs, samples, boxes and rejected frames of a warehouse as Parquet files: their columns
 * are in cachex-warehouse(1). */
#ifndef CACHEX_REPORT_PARQUET_TABLES_H
#define CACHEX_REPORT_PARQUET_TABLES_H

#include <stdbool.h>

#include "lmdbcache.h"
#include "report/facts.h"
#include "report/survey.h"

/** The four tables, while they are written. */
struct lc__parquet_tables;

/**
 * Begin runs.parquet, samples.parquet, boxes.parquet and rejected.parquet in a
 * directory, which is created if it is missing.
 * @param warehouse  has the names of classes; borrowed until the end
 * @param replace    at the end, replace files of these names if they are Parquet files
 * @return LC_OK; LC_EXISTS if there is such a file; with @p replace, LC_INVALID if it
 * is not a Parquet file; LC_IO, LC_PERMISSION, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__parquet_tables_begin(const char *dir, bool replace,
    const lc_warehouse *warehouse, struct lc__parquet_tables **out);
/** Add a sample and its boxes. */
LC_CHECKED lc_status lc__parquet_tables_sample(struct lc__parquet_tables *tables,
    const struct lc__observation *observation);
/** Add the runs and the rejected frames, and rename the files into place. Frees
 *  @p tables also after a failure; then each file is either the old one or the complete
 *  new one. */
LC_CHECKED lc_status lc__parquet_tables_end(struct lc__parquet_tables *tables,
    const struct lc__facts *facts);
/** Abandon the files. NULL is harmless. */
void lc__parquet_tables_discard(struct lc__parquet_tables *tables);

#endif
