/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/coco_elements.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "labels/json_load.h"
#include "labels/json_slim.h"
#include "labels/json_stream.h"
#include "labels/label.h"

/* Names of larger ids are not kept: classes are a list by id. */
#define CLASS_MAX 65535

enum { IMAGES, ANNOTATIONS, CATEGORIES };

static void *
add_row(struct lc__coco_table *table, size_t size)
{
	if (lc__array_room(&table->rows, size, &table->room, table->n + 1, NULL) != LC_OK)
		return NULL;
	return (char *)table->rows + size * table->n++;
}

static lc_status
bad(const struct lc__coco_elements *e, const struct lc__json_element *element,
    const char *what)
{
	static const char *const names[] = { "image", "annotation", "category" };

	return lc__error(LC_CORRUPT, 0, "%s: %s at byte %llu: %s", e->coco->path,
	    names[element->member], (unsigned long long)element->offset, what);
}

static bool
get_id(const json_t *json, const char *name, int64_t *out)
{
	const json_t *id = json_object_get(json, name);

	*out = json_integer_value(id);
	return json_is_integer(id);
}

static lc_status
add_image(struct lc__coco_elements *e, const struct lc__json_element *element,
    const json_t *json)
{
	const json_t *name = json_object_get(json, "file_name");
	struct lc__coco_image_row *image = add_row(&e->images, sizeof(*image));
	const char *text;

	if (image == NULL)
		return lc__no_memory(e->coco->path);
	memset(image, 0, sizeof(*image));
	if (!get_id(json, "id", &image->id))
		return bad(e, element, "id is no integer");
	image->place.offset = element->offset;
	image->place.length = element->length;
	image->hash = lc__hash64(element->text, element->size);
	if (lc__json_is_blank(name))
		return LC_OK;
	if (!lc__json_is_text(name))
		return bad(e, element, "file_name is not a string");
	text = json_string_value(name);
	image->name = e->names.size;
	lc__buf_append(&e->names, text, strlen(text) + 1);
	return e->names.failed ? lc__no_memory(e->coco->path) : LC_OK;
}

/* The image of an annotation that is not JSON, such as one with a NaN: as its text has it
 * without blanks. */
static bool
find_image_id(const struct lc__json_element *element, int64_t *out)
{
	static const char name[] = "\"image_id\":";
	char *text = strndup(element->text, element->size), *end = NULL;
	const char *at = text != NULL ? strstr(text, name) : NULL;

	if (at != NULL) {
		errno = 0;
		*out = strtoll(at + strlen(name), &end, 10);
	}
	const bool found = at != NULL && end != at + strlen(name) && errno == 0 &&
	    (*end == ',' || *end == '}');
	free(text);
	return found;
}

static lc_status
add_annotation(struct lc__coco_elements *e, const struct lc__json_element *element,
    const json_t *json)
{
	struct lc__coco_annotation *row = add_row(&e->annotations, sizeof(*row));

	if (row == NULL)
		return lc__no_memory(e->coco->path);
	memset(row, 0, sizeof(*row));
	/* Without an image it is a stray, which coco.c makes a frame. */
	row->has_image = get_id(json, "image_id", &row->image);
	row->has_id = get_id(json, "id", &row->id);
	(void)get_id(json, "category_id", &row->category);
	row->place.bad = !json_is_object(json);
	if (row->place.bad)
		row->has_image = find_image_id(element, &row->image);
	row->place.offset = element->offset;
	row->place.length = element->length;
	row->hash = lc__hash64(element->text, element->size);
	return LC_OK;
}

static lc_status
set_class(struct lc__coco_elements *e, int64_t id, const char *name)
{
	struct lc__strings *classes = &e->dataset->classes;

	while ((int64_t)classes->n <= id)
		return_if_error(lc__strings_add(classes, NULL));
	classes->items[id] = strdup(name);
	return classes->items[id] != NULL ? LC_OK :
	    lc__no_memory(e->coco->path);
}

