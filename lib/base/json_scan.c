/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json_scan.h"

#include <ctype.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/error.h"
#include "base/utf8.h"

/* What is left of a text, and where it began, for columns. */
struct scan {
	const char *at, *end, *begin;
};

static lc_status
bad(const struct scan *scan, const char *what)
{
	return lc__error(LC_CORRUPT, 0, "column %zu: %s",
	    (size_t)(scan->at - scan->begin) + 1,
	    scan->at == scan->end ? "the text ends too early" : what);
}

static void
skip_blanks(struct scan *scan)
{
	while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t' ||
	    *scan->at == '\r' || *scan->at == '\n'))
		scan->at++;
}

static bool
is(const struct scan *scan, char c)
{
	return scan->at < scan->end && *scan->at == c;
}

static bool
take(struct scan *scan, char c)
{
	if (!is(scan, c))
		return false;
	scan->at++;
	return true;
}

/* ---- numbers, words, strings ------------------------------------------------- */

static lc_status
digits(struct scan *scan, const char *what)
{
	const char *const first = scan->at;

	while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
		scan->at++;
	return scan->at > first ? LC_OK : bad(scan, what);
}

static lc_status
number(struct scan *scan)
{
	take(scan, '-');
	if (take(scan, '0')) {
		if (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
			return bad(scan, "a number begins with 0");
	} else {
		return_if_error(digits(scan, "a digit is missing"));
	}
	if (take(scan, '.'))
		return_if_error(digits(scan, "no digit behind the point"));
	if (take(scan, 'e') || take(scan, 'E')) {
		if (!take(scan, '+'))
			take(scan, '-');
		return_if_error(digits(scan, "no digit in the exponent"));
	}
	return LC_OK;
}

static lc_status
word(struct scan *scan, const char *text)
{
	for (; *text != '\0'; text++)
		if (!take(scan, *text))
			return bad(scan, "no such word in JSON");
	return LC_OK;
}

/* Behind the backslash. */
static lc_status
escape(struct scan *scan)
{
	if (!is(scan, 'u')) {
		if (scan->at == scan->end || *scan->at == '\0' ||
		    strchr("\"\\/bfnrt", *scan->at) == NULL)
			return bad(scan, "no such escape");
		scan->at++;
		return LC_OK;
	}
	scan->at++;
	for (int i = 0; i < 4; i++, scan->at++)
		if (scan->at == scan->end || !isxdigit((unsigned char)*scan->at))
			return bad(scan, "\\u without four hexadecimal digits");
	return LC_OK;
}

/* Pass over characters that stand for themselves and are ASCII. */
static void
skip_plain(struct scan *scan)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
	const __m128i low = _mm_set1_epi8(0x20);

	/* Signed: what is not ASCII is below 0x20 too. */
	for (; scan->end - scan->at >= 16; scan->at += 16) {
		const __m128i text = _mm_loadu_si128((const __m128i *)(const void *)scan->at);
		const int stop = _mm_movemask_epi8(_mm_or_si128(_mm_cmplt_epi8(text, low),
		    _mm_or_si128(_mm_cmpeq_epi8(text, quote),
		    _mm_cmpeq_epi8(text, backslash))));
		if (stop != 0) {
			scan->at += __builtin_ctz((unsigned)stop);
			return;
		}
	}
#endif
	while (scan->at < scan->end && (unsigned char)*scan->at >= 0x20 &&
	    (unsigned char)*scan->at < 0x80 && *scan->at != '"' && *scan->at != '\\')
		scan->at++;
}

/* One character that does not stand for itself, or is not ASCII. */
static lc_status
special(struct scan *scan)
{
	size_t size;

	if (take(scan, '\\'))
		return escape(scan);
	if (scan->at < scan->end && (unsigned char)*scan->at < 0x20)
		return bad(scan, "a control character in a string");
	size = lc__utf8_length((const unsigned char *)scan->at,
	    (size_t)(scan->end - scan->at));
	if (size == 0)
		return bad(scan, "not UTF-8");
	scan->at += size;
	return LC_OK;
}

static lc_status
string(struct scan *scan)
{
	if (!take(scan, '"'))
		return bad(scan, "a string is missing");
	for (;;) {
		skip_plain(scan);
		if (take(scan, '"'))
			return LC_OK;
		return_if_error(special(scan));
	}
}

/* ---- nesting ------------------------------------------------------------------- */

/* The arrays and objects that are open, a bit each. */
struct nest {
	unsigned char object[LC__JSON_DEPTH / 8];
	size_t depth;
};

static lc_status
open_nest(struct scan *scan, struct nest *nest, bool object)
{
	const unsigned char bit = (unsigned char)(1u << nest->depth % 8);

	if (nest->depth == LC__JSON_DEPTH)
		return bad(scan, "nested too deeply");
	nest->object[nest->depth / 8] = (unsigned char)(
	    (nest->object[nest->depth / 8] & ~bit) | (object ? bit : 0));
	nest->depth++;
	scan->at++;
	return LC_OK;
}

