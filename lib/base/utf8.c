/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/utf8.h"

/* The rows of RFC 3629: first bytes, range of the second, bytes in all. */
static const struct {
	unsigned char first, last, low, high, size;
} rows[] = {
	{ 0x00, 0x7f, 0x80, 0xbf, 1 },
	{ 0xc2, 0xdf, 0x80, 0xbf, 2 },
	{ 0xe0, 0xe0, 0xa0, 0xbf, 3 },
	{ 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 },
	{ 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4 },
	{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

size_t
lc__utf8_length(const unsigned char *text, size_t size)
{
	for (size_t i = 0; size > 0 && i < sizeof(rows) / sizeof(rows[0]); i++) {
		const size_t n = rows[i].size;

		if (text[0] < rows[i].first || text[0] > rows[i].last)
			continue;
		if (n > size ||
		    (n > 1 && (text[1] < rows[i].low || text[1] > rows[i].high)))
			return 0;
		for (size_t at = 2; at < n; at++)
			if ((text[at] & 0xc0) != 0x80)
				return 0;
		return n;
	}
	return 0;
}

bool
lc__utf8_valid(const void *data, size_t size)
{
	const unsigned char *text = data;

	for (size_t at = 0; at < size;) {
		const size_t n = lc__utf8_length(text + at, size - at);
		if (n == 0)
			return false;
		at += n;
	}
	return true;
}
