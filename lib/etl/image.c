/* SPDX-License-Identifier: BSD-2-Clause */
#include "etl/image.h"

#include <string.h>

#include "base/error.h"
#include "etl/raster.h"

enum lc__image_type
lc__image_sniff(const void *bytes, size_t size)
{
	if (size >= 3 && memcmp(bytes, "\xff\xd8\xff", 3) == 0)
		return LC__IMAGE_JPEG;
	if (size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0)
		return LC__IMAGE_PNG;
	return LC__IMAGE_NONE;
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
	default:
		return lc__error(LC_INVALID, 0, "neither JPEG nor PNG");
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
	*out = raster.tensor;
	return LC_OK;
}