static bool
in_object(const struct nest *nest)
{
	const size_t top = nest->depth - 1;

	return nest->object[top / 8] >> top % 8 & 1;
}

static lc_status
name(struct scan *scan)
{
	skip_blanks(scan);
	return_if_error(string(scan));
	skip_blanks(scan);
	return take(scan, ':') ? LC_OK : bad(scan, "a colon is missing");
}

static lc_status
scalar(struct scan *scan)
{
	switch (scan->at < scan->end ? *scan->at : '\0') {
	case '"':
		return string(scan);
	case 't':
		return word(scan, "true");
	case 'f':
		return word(scan, "false");
	case 'n':
		return word(scan, "null");
	case '-':
	case '0': case '1': case '2': case '3': case '4':
	case '5': case '6': case '7': case '8': case '9':
		return number(scan);
	default:
		return bad(scan, "a value is missing");
	}
}

/* Where a value is to begin: all of it, or the start of one that has something in it;
 * *whole tells which. */
static lc_status
begin_value(struct scan *scan, struct nest *nest, bool *whole)
{
	const bool object = is(scan, '{');

	*whole = true;
	if (!object && !is(scan, '['))
		return scalar(scan);
	return_if_error(open_nest(scan, nest, object));
	skip_blanks(scan);
	if (take(scan, object ? '}' : ']')) {
		nest->depth--;
		return LC_OK;
	}
	*whole = false;
	return object ? name(scan) : LC_OK;
}

/* Behind a value: close what ends there. *more if another value follows a comma. */
static lc_status
end_value(struct scan *scan, struct nest *nest, bool *more)
{
	*more = false;
	while (nest->depth > 0) {
		skip_blanks(scan);
		if (take(scan, ',')) {
			*more = true;
			return in_object(nest) ? name(scan) : LC_OK;
		}
		if (!take(scan, in_object(nest) ? '}' : ']'))
			return bad(scan, "a comma or the end of what is open is missing");
		nest->depth--;
	}
	return LC_OK;
}

static lc_status
value(struct scan *scan)
{
	struct nest nest;
	bool whole, more = true;

	nest.depth = 0;
	while (more) {
		skip_blanks(scan);
		return_if_error(begin_value(scan, &nest, &whole));
		if (whole)
			return_if_error(end_value(scan, &nest, &more));
	}
	return LC_OK;
}

/* ---- members ------------------------------------------------------------------- */

static enum lc__json_kind
kind_of(char first)
{
	switch (first) {
	case 'n': return LC__JSON_NULL;
	case 't': return LC__JSON_TRUE;
	case 'f': return LC__JSON_FALSE;
	case '"': return LC__JSON_STRING;
	case '[': return LC__JSON_ARRAY;
	case '{': return LC__JSON_OBJECT;
	default: return LC__JSON_NUMBER;
	}
}

lc_status
lc__json_object(const void *text, size_t size, struct lc__json_members *out)
{
	struct scan scan = { text, (const char *)text + size, text };

	skip_blanks(&scan);
	if (!take(&scan, '{'))
		return bad(&scan, "no object begins here");
	*out = (struct lc__json_members){ scan.at, scan.end, scan.begin, true };
	return LC_OK;
}

static lc_status
end_object(struct scan *scan)
{
	scan->at++;
	skip_blanks(scan);
	if (scan->at < scan->end)
		return bad(scan, "something follows the object");
	return LC_END;
}

/* To the next name; LC_END at the end of the object. */
static lc_status
next_name(struct scan *scan, bool first)
{
	skip_blanks(scan);
	if (is(scan, '}'))
		return end_object(scan);
	if (!first && !take(scan, ','))
		return bad(scan, "a comma or the end of the object is missing");
	return LC_OK;
}

static struct lc__json_slice
slice(const char *from, const char *to)
{
	return (struct lc__json_slice){ from, (size_t)(to - from) };
}

lc_status
lc__json_next(struct lc__json_members *members, struct lc__json_member *out)
{
	struct scan scan = { members->at, members->end, members->begin };
	const char *from, *start;

	return_if_error(next_name(&scan, members->first));
	from = members->first ? members->at : scan.at;
	skip_blanks(&scan);
	start = scan.at;
	return_if_error(string(&scan));
	out->name = slice(start + 1, scan.at - 1);
	skip_blanks(&scan);
	if (!take(&scan, ':'))
		return bad(&scan, "a colon is missing");
	skip_blanks(&scan);
	start = scan.at;
	return_if_error(value(&scan));
	out->value = slice(start, scan.at);
	out->kind = kind_of(*start);
	skip_blanks(&scan);
	if (!is(&scan, ',') && !is(&scan, '}'))
		return bad(&scan, "a comma or the end of the object is missing");
	out->whole = slice(from, scan.at);
	members->at = scan.at;
	members->first = false;
	return LC_OK;
}
