/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One record as a line of JSON, the format of dump and load. A tensor has id, dtype,
 * shape and data; any other value has format, id and value, which value_json.h describes.
 * Lines of both may follow one another.
 */
#ifndef CACHEX_UI_JSONRECORD_H
#define CACHEX_UI_JSONRECORD_H

#include <stdio.h>

#include "formats/loaded.h"
#include "lmdbcache.h"

/** Write the line of a tensor. */
void jsonrecord_write_tensor(FILE *out, lc_id id, const lc_tensor *tensor);
/** Write the line of another value. */
LC_CHECKED lc_status jsonrecord_write_value(FILE *out, lc_id id, const lc_value *value);

/** A line that has been read. */
struct jsonrecord {
	lc_id id;               /* in `line` or `decoded_id` */
	const lc_value *value;  /* that of `part` */
	struct lc__loaded line; /* the line, without its value */
	struct lc__loaded part; /* its value, or the tensor that it describes */
	void *decoded_id;       /* memory */
};

/** Read a line. LC_INVALID or LC_VERSION says what is wrong; nothing to free then. */
LC_CHECKED lc_status jsonrecord_read(const char *line, size_t size,
    struct jsonrecord *out);

/**
 * Read a line of arbitrary JSON as a record: the object is the value, and its member @p
 * field, a string or an integer, is the cache_id. A list of numbers becomes a tensor, i64
 * if all are integers and else f64, so that streams can read it; everything else stays
 * plain data. Errors as above.
 */
LC_CHECKED lc_status jsonrecord_read_any(const char *line, size_t size, const char *field,
    struct jsonrecord *out);

void jsonrecord_free(struct jsonrecord *record);

#endif
