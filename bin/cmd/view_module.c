/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of a module on a contact sheet. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/view.h"
#include "draw/ticks.h"
#include "image/sheet.h"
#include "image/tensor_image.h"
#include "report/preview.h"
#include "ui/module.h"
#include "ui/progress.h"
#include "ui/report.h"

#define NOTE_ROOM 400

/* The sheet on its way. */
struct drawing {
	lc_cache *cache;
	const struct view_tensor *how;
	struct lc__sheet sheet;
	struct json *json;
	const char *fact; /* for the caption of the cell, or "" */
	int status; /* EXIT_NO once a record is missing, EXIT_DATA once one is damaged */
};

/* ---- cells ----------------------------------------------------------------------- */

static void
begin_json(struct drawing *drawing, uint64_t record, lc_id id)
{
	jw_open(drawing->json, NULL, '{');
	if (record != SELECT_NONE)
		jw_count(drawing->json, "record", record);
	jw_id(drawing->json, id);
}

static void
draw_missing(struct drawing *drawing, uint32_t cell, uint64_t record, lc_id id,
    const char *reason, bool damaged)
{
	const struct lc__caption caption = { id,
		lc_id_of(damaged ? "damaged" : "not there") };

	lc__sheet_missing(&drawing->sheet, cell, lc_id_of(reason), caption);
	begin_json(drawing, record, id);
	jw_text(drawing->json, "error", reason);
	jw_close(drawing->json, '}');
	drawing->status = report_worse(drawing->status,
	    report_error(damaged ? EXIT_DATA : EXIT_NO, "%s", reason));
}

/* What a cell shows, in JSON. */
static void
write_cell(struct drawing *drawing, uint64_t record, lc_id id, const char *kind,
    const lc_tensor *tensor, const char *path, struct lc__rect place)
{
	begin_json(drawing, record, id);
	jw_text(drawing->json, "kind", kind);
	if (path != NULL && *path != '\0')
		jw_text(drawing->json, "field", path);
	if (tensor != NULL)
		jw_type(drawing->json, tensor);
	jw_count(drawing->json, "x", (uint64_t)place.x);
	jw_count(drawing->json, "y", (uint64_t)place.y);
	jw_count(drawing->json, "width", (uint64_t)place.width);
	jw_count(drawing->json, "height", (uint64_t)place.height);
	jw_close(drawing->json, '}');
}

/* Also a preview that could not be made is freed. */
static lc_status
draw_preview(struct drawing *drawing, uint32_t cell, uint64_t record, lc_id id,
    lc_status made, struct lc__preview *preview)
{
	static const char *const kinds[] = { "image", "heat map", "text" };
	char note[sizeof(preview->note) + NOTE_ROOM];
	struct lc__caption caption = { .name = id };
	struct lc__sheet *sheet = &drawing->sheet;
	struct lc__rect place = lc__sheet_cell(sheet, cell);
	lc_status status = made;

	snprintf(note, sizeof(note), "%.*s%s%s", NOTE_ROOM - 3, drawing->fact,
	    *drawing->fact != '\0' ? "  " : "", preview->note);
	caption.note = lc_id_of(note);
	if (status == LC_OK && preview->kind == LC__PREVIEW_IMAGE) {
		struct lc__value_range range;
		struct lc__pixels image;
		status = lc__image_pixels(&preview->tensor, &preview->form, &image,
		    &range);
		if (status == LC_OK) {
			lc__sheet_image(sheet, cell, &image, NULL, 0, caption);
			place = lc__sheet_place(sheet, cell, image.width, image.height);
			lc__pixels_free(&image);
		}
	} else if (status == LC_OK && preview->kind == LC__PREVIEW_HEAT) {
		struct lc__heat_map map;
		struct lc__heat_scale scale;
		lc__heat_map_plan(&preview->tensor, sheet->cell, false, &map);
		status = lc__heat_map_scale(&map, &scale);
		if (status == LC_OK)
			place = lc__sheet_heat(sheet, cell, &map, &scale, caption);
	} else if (status == LC_OK) {
		lc__sheet_text(sheet, cell,
		    (lc_id){ preview->text.data, preview->text.size }, caption);
	}
	if (status == LC_OK)
		write_cell(drawing, record, id, kinds[preview->kind],
		    preview->of_tensor ? &preview->tensor : NULL,
		    (const char *)preview->path.data, place);
	lc__preview_free(preview);
	return status;
}

