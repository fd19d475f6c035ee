/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/mds_image.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/payload.h"

/* An image file. */
static lc_status
load_file(const void *bytes, size_t size, const struct lc__incoming_how *how,
    struct lc__loaded *loaded, lc_value **out)
{
	struct lc__buf copy = { 0 };

	if (lc__buf_append(&copy, bytes, size) == NULL)
		return lc__no_memory(NULL);
	return lc__payload_load(&copy, how, loaded, out);
}

static lc_status
check_pixels(const struct lc__mds_pixels *pixels, const struct lc__image_options *how)
{
	const uint64_t most = how->max_pixels ? how->max_pixels : LC__IMAGE_MAX_PIXELS;

	if ((uint64_t)pixels->width * pixels->height > most)
		return lc__error(LC_INVALID, 0, "an image of %" PRIu32 " x %" PRIu32
		    " has more pixels than %" PRIu64, pixels->width, pixels->height, most);
	return LC_OK;
}

/* Rows of pixels into the order of a layout; channels after the kept ones are alpha. */
static void
arrange(const struct lc__mds_pixels *pixels, uint32_t kept,
    const struct lc__image_options *how, unsigned char *out)
{
	const size_t element = lc_dtype_size(lc__image_dtype(how->elements));
	const unsigned char *from = pixels->data;
	const size_t count = (size_t)pixels->width * pixels->height;

	for (size_t i = 0; i < count; i++, from += pixels->channels)
		for (uint32_t c = 0; c < kept; c++)
			lc__image_put(how->elements, from[c], 255, out + element *
			    (how->layout == LC__IMAGE_CHW ? c * count + i : i * kept + c));
}

static lc_status
load_pixels(const void *bytes, size_t size, const struct lc__incoming_how *how,
    struct lc__loaded *loaded, lc_value **out)
{
	struct lc__mds_pixels pixels;
	uint64_t shape[3];
	uint32_t kept;
	lc_tensor tensor;
	void *data;

	return_if_error(lc__mds_pixels(bytes, size, &pixels));
	return_if_error(check_pixels(&pixels, &how->images));
	kept = pixels.channels - (pixels.channels % 2 == 0 && !how->images.keep_alpha);
	shape[0] = how->images.layout == LC__IMAGE_CHW ? kept : pixels.height;
	shape[1] = how->images.layout == LC__IMAGE_CHW ? pixels.height : pixels.width;
	shape[2] = how->images.layout == LC__IMAGE_CHW ? pixels.width : kept;
	/* Pixels are a part of the size bytes, and an element has 4 bytes at most. */
	data = calloc(size + 1, 4);
	if (data == NULL)
		return lc__no_memory(NULL);
	return_if_error(lc__loaded_own(loaded, data));
	arrange(&pixels, kept, &how->images, data);
	return_if_error(lc_tensor_init(&tensor, lc__image_dtype(how->images.elements), 3, shape, data));
	*out = lc_value_tensor(&tensor);
	return *out != NULL ? LC_OK : lc__no_memory(NULL);
}

static lc_status
load_one(enum lc__mds_kind kind, const void *bytes, size_t size,
    const struct lc__incoming_how *how, struct lc__loaded *loaded, lc_value **out)
{
	return kind == LC__MDS_PIXELS || kind == LC__MDS_PIXELS_LIST ?
	    load_pixels(bytes, size, how, loaded, out) :
	    load_file(bytes, size, how, loaded, out);
}

static lc_status
load_list(enum lc__mds_kind kind, const void *bytes, size_t size,
    const struct lc__incoming_how *how, struct lc__loaded *loaded, lc_value **out)
{
	struct lc__mds_list list;
	const void *element;
	lc_value *value, *one;
	lc_status status = LC_OK;

	return_if_error(lc__mds_list(kind, bytes, size, &list));
	value = lc_value_list();
	if (value == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; status == LC_OK && lc__mds_list_next(&list, &element, &size);
	    i++) {
		status = load_one(kind, element, size, how, loaded, &one);
		if (status != LC_OK)
			status = lc__error_prefix("image %zu", i);
		else
			lc_value_append(value, one);
	}
	if (status == LC_OK)
		*out = value;
	else
		lc_value_free(value);
	return status;
}

lc_status
lc__mds_image(enum lc__mds_kind kind, const void *bytes, size_t size,
    const struct lc__incoming_how *how, struct lc__loaded *loaded, lc_value **out)
{
	if (how->raw) {
		*out = lc_value_bytes(bytes, size);
		return *out != NULL ? LC_OK : lc__no_memory(NULL);
	}
	return kind == LC__MDS_IMAGE || kind == LC__MDS_PIXELS ?
	    load_one(kind, bytes, size, how, loaded, out) :
	    load_list(kind, bytes, size, how, loaded, out);
}
