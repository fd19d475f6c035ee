/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON, scanned in place. Values, numbers and strings are slices of the text: nothing is
 * converted and nothing is allocated. The grammar is that of RFC 8259, UTF-8 included.
 * Two checks are left to the caller: repeated names in an object, and halves of surrogate
 * pairs, which the grammar allows. A text is either whole in memory or arrives in
 * windows: then a callback supplies more of it, so that a file of any size is scanned in
 * the memory of the longest part that is kept.
 *
 * base/json_tree.h builds documents from texts, base/json_number.h converts numbers, and
 * base/json_write.h writes JSON.
 */
#ifndef LC_BASE_JSON_SCAN_H
#define LC_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** What a slice holds. */
enum lc__json_kind {
	LC__JSON_NULL,
	LC__JSON_TRUE,
	LC__JSON_FALSE,
	LC__JSON_NUMBER,
	LC__JSON_STRING,
	LC__JSON_ARRAY,
	LC__JSON_OBJECT
};

/** The deepest nesting of arrays and objects. */
#define LC__JSON_DEPTH 2048

/** A slice of the text. */
struct lc__json_slice {
	const char *text;
	size_t size;
};

/* ---- scanning ---------------------------------------------------------------- */

/**
 * A text and the position in it. For a text in memory set `at` and `begin` to its start,
 * `end` to its end, and the rest to zero. `more`, if set, is called where the window ends
 * too early. It appends at least one byte, or changes nothing and returns false at the
 * end of the text. It may drop the bytes before `keep`, or before `at` if keep is NULL,
 * and may move the others; it then adjusts all four pointers and `before`.
 */
struct lc__json_scan {
	const char *at;    /* the next byte */
	const char *end;   /* of the window */
	const char *begin; /* of the window */
	const char *keep;  /* the first byte that must stay, or NULL */
	uint64_t before;   /* bytes of the text before the window */
	bool (*more)(struct lc__json_scan *scan);
	const char *wrong; /* what is wrong at `at`, once a function has returned false */
};

/** The position in the text of the next byte, from 0. */
uint64_t lc__json_offset(const struct lc__json_scan *scan);

/** Skip blanks; returns the next byte, -1 at the end. */
int lc__json_peek(struct lc__json_scan *scan);
/** Skip blanks, and the byte after them if it is @p c. */
bool lc__json_accept(struct lc__json_scan *scan, char c);
/** Skip a string, which begins at the next byte. */
bool lc__json_skip_string(struct lc__json_scan *scan);
/** Skip blanks and a value, and check all of it. */
bool lc__json_skip_value(struct lc__json_scan *scan);
/**
 * Skip blanks and a value, and check only that its brackets match: for values that are
 * not needed and may be malformed. Several times as fast as lc__json_skip_value().
 */
bool lc__json_skip_unchecked(struct lc__json_scan *scan);

/** The kind of a value, from its first byte. */
enum lc__json_kind lc__json_kind_of(char first);

/* ---- tokens ------------------------------------------------------------------ */

/** The arrays and objects that are open, and what comes next. All zero before the first
 *  token. */
struct lc__json_nest {
	unsigned char object[LC__JSON_DEPTH / 8]; /* a bit each: it is an object */
	size_t depth;                             /* how many are open */
	enum {
		LC__JSON_VALUE_NEXT,  /* in an object its name first */
		LC__JSON_FIRST_NEXT,  /* the same, or the end of what was just opened */
		LC__JSON_MEMBER_NEXT, /* a colon and the value of a name */
		LC__JSON_COMMA_NEXT   /* or the end of what is open */
	} next;
};

enum lc__json_token {
	LC__JSON_BEGIN, /* of an array or object */
	LC__JSON_END,   /* of the innermost array or object */
	LC__JSON_NAME,  /* of a member, with its quotes */
	LC__JSON_SCALAR /* null, true, false, a number or a string */
};

/**
 * The next token of one value, which ends with the token that leaves nest->depth 0.
 * @param text  gets the token; it stays in the window until the next call
 */
bool lc__json_next_token(struct lc__json_scan *scan, struct lc__json_nest *nest,
    enum lc__json_token *token, struct lc__json_slice *text);

/* ---- members of an object ---------------------------------------------------- */

struct lc__json_member {
	struct lc__json_slice name; /* between its quotes, escapes as they are */
	struct lc__json_slice
	    value; /* without blanks around it; a string with its quotes */
	enum lc__json_kind kind;
	struct lc__json_slice
	    whole; /* from after the comma or brace before it to the comma
	                                or brace after it, blanks and all */
};

/** An object in memory, and the position of its next member. */
struct lc__json_members {
	struct lc__json_scan scan;
	bool first;
};

/** LC_CORRUPT with the column (from 1, in bytes) and the mistake, "column 7: a comma is
 *  missing", unless an object begins there, after any blanks. */
LC_CHECKED lc_status lc__json_object(const void *text, size_t size,
    struct lc__json_members *out);
/** The next member; its value has been checked. LC_END after the last member, if only
 *  blanks follow the object; LC_CORRUPT as above. */
LC_CHECKED lc_status lc__json_next(struct lc__json_members *members,
    struct lc__json_member *out);

/* ---- strings ----------------------------------------------------------------- */

/** Is this the name, once escapes are resolved? */
bool lc__json_name_is(struct lc__json_slice name, const char *wanted);
/** Append a string's text as UTF-8 with escapes resolved; quotes around it are optional.
 *  LC_CORRUPT for half of a surrogate pair. */
LC_CHECKED lc_status lc__json_unescape(struct lc__json_slice string, struct lc__buf *out);
/** The same into memory of at least string.size bytes: *size is the number written.
 *  Returns NULL, or the position of half of a surrogate pair. */
const char *lc__json_unescape_to(struct lc__json_slice string, char *out, size_t *size);

#endif
