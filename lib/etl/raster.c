/* SPDX-License-Identifier: BSD-2-Clause */
#include "etl/raster.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* How each EXIF orientation stores a picture: are rows the picture's columns,
 * and do the file's columns and rows run backwards in it. */
static const struct {
	bool turned, back_x, back_y;
} orientations[9] = {
	[2] = { false, true, false },
	[3] = { false, true, true },
	[4] = { false, false, true },
	[5] = { true, false, false },
	[6] = { true, false, true },
	[7] = { true, true, true },
	[8] = { true, true, false },
};

lc_status
lc__raster_check(const struct lc__raster *raster, uint32_t width,
    uint32_t height)
{
	const uint64_t limit = raster->options->max_pixels ?
	    raster->options->max_pixels : LC__IMAGE_MAX_PIXELS;

	if (width == 0 || height == 0)
		return lc__error(LC_CORRUPT, 0, "image of %u x %u pixels", width,
		    height);
	if ((uint64_t)width * height > limit)
		return lc__error(LC_INVALID, 0,
		    "%u x %u pixels are above the limit of %llu", width, height,
		    (unsigned long long)limit);
	return LC_OK;
}

/* Where the samples go, as one origin and a step for each direction. */
static void
plan_steps(struct lc__raster *r, unsigned orientation)
{
	const bool turned = orientations[orientation].turned;
	const bool planes = r->options->layout == LC__IMAGE_CHW;
	const ptrdiff_t width = turned ? r->height : r->width;
	const ptrdiff_t pixel = planes ? 1 : (ptrdiff_t)r->channels;
	const ptrdiff_t row = width * pixel;

	r->step_x = turned ? row : pixel;
	r->step_y = turned ? pixel : row;
	r->step_c = planes ? (ptrdiff_t)r->width * r->height : 1;
	r->origin = 0;
	if (orientations[orientation].back_x) {
		r->origin += (ptrdiff_t)(r->width - 1) * r->step_x;
		r->step_x = -r->step_x;
	}
	if (orientations[orientation].back_y) {
		r->origin += (ptrdiff_t)(r->height - 1) * r->step_y;
		r->step_y = -r->step_y;
	}
}

static lc_status
allocate(struct lc__raster *r, unsigned orientation)
{
	const bool turned = orientations[orientation].turned;
	const uint64_t width = turned ? r->height : r->width;
	const uint64_t height = turned ? r->width : r->height;
	const uint64_t hwc[3] = { height, width, r->channels };
	const uint64_t chw[3] = { r->channels, height, width };

	return_if_error(lc_tensor_init(&r->tensor, LC_U8, 3,
	    r->options->layout == LC__IMAGE_CHW ? chw : hwc, NULL));
	r->tensor.data = aligned_alloc(64, lc__round_up(r->tensor.nbytes, 64));
	if (r->tensor.data == NULL)
		return lc__error(LC_NO_MEMORY, 0, "no memory for %zu bytes",
		    r->tensor.nbytes);
	return LC_OK;
}

lc_status
lc__raster_begin(struct lc__raster *raster, uint32_t width, uint32_t height,
    unsigned channels, unsigned orientation)
{
	if (raster->options->ignore_orientation)
		orientation = 1;
	return_if_error(lc__raster_check(raster, width, height));
	raster->width = width;
	raster->height = height;
	raster->channels = channels;
	plan_steps(raster, orientation);
	return allocate(raster, orientation);
}

static inline __attribute__((always_inline)) void
split_channels(uint8_t *restrict to, ptrdiff_t plane,
    const uint8_t *restrict from, uint32_t width, unsigned channels)
{
	for (unsigned c = 0; c < channels; c++)
		for (uint32_t x = 0; x < width; x++)
			to[(ptrdiff_t)c * plane + x] = from[(size_t)x * channels + c];
}

/* A row that stays a row, in its direction. The switch makes the number of
 * channels a constant. */
static void
store_row(const struct lc__raster *r, uint8_t *to, const uint8_t *from)
{
	switch (r->step_c == 1 ? 1 : r->channels) {
	case 1:
		memcpy(to, from, (size_t)r->width * r->channels);
		break;
	case 2:
		split_channels(to, r->step_c, from, r->width, 2);
		break;
	case 3:
		split_channels(to, r->step_c, from, r->width, 3);
		break;
	default:
		split_channels(to, r->step_c, from, r->width, 4);
		break;
	}
}

/* Pixels of a few rows and columns, in any direction. */
static void
store_tile(const struct lc__raster *r, uint8_t *to, const uint8_t *from,
    uint32_t columns, uint32_t rows)
{
	for (uint32_t y = 0; y < rows; y++) {
		uint8_t *place = to + (ptrdiff_t)y * r->step_y;
		const uint8_t *pixel = from + (size_t)y * r->width * r->channels;
		for (uint32_t x = 0; x < columns; x++) {
			for (unsigned c = 0; c < r->channels; c++)
				place[(ptrdiff_t)c * r->step_c] = *pixel++;
			place += r->step_x;
		}
	}
}

/* Tiles keep the cache lines and pages few that columns are written to. */
static void
store_band(const struct lc__raster *r, uint8_t *to, const uint8_t *from,
    uint32_t rows)
{
	const uint32_t side = 32;

	for (uint32_t x = 0; x < r->width; x += side)
		store_tile(r, to + (ptrdiff_t)x * r->step_x,
		    from + (size_t)x * r->channels,
		    r->width - x < side ? r->width - x : side, rows);
}

void
lc__raster_store(struct lc__raster *raster, uint32_t y, uint32_t rows,
    const uint8_t *pixels)
{
	const size_t row_bytes = (size_t)raster->width * raster->channels;
	const bool straight = raster->step_x == 1 ||
	    (raster->step_c == 1 && raster->step_x == (ptrdiff_t)raster->channels);
	uint8_t *to = (uint8_t *)raster->tensor.data + raster->origin +
	    (ptrdiff_t)y * raster->step_y;

	while (rows > 0) {
		const uint32_t n = straight ? 1 :
		    rows < LC__RASTER_BAND ? rows : LC__RASTER_BAND;
		if (straight)
			store_row(raster, to, pixels);
		else
			store_band(raster, to, pixels, n);
		to += (ptrdiff_t)n * raster->step_y;
		pixels += n * row_bytes;
		rows -= n;
	}
}
