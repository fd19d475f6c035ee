/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small documents of JSON. A text becomes an array of values, each followed by those that
 * it holds:
 *
 *	struct lc__json_tree tree = { 0 };
 *	const struct lc__json *item;
 *
 *	if (lc__json_parse(text, size, NULL, &tree) == LC_OK)
 *		lc__json_each(item, lc__json_get(tree.values, "shards"))
 *			...
 *	lc__json_free(&tree);
 *
 * Numbers stay as their text has them. Names are looked for one after another: whoever asks
 * for each member of an object that others wrote goes through it once with
 * lc__json_each().
 */
#ifndef LC_BASE_JSON_TREE_H
#define LC_BASE_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_scan.h"
#include "lmdbcache.h"

/** A value. It and all that it points to live as long as the tree and the text do. */
struct lc__json {
	enum lc__json_kind kind;
	uint32_t count;   /* members of an object, elements of an array */
	uint32_t span;    /* values from this one on to the next beside it */
	const char *name; /* of a member: UTF-8 without escapes, ends with a NUL and holds
	                        none; else NULL */
	const char *string; /* of a string: likewise, but may hold NULs; else NULL */
	size_t string_size;
	struct lc__json_slice source; /* as the text has it, borrowed from there */
};

/** Zero before the first use. */
struct lc__json_tree {
	struct lc__json *values; /* the first is the text's own */
	size_t count, room;
	char *strings; /* what names and strings point to */
	size_t strings_room;
	char wrong[160];     /* after LC_CORRUPT: what is wrong */
	size_t line, column; /* after LC_CORRUPT: where, in bytes, both from 1 */
};

/** What is accepted beyond JSON in which no object repeats a name and no string holds
 *  half of a surrogate pair. */
struct lc__json_rules {
	bool nul;         /* strings may hold NULs; names never do */
	const char *only; /* of the members of the outermost object, arrays and objects of
	                     other names are left empty, and what is in them is not checked;
	                     NULL: all are read */
};

/**
 * Parse a text, a byte order mark before it or not.
 * @param text   must stay as it is while the tree is used
 * @param rules  NULL for none of them
 * @param tree   its memory is used again; to be freed with lc__json_free()
 * @return LC_OK; LC_CORRUPT, "WHAT (line 1, column 7)"; LC_NO_MEMORY. Without LC_OK the
 * tree is empty.
 */
LC_CHECKED lc_status lc__json_parse(const void *text, size_t size,
    const struct lc__json_rules *rules, struct lc__json_tree *tree);
void lc__json_free(struct lc__json_tree *tree);

/** Loop over the members of an object or the elements of an array; NULL and other values
 *  have none. */
#define lc__json_each(item, parent) \
	for ((item) = lc__json_first(parent); (item) != NULL; \
	     (item) = lc__json_after((parent), (item)))

static inline const struct lc__json *
lc__json_first(const struct lc__json *parent)
{
	return parent != NULL && parent->count > 0 ? parent + 1 : NULL;
}

static inline const struct lc__json *
lc__json_after(const struct lc__json *parent, const struct lc__json *item)
{
	return item + item->span < parent + parent->span ? item + item->span : NULL;
}

/** Is there a value, of this kind? */
static inline bool
lc__json_is(const struct lc__json *value, enum lc__json_kind kind)
{
	return value != NULL && value->kind == kind;
}

/** A member by its name; NULL if there is none, or if @p object is not an object. */
const struct lc__json *lc__json_get(const struct lc__json *object, const char *name);
/** The text of a string, NULL of anything else. */
const char *lc__json_text(const struct lc__json *value);

/** Is it a number without point and exponent, of any size? */
bool lc__json_is_integer(const struct lc__json *value);
/** The value of such a number if it fits into 64 bits; else false, and *out is
 *  unchanged. */
bool lc__json_int64(const struct lc__json *value, int64_t *out);
bool lc__json_uint64(const struct lc__json *value, uint64_t *out);
/** Any number as the nearest double, infinite if it is too large; false if it is not a
 *  number. */
bool lc__json_double(const struct lc__json *value, double *out);

#endif
