/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON of labels. Integers up to 64 bits without a sign are kept exactly, and
 * numbers too large for a float are infinite instead of an error. Names that
 * stand twice in an object are an error.
 */
#ifndef CACHEX_LABELS_JSON_LOAD_H
#define CACHEX_LABELS_JSON_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** How deep metadata may be nested. */
#define LC__LABEL_JSON_DEPTH 32

/**
 * Parse one JSON value. NULL in @p out with a text in @p why if it is malformed.
 * @return LC_OK; LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__json_load(const void *bytes, size_t size, json_t **out,
    char why[256]);

/** A number as a float; false if it is none. */
bool lc__json_float(const json_t *json, double *out);
/** An integer of 0 to 2^64 - 1; false if it is none. */
bool lc__json_uint(const json_t *json, uint64_t *out);
/** True for text that is no number in disguise. */
bool lc__json_is_text(const json_t *json);
/** Four numbers in a list; false if it is none. */
bool lc__json_box(const json_t *json, double out[4]);
/** True for no member, null, and text of blanks only. */
bool lc__json_is_blank(const json_t *json);

/** Append as MessagePack; false if it is nested deeper than LC__LABEL_JSON_DEPTH. */
bool lc__json_pack(const json_t *json, struct lc__buf *out);

#endif
