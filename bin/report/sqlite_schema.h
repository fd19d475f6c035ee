/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of a warehouse's database, which cachex-warehouse(1) describes, and the
 * statements that fill them. */
#ifndef CACHEX_REPORT_SQLITE_SCHEMA_H
#define CACHEX_REPORT_SQLITE_SCHEMA_H

/** Run first; leaves a transaction open. */
extern const char lc__sqlite_schema[];

/** The statements, in the order of their tables. */
enum lc__sqlite_insert {
	LC__INSERT_WAREHOUSE, LC__INSERT_RUNS, LC__INSERT_REASONS,
	LC__INSERT_REJECTED, LC__INSERT_SERIES, LC__INSERT_SHARDS,
	LC__INSERT_HISTOGRAMS, LC__INSERT_CLASSES, LC__INSERT_SAMPLES,
	LC__INSERT_BOXES, LC__INSERTS
};
extern const char *const lc__sqlite_inserts[LC__INSERTS];

#endif
