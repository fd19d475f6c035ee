/* SPDX-License-Identifier: BSD-2-Clause */
/* The elements of a .npy file, brought into C order and little-endian. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "format/npy.h"

/* ---- byte order ------------------------------------------------------------ */

/* Reverse every 2, 4 or 8 bytes; source and destination may be the same. */
static void
swap_numbers(unsigned char *to, const unsigned char *from, size_t nbytes, size_t width)
{
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	for (size_t i = 0; width == 2 && i < nbytes; i += 2) {
		memcpy(&two, from + i, 2);
		two = __builtin_bswap16(two);
		memcpy(to + i, &two, 2);
	}
	for (size_t i = 0; width == 4 && i < nbytes; i += 4) {
		memcpy(&four, from + i, 4);
		four = __builtin_bswap32(four);
		memcpy(to + i, &four, 4);
	}
	for (size_t i = 0; width == 8 && i < nbytes; i += 8) {
		memcpy(&eight, from + i, 8);
		eight = __builtin_bswap64(eight);
		memcpy(to + i, &eight, 8);
	}
}

/* ---- Fortran order --------------------------------------------------------- */

/* Elements of one block: few enough for source and destination to stay in the cache. */
#define BLOCK 1024

/* A copy that changes the order of elements; axes of length 1 are omitted. */
struct reorder {
	uint32_t ndim;
	size_t unit;                 /* bytes of an element */
	uint64_t count[LC_MAX_NDIM]; /* shape of the part that is copied */
	size_t from[LC_MAX_NDIM];    /* source: bytes from one index to the next */
	size_t to[LC_MAX_NDIM];      /* destination: bytes from one index to the next */
};

static inline __attribute__((always_inline)) void
copy_units(unsigned char *to, size_t to_step, const unsigned char *from, size_t from_step,
    uint64_t count, size_t unit)
{
	for (uint64_t i = 0; i < count; i++)
		memcpy(to + i * to_step, from + i * from_step, unit);
}

/* Copy one line of elements along an axis; the switch makes the element size a
 * constant. */
static void
copy_line(const struct reorder *r, uint32_t axis, unsigned char *to,
    const unsigned char *from)
{
	const size_t t = r->to[axis], f = r->from[axis];
	const uint64_t n = r->count[axis];

	switch (r->unit) {
	case 1: copy_units(to, t, from, f, n, 1); break;
	case 2: copy_units(to, t, from, f, n, 2); break;
	case 4: copy_units(to, t, from, f, n, 4); break;
	case 8: copy_units(to, t, from, f, n, 8); break;
	case 16: copy_units(to, t, from, f, n, 16); break;
	default: copy_units(to, t, from, f, n, r->unit); break;
	}
}

static uint32_t
longest_axis(const struct reorder *r)
{
	uint32_t longest = 0;

	for (uint32_t i = 1; i < r->ndim; i++)
		if (r->count[i] > r->count[longest])
			longest = i;
	return longest;
}

/* Copy every line along the longest axis, counting through the other axes. */
static void
copy_block(const struct reorder *r, unsigned char *to, const unsigned char *from)
{
	const uint32_t line = longest_axis(r);
	uint64_t index[LC_MAX_NDIM] = { 0 };
	size_t t = 0, f = 0;
	uint32_t axis;

	do {
		copy_line(r, line, to + t, from + f);
		for (axis = 0; axis < r->ndim; axis++) {
			if (axis == line)
				continue;
			t += r->to[axis];
			f += r->from[axis];
			if (++index[axis] < r->count[axis])
				break;
			t -= r->to[axis] * r->count[axis];
			f -= r->from[axis] * r->count[axis];
			index[axis] = 0;
		}
	} while (axis < r->ndim);
}

/* Halve the longest axis until a block is left: for any shape, source and destination are
 * then both accessed in pieces that fit the caches. */
static void
copy_reordered(struct reorder *r, unsigned char *to, const unsigned char *from)
{
	const uint32_t axis = longest_axis(r);
	const uint64_t whole = r->count[axis];
	uint64_t elements = 1, half = whole / 2;

	for (uint32_t i = 0; i < r->ndim; i++)
		elements *= r->count[i];
	if (elements <= BLOCK) {
		copy_block(r, to, from);
		return;
	}
	/* Whole cache lines on each side, if there are enough. */
	if (half > 64)
		half = lc__round_up(half, 64);
	r->count[axis] = half;
	copy_reordered(r, to, from);
	r->count[axis] = whole - half;
	copy_reordered(r, to + half * r->to[axis], from + half * r->from[axis]);
	r->count[axis] = whole;
}

