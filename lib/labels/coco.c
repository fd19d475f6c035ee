/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames of a COCO file. It is read once, an element at a time; what is kept
 * of each is where it stands, so that a label is read again from there.
 */
#include "labels/coco.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "labels/json_load.h"
#include "labels/json_slim.h"
#include "labels/json_stream.h"
#include "labels/label.h"
#include "labels/names.h"

/* Names of larger ids are not kept: classes are a list by id. */
#define CLASS_MAX 65535

/* Elements as they come. */
struct image {
	int64_t id;
	struct lc__coco_place place;
	uint64_t name;  /* offset of its file name, 0 without one */
	uint64_t hash;
};

struct annotation {
	int64_t image, category;
	struct lc__coco_place place;
	uint64_t hash;
};

struct category {
	int64_t id;
	uint64_t hash;
};

/* A list of elements of one size. */
struct table {
	void *rows;
	size_t n, room;
};

struct scan {
	struct lc__dataset *dataset;
	struct lc__coco *coco;
	struct table images, annotations, categories;
	struct lc__buf names; /* of files, each with a NUL; begins with one */
	struct lc__buf slim;  /* an annotation without what is not kept */
	size_t asked;         /* of lc__coco_base() */
};

enum { IMAGES, ANNOTATIONS, CATEGORIES };

static void *
add_row(struct table *table, size_t size)
{
	if (table->n == table->room) {
		const size_t room = table->room > 0 ? 2 * table->room : 64;
		void *rows = realloc(table->rows, room * size);
		if (rows == NULL)
			return NULL;
		table->rows = rows;
		table->room = room;
	}
	return (char *)table->rows + size * table->n++;
}

/* ---- elements ------------------------------------------------------------------ */

