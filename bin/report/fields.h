/* SPDX-License-Identifier: BSD-2-Clause */
/* The members of a JSON object as names and texts, for a table of them. */
#ifndef CACHEX_REPORT_FIELDS_H
#define CACHEX_REPORT_FIELDS_H

#include <stddef.h>

#include "lmdbcache.h"

struct lc__field {
	char *name;
	char *value; /* a string as it is, anything else as JSON; NULL for null */
};

struct lc__fields {
	struct lc__field *rows; /* in the order of the text */
	size_t n;
};

/** Read. A text that is no JSON object is one field without a name. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__fields_read(const char *text, struct lc__fields *out);
/** The value of a field, NULL if it is null or there is none of that name. */
const char *lc__fields_find(const struct lc__fields *fields, const char *name);
void lc__fields_free(struct lc__fields *fields);

#endif
