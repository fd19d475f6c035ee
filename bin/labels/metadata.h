/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON of labels: what is common to reading it, and the members that nobody reads, which
 * are kept as metadata in MessagePack. There integers of 64 bits with or without a sign
 * are kept exactly; others, and numbers too large for a float, become floats, the latter
 * infinite.
 */
#ifndef CACHEX_LABELS_METADATA_H
#define CACHEX_LABELS_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json_tree.h"
#include "lmdbcache.h"

/** How deep metadata may be nested. */
#define LC__METADATA_DEPTH 32

/**
 * Parse one JSON value; rules and tree are lc__json_parse()'s.
 * @return LC_OK, also if the text is malformed: then *out is NULL and @p why says what is
 * wrong and where. LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__label_parse(const void *bytes, size_t size,
    const struct lc__json_rules *rules, struct lc__json_tree *tree,
    const struct lc__json **out, char why[256]);

/** Four numbers in a list; false if it is none. */
bool lc__label_numbers(const struct lc__json *json, double out[4]);
/** True for no member, null, and text of blanks only. */
bool lc__label_is_blank(const struct lc__json *json);

/** Whether a member of an object is kept. */
typedef bool (*lc__is_metadata)(const void *ctx, const struct lc__json *member);

/** How many members are. */
uint32_t lc__metadata_count(const struct lc__json *object, lc__is_metadata is,
    const void *ctx);
/** Append their names and values, without the head of a map; false if one is nested deeper
 *  than LC__METADATA_DEPTH. */
bool lc__metadata_pack(const struct lc__json *object, lc__is_metadata is, const void *ctx,
    struct lc__buf *out);
/** Append a value; false as above. */
bool lc__metadata_pack_value(const struct lc__json *json, struct lc__buf *out);

#endif
