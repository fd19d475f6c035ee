/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json_write.h"

#include <string.h>

#include "base/shortest.h"
#include "base/utf8.h"

static void
put_character(FILE *out, const unsigned char *text, size_t size)
{
	if (size == 0)
		fputs("\\ufffd", out);
	else if (*text == '"' || *text == '\\')
		fprintf(out, "\\%c", *text);
	else if (*text < 0x20 || *text == 0x7f)
		fprintf(out, "\\u%04x", *text);
	else
		fwrite(text, 1, size, out);
}

void
lc__json_string(FILE *out, const void *data, size_t size)
{
	const unsigned char *text = data;

	putc('"', out);
	for (size_t at = 0; at < size;) {
		const size_t n = lc__utf8_length(text + at, size - at);
		put_character(out, text + at, n);
		at += n ? n : 1;
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
