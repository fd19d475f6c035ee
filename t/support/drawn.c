/* SPDX-License-Identifier: BSD-2-Clause */
#include "drawn.h"

#include <check.h>

uint32_t
pixel(const struct lc__canvas *canvas, int64_t x, int64_t y)
{
	const uint8_t *p = canvas->pixels +
	    ((size_t)y * canvas->width + (size_t)x) * 3;

	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

lc_tensor
tensor_of(lc_dtype dtype, uint32_t ndim, const uint64_t *shape, const void *data)
{
	lc_tensor tensor;

	ck_assert_int_eq(lc_tensor_init(&tensor, dtype, ndim, shape, data), LC_OK);
	return tensor;
}
