/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports as HTML pages, each in one file: without scripts, and without references to
 * other files. */
#ifndef CACHEX_REPORT_HTML_H
#define CACHEX_REPORT_HTML_H

#include <stdio.h>

#include "report/drift.h"
#include "report/facts.h"

/** The most rows of runs, and of shards, on a page. */
#define LC__HTML_ROWS 300
/** The most classes on a page. */
#define LC__HTML_CLASSES 100

/**
 * Write the page of a warehouse. The same warehouse gives the same bytes. The caller
 * checks ferror(@p out) for failed writes.
 */
LC_CHECKED lc_status lc__html_write(FILE *out, const struct lc__facts *facts);

/** Write the page of the changes between two warehouses. */
LC_CHECKED lc_status lc__html_drift(FILE *out, const struct lc__facts *old,
    const struct lc__facts *new, const struct lc__drift *drift);

/** The last component of a version's path: its name. */
const char *lc__html_name(const char *path);

#endif
