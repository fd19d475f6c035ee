/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs, samples, boxes and rejected frames of a warehouse as Parquet files: their columns
 * are in cachex-warehouse(1). */
#ifndef CACHEX_REPORT_PARQUET_TABLES_H
#define CACHEX_REPORT_PARQUET_TABLES_H

#include <stdbool.h>

#include "lmdbcache.h"
#include "report/facts.h"
#include "report/survey.h"

/** Four tables being written. */
struct lc__parquet_tables;

/**
 * Begin runs.parquet, samples.parquet, boxes.parquet and rejected.parquet in a
 * directory, which is made if it is missing.
 * @param warehouse  has the names of classes; borrowed until the end
 * @param replace    files of these names that are Parquet files are replaced at the end
 * @return LC_OK; LC_EXISTS for a file of such a name, LC_INVALID with @p replace for one
 * that is something else; LC_IO, LC_PERMISSION, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__parquet_tables_begin(const char *dir, bool replace,
    const lc_warehouse *warehouse, struct lc__parquet_tables **out);
/** Add a sample and its boxes. */
LC_CHECKED lc_status lc__parquet_tables_sample(struct lc__parquet_tables *tables,
    const struct lc__observation *observation);
/** Add the runs and rejected frames and put the files in their places. Frees @p tables,
 *  also after a failure; each file is then the old one or the whole new one. */
LC_CHECKED lc_status lc__parquet_tables_end(struct lc__parquet_tables *tables,
    const struct lc__facts *facts);
/** Give up. NULL is harmless. */
void lc__parquet_tables_discard(struct lc__parquet_tables *tables);

#endif
