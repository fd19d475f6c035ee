/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/finite.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "value/node.h"
#include "value/path.h"

/* Bytes that are scanned between two checks of the result. */
#define BLOCK 4096

/*
 * Floats without their signs are ordered like their bits read as integers: numbers, then
 * the infinity, then NaNs. So the values that are not tolerated form a range. An element
 * is in it if adding `reach` carries into the sign bit, and adding `beyond` does not.
 * Several elements in 64 bits are added at once: a carry never leaves its element, and
 * zeros are never in the range.
 */
struct range {
	uint64_t magnitudes;    /* all bits but the signs */
	uint64_t reach, beyond; /* in each element */
	size_t size;            /* of an element, in bytes */
};

/* ---- the bits of numbers that are not finite --------------------------------------- */

/* How the floats of a dtype, or of its halves, are laid out. */
static const struct layout {
	uint8_t size;      /* 0: not floats */
	uint8_t parts;     /* of an element */
	uint64_t infinity; /* its bits, or those of the first NaN if there is no infinity
	                    * */
	bool has_infinity;
} layouts[LC_DTYPE_COUNT] = {
	[LC_F16] = { 2, 1, 0x7c00, true },
	[LC_BF16] = { 2, 1, 0x7f80, true },
	[LC_F32] = { 4, 1, 0x7f800000, true },
	[LC_F64] = { 8, 1, 0x7ff0000000000000, true },
	[LC_C64] = { 4, 2, 0x7f800000, true },
	[LC_C128] = { 8, 2, 0x7ff0000000000000, true },
	[LC_F8_E4M3] = { 1, 1, 0x7f, false },
	[LC_F8_E5M2] = { 1, 1, 0x7c, true },
	[LC_C32] = { 2, 2, 0x7c00, true },
	[LC_F8_E8M0] = { 1, 1, 0xff, false },
	[LC_F8_E4M3FNUZ] = { 1, 1, 0x80, false },
	[LC_F8_E5M2FNUZ] = { 1, 1, 0x80, false },
};

/* Is layout->infinity the only byte that is not a number, apart from its sign? */
static bool
has_one_nan(lc_dtype dtype)
{
	return dtype == LC_F8_E8M0 || dtype == LC_F8_E4M3FNUZ || dtype == LC_F8_E5M2FNUZ;
}

/* Repeat the same bits in each element. */
static uint64_t
repeated(uint64_t bits, size_t size)
{
	for (size_t width = 8 * size; width < 64; width *= 2)
		bits |= bits << width;
	return bits;
}

/* False if everything is tolerated. */
static bool
range_of(const struct layout *layout, struct lc__finite may, struct range *out)
{
	const uint64_t sign = (uint64_t)1 << (8 * layout->size - 1);
	const bool nan = !may.nan, inf = !may.inf && layout->has_infinity;
	const uint64_t first_nan = layout->infinity + layout->has_infinity;
	const uint64_t first = inf ? layout->infinity : first_nan;
	const uint64_t end = nan ? sign : first_nan;

	out->size = layout->size;
	out->magnitudes = repeated(sign - 1, layout->size);
	out->reach = repeated(sign - first, layout->size);
	out->beyond = repeated(sign - end, layout->size);
	return nan || inf;
}

/* The sign bits of the elements in the range. */
static inline uint64_t
in_range(const struct range *range, uint64_t bits)
{
	const uint64_t magnitude = bits & range->magnitudes;

	return (magnitude + range->reach) & ~(magnitude + range->beyond) &
	    ~range->magnitudes;
}

/* ---- scanning --------------------------------------------------------------------- */

/* Without a branch, so that the compiler can use vectors of any width. */
static inline bool
words_have(const unsigned char *p, size_t size, const struct range *range)
{
	const struct range r = *range;
	uint64_t found = 0;

	for (size_t i = 0; i < size; i += sizeof(uint64_t))
		found |= in_range(&r, lc__get64(p + i));
	return found != 0;
}

/* The offset of the first element in the range among @p size bytes that may contain one;
 * @p size if none does. */
static size_t
find_here(const unsigned char *p, size_t size, const struct range *range)
{
	for (size_t at = 0; at < size; at += range->size)
		if (in_range(range, lc__get_few(p + at, range->size)) != 0)
			return at;
	return size;
}

