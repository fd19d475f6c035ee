/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of strings that were scanned: their grammar is known to be right. */
#include "base/json_scan.h"

#include <string.h>

#include "base/error.h"

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
	const size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 :
	    point < 0x10000 ? 3 : 4;

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

lc_status
lc__json_unescape(struct lc__json_slice string, struct lc__buf *out)
{
	const char *at = string.text, *end = at + string.size;
	unsigned char bytes[4];

	/* A quote within is escaped, so that one at the start is the string's own. */
	if (string.size >= 2 && *at == '"') {
		at++;
		end--;
	}
	while (at < end) {
		const char *next = memchr(at, '\\', (size_t)(end - at));
		size_t size;
		lc__buf_append(out, at, (size_t)((next ? next : end) - at));
		if (next == NULL)
			break;
		at = next;
		size = resolve(&at, end, bytes);
		if (size == 0)
			return lc__error(LC_CORRUPT, 0, "half of a surrogate pair");
		lc__buf_append(out, bytes, size);
	}
	return out->failed ? lc__error(LC_NO_MEMORY, 0, "out of memory") : LC_OK;
}
