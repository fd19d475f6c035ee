/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json_scan.h"

#include <ctype.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/error.h"
#include "base/json_number.h"
#include "base/utf8.h"

/* ---- bytes ------------------------------------------------------------------- */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Is there a next byte? */
static bool
have(struct lc__json_scan *scan)
{
	return scan->at < scan->end || (scan->more != NULL && scan->more(scan));
}

static bool
bad(struct lc__json_scan *scan, const char *what)
{
	scan->wrong = have(scan) ? what : "the text ends too early";
	return false;
}

static inline void
skip_blanks(struct lc__json_scan *scan)
{
	/* No blank is above ' ', and most tokens have none before them. */
	if (scan->at < scan->end && (unsigned char)*scan->at > ' ')
		return;
	while (have(scan) && is_blank(*scan->at))
		scan->at++;
}

static bool
is(struct lc__json_scan *scan, char c)
{
	return have(scan) && *scan->at == c;
}

static bool
take(struct lc__json_scan *scan, char c)
{
	if (!is(scan, c))
		return false;
	scan->at++;
	return true;
}

uint64_t
lc__json_offset(const struct lc__json_scan *scan)
{
	return scan->before + (uint64_t)(scan->at - scan->begin);
}

int
lc__json_peek(struct lc__json_scan *scan)
{
	skip_blanks(scan);
	return have(scan) ? (unsigned char)*scan->at : -1;
}

bool
lc__json_accept(struct lc__json_scan *scan, char c)
{
	skip_blanks(scan);
	return take(scan, c);
}

enum lc__json_kind
lc__json_kind_of(char first)
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

/* ---- numbers, words, strings ------------------------------------------------- */

/* A number at the end of the window may continue after it: then it is scanned again. */
static bool
skip_number(struct lc__json_scan *scan)
{
	const char *end, *stop, *wrong, *what;

	do {
		end = lc__json_number_end(scan->at, scan->end, &wrong, &what);
		stop = end != NULL ? end : wrong;
	} while (stop == scan->end && scan->more != NULL && scan->more(scan));
	scan->at = stop;
	return end != NULL || bad(scan, what);
}

static bool
skip_word(struct lc__json_scan *scan, const char *text)
{
	for (; *text != '\0'; text++)
		if (!take(scan, *text))
			return bad(scan, "no such word in JSON");
	return true;
}

/* What follows a backslash. */
static bool
skip_escape(struct lc__json_scan *scan)
{
	if (!take(scan, 'u')) {
		if (!have(scan) || *scan->at == '\0' ||
		    strchr("\"\\/bfnrt", *scan->at) == NULL)
			return bad(scan, "no such escape");
		scan->at++;
		return true;
	}
	for (int i = 0; i < 4; i++, scan->at++)
		if (!have(scan) || !isxdigit((unsigned char)*scan->at))
			return bad(scan, "\\u without four hexadecimal digits");
	return true;
}

/* Skip ASCII that needs no escape. */
static void
skip_plain(struct lc__json_scan *scan)
{
	const char *at = scan->at;

#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
	const __m128i low = _mm_set1_epi8(0x20);

	/* Signed, so that bytes beyond ASCII are below 0x20 too. */
	for (; scan->end - at >= 16; at += 16) {
		const __m128i text = _mm_loadu_si128((const __m128i *)(const void *)at);
		const int stop = _mm_movemask_epi8(_mm_or_si128(_mm_cmplt_epi8(text, low),
		    _mm_or_si128(_mm_cmpeq_epi8(text, quote),
			_mm_cmpeq_epi8(text, backslash))));
		if (stop != 0) {
			scan->at = at + __builtin_ctz((unsigned)stop);
			return;
		}
	}
#endif
	while (at < scan->end && (unsigned char)*at >= 0x20 &&
	    (unsigned char)*at < 0x80 && *at != '"' && *at != '\\')
		at++;
	scan->at = at;
}

/* One character that is not ASCII. */
static bool
skip_character(struct lc__json_scan *scan)
{
	size_t size;

	do
		size = lc__utf8_length((const unsigned char *)scan->at,
		    (size_t)(scan->end - scan->at));
	while (size == 0 && scan->end - scan->at < 4 && scan->more != NULL &&
	    scan->more(scan));
	scan->at += size;
	return size > 0 || bad(scan, "not UTF-8");
}

