/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/picture.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A side at *at, which moves behind it. */
static bool
take_side(const char **at, uint32_t *out)
{
	char *end;
	unsigned long side;

	if (!isdigit((unsigned char)**at))
		return false;
	side = strtoul(*at, &end, 10);
	*at = end;
	*out = (uint32_t)side;
	return side >= 1 && side <= PICTURE_MOST;
}

static bool
take_size(const char **at, lc_bucket *out)
{
	if (!take_side(at, &out->width))
		return false;
	out->height = out->width;
	if (**at != 'x')
		return true;
	++*at;
	return take_side(at, &out->height);
}

bool
picture_size(const char *text, lc_bucket *out)
{
	return take_size(&text, out) && *text == '\0';
}

bool
picture_sizes(const char *text, lc_bucket *out, size_t room, size_t *n)
{
	for (*n = 0; *n < room; text++) {
		if (!take_size(&text, &out[(*n)++]))
			return false;
		if (*text != ',')
			return *text == '\0';
	}
	return false;
}

bool
picture_colour(const char *text, uint8_t out[3])
{
	unsigned long colour;

	if (strlen(text) != 6 || strspn(text, "0123456789abcdefABCDEF") != 6)
		return false;
	colour = strtoul(text, NULL, 16);
	for (int i = 0; i < 3; i++)
		out[i] = (uint8_t)(colour >> (16 - 8 * i));
	return true;
}
