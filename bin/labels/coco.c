/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames of a COCO file. The file is read once, element by element. Little more
 * than the place of each element is kept: a label is read again from there
 * (coco_label.c).
 */
#include "labels/coco.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json_write.h"
#include "labels/label.h"
#include "labels/label_json.h"
#include "labels/names.h"

/* Names of classes with larger ids are not kept, because they are an array by id. */
#define CLASS_MAX 65535

/* Rows that are searched by id begin with the id: see compare_ids(). */
struct image {
	int64_t id;
	struct lc__coco_place place;
	uint64_t name; /* offset of the file name in `names`, or 0 */
	uint64_t hash; /* hash of its text, later of its annotations, too */
};

struct category {
	int64_t id;
	uint64_t hash; /* hash of the name */
};

struct annotation {
	int64_t image; /* id of the image, later its index */
	int64_t category, id;
	bool has_id, has_image;
	struct lc__coco_place place;
	uint64_t hash;
};

/* A COCO file that is being read. */
struct scan {
	struct lc__dataset *dataset;
	struct lc__coco *coco;
	struct image *images; /* sorted by id */
	size_t n_images, image_room;
	struct category *categories; /* sorted by id */
	size_t n_categories, category_room;
	struct annotation *annotations; /* in the order of the file */
	size_t n_annotations, annotation_room;
	/* Names of files, each ended by a NUL, after a first NUL. */
	struct lc__buf names;
	struct lc__json_tree tree; /* memory for the element that is parsed */
	struct lc__buf compact;    /* an element without blanks, to be hashed */
	/* Number of images whose names lc__coco_base() got. */
	size_t asked;
};

static int
compare_ids(const void *a, const void *b)
{
	const int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

	return (one > other) - (one < other);
}

/* ---- elements ------------------------------------------------------------------ */

enum { IMAGES, ANNOTATIONS, CATEGORIES };

static lc_status
bad(const struct scan *s, const struct lc__json_element *element, const char *what)
{
	static const char *const names[] = { "image", "annotation", "category" };

	return lc__error(LC_CORRUPT, 0, "%s: %s at byte %llu: %s", s->coco->path,
	    names[element->member], (unsigned long long)element->offset, what);
}

static bool
get_id(const struct lc__json *json, const char *name, int64_t *out)
{
	return lc__json_int64(lc__json_get(json, name), out);
}

static lc_status
add_image(struct scan *s, const struct lc__json_element *element,
    const struct lc__json *json)
{
	const struct lc__json *name = lc__json_get(json, "file_name");
	struct image *image;

	return_if_error(lc__array_reserve(&s->images, &s->image_room, s->n_images + 1,
	    s->coco->path));
	image = &s->images[s->n_images++];
	*image = (struct image){
		.place = { .offset = element->offset, .length = element->size },
		.hash = lc__hash64(s->compact.data, s->compact.size),
	};
	if (!get_id(json, "id", &image->id))
		return bad(s, element, "id is not an integer");
	if (lc__label_is_blank(name))
		return LC_OK;
	if (!lc__json_is(name, LC__JSON_STRING))
		return bad(s, element, "file_name is not a string");
	image->name = s->names.size;
	lc__buf_append(&s->names, name->string, name->string_size + 1);
	return s->names.failed ? lc__no_memory(s->coco->path) : LC_OK;
}

/* Find the image of an annotation that is not JSON, such as one with a NaN, in its text
 * without blanks. */
static bool
find_image_id(struct scan *s, int64_t *out)
{
	static const char name[] = "\"image_id\":";
	const char *at;
	char *end;

	if (lc__buf_append(&s->compact, "", 1) == NULL)
		return false;
	s->compact.size--;
	at = strstr((const char *)s->compact.data, name);
	if (at == NULL)
		return false;
	at += strlen(name);
	errno = 0;
	*out = strtoll(at, &end, 10);
	return end != at && errno == 0 && (*end == ',' || *end == '}');
}

static lc_status
add_annotation(struct scan *s, const struct lc__json_element *element,
    const struct lc__json *json)
{
	struct annotation *row;

	return_if_error(lc__array_reserve(&s->annotations, &s->annotation_room,
	    s->n_annotations + 1, s->coco->path));
	row = &s->annotations[s->n_annotations++];
	*row = (struct annotation){
		.place = { .offset = element->offset, .length = element->size },
		.hash = lc__hash64(s->compact.data, s->compact.size),
	};
	/* Add an annotation. If the file lacks its image it is a stray, which becomes a
	 * frame. */
	row->has_image = get_id(json, "image_id", &row->image);
	row->has_id = get_id(json, "id", &row->id);
	(void)get_id(json, "category_id", &row->category);
	row->place.bad = !lc__json_is(json, LC__JSON_OBJECT);
	if (row->place.bad)
		row->has_image = find_image_id(s, &row->image);
	return LC_OK;
}