bool
lc__json_skip_string(struct lc__json_scan *scan)
{
	if (!take(scan, '"'))
		return bad(scan, "a string is missing");
	while (have(scan)) {
		skip_plain(scan);
		if (scan->at == scan->end)
			continue;
		if (*scan->at == '"') {
			scan->at++;
			return true;
		}
		if (*scan->at == '\\') {
			scan->at++;
			if (!skip_escape(scan))
				return false;
		} else if ((unsigned char)*scan->at < 0x20) {
			return bad(scan, "a control character in a string");
		} else if (!skip_character(scan)) {
			return false;
		}
	}
	return bad(scan, NULL);
}

static bool
skip_scalar(struct lc__json_scan *scan)
{
	switch (have(scan) ? *scan->at : '\0') {
	case '"': return lc__json_skip_string(scan);
	case 't': return skip_word(scan, "true");
	case 'f': return skip_word(scan, "false");
	case 'n': return skip_word(scan, "null");
	case '-':
	case '0':
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
	case '7':
	case '8':
	case '9': return skip_number(scan);
	default:
		return bad(scan,
		    have(scan) && isalpha((unsigned char)*scan->at)
			? "no such word in JSON"
			: "a value is missing");
	}
}

/* ---- nesting ------------------------------------------------------------------- */

static bool
open_nest(struct lc__json_scan *scan, struct lc__json_nest *nest, bool object)
{
	const unsigned char bit = (unsigned char)(1u << nest->depth % 8);

	if (nest->depth == LC__JSON_DEPTH)
		return bad(scan, "nested too deeply");
	nest->object[nest->depth / 8] =
	    (unsigned char)((nest->object[nest->depth / 8] & ~bit) | (object ? bit : 0));
	nest->depth++;
	scan->at++;
	return true;
}

static bool
in_object(const struct lc__json_nest *nest)
{
	const size_t top = nest->depth - 1;

	return nest->depth > 0 && nest->object[top / 8] >> top % 8 & 1;
}

/* At a place where a value may begin. */
static bool
value_token(struct lc__json_scan *scan, struct lc__json_nest *nest,
    enum lc__json_token *token)
{
	const bool object = is(scan, '{');

	if (object || is(scan, '[')) {
		*token = LC__JSON_BEGIN;
		nest->next = LC__JSON_FIRST_NEXT;
		return open_nest(scan, nest, object);
	}
	*token = LC__JSON_SCALAR;
	nest->next = LC__JSON_COMMA_NEXT;
	return skip_scalar(scan);
}

/* To the start of a token. */
static inline bool
begin_token(struct lc__json_scan *scan, struct lc__json_nest *nest)
{
	skip_blanks(scan);
	if (nest->next == LC__JSON_COMMA_NEXT && take(scan, ',')) {
		nest->next = LC__JSON_VALUE_NEXT;
		skip_blanks(scan);
	} else if (nest->next == LC__JSON_MEMBER_NEXT) {
		if (!take(scan, ':'))
			return bad(scan, "a colon is missing");
		skip_blanks(scan);
	}
	return true;
}

static inline bool
end_token(struct lc__json_scan *scan, struct lc__json_nest *nest,
    enum lc__json_token *token)
{
	const bool ends = nest->next == LC__JSON_FIRST_NEXT ||
	    nest->next == LC__JSON_COMMA_NEXT;

	if (ends && take(scan, in_object(nest) ? '}' : ']')) {
		*token = LC__JSON_END;
		nest->depth--;
		nest->next = LC__JSON_COMMA_NEXT;
		return true;
	}
	if (nest->next == LC__JSON_COMMA_NEXT)
		return bad(scan, "a comma or the end of what is open is missing");
	if (in_object(nest) && nest->next != LC__JSON_MEMBER_NEXT) {
		*token = LC__JSON_NAME;
		nest->next = LC__JSON_MEMBER_NEXT;
		return lc__json_skip_string(scan);
	}
	return value_token(scan, nest, token);
}

bool
lc__json_next_token(struct lc__json_scan *scan, struct lc__json_nest *nest,
    enum lc__json_token *token, struct lc__json_slice *text)
{
	const bool keep = scan->keep == NULL;
	uint64_t begin;
	bool good;

	if (!begin_token(scan, nest))
		return false;
	begin = lc__json_offset(scan);
	if (keep)
		scan->keep = scan->at;
	good = end_token(scan, nest, token);
	if (keep)
		scan->keep = NULL;
	text->size = (size_t)(lc__json_offset(scan) - begin);
	text->text = scan->at - text->size;
	return good;
}

bool
lc__json_skip_value(struct lc__json_scan *scan)
{
	struct lc__json_nest nest;
	enum lc__json_token token;

	nest.depth = 0;
	nest.next = LC__JSON_VALUE_NEXT;
	do
		if (!begin_token(scan, &nest) || !end_token(scan, &nest, &token))
			return false;
	while (nest.depth > 0);
	return true;
}

