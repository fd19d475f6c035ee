/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/raster.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "image/orientation.h"

/* Where the samples go, as one origin and a step for each direction. */
static void
plan_steps(struct lc__raster *r, unsigned orientation)
{
	const bool turned = lc__orientations[orientation].turned;
	const bool planes = r->options->layout == LC__IMAGE_CHW;
	const ptrdiff_t width = turned ? r->height : r->width;
	const ptrdiff_t element = r->element;
	const ptrdiff_t pixel = element * (planes ? 1 : (ptrdiff_t)r->channels);
	const ptrdiff_t row = width * pixel;

	r->step_x = turned ? row : pixel;
	r->step_y = turned ? pixel : row;
	r->step_c = element * (planes ? (ptrdiff_t)r->width * r->height : 1);
	r->origin = 0;
	if (lc__orientations[orientation].back_x) {
		r->origin += (ptrdiff_t)(r->width - 1) * r->step_x;
		r->step_x = -r->step_x;
	}
	if (lc__orientations[orientation].back_y) {
		r->origin += (ptrdiff_t)(r->height - 1) * r->step_y;
		r->step_y = -r->step_y;
	}
}

static lc_status
allocate(struct lc__raster *r, unsigned orientation)
{
	const bool turned = lc__orientations[orientation].turned;
	const uint64_t width = turned ? r->height : r->width;
	const uint64_t height = turned ? r->width : r->height;
	const uint64_t hwc[3] = { height, width, r->channels };
	const uint64_t chw[3] = { r->channels, height, width };

	return_if_error(lc_tensor_init(&r->tensor, lc__image_dtype(r->options->elements), 3,
	    r->options->layout == LC__IMAGE_CHW ? chw : hwc, NULL));
	r->tensor.data = aligned_alloc(64, lc__round_up(r->tensor.nbytes, 64));
	if (r->tensor.data == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory for %zu bytes",
		    r->tensor.nbytes);
	return LC_OK;
}

static lc_status
begin(struct lc__sink *sink, const struct lc__image_header *picture)
{
	struct lc__raster *raster = (struct lc__raster *)sink;
	const unsigned orientation =
	    raster->options->ignore_orientation ? 1 : picture->orientation;

	raster->width = picture->width;
	raster->height = picture->height;
	raster->channels = picture->channels;
	raster->deep = picture->deep && sink->keep_deep;
	raster->reduced = picture->deep && !sink->keep_deep;
	raster->element = (unsigned)lc_dtype_size(lc__image_dtype(raster->options->elements));
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
    size_t stride, uint32_t columns, uint32_t rows)
{
	for (uint32_t y = 0; y < rows; y++) {
		uint8_t *place = to + (ptrdiff_t)y * r->step_y;
		const uint8_t *pixel = from + y * stride;
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
    size_t stride, uint32_t rows)
{
	const uint32_t side = 32;

	for (uint32_t x = 0; x < r->width; x += side)
		store_tile(r, to + (ptrdiff_t)x * r->step_x,
		    from + (size_t)x * r->channels, stride,
		    r->width - x < side ? r->width - x : side, rows);
}

/* Elements of more than a byte, in any direction. */
static void
store_wide(const struct lc__raster *r, uint8_t *to, const uint8_t *row)
{
	const uint16_t *deep = (const void *)row;
	size_t i = 0;

	for (uint32_t x = 0; x < r->width; x++)
		for (unsigned c = 0; c < r->channels; c++, i++)
			lc__image_put(r->options->elements, r->deep ? deep[i] : row[i],
			    r->deep ? 65535 : 255,
			    to + (ptrdiff_t)x * r->step_x + (ptrdiff_t)c * r->step_c);
}

static void
store(struct lc__sink *sink, uint32_t y, uint32_t rows, const uint8_t *pixels,
    size_t stride)
{
	struct lc__raster *raster = (struct lc__raster *)sink;
	const bool straight = raster->step_x == 1 ||
	    (raster->step_c == 1 && raster->step_x == (ptrdiff_t)raster->channels);
	uint8_t *to = (uint8_t *)raster->tensor.data + raster->origin +
	    (ptrdiff_t)y * raster->step_y;

	if (raster->element > 1) {
		for (uint32_t i = 0; i < rows; i++)
			store_wide(raster, to + (ptrdiff_t)i * raster->step_y,
			    pixels + i * stride);
		return;
	}
	if (!straight) {
		store_band(raster, to, pixels, stride, rows);
		return;
	}
	for (uint32_t i = 0; i < rows; i++)
		store_row(raster, to + (ptrdiff_t)i * raster->step_y,
		    pixels + i * stride);
}

void
lc__raster_init(struct lc__raster *raster, const struct lc__image_options *options,
    struct lc__scratch *band)
{
	*raster = (struct lc__raster){
		.sink = {
			.max_pixels = options->max_pixels,
			.keep_alpha = options->keep_alpha,
			.keep_deep = options->elements != LC__IMAGE_U8,
			.band = band,
			.begin = begin,
			.rows = store,
		},
		.options = options,
	};
}
