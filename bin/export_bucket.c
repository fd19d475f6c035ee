/* SPDX-License-Identifier: BSD-2-Clause */
#include "export_bucket.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* The first tensor, in depth, that has two axes. */
static bool
find_sides(const lc_value *value, uint64_t *height, uint64_t *width)
{
	lc_tensor tensor;

	if (lc_value_as_tensor(value, &tensor) == LC_OK && tensor.ndim >= 2) {
		*height = tensor.shape[tensor.ndim - 2];
		*width = tensor.shape[tensor.ndim - 1];
		return true;
	}
	for (size_t i = 0; i < lc_value_count(value); i++)
		if (find_sides(lc_value_at(value, i), height, width))
			return true;
	return false;
}

static lc_status
name_by_sides(struct export_bucket *bucket, lc_id id, const lc_value *value)
{
	uint64_t height, width;
	const lc_bucket *buckets;
	size_t n, i;

	if (!find_sides(value, &height, &width))
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s has no tensor with two axes: no bucket",
		    lc__quote_id(id.data, id.size));
	if (height == 0 || width == 0 || height > UINT32_MAX / bucket->scale ||
	    width > UINT32_MAX / bucket->scale)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: sides of %llu and %llu: no bucket",
		    lc__quote_id(id.data, id.size), (unsigned long long)height,
		    (unsigned long long)width);
	buckets = lc_buckets_default(&n);
	i = lc_bucket_nearest(buckets, n, (uint32_t)(width * bucket->scale),
	    (uint32_t)(height * bucket->scale));
	snprintf(bucket->name, sizeof(bucket->name), "bucket_%ux%u",
	    buckets[i].width, buckets[i].height);
	return LC_OK;
}

/* WIDTHxHEIGHT and nothing else, as it becomes the name of a directory. */
static bool
is_size(const char *text, size_t size)
{
	const size_t width = strspn(text, "0123456789");
	size_t height;

	if (width == 0 || width > 9 || text[width] != 'x')
		return false;
	height = strspn(text + width + 1, "0123456789");
	return height > 0 && height <= 9 && width + 1 + height == size;
}

static lc_status
name_by_field(struct export_bucket *bucket, lc_id id)
{
	const lc_value *part = NULL;
	const char *text;
	size_t size;
	const lc_status status = lc_iter_value(bucket->iter, bucket->field, &part);

	if (status != LC_OK && status != LC_NOT_FOUND)
		return status;
	if (lc_value_as_str(part, &text, &size) != LC_OK || !is_size(text, size))
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: %s is not the size of a bucket, such as \"1024x1024\"",
		    lc__quote_id(id.data, id.size), bucket->field);
	snprintf(bucket->name, sizeof(bucket->name), "bucket_%s", text);
	return LC_OK;
}

lc_status
export_bucket_name(void *bucket_, lc_id id, const lc_value *value, const char **out)
{
	struct export_bucket *bucket = bucket_;
	const lc_status status = bucket->field != NULL ? name_by_field(bucket, id) :
	    name_by_sides(bucket, id, value);

	if (status == LC_OK)
		*out = bucket->name;
	return status;
}
