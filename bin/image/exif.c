/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * EXIF is a TIFF file: "II" or "MM" for its byte order, 42, the offset of the
 * first directory. A directory is a u16 count, then 12 bytes an entry: u16 tag,
 * u16 type, u32 count, and the value itself where it fits four bytes.
 */
#include "image/exif.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3 };

struct tiff {
	const unsigned char *data;
	size_t size;
	bool big_endian;
};

/* A number of 2 or 4 bytes; the caller has checked that it is there. */
static uint32_t
number(const struct tiff *tiff, size_t at, unsigned width)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < width; i++) {
		const unsigned place = tiff->big_endian ? width - 1 - i : i;
		value |= (uint32_t)tiff->data[at + i] << (8 * place);
	}
	return value;
}

static unsigned
find_in_directory(const struct tiff *tiff, size_t at)
{
	uint32_t entries, value;

	if (at > tiff->size || tiff->size - at < 2)
		return 1;
	entries = number(tiff, at, 2);
	at += 2;
	for (; entries > 0 && tiff->size - at >= 12; entries--, at += 12) {
		if (number(tiff, at, 2) != TAG_ORIENTATION)
			continue;
		value = number(tiff, at + 8, 2);
		if (number(tiff, at + 2, 2) != TYPE_SHORT ||
		    number(tiff, at + 4, 4) != 1 || value < 1 || value > 8)
			return 1;
		return value;
	}
	return 1;
}

unsigned
lc__exif_orientation(const void *data, size_t size)
{
	struct tiff tiff = { data, size, false };

	if (size < 8)
		return 1;
	if (memcmp(data, "MM", 2) == 0)
		tiff.big_endian = true;
	else if (memcmp(data, "II", 2) != 0)
		return 1;
	if (number(&tiff, 2, 2) != 42)
		return 1;
	return find_in_directory(&tiff, number(&tiff, 4, 4));
}