static lc_status
add_category(struct lc__coco_elements *e, const struct lc__json_element *element,
    const json_t *json)
{
	const json_t *name = json_object_get(json, "name");
	struct lc__coco_category *row = add_row(&e->categories, sizeof(*row));

	if (row == NULL)
		return lc__no_memory(e->coco->path);
	if (!get_id(json, "id", &row->id))
		return bad(e, element, "id is no integer");
	if (!lc__json_is_text(name))
		return bad(e, element, "name is not a string");
	row->hash = lc__hash64(json_string_value(name), json_string_length(name));
	if (row->id < 0 || row->id > CLASS_MAX)
		return LC_OK;
	if ((size_t)row->id < e->dataset->classes.n &&
	    e->dataset->classes.items[row->id] != NULL)
		return bad(e, element, "its id stands there already");
	return set_class(e, row->id, json_string_value(name));
}

/* Annotations without their outlines; the images' rows are kept as they are. */
static lc_status
parse(struct lc__coco_elements *e, const struct lc__json_element *element,
    json_t **out, char why[256])
{
	if (element->member != ANNOTATIONS)
		return lc__json_load(element->text, element->size, out, why);
	e->slim.size = 0;
	lc__json_slim(element->text, element->size, "bbox", &e->slim);
	if (e->slim.failed)
		return lc__no_memory(e->coco->path);
	return lc__json_load(e->slim.data, e->slim.size, out, why);
}

static lc_status
found(void *ctx, const struct lc__json_element *element)
{
	static lc_status (*const add[])(struct lc__coco_elements *e,
	    const struct lc__json_element *element, const json_t *json) = {
		add_image, add_annotation, add_category
	};
	char why[256] = "";
	json_t *json;
	lc_status status = parse(ctx, element, &json, why);

	if (status != LC_OK)
		return status;
	if (element->member == ANNOTATIONS)
		status = add_annotation(ctx, element, json);
	else if (json == NULL)
		status = bad(ctx, element, why);
	else if (!json_is_object(json))
		status = bad(ctx, element, "not an object");
	else
		status = add[element->member](ctx, element, json);
	json_decref(json);
	return status;
}

/* ---- all of them --------------------------------------------------------------- */

static int
compare_ids(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

/* Both begin with an id. */
static int
compare_rows(const void *a, const void *b)
{
	return compare_ids(*(const int64_t *)a, *(const int64_t *)b);
}

static lc_status
sort_ids(const struct lc__coco_elements *e, struct lc__coco_table *table,
    size_t size, const char *what)
{
	const char *rows = table->rows;

	if (table->n == 0)
		return LC_OK;
	qsort(table->rows, table->n, size, compare_rows);
	for (size_t i = 1; i < table->n; i++)
		if (compare_rows(rows + (i - 1) * size, rows + i * size) == 0)
			return lc__error(LC_CORRUPT, 0, "%s: two %s have the id "
			    "%lld", e->coco->path, what,
			    (long long)*(const int64_t *)(const void *)(rows +
			    i * size));
	return LC_OK;
}

lc_status
lc__coco_elements_read(struct lc__coco_elements *e)
{
	static const char *const names[] = {
		[IMAGES] = "images", [ANNOTATIONS] = "annotations",
		[CATEGORIES] = "categories", [CATEGORIES + 1] = NULL
	};

	lc__buf_append(&e->names, "", 1);
	return_if_error(lc__json_stream(e->coco->fd, e->coco->path, names,
	    CATEGORIES, found, e));
	return_if_error(sort_ids(e, &e->images, sizeof(struct lc__coco_image_row),
	    "images"));
	return sort_ids(e, &e->categories, sizeof(struct lc__coco_category),
	    "categories");
}

void
lc__coco_elements_free(struct lc__coco_elements *e)
{
	free(e->images.rows);
	free(e->annotations.rows);
	free(e->categories.rows);
	lc__buf_free(&e->names);
	lc__buf_free(&e->slim);
}

const struct lc__coco_image_row *
lc__coco_elements_image(const struct lc__coco_elements *e, int64_t id)
{
	const struct lc__coco_image_row key = { .id = id };

	return e->images.n == 0 ? NULL : bsearch(&key, e->images.rows,
	    e->images.n, sizeof(key), compare_rows);
}

uint64_t
lc__coco_elements_category(const struct lc__coco_elements *e, int64_t id)
{
	const struct lc__coco_category key = { .id = id }, *row = NULL;

	if (e->categories.n > 0)
		row = bsearch(&key, e->categories.rows, e->categories.n,
		    sizeof(*row), compare_rows);
	return row != NULL ? row->hash : e->categories.n > 0;
}
