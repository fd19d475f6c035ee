/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/coco_elements.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json_write.h"
#include "labels/json_stream.h"
#include "labels/label.h"
#include "labels/metadata.h"

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

/* Of an element as text without blanks, by which it is known again. */
static lc_status
compact(struct lc__coco_elements *e, const struct lc__json_element *element)
{
	e->compact.size = 0;
	lc__json_put_compact(&e->compact,
	    (struct lc__json_slice){ element->text, element->size });
	return e->compact.failed ? lc__no_memory(e->coco->path) : LC_OK;
}

static bool
get_id(const struct lc__json *json, const char *name, int64_t *out)
{
	return lc__json_int64(lc__json_get(json, name), out);
}

static lc_status
add_image(struct lc__coco_elements *e, const struct lc__json_element *element,
    const struct lc__json *json)
{
	const struct lc__json *name = lc__json_get(json, "file_name");
	struct lc__coco_image_row *image = add_row(&e->images, sizeof(*image));

	if (image == NULL)
		return lc__no_memory(e->coco->path);
	memset(image, 0, sizeof(*image));
	if (!get_id(json, "id", &image->id))
		return bad(e, element, "id is no integer");
	image->place.offset = element->offset;
	image->place.length = element->size;
	image->hash = lc__hash64(e->compact.data, e->compact.size);
	if (lc__label_is_blank(name))
		return LC_OK;
	if (!lc__json_is(name, LC__JSON_STRING))
		return bad(e, element, "file_name is not a string");
	image->name = e->names.size;
	lc__buf_append(&e->names, name->string, name->string_size + 1);
	return e->names.failed ? lc__no_memory(e->coco->path) : LC_OK;
}

/* The image of an annotation that is not JSON, such as one with a NaN: as its text has it
 * without blanks. */
static bool
find_image_id(struct lc__coco_elements *e, int64_t *out)
{
	static const char name[] = "\"image_id\":";
	const char *at;
	char *end;

	if (lc__buf_append(&e->compact, "", 1) == NULL)
		return false;
	e->compact.size--;
	at = strstr((const char *)e->compact.data, name);
	if (at == NULL)
		return false;
	at += strlen(name);
	errno = 0;
	*out = strtoll(at, &end, 10);
	return end != at && errno == 0 && (*end == ',' || *end == '}');
}

static lc_status
add_annotation(struct lc__coco_elements *e, const struct lc__json_element *element,
    const struct lc__json *json)
{
	struct lc__coco_annotation *row = add_row(&e->annotations, sizeof(*row));

	if (row == NULL)
		return lc__no_memory(e->coco->path);
	memset(row, 0, sizeof(*row));
	/* Without an image it is a stray, which coco.c makes a frame. */
	row->has_image = get_id(json, "image_id", &row->image);
	row->has_id = get_id(json, "id", &row->id);
	(void)get_id(json, "category_id", &row->category);
	row->place.bad = !lc__json_is(json, LC__JSON_OBJECT);
	if (row->place.bad)
		row->has_image = find_image_id(e, &row->image);
	row->place.offset = element->offset;
	row->place.length = element->size;
	row->hash = lc__hash64(e->compact.data, e->compact.size);
	return LC_OK;
}

static lc_status
set_class(struct lc__coco_elements *e, int64_t id, const char *name)
{
	struct lc__strings *classes = &e->dataset->classes;

	while ((int64_t)classes->n <= id)
		return_if_error(lc__strings_add(classes, NULL));
	classes->items[id] = strdup(name);
	return classes->items[id] != NULL ? LC_OK : lc__no_memory(e->coco->path);
}

static lc_status
add_category(struct lc__coco_elements *e, const struct lc__json_element *element,
    const struct lc__json *json)
{
	const struct lc__json *name = lc__json_get(json, "name");
	struct lc__coco_category *row = add_row(&e->categories, sizeof(*row));

	if (row == NULL)
		return lc__no_memory(e->coco->path);
	if (!get_id(json, "id", &row->id))
		return bad(e, element, "id is no integer");
	if (!lc__json_is(name, LC__JSON_STRING))
		return bad(e, element, "name is not a string");
	row->hash = lc__hash64(name->string, name->string_size);
	if (row->id < 0 || row->id > CLASS_MAX)
		return LC_OK;
	if ((size_t)row->id < e->dataset->classes.n &&
	    e->dataset->classes.items[row->id] != NULL)
		return bad(e, element, "its id stands there already");
	return set_class(e, row->id, name->string);
}

/* Of an annotation no list and no object but its box is read: outlines are most of many
 * files. */
static lc_status
found(void *ctx, const struct lc__json_element *element)
{
	static const struct lc__json_rules only_box = { .only = "bbox" };
	struct lc__coco_elements *e = ctx;
	const struct lc__json *json;
	char why[256] = "";

	if (lc__label_parse(element->text, element->size,
		element->member == ANNOTATIONS ? &only_box : NULL, &e->tree, &json,
		why) != LC_OK)
		return lc__no_memory(e->coco->path);
	return_if_error(compact(e, element));
	if (element->member == ANNOTATIONS)
		return add_annotation(e, element, json);
	if (json == NULL)
		return bad(e, element, why);
	if (!lc__json_is(json, LC__JSON_OBJECT))
		return bad(e, element, "not an object");
	return element->member == IMAGES ? add_image(e, element, json)
					 : add_category(e, element, json);
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
sort_ids(const struct lc__coco_elements *e, struct lc__coco_table *table, size_t size,
    const char *what)
{
	const char *rows = table->rows;

	if (table->n == 0)
		return LC_OK;
	qsort(table->rows, table->n, size, compare_rows);
	for (size_t i = 1; i < table->n; i++)
		if (compare_rows(rows + (i - 1) * size, rows + i * size) == 0)
			return lc__error(LC_CORRUPT, 0, "%s: two %s have the id %lld",
			    e->coco->path, what,
			    (long long)*(const int64_t *)(const void *)(rows + i * size));
	return LC_OK;
}

lc_status
lc__coco_elements_read(struct lc__coco_elements *e)
{
	static const char *const names[] = {
		[IMAGES] = "images",
		[ANNOTATIONS] = "annotations",
		[CATEGORIES] = "categories",
		[CATEGORIES + 1] = NULL,
	};

	lc__buf_append(&e->names, "", 1);
	return_if_error(
	    lc__json_stream(e->coco->fd, e->coco->path, names, CATEGORIES, found, e));
	return_if_error(
	    sort_ids(e, &e->images, sizeof(struct lc__coco_image_row), "images"));
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
	lc__buf_free(&e->compact);
	lc__json_free(&e->tree);
}

const struct lc__coco_image_row *
lc__coco_elements_image(const struct lc__coco_elements *e, int64_t id)
{
	const struct lc__coco_image_row key = { .id = id };

	return e->images.n == 0
	    ? NULL
	    : bsearch(&key, e->images.rows, e->images.n, sizeof(key), compare_rows);
}

uint64_t
lc__coco_elements_category(const struct lc__coco_elements *e, int64_t id)
{
	const struct lc__coco_category key = { .id = id }, *row = NULL;

	if (e->categories.n > 0)
		row = bsearch(&key, e->categories.rows, e->categories.n, sizeof(*row),
		    compare_rows);
	return row != NULL ? row->hash : e->categories.n > 0;
}