/* ---- values that are not checked ------------------------------------------------- */

/* Can this byte be one of a number or a word? */
static bool
is_scalar(char c)
{
	return !is_blank(c) && strchr("\"{}[],:", c) == NULL;
}

/* To the next quote or bracket. */
static void
skip_to_mark(struct lc__json_scan *scan)
{
	const char *at = scan->at;

#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), fold = _mm_set1_epi8(0x20);
	const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');

	/* [ and ] are { and } without one bit. */
	for (; scan->end - at >= 16; at += 16) {
		const __m128i text = _mm_loadu_si128((const __m128i *)(const void *)at);
		const __m128i folded = _mm_or_si128(text, fold);
		const int stop = _mm_movemask_epi8(
		    _mm_or_si128(_mm_cmpeq_epi8(text, quote),
			_mm_or_si128(_mm_cmpeq_epi8(folded, open),
			    _mm_cmpeq_epi8(folded, close))));
		if (stop != 0) {
			scan->at = at + __builtin_ctz((unsigned)stop);
			return;
		}
	}
#endif
	while (at < scan->end && *at != '"' && (*at | 0x20) != '{' && (*at | 0x20) != '}')
		at++;
	scan->at = at;
}

/* After its first quote, to the byte after its last. */
static bool
end_string_unchecked(struct lc__json_scan *scan)
{
	while (have(scan)) {
		while (scan->at < scan->end && *scan->at != '"' && *scan->at != '\\')
			scan->at++;
		if (scan->at == scan->end)
			continue;
		if (*scan->at++ == '"')
			return true;
		if (have(scan))
			scan->at++;
	}
	return false;
}

static bool
skip_nest_unchecked(struct lc__json_scan *scan)
{
	struct lc__json_nest nest;

	nest.depth = 0;
	while (have(scan)) {
		skip_to_mark(scan);
		if (scan->at == scan->end)
			continue;
		if (is(scan, '"')) {
			scan->at++;
			if (!end_string_unchecked(scan))
				break;
		} else if (is(scan, '{') || is(scan, '[')) {
			if (!open_nest(scan, &nest, is(scan, '{')))
				return false;
		} else {
			if (!take(scan, in_object(&nest) ? '}' : ']'))
				return bad(scan, "not JSON");
			if (--nest.depth == 0)
				return true;
		}
	}
	return bad(scan, NULL);
}

bool
lc__json_skip_unchecked(struct lc__json_scan *scan)
{
	const int c = lc__json_peek(scan);

	if (c == '{' || c == '[')
		return skip_nest_unchecked(scan);
	if (c == '"') {
		scan->at++;
		return end_string_unchecked(scan) || bad(scan, NULL);
	}
	if (c == -1 || !is_scalar((char)c))
		return bad(scan, "a value is missing");
	while (have(scan) && is_scalar(*scan->at))
		scan->at++;
	return true;
}

/* ---- members ------------------------------------------------------------------- */

static lc_status
bad_column(struct lc__json_scan *scan, const char *what)
{
	(void)bad(scan, what);
	return lc__error(LC_CORRUPT, 0, "column %zu: %s",
	    (size_t)(scan->at - scan->begin) + 1, scan->wrong);
}

lc_status
lc__json_object(const void *text, size_t size, struct lc__json_members *out)
{
	struct lc__json_scan scan = {
		.at = text,
		.end = (const char *)text + size,
		.begin = text,
	};

	if (!lc__json_accept(&scan, '{'))
		return bad_column(&scan, "no object begins here");
	out->scan = scan;
	out->first = true;
	return LC_OK;
}

/* At the end of the object: nothing follows it. */
static lc_status
end_object(struct lc__json_scan scan)
{
	scan.at++;
	return lc__json_peek(&scan) == -1
	    ? LC_END
	    : bad_column(&scan, "something follows the object");
}

static struct lc__json_slice
slice(const char *from, const char *to)
{
	return (struct lc__json_slice){ from, (size_t)(to - from) };
}

