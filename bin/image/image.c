/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "image/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "image/orientation.h"
#include "image/sink.h"

#ifdef HAVE_LIBWEBP
#define WEBP_BUILT true
#else
#define WEBP_BUILT false
#endif
#ifdef HAVE_LIBTIFF
#define TIFF_BUILT true
#else
#define TIFF_BUILT false
#endif

const struct lc__image_format lc__image_formats[LC__IMAGE_TYPES] = {
	[LC__IMAGE_JPEG] = { "JPEG", "jpg", true },
	[LC__IMAGE_PNG] = { "PNG", "png", true },
	[LC__IMAGE_WEBP] = { "WebP", "webp", WEBP_BUILT },
	[LC__IMAGE_TIFF] = { "TIFF", "tif", TIFF_BUILT },
};

enum lc__image_type
lc__image_sniff(const void *bytes, size_t size)
{
	if (size >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0)
		return LC__IMAGE_JPEG;
	if (size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
		return LC__IMAGE_PNG;
	if (size >= 12 && memcmp(bytes, "RIFF", 4) == 0 &&
	    memcmp((const char *)bytes + 8, "WEBP", 4) == 0)
		return LC__IMAGE_WEBP;
	/* TIFF and BigTIFF, in either order of bytes. */
	if (size >= 4 &&
	    (memcmp(bytes, "II*", 4) == 0 || memcmp(bytes, "MM\0*", 4) == 0 ||
		memcmp(bytes, "II+", 4) == 0 || memcmp(bytes, "MM\0+", 4) == 0))
		return LC__IMAGE_TIFF;
	return LC__IMAGE_NONE;
}

lc_dtype
lc__image_dtype(enum lc__image_elements elements)
{
	static const lc_dtype dtypes[] = {
		[LC__IMAGE_U8] = LC_U8,
		[LC__IMAGE_U16] = LC_U16,
		[LC__IMAGE_F32] = LC_F32,
	};

	return dtypes[elements];
}

void
lc__image_put(enum lc__image_elements elements, unsigned value, unsigned white, void *to)
{
	const uint16_t spread = (uint16_t)(value * (65535 / white));
	const float share = (float)value / (float)white;

	if (elements == LC__IMAGE_U16)
		memcpy(to, &spread, sizeof(spread));
	else if (elements == LC__IMAGE_F32)
		memcpy(to, &share, sizeof(share));
	else
		*(uint8_t *)to = (uint8_t)(white > 255 ? value >> 8 : value);
}

lc_status
lc__sink_check(const struct lc__sink *sink, uint32_t width, uint32_t height)
{
	const uint64_t limit = sink->max_pixels ? sink->max_pixels : LC__IMAGE_MAX_PIXELS;

	if (width == 0 || height == 0)
		return lc__error(LC_CORRUPT, 0, "image of %u x %u pixels", width, height);
	if ((uint64_t)width * height > limit)
		return lc__error(LC_INVALID, 0,
		    "%u x %u pixels are above the limit of %llu", width, height,
		    (unsigned long long)limit);
	return LC_OK;
}

lc_status
lc__image_read(const void *bytes, size_t size, struct lc__sink *sink)
{
	switch (lc__image_sniff(bytes, size)) {
	case LC__IMAGE_JPEG: return lc__image_read_jpeg(bytes, size, sink);
	case LC__IMAGE_PNG: return lc__image_read_png(bytes, size, sink);
	case LC__IMAGE_WEBP: return lc__image_read_webp(bytes, size, sink);
	case LC__IMAGE_TIFF: return lc__image_read_tiff(bytes, size, sink);
	default: return lc__error(LC_INVALID, 0, "neither JPEG, PNG, WebP nor TIFF");
	}
}

/* ---- memory for rows --------------------------------------------------------- */

void *
lc__scratch_get(struct lc__scratch *scratch, uint64_t count, uint64_t size)
{
	uint64_t room;

	if (!lc__mul64(count, size, &room) || room > SIZE_MAX / 2)
		return NULL;
	if (room <= scratch->room && scratch->data != NULL)
		return scratch->data;
	lc__scratch_free(scratch);
	room = lc__round_up(room + (room == 0), 64);
	scratch->data = aligned_alloc(64, (size_t)room);
	scratch->room = scratch->data != NULL ? (size_t)room : 0;
	return scratch->data;
}

void
lc__scratch_free(struct lc__scratch *scratch)
{
	free(scratch->data);
	*scratch = (struct lc__scratch){ 0 };
}

/* ---- pixels as a tensor ------------------------------------------------------ */

/* The sink that writes rows as elements of a tensor. */
struct raster {
	struct lc__sink sink; /* first: for the decoders */
	const struct lc__image_options *options;
	uint32_t width, height; /* as the file has them, before turning */
	unsigned channels;      /* 1 to 4 */
	bool deep;              /* samples that come in have 16 bits */
	bool reduced;           /* their lower 8 bits were dropped */
	unsigned element;       /* bytes of one that goes out */
	lc_tensor tensor;       /* its data is malloc'ed, 64-byte aligned */
	ptrdiff_t origin;       /* where the file's first sample goes */
	ptrdiff_t step_x;       /* bytes to the file's next column, */
	ptrdiff_t step_y;       /* row, */
	ptrdiff_t step_c;       /* and channel */
};

/* Any orientation is an origin and a step in each direction. */
static void
plan_steps(struct raster *r, unsigned orientation)
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
allocate(struct raster *r, unsigned orientation)
{
	const bool turned = lc__orientations[orientation].turned;
	const uint64_t width = turned ? r->height : r->width;
	const uint64_t height = turned ? r->width : r->height;
	const uint64_t hwc[3] = { height, width, r->channels };
	const uint64_t chw[3] = { r->channels, height, width };

	return_if_error(lc_tensor_init(&r->tensor, lc__image_dtype(r->options->elements),
	    3, r->options->layout == LC__IMAGE_CHW ? chw : hwc, NULL));
	r->tensor.data = aligned_alloc(64, lc__round_up(r->tensor.nbytes, 64));
	if (r->tensor.data == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory for %zu bytes",
		    r->tensor.nbytes);
	return LC_OK;
}

static lc_status
begin(struct lc__sink *sink, const struct lc__image_header *picture)
{
	struct raster *raster = (struct raster *)sink;
	const unsigned orientation = raster->options->ignore_orientation
	    ? 1
	    : picture->orientation;

	raster->width = picture->width;
	raster->height = picture->height;
	raster->channels = picture->channels;
	raster->deep = picture->deep && sink->keep_deep;
	raster->reduced = picture->deep && !sink->keep_deep;
	raster->element = (unsigned)lc_dtype_size(
	    lc__image_dtype(raster->options->elements));
	plan_steps(raster, orientation);
	return allocate(raster, orientation);
}

static inline __attribute__((always_inline)) void
split_channels(uint8_t *restrict to, ptrdiff_t plane, const uint8_t *restrict from,
    uint32_t width, unsigned channels)
{
	for (unsigned c = 0; c < channels; c++)
		for (uint32_t x = 0; x < width; x++)
			to[(ptrdiff_t)c * plane + x] = from[(size_t)x * channels + c];
}

/* Rows that stay rows in the same direction. The switch makes the number of channels a
 * constant. */
static void
store_row(const struct raster *r, uint8_t *to, const uint8_t *from)
{
	switch (r->step_c == 1 ? 1 : r->channels) {
	case 1: memcpy(to, from, (size_t)r->width * r->channels); break;
	case 2: split_channels(to, r->step_c, from, r->width, 2); break;
	case 3: split_channels(to, r->step_c, from, r->width, 3); break;
	default: split_channels(to, r->step_c, from, r->width, 4); break;
	}
}

/* Pixels of a few rows and columns, in any direction. */
static void
store_tile(const struct raster *r, uint8_t *to, const uint8_t *from, size_t stride,
    uint32_t columns, uint32_t rows)
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

/* By tiles, so that writing columns touches few cache lines and pages at a time. */
static void
store_band(const struct raster *r, uint8_t *to, const uint8_t *from, size_t stride,
    uint32_t rows)
{
	const uint32_t side = 32;

	for (uint32_t x = 0; x < r->width; x += side)
		store_tile(r, to + (ptrdiff_t)x * r->step_x,
		    from + (size_t)x * r->channels, stride,
		    r->width - x < side ? r->width - x : side, rows);
}

/* Elements of more than a byte, in any direction. */
static void
store_wide(const struct raster *r, uint8_t *to, const uint8_t *row)
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
	struct raster *raster = (struct raster *)sink;
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

static void
raster_init(struct raster *raster, const struct lc__image_options *options,
    struct lc__scratch *band)
{
	*raster = (struct raster){
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

/* SPDX-License-Identifier: BSD-2-Clause */

lc_status
lc__image_decode(const void *bytes, size_t size, const char *name,
    const struct lc__image_options *options, lc_tensor *out)
{
	static const struct lc__image_options defaults;
	struct lc__scratch band = { 0 };
	struct raster raster;
	lc_status status;

	raster_init(&raster, options ? options : &defaults, &band);
	status = lc__image_read(bytes, size, &raster.sink);
	lc__scratch_free(&band);
	if (status != LC_OK) {
		lc_tensor_free(&raster.tensor);
		return name != NULL ? lc__error_prefix("%s", name) : status;
	}
	if (raster.reduced && raster.options->reduced != NULL)
		++*raster.options->reduced;
	*out = raster.tensor;
	return LC_OK;
}
