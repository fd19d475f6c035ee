/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/facts.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "draw/picture.h"
#include "formats/value_json.h"
#include "image/tensor_image.h"
#include "warehouse/about.h"
#include "warehouse/place.h"
#include "warehouse/tool.h"

/* ---- the members of an object ------------------------------------------------ */

static char *
text_of(const lc_value *value)
{
	const char *string;

	if (lc_value_kind(value) == LC_STRING &&
	    lc_value_as_str(value, &string, NULL) == LC_OK)
		return strdup(string);
	return lc__value_json_text(value);
}

static lc_status
take_members(const lc_value *map, struct lc__fields *out)
{
	const size_t n = lc_value_count(map);

	out->rows = calloc(n + 1, sizeof(*out->rows));
	if (out->rows == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < n; i++) {
		struct lc__field *row = &out->rows[out->n++];
		const lc_value *value = lc_value_at(map, i);
		const bool null = lc_value_kind(value) == LC_NIL;
		row->name = strdup(lc_value_name(map, i));
		row->value = null ? NULL : text_of(value);
		if (row->name == NULL || (row->value == NULL && !null))
			return lc__no_memory(NULL);
	}
	return LC_OK;
}

lc_status
lc__fields_read(const char *text, struct lc__fields *out)
{
	struct lc__loaded loaded = { 0 };
	lc_status status;

	memset(out, 0, sizeof(*out));
	status = lc__value_json_read(text, strlen(text), NULL, NULL, &loaded);
	if (status == LC_OK && lc_value_kind(loaded.value) == LC_MAP) {
		status = take_members(loaded.value, out);
	} else if (status != LC_NO_MEMORY) {
		out->rows = calloc(1, sizeof(*out->rows));
		if (out->rows != NULL) {
			out->n = 1;
			out->rows[0].name = strdup("");
			out->rows[0].value = strdup(text);
		}
		status = out->n > 0 && out->rows[0].name && out->rows[0].value
		    ? LC_OK
		    : lc__no_memory(NULL);
	}
	lc__loaded_free(&loaded);
	if (status != LC_OK)
		lc__fields_free(out);
	return status;
}

const char *
lc__fields_find(const struct lc__fields *fields, const char *name)
{
	for (size_t i = 0; i < fields->n; i++)
		if (strcmp(fields->rows[i].name, name) == 0)
			return fields->rows[i].value;
	return NULL;
}

void
lc__fields_free(struct lc__fields *fields)
{
	for (size_t i = 0; i < fields->n; i++) {
		free(fields->rows[i].name);
		free(fields->rows[i].value);
	}
	free(fields->rows);
	memset(fields, 0, sizeof(*fields));
}

/* ---- rejected frames --------------------------------------------------------- */

lc_status
lc__rejects_open(const char *version_dir, struct lc__rejects *out)
{
	lc_status status;
	int fd;

	memset(out, 0, sizeof(*out));
	out->path = lc__path_join(version_dir, LC__WAREHOUSE_REJECTED);
	out->text = malloc(LC__REJECT_LINE);
	if (out->path == NULL || out->text == NULL) {
		lc__rejects_close(out);
		return lc__no_memory(NULL);
	}
	status = lc__open_regular(out->path, &fd);
	if (status == LC_OK && (out->file = fdopen(fd, "r")) == NULL) {
		status = lc__error_sys(errno, "%s", out->path);
		close(fd);
	}
	if (status != LC_OK)
		lc__rejects_close(out);
	return status;
}

lc_status
lc__rejects_next(struct lc__rejects *rejects, struct lc__fields *out)
{
	size_t size;

	errno = 0;
	if (fgets(rejects->text, LC__REJECT_LINE, rejects->file) == NULL)
		return ferror(rejects->file) ? lc__error_sys(errno, "%s", rejects->path)
					     : LC_END;
	rejects->line++;
	size = strlen(rejects->text);
	if (size == 0 || rejects->text[size - 1] != '\n')
		return lc__error(LC_CORRUPT, 0, "%s: line %llu is %s", rejects->path,
		    rejects->line,
		    size == LC__REJECT_LINE - 1 ? "too long" : "cut short");
	rejects->text[size - 1] = '\0';
	return_if_error(lc__fields_read(rejects->text, out));
	if (out->n > 0 && *out->rows[0].name != '\0')
		return LC_OK;
	lc__fields_free(out);
	return lc__error(LC_CORRUPT, 0, "%s: line %llu is not a JSON object",
	    rejects->path, rejects->line);
}

void
lc__rejects_close(struct lc__rejects *rejects)
{
	if (rejects->file != NULL)
		fclose(rejects->file);
	free(rejects->path);
	free(rejects->text);
	memset(rejects, 0, sizeof(*rejects));
}

/* ---- thumbnails -------------------------------------------------------------- */

#define LINE 1 /* width of a box's outline, in pixels */

static const char *
class_name(const void *facts, int64_t class_id)
{
	return lc__facts_class(facts, class_id);
}

/* Shrink the image so that its longer side fits. */
static lc_status
draw_small(const struct lc__facts *facts, const struct lc__pixels *image,
    const struct lc__observation *observation, struct lc__picture *picture,
    struct lc__thumbnail *out)
{
	const struct lc__class_names names = { class_name, facts };
	const double longer = fmax(image->width, image->height);
	const double scale = fmin(LC__THUMBNAIL_SIDE / longer, 1);
	const struct lc__rect area = { 0, 0, fmax(floor(image->width * scale), 1),
		fmax(floor(image->height * scale), 1) };

	out->width = (uint32_t)area.width;
	out->height = (uint32_t)area.height;
	return_if_error(
	    lc__picture_begin(picture, area.width, area.height, lc_id_of("sample")));
	lc__picture_image(picture, area, image);
	lc__boxes_draw(picture, area, observation->boxes, observation->n, LINE, &names);
	return lc__picture_finish(picture, &out->png);
}

