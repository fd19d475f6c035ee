/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of the pages that stand in files of their own. */
#ifndef CACHEX_REPORT_HTML_PARTS_H
#define CACHEX_REPORT_HTML_PARTS_H

#include <stdio.h>

#include "report/facts.h"

/** The last part of a version's path, its name. */
const char *lc__html_name(const char *path);
/** The section of what became of the frames and boxes, and of the limits. */
void lc__html_frames(FILE *out, const struct lc__facts *facts);
/** The section of the version key, the fingerprint and the recipe's fields. */
void lc__html_recipe(FILE *out, const struct lc__facts *facts);

#endif