static lc_status
bad(const struct scan *s, const struct lc__json_element *element,
    const char *what)
{
	static const char *const names[] = { "image", "annotation", "category" };

	return lc__error(LC_CORRUPT, 0, "%s: %s at byte %llu: %s", s->coco->path,
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
add_image(struct scan *s, const struct lc__json_element *element,
    const json_t *json)
{
	const json_t *name = json_object_get(json, "file_name");
	struct image *image = add_row(&s->images, sizeof(*image));
	const char *text;

	if (image == NULL)
		return lc__label_no_memory(s->coco->path);
	memset(image, 0, sizeof(*image));
	if (!get_id(json, "id", &image->id))
		return bad(s, element, "id is no integer");
	image->place.offset = element->offset;
	image->place.length = element->length;
	image->hash = lc__hash64(element->text, element->size);
	if (lc__json_is_blank(name))
		return LC_OK;
	if (!lc__json_is_text(name))
		return bad(s, element, "file_name is not a string");
	text = json_string_value(name);
	image->name = s->names.size;
	lc__buf_append(&s->names, text, strlen(text) + 1);
	return s->names.failed ? lc__label_no_memory(s->coco->path) : LC_OK;
}

static lc_status
add_annotation(struct scan *s, const struct lc__json_element *element,
    const json_t *json)
{
	struct annotation *row = add_row(&s->annotations, sizeof(*row));

	if (row == NULL)
		return lc__label_no_memory(s->coco->path);
	memset(row, 0, sizeof(*row));
	if (!get_id(json, "image_id", &row->image))
		return bad(s, element, "image_id is no integer");
	(void)get_id(json, "category_id", &row->category);
	row->place.offset = element->offset;
	row->place.length = element->length;
	row->hash = lc__hash64(element->text, element->size);
	return LC_OK;
}

static lc_status
set_class(struct scan *s, int64_t id, const char *name)
{
	struct lc__strings *classes = &s->dataset->classes;

	while ((int64_t)classes->n <= id)
		return_if_error(lc__strings_add(classes, NULL));
	classes->items[id] = strdup(name);
	return classes->items[id] != NULL ? LC_OK :
	    lc__label_no_memory(s->coco->path);
}

static lc_status
add_category(struct scan *s, const struct lc__json_element *element,
    const json_t *json)
{
	const json_t *name = json_object_get(json, "name");
	struct category *row = add_row(&s->categories, sizeof(*row));

	if (row == NULL)
		return lc__label_no_memory(s->coco->path);
	if (!get_id(json, "id", &row->id))
		return bad(s, element, "id is no integer");
	if (!lc__json_is_text(name))
		return bad(s, element, "name is not a string");
	row->hash = lc__hash64(json_string_value(name), json_string_length(name));
	if (row->id < 0 || row->id > CLASS_MAX)
		return LC_OK;
	if ((size_t)row->id < s->dataset->classes.n &&
	    s->dataset->classes.items[row->id] != NULL)
		return bad(s, element, "its id stands there already");
	return set_class(s, row->id, json_string_value(name));
}

/* Annotations without their outlines; the images' rows are kept as they are. */
static lc_status
parse(struct scan *s, const struct lc__json_element *element, json_t **out,
    char why[256])
{
	if (element->member != ANNOTATIONS)
		return lc__json_load(element->text, element->size, out, why);
	s->slim.size = 0;
	lc__json_slim(element->text, element->size, "bbox", &s->slim);
	if (s->slim.failed)
		return lc__label_no_memory(s->coco->path);
	return lc__json_load(s->slim.data, s->slim.size, out, why);
}

static lc_status
found(void *ctx, const struct lc__json_element *element)
{
	static lc_status (*const add[])(struct scan *s,
	    const struct lc__json_element *element, const json_t *json) = {
		add_image, add_annotation, add_category
	};
	char why[256] = "";
	json_t *json;
	lc_status status = parse(ctx, element, &json, why);

	if (status != LC_OK)
		return status;
	if (json == NULL)
		status = bad(ctx, element, why);
	else if (!json_is_object(json))
		status = bad(ctx, element, "not an object");
	else
		status = add[element->member](ctx, element, json);
	json_decref(json);
	return status;
}

/* ---- annotations to their images ----------------------------------------------- */

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
sort_ids(struct scan *s, struct table *table, size_t size, const char *what)
{
	const char *rows = table->rows;

	if (table->n == 0)
		return LC_OK;
	qsort(table->rows, table->n, size, compare_rows);
	for (size_t i = 1; i < table->n; i++)
		if (compare_rows(rows + (i - 1) * size, rows + i * size) == 0)
			return lc__error(LC_CORRUPT, 0, "%s: two %s have the id "
			    "%lld", s->coco->path, what,
			    (long long)*(const int64_t *)(const void *)(rows +
			    i * size));
	return LC_OK;
}

static uint64_t
category_hash(const struct scan *s, int64_t id)
{
	const struct category key = { .id = id }, *row = NULL;

	if (s->categories.n > 0)
		row = bsearch(&key, s->categories.rows, s->categories.n,
		    sizeof(*row), compare_rows);
	return row != NULL ? row->hash : 0;
}

static lc_status
unknown_image(const struct scan *s, const struct annotation *row)
{
	struct lc__buf text = { 0 };
	json_t *json = NULL;
	char why[256], id[32] = "";
	int64_t number;
	lc_status status = lc__coco_part(s->coco, &row->place, &text);

	if (status == LC_OK)
		status = lc__json_load(text.data, text.size, &json, why);
	if (get_id(json, "id", &number))
		snprintf(id, sizeof(id), " %lld", (long long)number);
	json_decref(json);
	lc__buf_free(&text);
	if (status != LC_OK)
		return status;
	return lc__error(LC_CORRUPT, 0, "%s: annotation%s at byte %llu: there is no "
	    "image %lld", s->coco->path, id, (unsigned long long)row->place.offset,
	    (long long)row->image);
}

/* Let every annotation's image be its number among the images. */
static lc_status
count_annotations(struct scan *s)
{
	struct annotation *rows = s->annotations.rows;
	const struct image *images = s->images.rows;

	for (size_t i = 0; i < s->annotations.n; i++) {
		const struct image key = { .id = rows[i].image };
		const struct image *image = s->images.n == 0 ? NULL :
		    bsearch(&key, images, s->images.n, sizeof(key), compare_rows);
		if (image == NULL)
			return unknown_image(s, &rows[i]);
		rows[i].image = image - images;
		if (s->coco->images[image - images].n++ == UINT32_MAX)
			return lc__error(LC_CORRUPT, 0, "%s: too many annotations",
			    s->coco->path);
	}
	return LC_OK;
}

/* In the order of the file, image by image; and into the hashes of the images. */
static void
place_annotations(struct scan *s)
{
	const struct annotation *rows = s->annotations.rows;
	struct image *images = s->images.rows;
	struct lc__coco *coco = s->coco;
	uint64_t first = 0;

	for (size_t i = 0; i < coco->n_images; i++) {
		coco->images[i].first = first;
		first += coco->images[i].n;
		coco->images[i].n = 0;
	}
	for (size_t i = 0; i < s->annotations.n; i++) {
		struct lc__coco_image *image = &coco->images[rows[i].image];
		const uint64_t parts[3] = { images[rows[i].image].hash,
			rows[i].hash, category_hash(s, rows[i].category) };
		coco->annotations[image->first + image->n++] = rows[i].place;
		images[rows[i].image].hash = lc__hash64(parts, sizeof(parts));
	}
}

static lc_status
join(struct scan *s)
{
	const struct image *images = s->images.rows;
	struct lc__coco *coco = s->coco;

	coco->n_images = s->images.n;
	coco->images = calloc(s->images.n + 1, sizeof(*coco->images));
	coco->annotations = calloc(s->annotations.n + 1,
	    sizeof(*coco->annotations));
	if (coco->images == NULL || coco->annotations == NULL)
		return lc__label_no_memory(coco->path);
	for (size_t i = 0; i < s->images.n; i++)
		coco->images[i].place = images[i].place;
	return_if_error(count_annotations(s));
	place_annotations(s);
	return LC_OK;
}

/* ---- frames -------------------------------------------------------------------- */

static const char *
file_name(const struct scan *s, const struct image *image)
{
	return (const char *)s->names.data + image->name;
}

/* Of images in order, for lc__coco_base(). */
static const char *
next_name(void *ctx)
{
	struct scan *s = ctx;
	const struct image *images = s->images.rows;

	while (s->asked < s->images.n) {
		const struct image *image = &images[s->asked++];
		if (image->name != 0)
			return file_name(s, image);
	}
	return NULL;
}

/* A frame whose image has no file, or one outside: its label says so. */
static lc_status
add_without_file(struct scan *s, const struct image *image,
    struct lc__frame *frame)
{
	char name[32];

	snprintf(name, sizeof(name), "%lld", (long long)image->id);
	frame->run = "";
	frame->name = name;
	return lc__dataset_add(s->dataset, frame);
}

static lc_status
add_with_file(struct scan *s, const char *base, const struct image *image,
    struct lc__frame *frame)
{
	bool inside, below;
	char *path = lc__path_below(base, file_name(s, image), &inside);
	char *own = lc__path_below("", file_name(s, image), &below);
	char *run = NULL, *name = NULL;
	lc_status status;

	if (path == NULL || own == NULL) {
		status = lc__label_no_memory(s->coco->path);
		goto out;
	}
	if (!inside || !below) {
		status = add_without_file(s, image, frame);
		goto out;
	}
	run = lc__name_dir(own);
	name = lc__name_stem(own);
	frame->run = run;
	frame->name = name;
	frame->image_path = path;
	status = run != NULL && name != NULL ? lc__dataset_add(s->dataset, frame) :
	    lc__label_no_memory(s->coco->path);
out:
	free(path);
	free(own);
	free(run);
	free(name);
	return status;
}

static lc_status
add_frames(struct scan *s, const char *base)
{
	const struct image *images = s->images.rows;

	for (size_t i = 0; i < s->images.n; i++) {
		struct lc__frame frame = { .number = i,
			.label_hash = images[i].hash != 0 ? images[i].hash : 1 };
		return_if_error(images[i].name == 0 ?
		    add_without_file(s, &images[i], &frame) :
		    add_with_file(s, base, &images[i], &frame));
	}
	return LC_OK;
}

/* ---- the dataset --------------------------------------------------------------- */

static lc_status
scan_file(struct scan *s)
{
	static const char *const names[] = {
		[IMAGES] = "images", [ANNOTATIONS] = "annotations",
		[CATEGORIES] = "categories", [CATEGORIES + 1] = NULL
	};
	char *base;
	lc_status status;

	lc__buf_append(&s->names, "", 1);
	return_if_error(lc__json_stream(s->coco->fd, s->coco->path, names,
	    CATEGORIES, found, s));
	return_if_error(sort_ids(s, &s->images, sizeof(struct image), "images"));
	return_if_error(sort_ids(s, &s->categories, sizeof(struct category),
	    "categories"));
	return_if_error(join(s));
	return_if_error(lc__coco_base(s->dataset, s->coco, next_name, s, &base));
	status = add_frames(s, base);
	free(base);
	return status;
}

static lc_status
list(struct lc__dataset *dataset, const char *labels)
{
	struct lc__coco *coco = calloc(1, sizeof(*coco));
	struct scan s = { .dataset = dataset, .coco = coco };
	lc_status status;

	if (coco == NULL)
		return lc__label_no_memory(dataset->root);
	coco->fd = -1;
	dataset->own = coco;
	status = lc__coco_find(dataset, labels, coco);
	if (status == LC_OK)
		status = scan_file(&s);
	free(s.images.rows);
	free(s.annotations.rows);
	free(s.categories.rows);
	lc__buf_free(&s.names);
	lc__buf_free(&s.slim);
	return status;
}

static void
close_coco(struct lc__dataset *dataset)
{
	struct lc__coco *coco = dataset->own;

	if (coco == NULL)
		return;
	if (coco->fd != -1)
		close(coco->fd);
	free(coco->images);
	free(coco->annotations);
	free(coco->path);
	free(coco);
}

const struct lc__layout_row lc__layout_coco = {
	LC__LAYOUT_COCO, "coco", list, lc__coco_read, close_coco
};