static lc_status
draw_view(struct drawing *drawing, uint32_t cell, uint64_t record, lc_id id,
    lc_view *view)
{
	const bool heat = drawing->how->heat;
	const char *field = drawing->how->field;
	struct lc__preview preview;
	const lc_value *value;
	lc_tensor tensor;
	lc_status made;

	if (field != NULL && *field == '\0')
		field = NULL;
	if (field == NULL && view->kind == LC_TENSOR) {
		made = lc__preview_of_tensor(&view->tensor, "", heat, &preview);
	} else {
		return_if_error(lc_view_value(view, field, &value));
		if (field != NULL && lc_value_as_tensor(value, &tensor) == LC_OK)
			made = lc__preview_of_tensor(&tensor, field, heat, &preview);
		else
			made = lc__preview_of_value(value, heat, &preview);
	}
	return draw_preview(drawing, cell, record, id, made, &preview);
}

static void
draw_record(struct drawing *drawing, uint32_t cell, uint64_t record, lc_id id)
{
	char reason[300];
	lc_view view;
	lc_status status = lc_get(drawing->cache, id.data, id.size, &view);

	if (status == LC_NOT_FOUND) {
		snprintf(reason, sizeof(reason), "no record has the key %.200s",
		    lc__quote_id(id.data, id.size));
		draw_missing(drawing, cell, record, id, reason, false);
		return;
	}
	if (status == LC_OK) {
		status = draw_view(drawing, cell, record, id, &view);
		lc_view_release(&view);
	}
	if (status == LC_NOT_FOUND) {
		snprintf(reason, sizeof(reason), "%.200s has no part %.60s",
		    lc__quote_id(id.data, id.size), drawing->how->field);
		draw_missing(drawing, cell, record, id, reason, false);
	} else if (status != LC_OK) {
		draw_missing(drawing, cell, record, id, lc_last_error()->text,
		    status == LC_CORRUPT);
	}
}

/* ---- which records --------------------------------------------------------------- */

/* Keys of records, in the order of their cells. */
struct keys {
	lc_id *ids;        /* copies, where the module's walk gave them */
	uint64_t *records; /* their numbers in key order; NULL of keys that were named */
	size_t n;
};

static void
keys_free(struct keys *keys)
{
	for (size_t i = 0; i < keys->n && keys->records != NULL; i++)
		free((void *)keys->ids[i].data);
	free(keys->ids);
	free(keys->records);
}

static int
name_keys(const struct opt_list *names, struct keys *out)
{
	out->ids = calloc(names->count, sizeof(*out->ids));
	if (out->ids == NULL)
		return report_no_memory();
	for (out->n = 0; out->n < names->count; out->n++) {
		const lc_id id = lc_id_of(names->items[out->n]);
		const int status = list_check_id(id);
		if (status != EXIT_DONE)
			return status;
		out->ids[out->n] = id;
	}
	return EXIT_DONE;
}

/* The keys with the chosen numbers, which rise. */
static int
find_keys(lc_cache *cache, const struct selected *selected, struct keys *out)
{
	lc_iter *iter;
	lc_item item;
	lc_status status = lc_iter_open(cache, LC_BY_KEY | LC_ITER_LISTED, NULL, 0,
	    &iter);

	out->ids = calloc(selected->count, sizeof(*out->ids));
	out->records = calloc(selected->count, sizeof(*out->records));
	if (status != LC_OK)
		return report_status(status);
	for (uint64_t i = 0;
	     out->ids != NULL && out->records != NULL && out->n < selected->count; i++) {
		void *copy;
		status = lc_iter_next(iter, &item);
		if (status != LC_OK && status != LC_CORRUPT)
			break;
		if (status != LC_OK || i != selected->items[out->n])
			continue;
		copy = malloc(item.id.size);
		if (copy == NULL) {
			status = lc__no_memory("view");
			break;
		}
		memcpy(copy, item.id.data, item.id.size);
		out->ids[out->n] = (lc_id){ copy, item.id.size };
		out->records[out->n++] = i;
	}
	lc_iter_close(iter);
	if (out->ids == NULL || out->records == NULL)
		return report_no_memory();
	/* Another process may have removed some of the records meanwhile. */
	return status == LC_OK || status == LC_END || status == LC_CORRUPT
	    ? EXIT_DONE
	    : report_status(status);
}

