/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/export_bucket.h"

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
name_nearest(struct export_bucket *bucket, lc_id id, uint64_t width,
    uint64_t height, uint64_t scale)
{
	const lc_bucket *buckets;
	size_t n, i;

	if (height == 0 || width == 0 || height > UINT32_MAX / scale ||
	    width > UINT32_MAX / scale)
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: sides of %llu and %llu: no bucket",
		    lc__quote_id(id.data, id.size), (unsigned long long)height,
		    (unsigned long long)width);
	buckets = lc_buckets_default(&n);
	i = lc_bucket_nearest(buckets, n, (uint32_t)(width * scale),
	    (uint32_t)(height * scale));
	snprintf(bucket->name, sizeof(bucket->name), "bucket_%ux%u",
	    buckets[i].width, buckets[i].height);
	return LC_OK;
}

static lc_status
name_by_sides(struct export_bucket *bucket, lc_id id, const lc_value *value)
{
	uint64_t height, width;

	if (!find_sides(value, &height, &width))
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s has no tensor with two axes: no bucket",
		    lc__quote_id(id.data, id.size));
	return name_nearest(bucket, id, width, height,
	    bucket->scale > 0 ? bucket->scale : 1);
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

/* A part of the whole record, LC_NOT_FOUND without one. */
static lc_status
find_record(const struct export_bucket *bucket, const char *path,
    const lc_value **out)
{
	if (bucket->record == NULL)
		return lc_iter_value(bucket->iter, path, out);
	*out = path == NULL ? bucket->record : lc_value_find(bucket->record, path);
	return *out != NULL ? LC_OK : LC_NOT_FOUND;
}

static lc_status
name_by_text(struct export_bucket *bucket, lc_id id, const lc_value *part,
    const char *what)
{
	const char *text;
	size_t size;

	if (lc_value_as_str(part, &text, &size) != LC_OK || !is_size(text, size))
		return lc__error(LC_UNSUPPORTED, 0,
		    "%s: %s is not the size of a bucket, such as \"1024x1024\"",
		    lc__quote_id(id.data, id.size), what);
	snprintf(bucket->name, sizeof(bucket->name), "bucket_%s", text);
	return LC_OK;
}

static lc_status
name_by_field(struct export_bucket *bucket, lc_id id)
{
	const lc_value *part = NULL;
	const lc_status status = find_record(bucket, bucket->field, &part);

	if (status != LC_OK && status != LC_NOT_FOUND)
		return status;
	return name_by_text(bucket, id, part, bucket->field);
}

static const lc_value *
member(const lc_value *map, const char *name)
{
	for (size_t i = 0; lc_value_kind(map) == LC_MAP && i < lc_value_count(map); i++)
		if (strcmp(lc_value_name(map, i), name) == 0)
			return lc_value_at(map, i);
	return NULL;
}

static bool
find_pixels(const lc_value *map, uint64_t *width, uint64_t *height)
{
	const lc_value *w = member(map, "width"), *h = member(map, "height");

	return w != NULL && h != NULL && lc_value_as_unsigned(w, width) == LC_OK &&
	    lc_value_as_unsigned(h, height) == LC_OK;
}

/* What a record says of itself, or of a join one of its modules does. */
static lc_status
name_by_record(struct export_bucket *bucket, lc_id id, bool *named)
{
	const lc_value *record = NULL, *part;
	uint64_t width, height;
	lc_status status;

	*named = false;
	status = find_record(bucket, NULL, &record);
	if (status != LC_OK || lc_value_kind(record) != LC_MAP)
		return status;
	*named = true;
	part = member(record, "aspect_bucket");
	for (size_t i = 0; bucket->record != NULL && part == NULL &&
	    i < lc_value_count(record); i++)
		part = member(lc_value_at(record, i), "aspect_bucket");
	if (part != NULL)
		return name_by_text(bucket, id, part, "aspect_bucket");
	if (find_pixels(record, &width, &height))
		return name_nearest(bucket, id, width, height, 1);
	for (size_t i = 0; bucket->record != NULL && i < lc_value_count(record); i++)
		if (find_pixels(lc_value_at(record, i), &width, &height))
			return name_nearest(bucket, id, width, height, 1);
	*named = false;
	return LC_OK;
}

lc_status
export_bucket_name(void *bucket_, lc_id id, const lc_value *value, const char **out)
{
	struct export_bucket *bucket = bucket_;
	bool named = bucket->field != NULL;
	lc_status status = LC_OK;

	if (named)
		status = name_by_field(bucket, id);
	else if (bucket->scale == 0)
		status = name_by_record(bucket, id, &named);
	if (status == LC_OK && !named)
		status = name_by_sides(bucket, id, value);
	if (status == LC_OK)
		*out = bucket->name;
	return status;
}