static lc_status
add_category(struct scan *s, const struct lc__json_element *element,
    const struct lc__json *json)
{
	const struct lc__json *name = lc__json_get(json, "name");
	struct lc__strings *classes = &s->dataset->classes;
	struct category *row;

	return_if_error(lc__array_reserve(&s->categories, &s->category_room,
	    s->n_categories + 1, s->coco->path));
	row = &s->categories[s->n_categories++];
	if (!get_id(json, "id", &row->id))
		return bad(s, element, "id is not an integer");
	if (!lc__json_is(name, LC__JSON_STRING))
		return bad(s, element, "name is not a string");
	row->hash = lc__hash64(name->string, name->string_size);
	if (row->id < 0 || row->id > CLASS_MAX)
		return LC_OK;
	while ((int64_t)classes->n <= row->id)
		return_if_error(lc__strings_add(classes, NULL));
	if (classes->items[row->id] != NULL)
		return bad(s, element, "its id occurs twice");
	classes->items[row->id] = strdup(name->string);
	return classes->items[row->id] != NULL ? LC_OK : lc__no_memory(s->coco->path);
}

/* lc__json_found. Lists and objects in an annotation are not parsed, except its box:
 * outlines make up most of many files. */
static lc_status
add_element(void *ctx, const struct lc__json_element *element)
{
	static const struct lc__json_rules only_box = { .only = "bbox" };
	struct scan *s = ctx;
	const struct lc__json *json;
	char why[256] = "";

	if (lc__label_parse(element->text, element->size,
		element->member == ANNOTATIONS ? &only_box : NULL, &s->tree, &json,
		why) != LC_OK)
		return lc__no_memory(s->coco->path);
	s->compact.size = 0;
	lc__json_put_compact(&s->compact,
	    (struct lc__json_slice){ element->text, element->size });
	if (s->compact.failed)
		return lc__no_memory(s->coco->path);
	if (element->member == ANNOTATIONS)
		return add_annotation(s, element, json);
	if (json == NULL)
		return bad(s, element, why);
	if (!lc__json_is(json, LC__JSON_OBJECT))
		return bad(s, element, "not an object");
	return element->member == IMAGES ? add_image(s, element, json)
					 : add_category(s, element, json);
}

static lc_status
read_elements(struct scan *s)
{
	static const char *const members[] = {
		[IMAGES] = "images",
		[ANNOTATIONS] = "annotations",
		[CATEGORIES] = "categories",
		[CATEGORIES + 1] = NULL,
	};
	const char *two = NULL;
	int64_t id = 0;

	lc__buf_append(&s->names, "", 1);
	return_if_error(lc__json_stream(s->coco->fd, s->coco->path, members, CATEGORIES,
	    add_element, s));
	if (s->n_images > 0)
		qsort(s->images, s->n_images, sizeof(*s->images), compare_ids);
	if (s->n_categories > 0)
		qsort(s->categories, s->n_categories, sizeof(*s->categories),
		    compare_ids);
	for (size_t i = 1; i < s->n_images && two == NULL; i++)
		if (s->images[i].id == s->images[i - 1].id) {
			two = "images";
			id = s->images[i].id;
		}
	for (size_t i = 1; i < s->n_categories && two == NULL; i++)
		if (s->categories[i].id == s->categories[i - 1].id) {
			two = "categories";
			id = s->categories[i].id;
		}
	if (two != NULL)
		return lc__error(LC_CORRUPT, 0, "%s: two %s have the id %lld",
		    s->coco->path, two, (long long)id);
	return LC_OK;
}

/* ---- annotations to their images ----------------------------------------------- */