/* The copy from Fortran to C order. */
static void
plan_reorder(const struct lc__npy_info *info, struct reorder *out)
{
	size_t from = info->item, to = info->nbytes;

	out->ndim = 0;
	out->unit = info->item;
	for (uint32_t i = 0; i < info->ndim; i++) {
		if (info->shape[i] == 1)
			continue;
		to /= info->shape[i];
		out->count[out->ndim] = info->shape[i];
		out->from[out->ndim] = from;
		out->to[out->ndim++] = to;
		from *= info->shape[i];
	}
}

/* ---- reading --------------------------------------------------------------- */

/* Decide on the element type from the header and the caller's dtype. */
static lc_status
choose_dtype(const struct lc__npy_info *info, int wanted, lc_dtype *out)
{
	if (wanted == LC__NPY_ANY_DTYPE && info->raw)
		return lc__error(LC_UNSUPPORTED, 0,
		    "raw elements of %zu byte%s: their dtype must be given (%sopaque%zu:"
		    "NAME)",
		    info->item, info->item == 1 ? "" : "s",
		    info->item == 1       ? "f8_e4m3, f8_e5m2, "
			: info->item == 2 ? "bf16, "
			: info->item == 4 ? "c32, "
					  : "",
		    info->item);
	if (wanted == LC__NPY_ANY_DTYPE)
		*out = info->dtype;
	else if (lc_dtype_name((lc_dtype)wanted) == NULL)
		return lc__error(LC_INVALID, 0, "unknown dtype %d", wanted);
	else if (info->raw && lc_dtype_size((lc_dtype)wanted) != info->item)
		return lc__error(LC_INVALID, 0, "raw elements of %zu byte%s cannot be %s",
		    info->item, info->item == 1 ? "" : "s",
		    lc_dtype_name((lc_dtype)wanted));
	else if (!info->raw && info->dtype != (lc_dtype)wanted)
		return lc__error(LC_INVALID, 0, "holds %s, not %s",
		    lc_dtype_name(info->dtype), lc_dtype_name((lc_dtype)wanted));
	else
		*out = (lc_dtype)wanted;
	return LC_OK;
}

/* A copy of the elements in C order and little-endian. */
static lc_status
convert(const struct lc__npy_info *info, struct reorder *order, const unsigned char *from,
    void **out)
{
	/* A complex element is two numbers, each with its own byte order. */
	const bool complex = !info->raw &&
	    (info->dtype == LC_C64 || info->dtype == LC_C128);
	unsigned char *to;

	if (info->nbytes > SIZE_MAX - 64 ||
	    (to = aligned_alloc(64, lc__round_up(info->nbytes, 64))) == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory for %zu bytes",
		    info->nbytes);
	if (order->ndim > 1) {
		copy_reordered(order, to, from);
		from = to;
	}
	if (info->big_endian)
		swap_numbers(to, from, info->nbytes,
		    complex ? info->item / 2 : info->item);
	*out = to;
	return LC_OK;
}

lc_status
lc__npy_read(const void *bytes, size_t size, int dtype, lc_tensor *out, void **owned)
{
	struct lc__npy_info info;
	struct reorder order = { 0 };
	void *converted = NULL;
	const unsigned char *data;
	lc_tensor tensor;
	lc_dtype chosen = LC_U8;

	return_if_error(lc__npy_decode_header(bytes, size, &info));
	return_if_error(choose_dtype(&info, dtype, &chosen));
	if (info.nbytes > size - info.data_offset)
		return lc__error(LC_CORRUPT, 0, "%zu of %zu data bytes are missing",
		    info.nbytes - (size - info.data_offset), info.nbytes);
	data = (const unsigned char *)bytes + info.data_offset;
	if (lc_tensor_init(&tensor, chosen, info.ndim, info.shape, data) != LC_OK)
		return lc__error(LC_UNSUPPORTED, 0, "shape is too large");
	/* At most one axis longer than 1: both orders are the same. */
	if (info.fortran && info.nbytes > 0)
		plan_reorder(&info, &order);
	if (info.nbytes > 0 && (order.ndim > 1 || info.big_endian)) {
		return_if_error(convert(&info, &order, data, &converted));
		tensor.data = converted;
	}
	*out = tensor;
	*owned = converted;
	return LC_OK;
}
