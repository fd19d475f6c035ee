/* SPDX-License-Identifier: BSD-2-Clause */
/* A tensor of a module or a file as a picture. */
#include <string.h>

#include "base/error.h"
#include "cmd/view.h"
#include "format/npy.h"
#include "image/tensor_picture.h"
#include "ui/input.h"
#include "ui/module.h"
#include "ui/report.h"

static void
write_facts(struct json *json, const lc_tensor *tensor,
    const struct lc__tensor_picture *facts)
{
	jw_text(json, "kind", facts->image ? "image" : "heat map");
	jw_type(json, tensor);
	if (facts->range.low <= facts->range.high) {
		jw_real(json, "low", facts->range.low);
		jw_real(json, "high", facts->range.high);
	}
	jw_count(json, "nan", facts->range.nan);
	jw_count(json, "infinite", facts->range.infinite);
	jw_count(json, "drawn_width", (uint64_t)facts->place.width);
	jw_count(json, "drawn_height", (uint64_t)facts->place.height);
	if (facts->image)
		return;
	jw_text(json, "colours",
	    facts->scale.map == LC__COLOURS_DIVERGING ? "diverging" : "heat");
	if (facts->scale.low <= facts->scale.high) {
		jw_real(json, "scale_low", facts->scale.low);
		jw_real(json, "scale_high", facts->scale.high);
	}
	jw_count(json, "slices", facts->map.slices);
	jw_count(json, "slices_shown", facts->map.shown);
	jw_count(json, "mean_rows", facts->map.mean_y);
	jw_count(json, "mean_columns", facts->map.mean_x);
}

static int
draw_tensor(const lc_tensor *tensor, lc_id title, const struct view_tensor *how,
    struct lc__picture *picture, struct json *json)
{
	struct lc__tensor_picture facts;
	const lc_status status = lc__tensor_picture(tensor, title, how->heat, how->side,
	    picture, &facts);

	if (status != LC_OK)
		return report_status(status);
	write_facts(json, tensor, &facts);
	return EXIT_DONE;
}

/* ---- of a module ---------------------------------------------------------------- */

static int
no_tensor(lc_id id, const char *field, lc_kind kind)
{
	return report_error(EXIT_DATA,
	    "%s%s%s is not a tensor but a %s; choose a part with --field",
	    lc__quote_id(id.data, id.size), field ? ": " : "", field ? field : "",
	    lc_kind_name(kind));
}

static int
find_tensor(lc_id id, lc_view *view, const char *field, lc_tensor *out)
{
	const lc_value *value;
	lc_status status;

	if (field == NULL || *field == '\0') {
		if (view->kind != LC_TENSOR)
			return no_tensor(id, NULL, view->kind);
		*out = view->tensor;
		return EXIT_DONE;
	}
	status = lc_view_value(view, field, &value);
	if (status == LC_NOT_FOUND)
		return report_error(EXIT_NO, "%s has no part %s",
		    lc__quote_id(id.data, id.size), field);
	if (status == LC_OK && lc_value_kind(value) != LC_TENSOR)
		return no_tensor(id, field, lc_value_kind(value));
	if (status == LC_OK)
		status = lc_value_as_tensor(value, out);
	return status == LC_OK ? EXIT_DONE : report_argument(status);
}

/* The title consists of the cache_id and the field. */
static int
draw_part(lc_id id, lc_view *view, const struct view_tensor *how,
    struct lc__picture *picture, struct json *json)
{
	const bool part = how->field != NULL && *how->field != '\0';
	struct lc__buf title = { 0 };
	lc_tensor tensor;
	int status = find_tensor(id, view, how->field, &tensor);

	if (status != EXIT_DONE)
		return status;
	lc__buf_append(&title, id.data, id.size);
	if (part)
		lc__buf_printf(&title, "  %s", how->field);
	if (title.failed) {
		status = report_no_memory();
	} else {
		jw_id(json, id);
		if (part)
			jw_text(json, "field", how->field);
		status = draw_tensor(&tensor, (lc_id){ title.data, title.size }, how,
		    picture, json);
	}
	lc__buf_free(&title);
	return status;
}

int
view_record(const char *module, const char *cache_id, const struct view_tensor *how,
    struct lc__picture *picture, struct json *json)
{
	const lc_id id = lc_id_of(cache_id);
	lc_cache *cache;
	lc_view view;
	lc_status got;
	int status = list_check_id(id);

	if (status == EXIT_DONE)
		status = module_open(module, &cache);
	if (status != EXIT_DONE)
		return status;
	got = lc_get(cache, id.data, id.size, &view);
	if (got == LC_OK) {
		jw_text(json, "module", module);
		status = draw_part(id, &view, how, picture, json);
		lc_view_release(&view);
	} else if (got == LC_NOT_FOUND) {
		status = report_error(EXIT_NO, "%s is not in %s",
		    lc__quote_id(id.data, id.size), module);
	} else {
		status = report_argument(got);
	}
	return module_close(cache, status);
}

/* ---- of a file ------------------------------------------------------------------ */

int
view_npy(const char *path, const struct view_tensor *how, struct lc__picture *picture,
    struct json *json)
{
	struct decoded decoded = { 0 };
	lc_status read;
	int status = input_read(path, &decoded.file);

	if (status != EXIT_DONE)
		return status;
	if (!npy_is(&decoded.file)) {
		status = report_error(EXIT_DATA, "%s: not a .npy file", input_name(path));
	} else {
		read = npy_decode(&decoded, input_name(path), LC__NPY_ANY_DTYPE);
		if (read == LC_OK) {
			jw_text(json, "source", input_name(path));
			status = draw_tensor(&decoded.tensor, lc_id_of(input_name(path)),
			    how, picture, json);
		} else {
			status = report_status(read);
		}
	}
	decoded_free(&decoded);
	return status;
}