lc_status
lc__json_next(struct lc__json_members *members, struct lc__json_member *out)
{
	static const char no_comma[] = "a comma or the end of the object is missing";
	struct lc__json_scan *scan = &members->scan;
	const char *from = scan->at, *start;

	if (lc__json_peek(scan) == '}')
		return end_object(*scan);
	if (!members->first) {
		if (!take(scan, ','))
			return bad_column(scan, no_comma);
		from = scan->at;
	}
	skip_blanks(scan);
	start = scan->at;
	if (!lc__json_skip_string(scan))
		return bad_column(scan, scan->wrong);
	out->name = slice(start + 1, scan->at - 1);
	if (!lc__json_accept(scan, ':'))
		return bad_column(scan, "a colon is missing");
	skip_blanks(scan);
	start = scan->at;
	if (!lc__json_skip_value(scan))
		return bad_column(scan, scan->wrong);
	out->value = slice(start, scan->at);
	out->kind = lc__json_kind_of(*start);
	skip_blanks(scan);
	if (!is(scan, ',') && !is(scan, '}'))
		return bad_column(scan, no_comma);
	out->whole = slice(from, scan->at);
	members->first = false;
	return LC_OK;
}

/* ---- the text of strings, whose grammar is known to be right ----------------------- */

static unsigned
hex_digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

static unsigned
four_hex(const char *text)
{
	unsigned number = 0;

	for (int i = 0; i < 4; i++)
		number = number << 4 | hex_digit(text[i]);
	return number;
}

/* A \u escape, or two that are a pair, whose grammar is known to be right; half of a
 * pair is 0xd800 to 0xdfff. */
static unsigned
code_point(const char **at, const char *end)
{
	unsigned point = four_hex(*at + 2), low;

	*at += 6;
	if (point < 0xd800 || point > 0xdbff || end - *at < 6 || (*at)[0] != '\\' ||
	    (*at)[1] != 'u')
		return point;
	low = four_hex(*at + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return point;
	*at += 6;
	return 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
}

static size_t
encode_utf8(unsigned point, unsigned char out[4])
{
	static const unsigned char marks[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	const size_t size = point < 0x80 ? 1
	    : point < 0x800              ? 2
	    : point < 0x10000            ? 3
					 : 4;

	for (size_t i = size - 1; i > 0; i--, point >>= 6)
		out[i] = (unsigned char)(0x80 | (point & 0x3f));
	out[0] = (unsigned char)(marks[size] | point);
	return size;
}

/* The bytes of the character at *at; 0 for half of a surrogate pair. */
static size_t
resolve(const char **at, const char *end, unsigned char out[4])
{
	static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	unsigned point;

	if (**at != '\\') {
		out[0] = (unsigned char)*(*at)++;
		return 1;
	}
	if ((*at)[1] != 'u') {
		out[0] = (unsigned char)bytes[strchr(letters, (*at)[1]) - letters];
		*at += 2;
		return 1;
	}
	point = code_point(at, end);
	return point >= 0xd800 && point <= 0xdfff ? 0 : encode_utf8(point, out);
}

bool
lc__json_name_is(struct lc__json_slice name, const char *wanted)
{
	const size_t size = strlen(wanted);
	const char *at = name.text, *const end = name.text + name.size;
	unsigned char bytes[4];

	if (memchr(name.text, '\\', name.size) == NULL)
		return name.size == size && memcmp(name.text, wanted, size) == 0;
	for (const char *rest = wanted; at < end;) {
		const size_t n = resolve(&at, end, bytes);
		if (n == 0 || n > size - (size_t)(rest - wanted) ||
		    memcmp(rest, bytes, n) != 0)
			return false;
		rest += n;
		if (at == end)
			return *rest == '\0';
	}
	return false;
}

const char *
lc__json_unescape_to(struct lc__json_slice string, char *out, size_t *size)
{
	const char *at = string.text, *end = at + string.size;
	char *const first = out;

	/* A quote within is escaped, so that one at the start is the string's own. */
	if (string.size >= 2 && *at == '"') {
		at++;
		end--;
	}
	while (at < end) {
		const char *const next = memchr(at, '\\', (size_t)(end - at));
		const char *const stop = next != NULL ? next : end;
		unsigned char bytes[4];
		size_t n = (size_t)(stop - at);

		memcpy(out, at, n);
		out += n;
		at = stop;
		if (at == end)
			break;
		n = resolve(&at, end, bytes);
		if (n == 0)
			return stop;
		memcpy(out, bytes, n);
		out += n;
	}
	*size = (size_t)(out - first);
	return NULL;
}

lc_status
lc__json_unescape(struct lc__json_slice string, struct lc__buf *out)
{
	char *const room = lc__buf_append(out, NULL, string.size);
	size_t size;

	if (room == NULL)
		return lc__no_memory(NULL);
	if (lc__json_unescape_to(string, room, &size) != NULL)
		return lc__error(LC_CORRUPT, 0, "half of a surrogate pair");
	out->size -= string.size - size;
	return LC_OK;
}
