/* SPDX-License-Identifier: BSD-2-Clause */
/* A summary as comma-separated values, RFC 4180. */
#ifndef CACHEX_REPORT_CSV_H
#define CACHEX_REPORT_CSV_H

#include <stdbool.h>
#include <stdio.h>

#include "format/summary.h"

/**
 * Write a header, a row for each run and one for the total; lines end with CR LF:
 * row,run_id,total,non_empty,empty,missing_image,missing_file,invalid,written.
 * The caller checks ferror(@p out) for failed writes.
 * @param spreadsheet  put an apostrophe before a run_id that a spreadsheet would take
 *                     for a formula
 */
void lc__csv_write(FILE *out, const struct lc__summary *summary, bool spreadsheet);

#endif
