/* SPDX-License-Identifier: BSD-2-Clause */
#include "drawn.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/image.h"

const char *
drawn_unable(void)
{
	struct lc__picture *picture = NULL;
	const lc_status status = lc__picture_new(LC__PICTURE_PNG, &picture);

	if (status == LC_UNSUPPORTED ||
	    (status == LC_IO && strstr(lc_last_error()->text, "no font") != NULL))
		return lc_last_error()->text;
	lc__picture_free(picture);
	return NULL;
}

void
drawn_need(void)
{
	const char *why = drawn_unable();

	if (why == NULL)
		return;
	printf("1..0 # SKIP %s\n", why);
	exit(0);
}

struct lc__picture *
drawn_begin(enum lc__picture_format format, double width, double height)
{
	struct lc__picture *picture;

	ck_assert_int_eq(lc__picture_new(format, &picture), LC_OK);
	ck_assert_int_eq(lc__picture_begin(picture, width, height, lc_id_of("a <title>")),
	    LC_OK);
	return picture;
}

struct lc__buf
drawn_bytes(struct lc__picture *picture)
{
	struct lc__buf bytes = { 0 };

	ck_assert_msg(lc__picture_finish(picture, &bytes) == LC_OK, "%s",
	    lc_last_error()->text);
	lc__picture_free(picture);
	ck_assert_ptr_nonnull(lc__buf_append(&bytes, "", 1));
	bytes.size--;
	return bytes;
}

struct lc__pixels
drawn_pixels(struct lc__picture *picture)
{
	struct lc__buf bytes = drawn_bytes(picture);
	struct lc__pixels out;
	lc_tensor image;

	ck_assert_int_eq(lc__image_decode(bytes.data, bytes.size, NULL, NULL, &image),
	    LC_OK);
	ck_assert_uint_eq(image.shape[2], 3);
	ck_assert_int_eq(lc__pixels_new((uint32_t)image.shape[1],
	    (uint32_t)image.shape[0], 0, &out), LC_OK);
	memcpy(out.data, image.data, image.nbytes);
	lc_tensor_free(&image);
	lc__buf_free(&bytes);
	return out;
}

uint32_t
pixel(const struct lc__pixels *pixels, double x, double y)
{
	ck_assert(x >= 0 && x < pixels->width && y >= 0 && y < pixels->height);
	return lc__pixels_get(pixels, (uint32_t)x, (uint32_t)y);
}

lc_tensor
tensor_of(lc_dtype dtype, uint32_t ndim, const uint64_t *shape, const void *data)
{
	lc_tensor tensor;

	ck_assert_int_eq(lc_tensor_init(&tensor, dtype, ndim, shape, data), LC_OK);
	return tensor;
}
