/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames of a COCO file. It is read once; of each element it is kept where it
 * stands, so that a label is read again from there.
 */
#include "labels/coco_elements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "labels/label.h"
#include "labels/metadata.h"
#include "labels/names.h"

struct scan {
	struct lc__dataset *dataset;
	struct lc__coco *coco;
	struct lc__coco_elements elements;
	size_t asked; /* of lc__coco_base() */
};

/* ---- annotations to their images ----------------------------------------------- */

/* Why an annotation belongs to no image. */
static lc_status
add_stray(struct scan *s, const struct lc__coco_annotation *row)
{
	struct lc__coco *coco = s->coco;
	struct lc__coco_stray *stray = &coco->strays[coco->n_strays];
	struct lc__buf text = { 0 };
	char why[256] = "image_id is no integer", id[32] = "", name[40];
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

/* Let every annotation's image be its number among the images; strays get none. */
static lc_status
count_annotations(struct scan *s)
{
	struct lc__coco_annotation *rows = s->elements.annotations.rows;
	const struct lc__coco_image_row *images = s->elements.images.rows;
	size_t strays = 0, n = 0;

	for (size_t i = 0; i < s->elements.annotations.n; i++)
		strays += !rows[i].has_image ||
		    lc__coco_elements_image(&s->elements, rows[i].image) == NULL;
	s->coco->strays = calloc(strays + 1, sizeof(*s->coco->strays));
	if (s->coco->strays == NULL)
		return lc__no_memory(s->coco->path);
	for (size_t i = 0; i < s->elements.annotations.n; i++) {
		const struct lc__coco_image_row *image = rows[i].has_image
		    ? lc__coco_elements_image(&s->elements, rows[i].image)
		    : NULL;
		if (image == NULL) {
			return_if_error(add_stray(s, &rows[i]));
			continue;
		}
		rows[n] = rows[i];
		rows[n++].image = image - images;
		if (s->coco->images[image - images].n++ == UINT32_MAX)
			return lc__error(LC_CORRUPT, 0, "%s: too many annotations",
			    s->coco->path);
	}
	s->elements.annotations.n = n;
	return LC_OK;
}

static int
compare_ids(const void *a, const void *b)
{
	const int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

	return (one > other) - (one < other);
}

/* Ids of annotations have no meaning here, but two of one are a sign of files that were
 * put together, and other programs keep one of them only. */
static lc_status
note_repeated_ids(struct scan *s)
{
	const struct lc__coco_annotation *rows = s->elements.annotations.rows;
	const size_t all = s->elements.annotations.n;
	int64_t *ids = malloc((all + 1) * sizeof(*ids)), first = 0;
	size_t n = 0, repeated = 0;
	char *text = NULL;
	lc_status status = LC_OK;

	if (ids == NULL)
		return lc__no_memory(s->coco->path);
	for (size_t i = 0; i < all; i++)
		if (rows[i].has_id)
			ids[n++] = rows[i].id;
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
	if (asprintf(&text,
		"%s: %zu id%s of annotations %s there more than once, such as %lld",
		s->coco->name, repeated, repeated == 1 ? "" : "s",
		repeated == 1 ? "is" : "are", (long long)first) < 0)
		return lc__no_memory(s->coco->path);
	status = lc__strings_add(&s->dataset->notes, text);
	free(text);
	return status;
}

static lc_status
keep_categories(struct scan *s)
{
	const struct lc__coco_category *rows = s->elements.categories.rows;
	struct lc__coco *coco = s->coco;

	coco->categories = calloc(s->elements.categories.n + 1,
	    sizeof(*coco->categories));
	if (coco->categories == NULL)
		return lc__no_memory(coco->path);
	for (; coco->n_categories < s->elements.categories.n; coco->n_categories++)
		coco->categories[coco->n_categories] = rows[coco->n_categories].id;
	return LC_OK;
}

bool
lc__coco_has_category(const struct lc__coco *coco, int64_t id)
{
	return coco->n_categories == 0 ||
	    bsearch(&id, coco->categories, coco->n_categories, sizeof(id), compare_ids) !=
	    NULL;
}

/* In the order of the file, image by image; and into the hashes of the images. */
static void
place_annotations(struct scan *s)
{
	const struct lc__coco_annotation *rows = s->elements.annotations.rows;
	struct lc__coco_image_row *images = s->elements.images.rows;
	struct lc__coco *coco = s->coco;
	uint64_t first = 0;

	for (size_t i = 0; i < coco->n_images; i++) {
		coco->images[i].first = first;
		first += coco->images[i].n;
		coco->images[i].n = 0;
	}
	for (size_t i = 0; i < s->elements.annotations.n; i++) {
		struct lc__coco_image *image = &coco->images[rows[i].image];
		const uint64_t parts[3] = { images[rows[i].image].hash, rows[i].hash,
			lc__coco_elements_category(&s->elements, rows[i].category) };
		coco->annotations[image->first + image->n++] = rows[i].place;
		images[rows[i].image].hash = lc__hash64(parts, sizeof(parts));
	}
}

static lc_status
join(struct scan *s)
{
	const struct lc__coco_image_row *images = s->elements.images.rows;
	struct lc__coco *coco = s->coco;

	coco->n_images = s->elements.images.n;
	coco->images = calloc(s->elements.images.n + 1, sizeof(*coco->images));
	coco->annotations = calloc(s->elements.annotations.n + 1,
	    sizeof(*coco->annotations));
	if (coco->images == NULL || coco->annotations == NULL)
		return lc__no_memory(coco->path);
	for (size_t i = 0; i < s->elements.images.n; i++)
		coco->images[i].place = images[i].place;
	return_if_error(note_repeated_ids(s));
	return_if_error(keep_categories(s));
	return_if_error(count_annotations(s));
	place_annotations(s);
	return LC_OK;
}

/* ---- frames -------------------------------------------------------------------- */

static const char *
file_name(const struct scan *s, const struct lc__coco_image_row *image)
{
	return (const char *)s->elements.names.data + image->name;
}

/* Of images in order, for lc__coco_base(). */
static const char *
next_name(void *ctx)
{
	struct scan *s = ctx;
	const struct lc__coco_image_row *images = s->elements.images.rows;

	while (s->asked < s->elements.images.n) {
		const struct lc__coco_image_row *image = &images[s->asked++];
		if (image->name != 0)
			return file_name(s, image);
	}
	return NULL;
}

/* A frame whose image has no file, or one outside: its label says so. */
static lc_status
add_without_file(struct scan *s, const struct lc__coco_image_row *image,
    struct lc__frame *frame)
{
	char name[32];

	snprintf(name, sizeof(name), "%lld", (long long)image->id);
	frame->run = "";
	frame->name = name;
	return lc__dataset_add(s->dataset, frame);
}

static lc_status
add_with_file(struct scan *s, const char *base, const struct lc__coco_image_row *image,
    struct lc__frame *frame)
{
	bool inside, below;
	char *path = lc__path_below(base, file_name(s, image), &inside);
	char *own = lc__path_below("", file_name(s, image), &below);
	char *run = NULL, *name = NULL;
	lc_status status;

	if (path == NULL || own == NULL) {
		status = lc__no_memory(s->coco->path);
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
	status = run != NULL && name != NULL ? lc__dataset_add(s->dataset, frame)
					     : lc__no_memory(s->coco->path);
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
	const struct lc__coco_image_row *images = s->elements.images.rows;

	for (size_t i = 0; i < s->elements.images.n; i++) {
		struct lc__frame frame = {
			.number = i,
			.label_hash = images[i].hash != 0 ? images[i].hash : 1,
		};
		return_if_error(images[i].name == 0
			? add_without_file(s, &images[i], &frame)
			: add_with_file(s, base, &images[i], &frame));
	}
	return LC_OK;
}

/* ---- the dataset --------------------------------------------------------------- */

static lc_status
scan_file(struct scan *s)
{
	char *base;
	lc_status status;

	return_if_error(lc__coco_elements_read(&s->elements));
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
	struct scan s = {
		.dataset = dataset,
		.coco = coco,
		.elements = { .dataset = dataset, .coco = coco },
	};
	lc_status status;

	if (coco == NULL)
		return lc__no_memory(dataset->root);
	coco->fd = -1;
	dataset->own = coco;
	status = lc__coco_find(dataset, labels, coco);
	if (status == LC_OK)
		status = scan_file(&s);
	lc__coco_elements_free(&s.elements);
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

const struct lc__label_layout_row lc__layout_coco = { LC__LAYOUT_COCO, "coco", list,
	lc__coco_read, close_coco };
