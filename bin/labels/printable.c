/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/printable.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* One character of the text, or its first byte in hex; the size it has here. */
static size_t
show(const unsigned char *text, size_t size, char shown[5])
{
	if (size == 0 || *text < 0x20 || *text == 0x7f)
		return (size_t)snprintf(shown, 5, "\\x%02x", *text);
	memcpy(shown, text, size);
	return size;
}

size_t
lc__printable(const char *text, char *out, size_t room)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t left = strlen(text), used = 0;

	while (left > 0) {
		const size_t size = lc__utf8_length(p, left);
		const size_t step = size > 0 ? size : 1;
		char shown[5];
		const size_t n = show(p, size, shown);
		if (n >= room - used)
			break;
		memcpy(out + used, shown, n);
		used += n;
		p += step;
		left -= step;
	}
	out[used] = '\0';
	return used;
}
