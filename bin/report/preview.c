/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/preview.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/value_json.h"
#include "image/heat_map.h"
#include "value/dtype.h"
#include "value/tensor.h"

#define FEW 4 /* a tensor with at most so many elements is shown as numbers */

/* The tensor that is shown: the first image, else the first tensor. */
struct choice {
	lc_tensor tensor;
	struct lc__buf path; /* "" if the record is a tensor itself */
	bool found, image;
};

void
lc__preview_path_add(struct lc__buf *path, const lc_value *value, size_t i)
{
	const char *dot = path->size > 0 ? "." : "";
	const char *name = lc_value_kind(value) == LC_MAP ? lc_value_name(value, i)
							  : NULL;

	if (name != NULL)
		lc__buf_printf(path, "%s%s", dot, name);
	else
		lc__buf_printf(path, "%s%zu", dot, i);
}

/* Choose among all tensors in a value; @p path is the path of the value. */
static void
choose(const lc_value *value, struct lc__buf *path, struct choice *out)
{
	const size_t size = path->size;
	lc_tensor tensor;

	if (out->image)
		return;
	if (lc_value_as_tensor(value, &tensor) == LC_OK) {
		struct lc__image_form form;
		const bool image = lc__image_form_of(&tensor, &form);
		if (out->found && !image)
			return;
		out->tensor = tensor;
		out->found = true;
		out->image = image;
		out->path.size = 0;
		lc__buf_append(&out->path, path->data, path->size);
		return;
	}
	for (size_t i = 0; i < lc_value_count(value); i++) {
		lc__preview_path_add(path, value, i);
		choose(lc_value_at(value, i), path, out);
		path->size = size;
	}
}

/* A few numbers: "0.25", or "[1, 2, 3]". */
static void
write_numbers(const lc_tensor *tensor, struct lc__buf *out)
{
	const size_t size = lc_dtype_size(tensor->dtype), n = tensor->nbytes / size;

	lc__buf_printf(out, "%s", tensor->ndim > 0 ? "[" : "");
	for (size_t i = 0; i < n; i++)
		lc__buf_printf(out, "%s%.9g", i > 0 ? ", " : "",
		    lc__element_real(tensor->dtype,
			(const char *)tensor->data + i * size));
	lc__buf_printf(out, "%s", tensor->ndim > 0 ? "]" : "");
}

lc_status
lc__preview_of_tensor(const lc_tensor *tensor, const char *path, bool heat,
    struct lc__preview *out)
{
	char type[LC__TENSOR_TEXT];

	memset(out, 0, sizeof(*out));
	out->of_tensor = true;
	out->tensor = *tensor;
	lc__buf_append(&out->path, path, strlen(path) + 1);
	lc__tensor_describe(tensor, type, sizeof(type));
	snprintf(out->note, sizeof(out->note), "%.400s%s%.300s", type, *path ? "  " : "",
	    path);
	if (!lc__dtype_is_number(tensor->dtype)) {
		out->kind = LC__PREVIEW_TEXT;
		lc__buf_append(&out->text, type, strlen(type));
	} else if (!heat && lc__image_form_of(tensor, &out->form)) {
		out->kind = LC__PREVIEW_IMAGE;
	} else if (tensor->nbytes / lc_dtype_size(tensor->dtype) <= FEW) {
		out->kind = LC__PREVIEW_TEXT;
		write_numbers(tensor, &out->text);
	} else {
		out->kind = LC__PREVIEW_HEAT;
	}
	return out->path.failed || out->text.failed ? lc__no_memory(NULL) : LC_OK;
}

