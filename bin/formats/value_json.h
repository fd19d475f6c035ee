/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values as JSON. nil is null; booleans, strings, lists and maps are JSON's own;
 * an integer has neither point nor exponent, a float has one. What JSON lacks is
 * an object with one name that begins with a dollar:
 *
 *   {"$tuple": [...]}            a tuple
 *   {"$bytes": "base64"}         bytes
 *   {"$str": "base64"}           a string that is not UTF-8
 *   {"$u64": "decimal"}          an integer of 2^63 and more
 *   {"$float": "nan"}            also "inf", "-inf", and "nan:" with the 16
 *                                hexadecimal digits of a NaN with other bits
 *   {"$map": [[name, value]...]} a map with a name that begins with a dollar or
 *                                is not UTF-8, which is then a $str
 *   {"$tagged": [tag, value]}    a tagged value
 *   {"$pairs": [[key, value]...]}
 *                                pairs
 *   {"$tensor": "f32[3,4]"}      a tensor without its data,
 *   {..., "data": "base64"}      with it, little-endian in row-major order,
 *   {..., "file": "name"}        or with the file that has it
 */
#ifndef CACHEX_FORMATS_VALUE_JSON_H
#define CACHEX_FORMATS_VALUE_JSON_H

#include <stdio.h>

#include "base/buf.h"
#include "formats/loaded.h"
#include "lmdbcache.h"

/** What is written of a tensor. */
enum lc__json_data {
	LC__JSON_SUMMARY, /* its type */
	LC__JSON_DATA,    /* its bytes too */
	LC__JSON_FILE     /* the name of a file, which lc__json_tensors.file gives */
};

struct lc__json_tensors {
	enum lc__json_data data;
	/** Append the name of the file that has the tensor at a path. */
	lc_status (*file)(void *ctx, const char *path, const lc_tensor *tensor,
	    struct lc__buf *name);
	void *ctx;
};

/**
 * Write a value on one line, without an end of line.
 * @return LC_OK; what file() returned; LC_NO_MEMORY. Look at @p out's own state
 * for failed writes.
 */
LC_CHECKED lc_status lc__value_json_write(FILE *out, const lc_value *value,
    const struct lc__json_tensors *tensors);
/** The same as a malloc'ed string, tensors by their types; NULL without memory. */
char *lc__value_json_text(const lc_value *value);

/**
 * Where the data of a tensor in a file of its own comes from.
 * @param tensor  its type; the data is to be set
 * @param loaded  for memory that must stay
 */
typedef lc_status (*lc__json_open)(void *ctx, const char *file, lc_tensor *tensor,
    struct lc__loaded *loaded);

/**
 * Read a value.
 * @param open  NULL if there are no files: then they are refused
 * @param out   all zero; to be freed with lc__loaded_free(), also on failure
 * @return LC_OK; LC_INVALID, with the path of the invalid part; the status of
 * open(); LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__value_json_read(const void *text, size_t size,
    lc__json_open open, void *ctx, struct lc__loaded *out);

/**
 * Read an object and apart from it one of its members, which may be as deep as a
 * value can be. member->value stays NULL if there is none of that name.
 */
LC_CHECKED lc_status lc__value_json_split(const void *text, size_t size, const char *name,
    struct lc__loaded *rest, struct lc__loaded *member);

#endif