static int
choose_keys(lc_cache *cache, const struct select *select, uint64_t count,
    struct keys *out)
{
	struct selected selected = { 0 };
	int status;

	if (select->ids->count > 0)
		return name_keys(select->ids, out);
	status = select_numbers(select, count, "records", &selected);
	if (status == EXIT_DONE)
		status = find_keys(cache, &selected, out);
	selected_free(&selected);
	return status;
}

/* ---- the sheet ------------------------------------------------------------------- */

/* Draw a frame around each two cells and their captions. */
static void
draw_frames(const struct lc__sheet *sheet, size_t n)
{
	for (uint32_t i = 0; i + 1 < n; i += 2) {
		const struct lc__rect first = lc__sheet_cell(sheet, i);
		const struct lc__rect second = lc__sheet_cell(sheet, i + 1);
		lc__picture_frame(sheet->picture,
		    (struct lc__rect){ first.x - 5, first.y - 5,
			second.x + second.width - first.x + 10,
			first.height + LC__SHEET_CAPTION + 10 },
		    1, LC__RULE);
	}
}

static int
draw_cells(struct drawing *drawing, const struct view_cells *cells)
{
	jw_open(drawing->json, "drawn", '[');
	progress_begin("view");
	for (size_t i = 0; i < cells->n; i++) {
		drawing->fact = cells->notes != NULL ? cells->notes + i * cells->note_room
						     : "";
		draw_record(drawing, (uint32_t)i,
		    cells->records != NULL ? cells->records[i] : SELECT_NONE,
		    cells->ids[i]);
		progress_items(i + 1, cells->n);
		if (progress_step(NULL, 0, 0) != 0) {
			progress_end();
			return report_status(LC_CANCELLED);
		}
	}
	progress_end();
	jw_close(drawing->json, ']');
	return drawing->status;
}

int
view_cells(lc_cache *cache, const char *module, const struct view_cells *cells,
    const struct view_grid *grid, const struct view_tensor *how,
    struct lc__picture *picture, struct json *json)
{
	struct drawing drawing = { .cache = cache, .how = how, .json = json };
	uint32_t across = view_columns(grid, cells->n);
	lc_status begun;

	if (cells->pairs)
		across += across % 2;
	begun = lc__sheet_begin(picture, lc_id_of(module), lc_id_of(cells->line),
	    (uint32_t)cells->n, across, grid->cell, &drawing.sheet);
	if (begun != LC_OK)
		return report_argument(begun);
	if (cells->pairs)
		draw_frames(&drawing.sheet, cells->n);
	jw_count(json, "columns", across);
	jw_count(json, "cell", grid->cell);
	return draw_cells(&drawing, cells);
}

int
view_module(const char *module, const struct select *select, const struct view_grid *grid,
    const struct view_tensor *how, struct lc__picture *picture, struct json *json)
{
	char line[NOTE_ROOM], all[LC__TICKS_TEXT];
	struct view_cells cells = { .line = line };
	struct keys keys = { 0 };
	lc_cache *cache;
	uint64_t count;
	int status = module_open(module, &cache);
	lc_status counted;

	if (status != EXIT_DONE)
		return status;
	counted = lc_count(cache, &count);
	if (counted != LC_OK)
		status = report_status(counted);
	else
		status = choose_keys(cache, select, count, &keys);
	if (status == EXIT_DONE) {
		cells.ids = keys.ids;
		cells.records = keys.records;
		cells.n = keys.n;
		snprintf(line, sizeof(line), "%zu of %s records", keys.n,
		    lc__ticks_text((double)count, all, sizeof(all)));
		jw_text(json, "kind", "sheet");
		jw_text(json, "module", module);
		jw_count(json, "records", count);
		status = view_cells(cache, module, &cells, grid, how, picture, json);
	}
	keys_free(&keys);
	return module_close(cache, status);
}