lc_status
lc__preview_of_value(const lc_value *value, bool heat, struct lc__preview *out)
{
	struct choice choice = { .found = false };
	struct lc__buf path = { 0 };
	const char *string;
	size_t size;
	lc_status status = LC_OK;

	memset(out, 0, sizeof(*out));
	choose(value, &path, &choice);
	lc__buf_append(&choice.path, "", 1);
	if (path.failed || choice.path.failed) {
		status = lc__no_memory(NULL);
	} else if (choice.found) {
		status = lc__preview_of_tensor(&choice.tensor,
		    (const char *)choice.path.data, heat, out);
	} else {
		out->kind = LC__PREVIEW_TEXT;
		lc_value_describe(value, out->note, 400);
		if (lc_value_as_str(value, &string, &size) == LC_OK) {
			lc__buf_append(&out->text, string, size);
		} else {
			char *text = lc__value_json_text(value);
			if (text != NULL)
				lc__buf_append(&out->text, text, strlen(text));
			if (text == NULL || out->text.failed)
				status = lc__no_memory(NULL);
			free(text);
		}
	}
	lc__buf_free(&path);
	lc__buf_free(&choice.path);
	return status;
}

static lc_status
draw_image(const struct lc__preview *preview, uint32_t side, struct lc__picture *picture)
{
	struct lc__value_range range;
	struct lc__pixels image;
	struct lc__rect area = { 0 };
	double scale;
	lc_status status;

	return_if_error(
	    lc__image_pixels(&preview->tensor, &preview->form, &image, &range));
	scale = fmin(side / fmax(image.width, image.height), 1);
	area.width = fmax(floor(image.width * scale), 1);
	area.height = fmax(floor(image.height * scale), 1);
	status = lc__picture_begin(picture, area.width, area.height, lc_id_of("record"));
	if (status == LC_OK)
		lc__picture_image(picture, area, &image);
	lc__pixels_free(&image);
	return status;
}

lc_status
lc__preview_draw(const struct lc__preview *preview, uint32_t side,
    struct lc__picture *picture)
{
	struct lc__heat_map map;
	struct lc__heat_scale scale;

	if (preview->kind == LC__PREVIEW_IMAGE)
		return draw_image(preview, side, picture);
	lc__heat_map_plan(&preview->tensor, side, false, &map);
	return_if_error(lc__heat_map_scale(&map, &scale));
	return_if_error(
	    lc__picture_begin(picture, map.width, map.height, lc_id_of("record")));
	lc__heat_map_draw(&map, &scale, picture, 0, 0);
	return LC_OK;
}

/* Reduce the size so that both sides have at most @p side pixels. */
static lc_status
shrink(struct lc__pixels *image, uint32_t side)
{
	const double longer = image->width > image->height ? image->width : image->height;
	struct lc__pixels small;

	if (longer <= side)
		return LC_OK;
	return_if_error(lc__pixels_resize(image,
	    (uint32_t)fmax(round(image->width * side / longer), 1),
	    (uint32_t)fmax(round(image->height * side / longer), 1), &small));
	lc__pixels_free(image);
	*image = small;
	return LC_OK;
}

lc_status
lc__preview_image(lc_cache *cache, lc_id id, uint32_t side, struct lc__pixels *out)
{
	struct lc__preview preview = { .kind = LC__PREVIEW_TEXT };
	struct lc__pixels image = { 0 };
	struct lc__value_range range;
	const lc_value *value;
	lc_view view;
	lc_status status;

	*out = image;
	return_if_error(lc_get(cache, id.data, id.size, &view));
	status = lc_view_value(&view, NULL, &value);
	if (status == LC_OK)
		status = lc__preview_of_value(value, false, &preview);
	if (status == LC_OK && preview.kind == LC__PREVIEW_IMAGE)
		status = lc__image_pixels(&preview.tensor, &preview.form, &image, &range);
	if (status == LC_OK && image.width > 0)
		status = shrink(&image, side);
	lc__preview_free(&preview);
	lc_view_release(&view);
	if (status == LC_OK)
		*out = image;
	else
		lc__pixels_free(&image);
	return status;
}

void
lc__preview_free(struct lc__preview *preview)
{
	lc__buf_free(&preview->path);
	lc__buf_free(&preview->text);
}
