/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading the JSON of labels. Members without a meaning here are kept as metadata in
 * MessagePack: 64-bit integers, signed or unsigned, are kept exactly; other numbers
 * become floats, infinite if they are too large.
 */
#ifndef CACHEX_LABELS_LABEL_JSON_H
#define CACHEX_LABELS_LABEL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json_tree.h"
#include "lmdbcache.h"

/** The depth to which metadata may be nested. */
#define LC__METADATA_DEPTH 32

/**
 * Parse one JSON value; rules and tree are lc__json_parse()'s.
 * @return LC_OK, also if the text is malformed: then *out is NULL and @p why says what is
 * wrong and where. LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__label_parse(const void *bytes, size_t size,
    const struct lc__json_rules *rules, struct lc__json_tree *tree,
    const struct lc__json **out, char why[256]);

/** Four numbers in a list; false if it is something else. */
bool lc__label_numbers(const struct lc__json *json, double out[4]);
/** True for no member, null, and text of blanks only. */
bool lc__label_is_blank(const struct lc__json *json);

/** Is a member of an object kept? */
typedef bool (*lc__is_metadata)(const void *ctx, const struct lc__json *member);

/** The number of members that are kept. */
uint32_t lc__metadata_count(const struct lc__json *object, lc__is_metadata is,
    const void *ctx);
/** Append their names and values, without the head of a map; false if one is nested deeper
 *  than LC__METADATA_DEPTH. */
bool lc__metadata_pack(const struct lc__json *object, lc__is_metadata is, const void *ctx,
    struct lc__buf *out);
/** Append a value; false as above. */
bool lc__metadata_pack_value(const struct lc__json *json, struct lc__buf *out);

/* ---- files of any size -------------------------------------------------------- */

/** The largest element. */
#define LC__JSON_ELEMENT_MAX (64u << 20)

struct lc__json_element {
	size_t member;    /* index in the list of requested names */
	uint64_t offset;  /* offset of the element in the file */
	const char *text; /* text of the element; borrowed */
	uint32_t size;
};

typedef lc_status (*lc__json_found)(void *ctx, const struct lc__json_element *element);

/** The most members that can be requested. */
#define LC__JSON_MEMBERS 8

/**
 * Find the elements of the lists in the outermost object of a JSON file of any size, one
 * after another, in the memory of one. Of an element only its brackets are checked:
 * whoever gets it parses it. Begins at the start of the file.
 * @param names   members to look into, up to NULL; each is a list
 * @param needed  the first so many of them must be there
 * @return LC_OK; LC_CORRUPT with the byte where it is malformed, or where one of
 * the members is not a list or is a duplicate; what @p found returns; LC_IO,
 * LC_NO_MEMORY
 */
LC_CHECKED lc_status lc__json_stream(int fd, const char *path, const char *const *names,
    size_t needed, lc__json_found found, void *ctx);

#endif
