/* SPDX-License-Identifier: BSD-2-Clause */
/* images/ and labels/ *.txt: finds and reads them. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/image_name.h"
#include "labels/classes.h"
#include "labels/dataset_private.h"
#include "labels/label.h"
#include "labels/names.h"
#include "labels/strings.h"
#include "labels/pictures.h"

/* The number of a frame tells what is known of its image. */
enum yolo_image {
	IMAGE,      /* the image exists */
	NO_IMAGE,   /* no image has the label's stem */
	OTHER_KIND, /* the image with its stem is of a kind that is not read */
};

/* A directory of images or labels, and its counterpart: the path with the other
 * word. */
struct place {
	/* The directory that is visited, relative to the root. */
	const char *dir;
	/* Its counterpart, relative to the root; malloc'ed. */
	char *beside;
	char *run;                  /* the path without the word, malloc'ed */
	struct lc__listing listing; /* files of `beside`; empty if it does not exist */
};

/* The last component of a path that is `images` or `labels`, or NULL. */
static const char *
find_word(const char *dir)
{
	const size_t size = strlen("images");
	const char *last = NULL;

	_Static_assert(sizeof("images") == sizeof("labels"), "one length");
	for (const char *p = dir; *p != '\0';) {
		const size_t n = strcspn(p, "/");
		if (n == size &&
		    (memcmp(p, "images", size) == 0 || memcmp(p, "labels", size) == 0))
			last = p;
		p += n + (p[n] == '/');
	}
	return last;
}

/* Replace the word in @p dir by another, or remove it: "BEFORE/AFTER". */
static char *
replace(const char *dir, const char *word, const char *with)
{
	const char *after = word + strlen("images");
	struct lc__buf out = { 0 };

	lc__buf_append(&out, dir, (size_t)(word - dir));
	lc__buf_append(&out, with, strlen(with));
	/* If there is no word in between, remove one of the two slashes. */
	if (*with == '\0' && *after == '/')
		after++;
	else if (*with == '\0' && out.size > 0)
		out.size--;
	lc__buf_append(&out, after, strlen(after) + 1);
	if (out.failed)
		lc__buf_free(&out);
	return (char *)out.data;
}

/* ---- images, with their labels if they have any ---------------------------------- */

static lc_status
add_images(struct lc__dataset *dataset, const struct place *place,
    const struct lc__listing *listing)
{
	lc_status status = LC_OK;

	for (size_t i = 0; i < listing->n && status == LC_OK; i++) {
		const struct lc__entry *entry = &listing->entries[i];
		char *image, *label;
		if (entry->dir)
			continue;
		if (!lc__name_is_image(entry->name)) {
			(void)lc__images_ignored_add(&dataset->ignored, entry->name);
			continue;
		}
		image = lc__name_join(place->dir, entry->name);
		label = lc__name_label(place->beside, entry->name, ".txt");
		if (image == NULL || label == NULL)
			status = lc__no_memory(place->dir);
		else
			status = lc__dataset_add_files(dataset, place->run,
			    lc__listing_find(&place->listing, lc__name_base(label))
				? label
				: NULL,
			    image);
		free(label);
		free(image);
	}
	return status;
}

/* ---- labels without an image ------------------------------------------------------ */

static lc_status
add_labels(struct lc__dataset *dataset, const struct place *place,
    const struct lc__listing *listing)
{
	struct lc__pictures images;
	lc_status status = lc__pictures_of(&place->listing, &images);

	for (size_t i = 0; i < listing->n && status == LC_OK; i++) {
		const char *name = listing->entries[i].name;
		struct lc__frame frame = { .run = place->run, .number = NO_IMAGE };
		const struct lc__image_file *found = NULL;
		bool has_image = false;
		char *label, *stem;
		size_t n = 0;
		/* Skip classes.txt, which has names of classes. */
		if (listing->entries[i].dir || !lc__name_has(name, ".txt") ||
		    strcasecmp(name, "classes.txt") == 0)
			continue;
		frame.label_path = label = lc__name_join(place->dir, name);
		frame.name = stem = lc__name_stem(name);
		if (label == NULL || stem == NULL)
			status = lc__no_memory(place->dir);
		else
			found = lc__pictures_find(&images, stem, &n);
		if (n > 0)
			frame.number = OTHER_KIND;
		for (size_t k = 0; k < n; k++)
			has_image |= found[k].is_read;
		if (status == LC_OK && !has_image)
			status = lc__dataset_add(dataset, &frame);
		free(label);
		free(stem);
	}
	lc__pictures_free(&images);
	return status;
}

/* ---- all of them ------------------------------------------------------------------- */

static lc_status
list_beside(struct lc__dataset *dataset, struct place *place)
{
	lc_status status = lc__listing_read(dataset->root, place->beside,
	    &place->listing);
	char *path;

	if (status == LC_OK)
		return lc__strings_add(&dataset->dirs, place->beside);
	if (status != LC_NO_FILE)
		return status;
	/* There is no such directory. Its parent has been listed, so a later listing
	 * shows it. */
	lc__listing_free(&place->listing);
	path = lc__path_join(dataset->root, place->beside);
	status = path != NULL ? lc__no_lost_link(path) : lc__no_memory(place->beside);
	free(path);
	return status;
}