/* Write why an annotation has no image. */
static lc_status
add_stray(struct scan *s, const struct annotation *row)
{
	struct lc__coco *coco = s->coco;
	struct lc__coco_stray *stray = &coco->strays[coco->n_strays];
	struct lc__buf text = { 0 };
	char why[256] = "image_id is not an integer", id[32] = "", name[40];
	struct lc__frame frame = {
		.run = "",
		.name = name,
		.label_hash = row->hash != 0 ? row->hash : 1,
		.number = coco->n_images + coco->n_strays,
	};
	struct lc__json_tree tree = { 0 };
	const struct lc__json *json = NULL;
	lc_status status = LC_OK;

	if (row->has_image) {
		snprintf(why, sizeof(why), "there is no image %lld",
		    (long long)row->image);
	} else if (row->place.bad) {
		status = lc__coco_part(coco, &row->place, &text);
		if (status == LC_OK)
			status = lc__label_parse(text.data, text.size, NULL, &tree, &json,
			    why);
		if (status == LC_OK && json != NULL)
			snprintf(why, sizeof(why), "not an object");
	}
	lc__json_free(&tree);
	lc__buf_free(&text);
	return_if_error(status);
	if (row->has_id)
		snprintf(id, sizeof(id), " %lld", (long long)row->id);
	stray->reason = row->has_image ? LC__REJECT_BLANK_IMAGE : LC__REJECT_UNPARSABLE;
	snprintf(stray->detail, sizeof(stray->detail),
	    "annotation%s at byte %llu: %.120s", id,
	    (unsigned long long)row->place.offset, why);
	snprintf(name, sizeof(name), "annotation@%llu",
	    (unsigned long long)row->place.offset);
	coco->n_strays++;
	return lc__dataset_add(s->dataset, &frame);
}

/* The image with this id, or NULL. */
static const struct image *
find_image(const struct scan *s, const struct annotation *row)
{
	return row->has_image && s->n_images > 0
	    ? bsearch(&row->image, s->images, s->n_images, sizeof(*s->images),
		  compare_ids)
	    : NULL;
}

/* Replace the image id of each annotation by the index of the image, and count the
 * annotations of each image. Strays are removed. */
static lc_status
find_images(struct scan *s)
{
	struct annotation *rows = s->annotations;
	size_t strays = 0, n = 0;

	for (size_t i = 0; i < s->n_annotations; i++)
		strays += find_image(s, &rows[i]) == NULL;
	s->coco->strays = calloc(strays + 1, sizeof(*s->coco->strays));
	if (s->coco->strays == NULL)
		return lc__no_memory(s->coco->path);
	for (size_t i = 0; i < s->n_annotations; i++) {
		const struct image *image = find_image(s, &rows[i]);
		if (image == NULL) {
			return_if_error(add_stray(s, &rows[i]));
			continue;
		}
		rows[n] = rows[i];
		rows[n++].image = image - s->images;
		if (s->coco->images[image - s->images].n++ == UINT32_MAX)
			return lc__error(LC_CORRUPT, 0, "%s: too many annotations",
			    s->coco->path);
	}
	s->n_annotations = n;
	return LC_OK;
}

/* The ids of annotations are not used, but duplicates suggest that files were merged,
 * and other programs keep only one annotation per id. */
static lc_status
note_repeated_ids(struct scan *s)
{
	int64_t *ids = malloc((s->n_annotations + 1) * sizeof(*ids)), first = 0;
	size_t n = 0, repeated = 0;

	if (ids == NULL)
		return lc__no_memory(s->coco->path);
	for (size_t i = 0; i < s->n_annotations; i++)
		if (s->annotations[i].has_id)
			ids[n++] = s->annotations[i].id;
	qsort(ids, n, sizeof(*ids), compare_ids);
	for (size_t i = 1; i < n; i++) {
		if (ids[i] != ids[i - 1] || (i > 1 && ids[i] == ids[i - 2]))
			continue;
		if (repeated++ == 0)
			first = ids[i];
	}
	free(ids);
	if (repeated == 0)
		return LC_OK;
	return lc__dataset_note(s->dataset,
	    "%s: %zu id%s of annotations %s there more than once, such as %lld",
	    s->coco->name, repeated, repeated == 1 ? "" : "s",
	    repeated == 1 ? "is" : "are", (long long)first);
}

bool
lc__coco_has_category(const struct lc__coco *coco, int64_t id)
{
	return coco->n_categories == 0 ||
	    bsearch(&id, coco->categories, coco->n_categories, sizeof(id), compare_ids) !=
	    NULL;
}

/* Keep what the reader of labels needs: the places of annotations, grouped by image,
 * and the categories. Hash the annotations of each image with the names of their
 * categories. */
