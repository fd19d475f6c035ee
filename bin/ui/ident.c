/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/ident.h"

#include <unistd.h>

#include "base/utf8.h"

int
ident_print(FILE *out, lc_id id)
{
	const unsigned char *text = id.data;
	int columns = 0;

	for (size_t at = 0; at < id.size;) {
		const size_t n = lc__utf8_length(text + at, id.size - at);
		/* U+0080 to U+009F are control characters as well. */
		const bool control = n == 1 ? text[at] < 0x20 ||
		    text[at] == 0x7f : n == 2 && text[at] == 0xc2 &&
		    text[at + 1] < 0xa0;
		if (n > 0 && !control) {
			fwrite(text + at, 1, n, out);
			columns++;
			at += n;
		} else {
			columns += fprintf(out, "\\x%02x", text[at]);
			at++;
		}
	}
	return columns;
}

void
ident_item(FILE *out, lc_id id, bool null)
{
	if (!null && isatty(fileno(out)))
		ident_print(out, id);
	else
		fwrite(id.data, 1, id.size, out);
	putc(null ? '\0' : '\n', out);
}
