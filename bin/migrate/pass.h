/* SPDX-License-Identifier: BSD-2-Clause */
/* The pass over the lines: what its steps and the records in them share. */
#ifndef CACHEX_MIGRATE_PASS_H
#define CACHEX_MIGRATE_PASS_H

#include "migrate/migration.h"

/** What is used again for every line. */
struct lc__pass {
	struct lc__migration *run;
	struct lc__lines lines;
	struct lc__line_entry entry;
	struct lc__buf out;      /* the step's new lines */
	struct lc__buf id;       /* the record's */
	struct lc__buf elements; /* its array's */
	lc_tensor tensor;        /* which that is; its data are NULL for none */
	bool extract;            /* arrays are extracted */
	bool compared;           /* the tensor was, with what is stored under its id */
	bool same;               /* and is that */
	bool changed;            /* a line of this step is another one now */
	bool put;                /* a tensor or claim was put in this step */
};

/** Append a line as it is. */
LC_CHECKED lc_status lc__pass_keep(struct lc__pass *pass, const char *text, size_t size);

/** Append what becomes of a line; bad ones are told of, counted and kept. */
LC_CHECKED lc_status lc__pass_line(struct lc__pass *pass,
    const struct lc__text_line *line);

#endif
