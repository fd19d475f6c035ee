/* SPDX-License-Identifier: BSD-2-Clause */
/* WebP by libwebp: the only file that includes <webp/decode.h>. */
#include "config.h"

#include "image/sink.h"

#include "base/error.h"

#ifdef HAVE_LIBWEBP

#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>

#include "base/bytes.h"
#include "base/lazy.h"
#include "image/orientation.h"

/* Loaded on first use: lib/base/lazy.h. */
/* clang-format off */
#define CALLS(X) X(WebPDecode) X(WebPGetFeaturesInternal) X(WebPInitDecoderConfigInternal)
/* clang-format on */
LC__LAZY(lib, "libwebp", LIBWEBP_FILE, CALLS)

#define EXIF_FLAG 8 /* of the flags in VP8X: there is a chunk EXIF */

static lc_status
failed(VP8StatusCode code)
{
	switch (code) {
	case VP8_STATUS_OUT_OF_MEMORY: return lc__no_memory("WebP");
	case VP8_STATUS_NOT_ENOUGH_DATA:
		return lc__error(LC_CORRUPT, 0, "WebP: the file ends early");
	case VP8_STATUS_UNSUPPORTED_FEATURE:
		return lc__error(LC_UNSUPPORTED, 0,
		    "WebP: libwebp does not decode this kind");
	default: return lc__error(LC_CORRUPT, 0, "WebP: the data is damaged");
	}
}

/*
 * A file is "RIFF", u32 size of what follows, "WEBP" and chunks: a name, u32 size, data,
 * filled up to an even size. The chunk EXIF, which the first one (VP8X) announces, comes
 * after the picture, so a file that was cut short may lack it.
 */
static lc_status
find_orientation(const unsigned char *bytes, size_t size, unsigned *out)
{
	uint64_t at = 12;

	*out = 1;
	if (size < 30 || memcmp(bytes + 12, "VP8X", 4) != 0 || !(bytes[20] & EXIF_FLAG))
		return LC_OK;
	while (at + 8 <= size) {
		const uint64_t length = lc__get32(bytes + at + 4);
		const unsigned char *data = bytes + at + 8;
		/* Some programs write the prefix that EXIF data has in JPEG. */
		const size_t name = length >= 6 && at + 14 <= size &&
			memcmp(data, "Exif\0", 6) == 0
		    ? 6
		    : 0;
		if (at + 8 + length > size)
			break;
		if (memcmp(bytes + at, "EXIF", 4) == 0) {
			*out = lc__exif_orientation(data + name, length - name);
			return LC_OK;
		}
		at += 8 + length + length % 2;
	}
	return (uint64_t)lc__get32(bytes + 4) + 8 > size
	    ? failed(VP8_STATUS_NOT_ENOUGH_DATA)
	    : LC_OK;
}

/* libwebp decodes the whole picture at once; its sides have 16,383 pixels at most. */
static lc_status
read_pixels(const void *bytes, size_t size, WebPDecoderConfig *config,
    const struct lc__image_header *picture, struct lc__sink *sink)
{
	const size_t stride = (size_t)picture->width * picture->channels;
	uint8_t *pixels = malloc(stride * picture->height);
	VP8StatusCode code;

	if (pixels == NULL)
		return failed(VP8_STATUS_OUT_OF_MEMORY);
	config->output.colorspace = picture->channels == 4 ? MODE_RGBA : MODE_RGB;
	config->output.is_external_memory = 1;
	config->output.u.RGBA.rgba = pixels;
	config->output.u.RGBA.stride = (int)stride;
	config->output.u.RGBA.size = stride * picture->height;
	code = lib.WebPDecode(bytes, size, config);
	for (uint32_t y = 0; code == VP8_STATUS_OK && y < picture->height; y += LC__BAND)
		sink->rows(sink, y,
		    picture->height - y < LC__BAND ? picture->height - y : LC__BAND,
		    pixels + y * stride, stride);
	free(pixels);
	return code == VP8_STATUS_OK ? LC_OK : failed(code);
}

lc_status
lc__image_read_webp(const void *bytes, size_t size, struct lc__sink *sink)
{
	struct lc__image_header picture = { .shrink = 1 };
	WebPDecoderConfig config;
	VP8StatusCode code;

	return_if_error(lib_load());
	/* The functions without "Internal" in their names are inline in the header, with
	 * these calls. */
	if (!lib.WebPInitDecoderConfigInternal(&config, WEBP_DECODER_ABI_VERSION))
		return lc__error(LC_UNSUPPORTED, 0,
		    "WebP: libwebp is of another version");
	code = lib.WebPGetFeaturesInternal(bytes, size, &config.input,
	    WEBP_DECODER_ABI_VERSION);
	if (code != VP8_STATUS_OK)
		return failed(code);
	if (config.input.has_animation)
		return lc__error(LC_UNSUPPORTED, 0, "WebP: it is an animation");
	picture.width = picture.stored_width = (uint32_t)config.input.width;
	picture.height = picture.stored_height = (uint32_t)config.input.height;
	picture.channels = config.input.has_alpha && sink->keep_alpha ? 4 : 3;
	return_if_error(lc__sink_check(sink, picture.width, picture.height));
	return_if_error(find_orientation(bytes, size, &picture.orientation));
	return_if_error(sink->begin(sink, &picture));
	return sink->header_only ? LC_OK
				 : read_pixels(bytes, size, &config, &picture, sink);
}

#else

lc_status
lc__image_read_webp(const void *bytes, size_t size, struct lc__sink *sink)
{
	(void)bytes;
	(void)size;
	(void)sink;
	return lc__error(LC_UNSUPPORTED, 0, "WebP: cachex was built without libwebp");
}

#endif