lc_status
lc__thumbnail_add(struct lc__facts *facts, const struct lc__observation *observation,
    const lc_sample *sample)
{
	struct lc__thumbnail *out = &facts->thumbnails[facts->n_thumbnails];
	struct lc__picture *picture;
	struct lc__pixels image;
	struct lc__value_range range;
	struct lc__image_form form;
	lc_status status;

	if (!lc__image_form_of(&sample->image, &form))
		return LC_OK;
	status = lc__picture_new(LC__PICTURE_PNG, &picture);
	/* A build without cairo makes pages without thumbnails. */
	if (status == LC_UNSUPPORTED)
		return LC_OK;
	return_if_error(status);
	/* Count the thumbnail before it is complete, so that lc__facts_free() frees it
	 * after a failure. */
	facts->n_thumbnails++;
	out->sample = observation->sample;
	out->boxes = observation->n;
	if (sample->id.size > 0) {
		out->id = malloc(sample->id.size);
		if (out->id == NULL) {
			lc__picture_free(picture);
			return lc__no_memory(NULL);
		}
		memcpy(out->id, sample->id.data, sample->id.size);
		out->id_size = sample->id.size;
	}
	status = lc__image_pixels(&sample->image, &form, &image, &range);
	if (status == LC_OK) {
		status = draw_small(facts, &image, observation, picture, out);
		lc__pixels_free(&image);
	}
	lc__picture_free(picture);
	return status;
}

/* ---- all facts --------------------------------------------------------------- */

/* The shards of parts are listed in the manifests of the parts, so the warehouse is
 * asked for each. */
static lc_status
read_shards(const lc_warehouse *warehouse, struct lc__facts *out)
{
	out->shards = calloc((size_t)out->info->shards + 1, sizeof(*out->shards));
	if (out->shards == NULL)
		return lc__no_memory(NULL);
	for (; out->n_shards < out->info->shards; out->n_shards++)
		return_if_error(lc__warehouse_shard(warehouse, out->n_shards,
		    &out->shards[out->n_shards]));
	return LC_OK;
}

static lc_status
read_series(const lc_warehouse *warehouse, struct lc__facts *out)
{
	out->series = calloc((size_t)out->info->series + 1, sizeof(*out->series));
	if (out->series == NULL)
		return lc__no_memory(NULL);
	for (uint32_t s = 0; s < out->info->series; s++)
		return_if_error(lc_warehouse_series(warehouse, s, &out->series[s]));
	return LC_OK;
}

static lc_status
read_rejects(struct lc__facts *out)
{
	const bool built = lc__warehouse_about(out->warehouse) != NULL;
	struct lc__rejects rejects;
	lc_status status = lc__rejects_open(out->info->path, &rejects);

	/* Shards exported from a module have no list of rejected frames. A build always
	 * writes one, and the manifest has its checksum. */
	if (status == LC_NO_FILE && built)
		return lc__error(LC_CORRUPT, 0,
		    "%s/" LC__WAREHOUSE_REJECTED " is missing, and the manifest names it",
		    out->info->path);
	if (status != LC_OK)
		return status == LC_NO_FILE ? LC_OK : status;
	while (status == LC_OK && out->n_rejects < LC__FACTS_REJECTS) {
		status = lc__rejects_next(&rejects, &out->rejects[out->n_rejects]);
		out->n_rejects += status == LC_OK;
	}
	lc__rejects_close(&rejects);
	return status == LC_END ? LC_OK : status;
}

lc_status
lc__facts_read(const lc_warehouse *warehouse, struct lc__facts *out)
{
	memset(out, 0, sizeof(*out));
	lc__distributions_init(&out->seen);
	out->warehouse = warehouse;
	out->info = lc_warehouse_info_of(warehouse);
	return_if_error(read_shards(warehouse, out));
	return_if_error(
	    lc__summary_parse(out->info->summary, out->info->path, &out->summary));
	/* A summary that another program wrote may lack this member. */
	if (out->summary.written == 0)
		out->summary.written = out->info->samples;
	return_if_error(lc__thresholds_parse(out->info->thresholds, out->info->path,
	    &out->thresholds));
	return_if_error(lc__fields_read(out->info->recipe, &out->recipe));
	return_if_error(read_series(warehouse, out));
	for (size_t i = 0; i < out->summary.n_runs; i++)
		lc__distributions_add_run(&out->seen, out->summary.runs[i].counts.total);
	return read_rejects(out);
}

const char *
lc__facts_class(const struct lc__facts *facts, int64_t class_id)
{
	return facts->warehouse != NULL ? lc_warehouse_class(facts->warehouse, class_id)
					: NULL;
}

void
lc__facts_free(struct lc__facts *facts)
{
	free(facts->series);
	for (size_t i = 0; i < facts->n_shards; i++)
		free(facts->shards[i].relative_path);
	free(facts->shards);
	lc__summary_free(&facts->summary);
	lc__fields_free(&facts->recipe);
	for (size_t i = 0; i < facts->n_rejects; i++)
		lc__fields_free(&facts->rejects[i]);
	lc__distributions_free(&facts->seen);
	for (size_t i = 0; i < facts->n_thumbnails; i++) {
		lc__buf_free(&facts->thumbnails[i].png);
		free(facts->thumbnails[i].id);
	}
	memset(facts, 0, sizeof(*facts));
}

uint64_t
lc__summary_written(const struct lc__summary *summary, const struct lc__counts *counts)
{
	/* A build writes either all empty frames or none. */
	return summary->written == summary->totals.non_empty
	    ? counts->non_empty
	    : counts->non_empty + counts->empty;
}