static lc_status
visit(void *ctx, const char *dir, const struct lc__listing *listing)
{
	const char *word = find_word(dir);
	const bool images = word != NULL && *word == 'i';
	struct lc__dataset *dataset = ctx;
	struct place place = { .dir = dir };
	lc_status status = lc__strings_add(&dataset->dirs, dir);

	if (word == NULL || status != LC_OK)
		return status;
	place.beside = replace(dir, word, images ? "labels" : "images");
	place.run = replace(dir, word, "");
	if (place.beside == NULL || place.run == NULL)
		status = lc__no_memory(dir);
	else
		status = list_beside(dataset, &place);
	if (status == LC_OK)
		status = images ? add_images(dataset, &place, listing)
				: add_labels(dataset, &place, listing);
	lc__listing_free(&place.listing);
	free(place.beside);
	free(place.run);
	return status;
}

static lc_status
list(struct lc__dataset *dataset, const char *labels)
{
	(void)labels;
	return_if_error(lc__classes_read(dataset));
	return lc__tree_walk(dataset->root, visit, dataset);
}

/* ---- a label: lines "class cx cy w h", or "class x1 y1 x2 y2 ..." of a polygon ------ */

#define TOLERANCE 0.01
/* Most bytes of a number. */
#define WORD 63

/* The state while a label is read. */
struct reader {
	const char *file;
	struct lc__label *label;
	size_t line;          /* number of the line, from 1 */
	const char *at, *end; /* the rest of the line */
};

static lc_status __attribute__((format(printf, 2, 3)))
unparsable(const struct reader *r, const char *format, ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return lc__label_reject(r->label, LC__REJECT_UNPARSABLE, r->file, "line %zu: %s",
	    r->line, text);
}

/* Copy the next word of the line. False at the end of the line. */
static bool
next_word(struct reader *r, char word[WORD + 1])
{
	static const char blanks[3] = { ' ', '\t', '\r' };
	size_t n = 0;

	while (r->at < r->end && memchr(blanks, *r->at, sizeof(blanks)) != NULL)
		r->at++;
	while (r->at < r->end && memchr(blanks, *r->at, sizeof(blanks)) == NULL) {
		/* A longer word is not a number; it must not be cut into one. */
		word[n] = *r->at != '\0' ? *r->at : '?';
		n += n < WORD;
		r->at++;
	}
	if (n == WORD)
		word[n - 1] = '?';
	word[n] = '\0';
	return n > 0;
}

/*
 * Read the numbers after the class. The first four are kept until it is known whether
 * more follow. All are included in the bounds of a polygon.
 */
static lc_status
read_numbers(struct reader *r, struct lc__label_box *box)
{
	double v, first[4] = { 0 }, *norm = box->norm;
	char word[WORD + 1];
	size_t n = 0;

	for (; next_word(r, word); n++) {
		const size_t axis = n % 2;
		if (!lc__number_parse(word, &v))
			return unparsable(r, "%s is not a number",
			    lc__quote_id(word, strlen(word)));
		if (n < 4)
			first[n] = v;
		/* A NaN stays in the bounds: the check of the box finds it. */
		if (isnan(norm[axis]))
			continue;
		if (n < 2 || !(v >= norm[axis]))
			norm[axis] = v;
		if (n < 2 || !(v <= norm[axis + 2]))
			norm[axis + 2] = v;
	}
	if (n != 4 && (n < 6 || n % 2 != 0))
		return unparsable(r,
		    "%zu columns: a box has 5, a polygon 7, 9, 11 and so on", n + 1);
	for (size_t axis = 0; n == 4 && axis < 2; axis++) {
		norm[axis] = first[axis] - first[axis + 2] / 2;
		norm[axis + 2] = first[axis] + first[axis + 2] / 2;
	}
	return LC_OK;
}

static lc_status
read_yolo(const struct lc__dataset *dataset, const struct lc__frame *frame,
    const void *bytes, size_t size, struct lc__label *out)
{
	struct reader r = { .file = frame->label_path, .label = out };
	const char *next, *end;
	char word[WORD + 1];

	(void)dataset;
	if (frame->image_path == NULL)
		return lc__label_reject(out, LC__REJECT_NO_FILE, frame->label_path,
		    frame->number == OTHER_KIND
			? "the image has a format that is not read"
			: "no image has its name");
	return_if_error(lc__label_image(out, frame->image_path, "", frame->image_path));
	if (frame->label_path == NULL || size == 0)
		return LC_OK;
	end = (const char *)bytes + size;
	for (next = bytes; next < end && out->reason == LC__REJECT_NONE;
	     next = r.end + 1) {
		struct lc__label_box *box;
		double class;
		r.line++;
		r.at = next;
		r.end = memchr(next, '\n', (size_t)(end - next));
		if (r.end == NULL)
			r.end = end;
		if (!next_word(&r, word))
			continue;
		box = lc__label_add(out);
		if (box == NULL)
			return lc__no_memory(r.file);
		box->has_norm = true;
		box->tolerance = TOLERANCE;
		/* Class ids may be written as floats: "3.0". */
		if (!lc__number_parse(word, &class) ||
		    !(class >= 0 && class <= INT32_MAX) || class != floor(class))
			return unparsable(&r, "%s is not a class id",
			    lc__quote_id(word, strlen(word)));
		box->class_id = (int64_t) class;
		return_if_error(read_numbers(&r, box));
	}
	return LC_OK;
}

const struct lc__label_layout_row lc__layout_yolo = {
	.layout = LC__LAYOUT_YOLO,
	.name = "yolo",
	.list = list,
	.read = read_yolo,
};
