/* SPDX-License-Identifier: BSD-2-Clause */
/* The size of an image that a JSON object tells. */
#ifndef CACHEX_UI_JSONSIZE_H
#define CACHEX_UI_JSONSIZE_H

#include "base/buf.h"
#include "lmdbcache.h"

/** Names of members. */
struct jsonsize_fields {
	const char *width, *height; /* whole numbers, 1 to 2^32 - 1 */
	const char *name;           /* a string; may be missing */
};

struct jsonsize {
	uint32_t width, height;
	bool named;
};

/**
 * Read an object.
 * @param name  gets the name, if there is one, with a NUL behind it
 * @return LC_OK; LC_CORRUPT with what is wrong, "no field width"; LC_NO_MEMORY.
 */
LC_CHECKED lc_status jsonsize_read(const struct jsonsize_fields *fields, const char *text,
    size_t size, struct lc__buf *name, struct jsonsize *out);

#endif
