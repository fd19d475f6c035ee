/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/orientation.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* ---- as EXIF says it --------------------------------------------------------- */

/*
 * EXIF is a TIFF file: "II" or "MM" for its byte order, 42, the offset of the
 * first directory. A directory is a u16 count, then 12 bytes an entry: u16 tag,
 * u16 type, u32 count, and the value itself where it fits four bytes.
 */

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

unsigned
lc__exif_orientation(const void *data, size_t size)
{
	struct tiff tiff = { data, size, false };
	uint32_t entries, value;
	size_t at;

	if (size < 8)
		return 1;
	if (memcmp(data, "MM", 2) == 0)
		tiff.big_endian = true;
	else if (memcmp(data, "II", 2) != 0)
		return 1;
	if (number(&tiff, 2, 2) != 42)
		return 1;
	at = number(&tiff, 4, 4);
	if (at > size || size - at < 2)
		return 1;
	entries = number(&tiff, at, 2);
	at += 2;
	for (; entries > 0 && size - at >= 12; entries--, at += 12) {
		if (number(&tiff, at, 2) != TAG_ORIENTATION)
			continue;
		value = number(&tiff, at + 8, 2);
		if (number(&tiff, at + 2, 2) != TYPE_SHORT ||
		    number(&tiff, at + 4, 4) != 1 || value < 1 || value > 8)
			return 1;
		return value;
	}
	return 1;
}

/* ---- turning planes ---------------------------------------------------------- */

const struct lc__orientation lc__orientations[9] = {
	[2] = { false, true, false },
	[3] = { false, true, true },
	[4] = { false, false, true },
	[5] = { true, false, false },
	[6] = { true, false, true },
	[7] = { true, true, true },
	[8] = { true, true, false },
};

/* The side of a square that is turned at once. */
#define TILE 8

/* The rows of a square become columns. Steps may be negative. */
static void
turn_part(const uint8_t *from, ptrdiff_t from_step, uint8_t *to, ptrdiff_t to_step,
    ptrdiff_t width, ptrdiff_t height)
{
	for (ptrdiff_t y = 0; y < height; y++)
		for (ptrdiff_t x = 0; x < width; x++)
			to[x * to_step + y] = from[y * from_step + x];
}

#ifdef __SSE2__

static inline __m128i
load_row(const uint8_t *from)
{
	return _mm_loadl_epi64((const void *)from);
}

static inline void
store_two(uint8_t *first, uint8_t *second, __m128i rows)
{
	_mm_storel_epi64((void *)first, rows);
	_mm_storel_epi64((void *)second, _mm_unpackhi_epi64(rows, rows));
}

/* Interleave the bytes of rows that are one, then two, then four apart. */
static void
turn_tile(const uint8_t *from, ptrdiff_t step, uint8_t *to, ptrdiff_t to_step)
{
	const __m128i a = _mm_unpacklo_epi8(load_row(from), load_row(from + step));
	const __m128i b = _mm_unpacklo_epi8(load_row(from + 2 * step),
	    load_row(from + 3 * step));
	const __m128i c = _mm_unpacklo_epi8(load_row(from + 4 * step),
	    load_row(from + 5 * step));
	const __m128i d = _mm_unpacklo_epi8(load_row(from + 6 * step),
	    load_row(from + 7 * step));
	const __m128i ab_low = _mm_unpacklo_epi16(a, b);
	const __m128i ab_high = _mm_unpackhi_epi16(a, b);
	const __m128i cd_low = _mm_unpacklo_epi16(c, d);
	const __m128i cd_high = _mm_unpackhi_epi16(c, d);

	store_two(to, to + to_step, _mm_unpacklo_epi32(ab_low, cd_low));
	store_two(to + 2 * to_step, to + 3 * to_step, _mm_unpackhi_epi32(ab_low, cd_low));
	store_two(to + 4 * to_step, to + 5 * to_step,
	    _mm_unpacklo_epi32(ab_high, cd_high));
	store_two(to + 6 * to_step, to + 7 * to_step,
	    _mm_unpackhi_epi32(ab_high, cd_high));
}

#else

static void
turn_tile(const uint8_t *from, ptrdiff_t from_step, uint8_t *to, ptrdiff_t to_step)
{
	turn_part(from, from_step, to, to_step, TILE, TILE);
}

#endif

/* An axis that runs backwards becomes a negative step from the other end: in the source
 * for rows, in the result for columns. */
static void
turn_rows(const struct lc__orientation *turn, const uint8_t *from, uint32_t width,
    uint32_t height, uint8_t *to, size_t stride)
{
	const ptrdiff_t step = turn->back_y ? -(ptrdiff_t)width : (ptrdiff_t)width;
	const ptrdiff_t to_step = turn->back_x ? -(ptrdiff_t)stride : (ptrdiff_t)stride;

	if (turn->back_y)
		from += (size_t)(height - 1) * width;
	if (turn->back_x)
		to += (width - 1) * stride;
	for (ptrdiff_t y = 0; y < height; y += TILE) {
		const ptrdiff_t rows = height - y < TILE ? height - y : TILE;
		ptrdiff_t x = 0;
		for (; rows == TILE && x + TILE <= width; x += TILE)
			turn_tile(from + y * step + x, step, to + x * to_step + y,
			    to_step);
		turn_part(from + y * step + x, step, to + x * to_step + y, to_step,
		    width - x, rows);
	}
}

void
lc__turn_plane(unsigned orientation, const uint8_t *from, uint32_t width, uint32_t height,
    uint8_t *to, size_t stride)
{
	const struct lc__orientation *turn = &lc__orientations[orientation];

	if (turn->turned) {
		turn_rows(turn, from, width, height, to, stride);
		return;
	}
	for (uint32_t y = 0; y < height; y++, from += width) {
		uint8_t *row = to + (turn->back_y ? height - 1 - y : y) * stride;
		if (!turn->back_x)
			memcpy(row, from, width);
		else
			for (uint32_t x = 0; x < width; x++)
				row[width - 1 - x] = from[x];
	}
}

void
lc__turn_plane16(unsigned orientation, const uint16_t *from, uint32_t width,
    uint32_t height, uint16_t *to, size_t stride)
{
	const struct lc__orientation *turn = &lc__orientations[orientation];

	for (uint32_t y = 0; y < height; y++) {
		const size_t row = turn->back_y ? height - 1 - y : y;
		for (uint32_t x = 0; x < width; x++) {
			const size_t column = turn->back_x ? width - 1 - x : x;
			to[turn->turned ? column * stride + row : row * stride + column] =
			    from[(size_t)y * width + x];
		}
	}
}
