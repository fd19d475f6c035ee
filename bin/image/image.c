/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "image/image.h"

#include <string.h>

#include "base/error.h"
#include "image/raster.h"

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
	if (size >= 4 && (memcmp(bytes, "II*", 4) == 0 || memcmp(bytes, "MM\0*", 4) == 0 ||
	    memcmp(bytes, "II+", 4) == 0 || memcmp(bytes, "MM\0+", 4) == 0))
		return LC__IMAGE_TIFF;
	return LC__IMAGE_NONE;
}

lc_dtype
lc__image_dtype(enum lc__image_elements elements)
{
	static const lc_dtype dtypes[] = { [LC__IMAGE_U8] = LC_U8,
		[LC__IMAGE_U16] = LC_U16, [LC__IMAGE_F32] = LC_F32 };

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
	const uint64_t limit =
	    sink->max_pixels ? sink->max_pixels : LC__IMAGE_MAX_PIXELS;

	if (width == 0 || height == 0)
		return lc__error(LC_CORRUPT, 0, "image of %u x %u pixels", width,
		    height);
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
	case LC__IMAGE_JPEG:
		return lc__image_read_jpeg(bytes, size, sink);
	case LC__IMAGE_PNG:
		return lc__image_read_png(bytes, size, sink);
	case LC__IMAGE_WEBP:
		return lc__image_read_webp(bytes, size, sink);
	case LC__IMAGE_TIFF:
		return lc__image_read_tiff(bytes, size, sink);
	default:
		return lc__error(LC_INVALID, 0, "neither JPEG, PNG, WebP nor TIFF");
	}
}

lc_status
lc__image_decode(const void *bytes, size_t size, const char *name,
    const struct lc__image_options *options, lc_tensor *out)
{
	static const struct lc__image_options defaults;
	struct lc__scratch band = { 0 };
	struct lc__raster raster;
	lc_status status;

	lc__raster_init(&raster, options ? options : &defaults, &band);
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
