/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports as one HTML page each: no script, nothing from elsewhere. */
#ifndef CACHEX_REPORT_HTML_H
#define CACHEX_REPORT_HTML_H

#include <stdio.h>

#include "report/drift.h"
#include "report/facts.h"

/** Rows of runs, and of shards, that a page shows at most. */
#define LC__HTML_ROWS 300
/** Classes that a page shows at most. */
#define LC__HTML_CLASSES 100

/**
 * The page of a warehouse. The same warehouse gives the same bytes. Look at
 * @p out's own state for failed writes.
 */
LC_CHECKED lc_status lc__html_write(FILE *out, const struct lc__facts *facts);

/** The page of the changes between two warehouses. */
LC_CHECKED lc_status lc__html_drift(FILE *out, const struct lc__facts *old,
    const struct lc__facts *new, const struct lc__drift *drift);

/** The last part of a version's path, its name. */
const char *lc__html_name(const char *path);

#endif