static lc_status
join(struct scan *s)
{
	struct lc__coco *coco = s->coco;
	uint64_t first = 0;

	coco->n_images = s->n_images;
	coco->images = calloc(s->n_images + 1, sizeof(*coco->images));
	coco->annotations = calloc(s->n_annotations + 1, sizeof(*coco->annotations));
	coco->categories = calloc(s->n_categories + 1, sizeof(*coco->categories));
	if (coco->images == NULL || coco->annotations == NULL || coco->categories == NULL)
		return lc__no_memory(coco->path);
	for (; coco->n_categories < s->n_categories; coco->n_categories++)
		coco->categories[coco->n_categories] =
		    s->categories[coco->n_categories].id;
	return_if_error(note_repeated_ids(s));
	return_if_error(find_images(s));

	for (size_t i = 0; i < s->n_images; i++) {
		struct lc__coco_image *image = &coco->images[i];
		image->place = s->images[i].place;
		image->first = first;
		first += image->n;
		image->n = 0;
	}
	for (size_t i = 0; i < s->n_annotations; i++) {
		const struct annotation *row = &s->annotations[i];
		struct lc__coco_image *image = &coco->images[row->image];
		const struct category *category = NULL;
		uint64_t parts[3] = { s->images[row->image].hash, row->hash };
		if (s->n_categories > 0)
			category = bsearch(&row->category, s->categories, s->n_categories,
			    sizeof(*category), compare_ids);
		/* Without the category's hash: 1 if the file has other categories, 0 if
		 * it has none. */
		parts[2] = category != NULL ? category->hash : s->n_categories > 0;
		coco->annotations[image->first + image->n++] = row->place;
		s->images[row->image].hash = lc__hash64(parts, sizeof(parts));
	}
	return LC_OK;
}

/* ---- frames -------------------------------------------------------------------- */

/* The next name of an image, for lc__coco_base(). */
static const char *
next_name(void *ctx)
{
	struct scan *s = ctx;

	while (s->asked < s->n_images) {
		const struct image *image = &s->images[s->asked++];
		if (image->name != 0)
			return (const char *)s->names.data + image->name;
	}
	return NULL;
}

/* A frame without an image file in the dataset is named by the image's id. Reading its
 * label reports the reason. */
static lc_status
add_frame(struct scan *s, const char *base, size_t number)
{
	const struct image *image = &s->images[number];
	const char *file = (const char *)s->names.data + image->name;
	struct lc__frame frame = {
		.run = "",
		.number = number,
		.label_hash = image->hash != 0 ? image->hash : 1,
	};
	char *path = NULL, *own = NULL, *run = NULL, *name = NULL, id[32];
	bool inside = false, below = false, failed = false;
	lc_status status;

	snprintf(id, sizeof(id), "%lld", (long long)image->id);
	frame.name = id;
	if (image->name != 0) {
		path = lc__path_below(base, file, &inside);
		own = lc__path_below("", file, &below);
		failed = path == NULL || own == NULL;
	}
	if (inside && below) {
		frame.run = run = lc__name_dir(own);
		frame.name = name = lc__name_stem(own);
		frame.image_path = path;
		failed = run == NULL || name == NULL;
	}
	status = failed ? lc__no_memory(s->coco->path)
			: lc__dataset_add(s->dataset, &frame);
	free(path);
	free(own);
	free(run);
	free(name);
	return status;
}

static lc_status
list(struct lc__dataset *dataset, const char *labels)
{
	struct lc__coco *coco = calloc(1, sizeof(*coco));
	struct scan s = { .dataset = dataset, .coco = coco };
	char *base = NULL;
	lc_status status;

	if (coco == NULL)
		return lc__no_memory(dataset->root);
	coco->fd = -1;
	dataset->own = coco;
	status = lc__coco_find(dataset, labels, coco);
	if (status == LC_OK)
		status = read_elements(&s);
	if (status == LC_OK)
		status = join(&s);
	if (status == LC_OK)
		status = lc__coco_base(dataset, coco, next_name, &s, &base);
	for (size_t i = 0; i < s.n_images && status == LC_OK; i++)
		status = add_frame(&s, base, i);
	free(base);
	free(s.images);
	free(s.categories);
	free(s.annotations);
	lc__buf_free(&s.names);
	lc__buf_free(&s.compact);
	lc__json_free(&s.tree);
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
	free(coco->strays);
	free(coco->categories);
	free(coco->path);
	free(coco);
}

const struct lc__label_layout_row lc__layout_coco = {
	.layout = LC__LAYOUT_COCO,
	.name = "coco",
	.list = list,
	.read = lc__coco_read,
	.close = close_coco,
};
