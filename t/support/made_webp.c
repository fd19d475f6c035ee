/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "made_image.h"
#include "made_tiff.h"
#include "run.h"

#ifdef HAVE_LIBWEBP

#include <stdlib.h>

#include <webp/decode.h>
#include <webp/encode.h>

#include "base/bytes.h"

static void
append_chunk(struct lc__buf *out, const char *name, const void *data, size_t size)
{
	unsigned char head[8];

	memcpy(head, name, 4);
	lc__set32(head + 4, (uint32_t)size);
	lc__buf_append(out, head, 8);
	lc__buf_append(out, data, size);
	lc__buf_append(out, "", size % 2);
}

/* The plain file's chunk of pixels between an extended header and EXIF data. */
static void
extend(struct lc__buf *out, size_t from, uint32_t width, uint32_t height, bool alpha,
    const void *exif, size_t exif_size)
{
	unsigned char header[10] = { alpha ? 0x18 : 0x08, 0, 0, 0,
		(unsigned char)(width - 1), (unsigned char)((width - 1) >> 8), 0,
		(unsigned char)(height - 1), (unsigned char)((height - 1) >> 8), 0 };
	struct lc__buf pixels = { 0 };

	lc__buf_append(&pixels, out->data + from + 12, out->size - from - 12);
	out->size = from + 12;
	append_chunk(out, "VP8X", header, sizeof(header));
	lc__buf_append(out, pixels.data, pixels.size);
	append_chunk(out, "EXIF", exif, exif_size);
	lc__set32(out->data + from + 4, (uint32_t)(out->size - from - 8));
	lc__buf_free(&pixels);
}

bool
make_webp(uint32_t width, uint32_t height, unsigned channels, const void *exif,
    size_t exif_size, struct lc__buf *out)
{
	const size_t from = out->size, stride = (size_t)width * channels;
	uint8_t *pixels = malloc(stride * height), *file = NULL;
	size_t size;

	for (uint32_t y = 0; y < height; y++)
		for (size_t i = 0; i < stride; i++)
			/* Without loss also means the colours below alpha 0 only if asked
			 * for: there is none. */
			pixels[y * stride + i] = (uint8_t)(noise((uint32_t)(i / channels), y,
			    (uint32_t)(i % channels)) | (i % channels == 3));
	size = channels == 4 ?
	    WebPEncodeLosslessRGBA(pixels, (int)width, (int)height, (int)stride, &file) :
	    WebPEncodeLosslessRGB(pixels, (int)width, (int)height, (int)stride, &file);
	ck_assert_uint_gt(size, 0);
	lc__buf_append(out, file, size);
	if (exif != NULL)
		extend(out, from, width, height, channels == 4, exif, exif_size);
	WebPFree(file);
	free(pixels);
	return true;
}

bool
make_webp_lossy(uint32_t width, uint32_t height, struct lc__buf *out)
{
	uint8_t *pixels = malloc((size_t)width * height * 3), *file = NULL;
	size_t size;

	for (uint32_t y = 0; y < height; y++)
		for (uint32_t i = 0; i < width * 3; i++)
			pixels[(size_t)y * width * 3 + i] = smooth(i / 3, y, i % 3);
	size = WebPEncodeRGB(pixels, (int)width, (int)height, (int)width * 3, 80, &file);
	ck_assert_uint_gt(size, 0);
	lc__buf_append(out, file, size);
	WebPFree(file);
	free(pixels);
	return true;
}

uint8_t *
plain_webp(const struct lc__buf *file, bool alpha)
{
	int width, height;
	uint8_t *pixels = alpha ? WebPDecodeRGBA(file->data, file->size, &width, &height) :
	    WebPDecodeRGB(file->data, file->size, &width, &height);
	const size_t size = (size_t)width * (size_t)height * (alpha ? 4 : 3);
	uint8_t *copy = malloc(size);

	ck_assert_ptr_nonnull(pixels);
	memcpy(copy, pixels, size);
	WebPFree(pixels);
	return copy;
}

#else

bool
make_webp(uint32_t width, uint32_t height, unsigned channels, const void *exif,
    size_t exif_size, struct lc__buf *out)
{
	(void)width; (void)height; (void)channels; (void)exif; (void)exif_size; (void)out;
	return false;
}

bool
make_webp_lossy(uint32_t width, uint32_t height, struct lc__buf *out)
{
	(void)width; (void)height; (void)out;
	return false;
}

uint8_t *
plain_webp(const struct lc__buf *file, bool alpha)
{
	(void)file; (void)alpha;
	return NULL;
}

#endif
