/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples with their boxes on a contact sheet. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cmd/view.h"
#include "draw/ticks.h"
#include "image/heat_map.h"
#include "image/sheet.h"
#include "image/tensor_image.h"
#include "report/survey.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "value/tensor.h"

#define WIDE 1600    /* pixels of a sheet whose columns are chosen */
#define KEY 12       /* digits that begin the cache_ids of a warehouse */
#define NAME_ROOM 40 /* of "sample 18446744073709551615" */
#define NOTE_ROOM 120

/* The sheet on its way. */
struct making {
	const struct samples *samples;
	const struct selected *selected;
	const struct opt_list *ids;
	struct lc__observer observer;
	struct lc__sheet sheet;
	struct json *json;
	uint64_t boxes; /* drawn so far */
	int status; /* EXIT_NO once a sample is missing, EXIT_DATA once one is damaged */
};

/* ---- captions ------------------------------------------------------------------- */

lc_id
view_short_id(lc_id id)
{
	const char *text = id.data;

	if (id.size < KEY + 2 || text[KEY] != '/')
		return id;
	for (size_t i = 0; i < KEY; i++)
		if (!isxdigit((unsigned char)text[i]))
			return id;
	return (lc_id){ text + KEY + 1, id.size - KEY - 1 };
}

static lc_id
name_of(uint64_t sample, lc_id id, char room[NAME_ROOM])
{
	if (id.size > 0)
		return view_short_id(id);
	snprintf(room, NAME_ROOM, "sample %" PRIu64, sample);
	return lc_id_of(room);
}

/* "#12  3 boxes  4032 x 3024": the size is the source's, if that is known. */
static void
write_note(uint64_t sample, const struct lc__observation *seen, bool boxed, char *out)
{
	int n = snprintf(out, NOTE_ROOM, "#%" PRIu64, sample);

	if (boxed && seen->origin.boxes_total > seen->n)
		n += snprintf(out + n, NOTE_ROOM - (size_t)n,
		    "  %" PRIu32 " of %" PRIu64 " boxes", seen->n,
		    seen->origin.boxes_total);
	else if (boxed)
		n += snprintf(out + n, NOTE_ROOM - (size_t)n, "  %" PRIu32 " box%s",
		    seen->n, seen->n == 1 ? "" : "es");
	if (seen->origin.original_width > 0)
		snprintf(out + n, NOTE_ROOM - (size_t)n, "  %" PRIu32 " x %" PRIu32,
		    seen->origin.original_width, seen->origin.original_height);
}

static const char *
class_name(const void *warehouse, int64_t class_id)
{
	return lc_warehouse_class(warehouse, class_id);
}

/* ---- cells ---------------------------------------------------------------------- */

static void
begin_json(struct making *making, uint64_t sample, lc_id id)
{
	jw_open(making->json, NULL, '{');
	if (sample != SELECT_NONE)
		jw_count(making->json, "sample", sample);
	if (id.size > 0)
		jw_id(making->json, id);
}

static void
draw_missing(struct making *making, uint32_t cell, uint64_t sample, lc_id id,
    const char *reason)
{
	char name[NAME_ROOM], note[NOTE_ROOM] = "not there";
	struct lc__caption caption = { id, lc_id_of(note) };

	if (sample != SELECT_NONE) {
		snprintf(note, sizeof(note), "#%" PRIu64 "  damaged", sample);
		caption.name = name_of(sample, id, name);
		caption.note = lc_id_of(note);
	}
	lc__sheet_missing(&making->sheet, cell, lc_id_of(reason), caption);
	begin_json(making, sample, id);
	jw_text(making->json, "error", reason);
	jw_close(making->json, '}');
	making->status = report_worse(making->status,
	    report_error(sample == SELECT_NONE ? EXIT_NO : EXIT_DATA, "%s", reason));
}

static void
write_cell(struct making *making, uint64_t sample, lc_id id, struct lc__rect at,
    const struct lc__observation *seen)
{
	begin_json(making, sample, id);
	jw_count(making->json, "x", (uint64_t)at.x);
	jw_count(making->json, "y", (uint64_t)at.y);
	jw_count(making->json, "width", (uint64_t)at.width);
	jw_count(making->json, "height", (uint64_t)at.height);
	jw_count(making->json, "boxes", seen->n);
	jw_close(making->json, '}');
	making->boxes += seen->n;
}

/* An image, or else a small heat map. */
static lc_status
draw_sample(struct making *making, uint32_t cell, uint64_t i, lc_sample *sample)
{
	struct lc__sheet *sheet = &making->sheet;
	struct lc__observation seen = { .sample = i };
	char room[NAME_ROOM], note[NOTE_ROOM];
	struct lc__caption caption;
	struct lc__image_form form;
	struct lc__rect place;

	return_if_error(lc__observe(&making->observer, sample, &seen));
	write_note(i, &seen, making->samples->max_boxes > 0, note);
	caption = (struct lc__caption){ name_of(i, sample->id, room), lc_id_of(note) };
	if (lc__image_form_of(&sample->image, &form)) {
		struct lc__value_range range;
		struct lc__pixels image;
		return_if_error(lc__image_pixels(&sample->image, &form, &image, &range));
		lc__sheet_image(sheet, cell, &image, seen.boxes, seen.n, caption);
		place = lc__sheet_place(sheet, cell, image.width, image.height);
		lc__pixels_free(&image);
	} else {
		struct lc__heat_map map;
		struct lc__heat_scale scale;
		lc__heat_map_plan(&sample->image, sheet->cell, false, &map);
		if (map.shown == 0)
			return lc__error(LC_INVALID, 0, "no elements");
		return_if_error(lc__heat_map_scale(&map, &scale));
		place = lc__sheet_heat(sheet, cell, &map, &scale, caption);
		lc__boxes_draw(sheet->picture, place, seen.boxes, seen.n, 1,
		    &sheet->names);
	}
	write_cell(making, i, sample->id, place, &seen);
	return LC_OK;
}

