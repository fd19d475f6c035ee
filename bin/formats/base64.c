/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Up to three bytes as four characters. */
static void
encode(const unsigned char *bytes, size_t size, char *out)
{
	uint32_t n = 0;

	for (size_t i = 0; i < 3; i++)
		n = n << 8 | (i < size ? bytes[i] : 0);
	for (size_t i = 0; i < 4; i++)
		out[i] = i <= size ? digits[n >> (18 - 6 * i) & 63] : '=';
}

void
lc__base64_write(FILE *out, const void *data, size_t size)
{
	const unsigned char *bytes = data;
	char text[4096];
	size_t used = 0;

	for (size_t at = 0; at < size; at += 3) {
		encode(bytes + at, size - at < 3 ? size - at : 3, text + used);
		used += 4;
		if (used == sizeof(text)) {
			fwrite(text, 1, used, out);
			used = 0;
		}
	}
	fwrite(text, 1, used, out);
}

/* The value of every character, 64 for other characters. */
static void
fill_values(unsigned char values[256])
{
	memset(values, 64, 256);
	for (unsigned char i = 0; i < 64; i++)
		values[(unsigned char)digits[i]] = i;
}

bool
lc__base64_decode(char *text, size_t size, size_t *decoded)
{
	unsigned char values[256];
	unsigned char *out = (unsigned char *)text;
	size_t pad = 0;

	if (size % 4 != 0)
		return false;
	while (pad < 2 && pad < size && text[size - 1 - pad] == '=')
		text[size - 1 - pad++] = 'A';
	fill_values(values);
	for (size_t at = 0; at < size; at += 4) {
		uint32_t n = 0;
		for (size_t i = 0; i < 4; i++) {
			const unsigned v = values[(unsigned char)text[at + i]];
			if (v > 63)
				return false;
			n = n << 6 | v;
		}
		*out++ = (unsigned char)(n >> 16);
		*out++ = (unsigned char)(n >> 8);
		*out++ = (unsigned char)n;
	}
	*decoded = size / 4 * 3 - pad;
	/* The bits that the padding leaves over must be zero. */
	for (size_t i = 0; i < pad; i++)
		if (*--out != 0)
			return false;
	return true;
}
