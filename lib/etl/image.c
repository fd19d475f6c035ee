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

static lc_status
read_any(const void *bytes, size_t size, struct lc__raster *raster)
{
	switch (lc__image_sniff(bytes, size)) {
	case LC__IMAGE_JPEG:
		return lc__image_read_jpeg(bytes, size, raster);
	case LC__IMAGE_PNG:
		return lc__image_read_png(bytes, size, raster);
	default:
		return lc__error(LC_INVALID, 0, "neither JPEG nor PNG");
	}
}

lc_status
lc__image_decode(const void *bytes, size_t size, const char *name,
    const struct lc__image_options *options, lc_tensor *out)
{
	static const struct lc__image_options defaults;
	struct lc__raster raster = { .options = options ? options : &defaults };

	if (read_any(bytes, size, &raster) != LC_OK) {
		lc_tensor_free(&raster.tensor);
		return lc__error_prefix("%s", name);
	}
	*out = raster.tensor;
	return LC_OK;
}