/* The same for any number of bytes. */
static size_t
find(const unsigned char *p, size_t size, const struct range *range)
{
	const size_t words = size / sizeof(uint64_t) * sizeof(uint64_t);
	size_t at = 0;

	for (; size - at >= BLOCK; at += BLOCK)
		if (words_have(p + at, BLOCK, range))
			return at + find_here(p + at, BLOCK, range);
	if (words_have(p + at, words - at, range))
		return at + find_here(p + at, words - at, range);
	return words + find_here(p + words, size - words, range);
}

/* ---- saying where ----------------------------------------------------------------- */

/* Describe the element that contains byte @p at: "-Inf at [3,0,17]". */
static lc_status
found_at(const lc_tensor *tensor, const struct layout *layout, size_t at)
{
	const uint64_t bits = lc__get_few((const unsigned char *)tensor->data + at,
	    layout->size);
	const uint64_t sign = (uint64_t)1 << (8 * layout->size - 1);
	const bool infinite = layout->has_infinity && (bits & ~sign) == layout->infinity;
	uint64_t element = at / layout->size / layout->parts, position[LC_MAX_NDIM];
	char text[LC_MAX_NDIM * 21 + 1] = "";
	size_t used = 0;

	for (uint32_t i = tensor->ndim; i-- > 0; element /= tensor->shape[i])
		position[i] = element % tensor->shape[i];
	for (uint32_t i = 0; i < tensor->ndim; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%llu",
		    i > 0 ? "," : "", (unsigned long long)position[i]);
	return lc__error(LC_INVALID, 0, "%s at [%s]",
	    !infinite         ? "NaN"
		: bits & sign ? "-Inf"
			      : "Inf",
	    text);
}

lc_status
lc__finite_tensor(const lc_tensor *tensor, struct lc__finite may)
{
	const unsigned char *data = tensor->data, *nan;
	const struct layout *layout;
	struct range range;
	size_t at;

	if ((unsigned)tensor->dtype >= LC_DTYPE_COUNT || tensor->nbytes == 0)
		return LC_OK;
	layout = &layouts[tensor->dtype];
	if (has_one_nan(tensor->dtype)) {
		nan = may.nan ? NULL
			      : memchr(data, (int)layout->infinity, tensor->nbytes);
		return nan != NULL ? found_at(tensor, layout, (size_t)(nan - data))
				   : LC_OK;
	}
	if (layout->size == 0 || !range_of(layout, may, &range))
		return LC_OK;
	at = find(data, tensor->nbytes, &range);
	return at < tensor->nbytes ? found_at(tensor, layout, at) : LC_OK;
}

/* ---- values ----------------------------------------------------------------------- */

/* The path of a part of @p root, as for lc_value_find(). */
static void
write_path(const lc_value *root, const lc_value *part, struct lc__buf *out)
{
	size_t i = 0;

	if (part == root)
		return;
	write_path(root, part->parent, out);
	if (lc__has_names(part->parent->kind)) {
		lc__path_name(out, part->name);
		return;
	}
	while (lc__const_group_of(part->parent)->child[i] != part)
		i++;
	lc__path_index(out, i);
}

static lc_status
check_part(const lc_value *root, const lc_value *part, struct lc__finite may)
{
	const struct lc__group *group;
	struct lc__buf path = { 0 };

	if ((part->flags & LC__HAS_TENSOR) == 0)
		return LC_OK;
	if (part->kind == LC_TENSOR) {
		const lc_status status = lc__finite_tensor(lc__tensor_of(part), may);

		if (status == LC_OK || part == root)
			return status;
		write_path(root, part, &path);
		if (path.failed)
			lc__error_prefix("a part");
		else
			lc__error_prefix("part '%.200s'", lc__path_text(&path));
		lc__buf_free(&path);
		return status;
	}
	group = lc__const_group_of(part);
	for (uint32_t i = 0; i < group->count; i++)
		return_if_error(check_part(root, group->child[i], may));
	return LC_OK;
}

lc_status
lc__finite_value(const lc_value *value, struct lc__finite may)
{
	return value != NULL ? check_part(value, value, may) : LC_OK;
}
