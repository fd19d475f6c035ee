/* SPDX-License-Identifier: BSD-2-Clause */
/* The rejected frames of a warehouse, a line of rejected.jsonl each. */
#ifndef CACHEX_REPORT_REJECTS_H
#define CACHEX_REPORT_REJECTS_H

#include <stdbool.h>
#include <stdio.h>

#include "lmdbcache.h"
#include "report/fields.h"

/** Bytes of the longest line. */
#define LC__REJECT_LINE 65536

struct lc__rejects {
	FILE *file;
	char *path;
	unsigned long long line; /* that was read last */
	char *text;
};

/** Begin. LC_NO_FILE if the version has no such file. */
LC_CHECKED lc_status lc__rejects_open(const char *version_dir,
    struct lc__rejects *out);
/**
 * The next frame: its members, to be freed with lc__fields_free().
 * @return LC_OK; LC_END at the end; LC_CORRUPT, naming the line; LC_IO.
 */
LC_CHECKED lc_status lc__rejects_next(struct lc__rejects *rejects,
    struct lc__fields *out);
void lc__rejects_close(struct lc__rejects *rejects);

#endif
