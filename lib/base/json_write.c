/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json_write.h"

#include <string.h>

#include "base/json_number.h"
#include "base/utf8.h"

/* ---- strings ----------------------------------------------------------------- */

/* A piece of a string: bytes of the text, or the escape of one character. */
struct piece {
	const void *bytes;
	size_t size;
	char escape[13]; /* \ud83d\ude00 */
};

/* The code point of a character of UTF-8. */
static unsigned
code_point(const unsigned char *at, size_t size)
{
	unsigned point = size == 1 ? *at : *at & (0x7fu >> size);

	for (size_t i = 1; i < size; i++)
		point = point << 6 | (at[i] & 0x3f);
	return point;
}

static void
escape_character(unsigned point, unsigned escapes, struct piece *out)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *at = point != 0 && point < 0x80 ? strchr(from, (int)point) : NULL;
	const size_t room = sizeof(out->escape);
	int size;

	if (at != NULL && (at < from + 2 || (escapes & LC__JSON_LETTERS)))
		size = snprintf(out->escape, room, "\\%c", to[at - from]);
	else if (point < 0x10000)
		size = snprintf(out->escape, room, "\\u%04x", point);
	else
		size = snprintf(out->escape, room, "\\u%04x\\u%04x",
		    0xd800 + ((point - 0x10000) >> 10), 0xdc00 + (point & 0x3ff));
	out->bytes = out->escape;
	out->size = (size_t)size;
}

/*
 * The first piece of a text that is not empty, and the size of the text that it replaces.
 */
static size_t
take_piece(const unsigned char *text, size_t size, unsigned escapes, struct piece *out)
{
	size_t plain = 0, n = 0;

	while (plain < size) {
		const unsigned char c = text[plain];

		if (c >= 0x80) {
			n = lc__utf8_length(text + plain, size - plain);
			if (n == 0 || (escapes & LC__JSON_ASCII))
				break;
			plain += n;
		} else if (c < 0x20 || c == '"' || c == '\\' ||
		    (c == 0x7f && (escapes & LC__JSON_DEL))) {
			n = 1;
			break;
		} else {
			plain++;
		}
	}
	if (plain > 0) {
		out->bytes = text;
		out->size = plain;
		return plain;
	}
	escape_character(n > 0 ? code_point(text, n) : 0xfffd, escapes, out);
	return n > 0 ? n : 1;
}

void
lc__json_put_text(struct lc__buf *out, const void *text, size_t size, unsigned escapes)
{
	const unsigned char *at = text, *const end = at + size;
	struct piece piece;

	while (at < end) {
		at += take_piece(at, (size_t)(end - at), escapes, &piece);
		lc__buf_append(out, piece.bytes, piece.size);
	}
}

void
lc__json_put_string(struct lc__buf *out, const void *text, size_t size, unsigned escapes)
{
	lc__buf_append(out, "\"", 1);
	lc__json_put_text(out, text, size, escapes);
	lc__buf_append(out, "\"", 1);
}

void
lc__json_string(FILE *out, const void *text, size_t size)
{
	const unsigned char *at = text, *const end = at + size;
	struct piece piece;

	putc('"', out);
	while (at < end) {
		at += take_piece(at, (size_t)(end - at), LC__JSON_DEL, &piece);
		fwrite(piece.bytes, 1, piece.size, out);
	}
	putc('"', out);
}

void
lc__json_real(FILE *out, double number)
{
	char text[LC__SHORTEST];

	lc__shortest(number, text);
	fputs(text, out);
	if (strpbrk(text, ".e") == NULL)
		fputs(".0", out);
}

/* ---- layout ------------------------------------------------------------------ */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* May this byte be part of a number or a word? */
static bool
is_scalar(char c)
{
	return !is_blank(c) && strchr("\"{}[],:", c) == NULL;
}

/* The end of the string that begins here, or the end of the text. */
static const char *
string_end(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\' && end - at > 1)
			at++;
	return at < end ? at + 1 : end;
}

void
lc__json_put_compact(struct lc__buf *out, struct lc__json_slice json)
{
	const char *at = json.text, *const end = at + json.size;
	char *const first = lc__buf_append(out, NULL, json.size), *to = first;

	if (first == NULL)
		return;
	while (at < end) {
		if (*at == '"') {
			const char *const next = string_end(at, end);

			memcpy(to, at, (size_t)(next - at));
			to += next - at;
			at = next;
		} else if (!is_blank(*at)) {
			*to++ = *at++;
		} else {
			while (at < end && is_blank(*at))
				at++;
			if (at < end && to > first && is_scalar(to[-1]) && is_scalar(*at))
				*to++ = ' ';
		}
	}
	out->size -= json.size - (size_t)(to - first);
}

/* Begin a new line, indented by so many levels. */
static void
put_line(struct lc__buf *out, size_t depth)
{
	lc__buf_append(out, "\n", 1);
	while (depth-- > 0)
		lc__buf_append(out, "  ", 2);
}

void
lc__json_put_indented(struct lc__buf *out, struct lc__json_slice json)
{
	struct lc__json_scan scan = {
		.at = json.text,
		.begin = json.text,
		.end = json.text + json.size,
	};
	struct lc__json_nest nest = { .depth = 0 };
	struct lc__json_slice text;
	enum lc__json_token token;
	bool first = false, named = false;

	do {
		if (!lc__json_next_token(&scan, &nest, &token, &text))
			return;
		if (token == LC__JSON_END) {
			if (!first)
				put_line(out, nest.depth);
		} else if (!named && nest.depth > (token == LC__JSON_BEGIN)) {
			lc__buf_append(out, ",", !first);
			put_line(out, nest.depth - (token == LC__JSON_BEGIN));
		}
		lc__buf_append(out, text.text, text.size);
		named = token == LC__JSON_NAME;
		if (named)
			lc__buf_append(out, ": ", 2);
		first = token == LC__JSON_BEGIN;
	} while (nest.depth > 0);
}