static void
draw_cell(struct making *making, uint32_t cell)
{
	const uint64_t i = making->selected->items[cell];
	lc_sample sample = { 0 };
	lc_status status;

	if (i == SELECT_NONE) {
		char reason[160];
		const char *id = making->ids->items[cell];
		snprintf(reason, sizeof(reason), "no sample has the cache_id %s",
		    lc__quote_id(id, strlen(id)));
		draw_missing(making, cell, i, lc_id_of(id), reason);
		return;
	}
	status = samples_get(making->samples, i, &sample);
	if (status == LC_OK) {
		status = draw_sample(making, cell, i, &sample);
		if (status != LC_OK)
			draw_missing(making, cell, i, sample.id, lc_last_error()->text);
		samples_release(making->samples, &sample);
	} else {
		draw_missing(making, cell, i, (lc_id){ 0 }, lc_last_error()->text);
	}
}

/* ---- the sheet ------------------------------------------------------------------ */

/* A little wider than high. */
uint32_t
view_columns(const struct view_grid *grid, size_t n)
{
	uint32_t chosen = 1;

	if (grid->columns != OPT_UNSET)
		return (uint32_t)grid->columns;
	while (2 * (uint64_t)chosen * chosen < 3 * (uint64_t)n &&
	    (chosen + 1) * (grid->cell + 12) <= WIDE)
		chosen++;
	return chosen;
}

static int
make_sheet(struct making *making, const char *path, const struct view_grid *grid,
    struct lc__picture *picture)
{
	const size_t n = making->selected->count;
	const uint32_t across = view_columns(grid, n);
	char line[NOTE_ROOM], all[LC__TICKS_TEXT];
	lc_status status;

	snprintf(line, sizeof(line), "%zu of %s samples", n,
	    lc__ticks_text((double)making->samples->count, all, sizeof(all)));
	status = lc__sheet_begin(picture, lc_id_of(path), lc_id_of(line), (uint32_t)n,
	    across, grid->cell, &making->sheet);
	if (status != LC_OK)
		return report_argument(status);
	if (making->samples->warehouse != NULL)
		making->sheet.names = (struct lc__class_names){ class_name,
			making->samples->warehouse };
	jw_text(making->json, "kind", "sheet");
	jw_text(making->json, "source", path);
	jw_count(making->json, "samples", making->samples->count);
	jw_count(making->json, "columns", across);
	jw_count(making->json, "cell", grid->cell);
	return EXIT_DONE;
}

static int
fill_sheet(struct making *making)
{
	const size_t n = making->selected->count;

	jw_open(making->json, "drawn", '[');
	progress_begin("view");
	for (size_t i = 0; i < n; i++) {
		draw_cell(making, (uint32_t)i);
		progress_items(i + 1, n);
		if (progress_step(NULL, 0, 0) != 0) {
			progress_end();
			return report_status(LC_CANCELLED);
		}
	}
	progress_end();
	jw_close(making->json, ']');
	jw_count(making->json, "boxes", making->boxes);
	return making->status;
}

static int
draw_selected(const char *path, struct making *making, const struct view_grid *grid,
    struct lc__picture *picture)
{
	const lc_status ready = lc__observer_init(&making->observer,
	    making->samples->max_boxes);
	int status;

	if (ready != LC_OK)
		return report_status(ready);
	status = make_sheet(making, path, grid, picture);
	if (status == EXIT_DONE)
		status = fill_sheet(making);
	lc__observer_free(&making->observer);
	return status;
}

/* By name all samples are looked through, which needs no checksums. */
static int
select_by_name(const char *path, const struct select *how, struct selected *out)
{
	struct samples samples;
	int status = samples_open(path, false, &samples);

	if (status != EXIT_DONE)
		return status;
	status = select_samples(how, &samples, out);
	samples_close(&samples);
	return status;
}

int
view_sheet(const char *path, const struct select *how, const struct view_grid *grid,
    struct lc__picture *picture, struct json *json)
{
	struct samples samples = { 0 };
	struct selected selected = { 0 };
	struct making making = {
		.samples = &samples,
		.selected = &selected,
		.ids = how->ids,
		.json = json,
	};
	int status = EXIT_DONE;

	if (how->ids->count > 0)
		status = select_by_name(path, how, &selected);
	if (status == EXIT_DONE)
		status = samples_open(path, true, &samples);
	if (status == EXIT_DONE && how->ids->count == 0)
		status = select_samples(how, &samples, &selected);
	if (samples.damaged)
		making.status = EXIT_DATA;
	if (status == EXIT_DONE)
		status = draw_selected(path, &making, grid, picture);
	selected_free(&selected);
	samples_close(&samples);
	return status;
}
