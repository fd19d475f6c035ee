/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON that keeps its text: the members of an object as slices of the line that it
 * stands on. Everything is checked against RFC 8259, UTF-8 included; no number is
 * converted and nothing is allocated. A name may come twice: that is for the caller to
 * judge, as is half of a surrogate pair, which the grammar allows.
 */
#ifndef CACHEX_FORMATS_JSON_SCAN_H
#define CACHEX_FORMATS_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** What a slice holds. */
enum lc__json_kind {
	LC__JSON_NULL, LC__JSON_TRUE, LC__JSON_FALSE, LC__JSON_NUMBER, LC__JSON_STRING,
	LC__JSON_ARRAY, LC__JSON_OBJECT
};

/** Arrays and objects within one another, at most. */
#define LC__JSON_DEPTH 1024

/** A slice of the text. */
struct lc__json_slice {
	const char *text;
	size_t size;
};

struct lc__json_member {
	struct lc__json_slice name;  /* between its quotes, escapes as they are */
	struct lc__json_slice value; /* without blanks around it; a string with its quotes */
	enum lc__json_kind kind;
	struct lc__json_slice whole; /* from behind the comma or brace before it, blanks and all,
	                           to the comma or brace behind it */
};

/** Where in an object the next member stands. */
struct lc__json_members {
	const char *at, *end, *begin;
	bool first;
};

/** LC_CORRUPT with the column (from 1, in bytes) and what is wrong, "column 7: a comma
 *  is missing", if no object begins there, blanks before it allowed. */
LC_CHECKED lc_status lc__json_object(const void *text, size_t size,
    struct lc__json_members *out);
/** The next member, its value scanned to its end. LC_END behind the last one,
 *  when nothing but blanks follows the object; LC_CORRUPT as above. */
LC_CHECKED lc_status lc__json_next(struct lc__json_members *members,
    struct lc__json_member *out);

/** Is this the name, escapes resolved? */
bool lc__json_name_is(struct lc__json_slice name, const char *wanted);
/** Append a string's text, given with or without its quotes, escapes resolved, as
 *  UTF-8. LC_CORRUPT for half of a surrogate pair. */
LC_CHECKED lc_status lc__json_unescape(struct lc__json_slice string, struct lc__buf *out);

#endif
