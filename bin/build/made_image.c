/* SPDX-License-Identifier: BSD-2-Clause */
/* The pixels and boxes of a frame whose label is good. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "build/made.h"

/* Sizes of the picture that boxes relate to. */
static void
boxes_size(const struct lc__recipe *recipe, const struct lc__transformed *seen,
    uint32_t *width, uint32_t *height)
{
	const bool turned = seen->orientation > 4 && !recipe->boxes_stored;

	*width = turned ? seen->stored_height : seen->stored_width;
	*height = turned ? seen->stored_width : seen->stored_height;
}

/* The label against the image's true size. False if they do not fit. */
static bool
check_label(const struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame, const struct lc__transformed *seen)
{
	const uint64_t start = lc__clock_ns();
	struct lc__label *label = &made->label;
	uint32_t width, height;

	boxes_size(maker->making->recipe, seen, &width, &height);
	lc__label_check(label, lc__frame_label(frame), width, height);
	if (label->reason != LC__REJECT_NONE)
		lc__made_reject(made, label->reason, label->detail);
	made->ns[LC__PHASE_LABEL] += lc__clock_ns() - start;
	return made->sample.reason == LC__REJECT_NONE;
}

static lc_status
make_room(struct lc__made *made, size_t size)
{
	if (made->planes_room >= size)
		return LC_OK;
	free(made->planes);
	made->planes_room = 0;
	made->planes = malloc(size);
	if (made->planes == NULL)
		return lc__no_memory("build");
	made->planes_room = size;
	return LC_OK;
}

/* A damaged image is a frame's fault; without memory nothing goes on. */
static lc_status
undecodable(struct lc__made *made, lc_status status)
{
	if (status != LC_CORRUPT && status != LC_INVALID &&
	    status != LC_UNSUPPORTED)
		return status;
	lc__made_reject(made, LC__REJECT_UNDECODABLE, lc_last_error()->text);
	return LC_OK;
}

static void
note_geometry(struct lc__sample *s, const struct lc__transformed *seen)
{
	const struct lc__geometry *g = &seen->geometry;

	s->width = g->source_width;
	s->height = g->source_height;
	s->orientation = seen->orientation;
	s->deep = seen->deep;
	s->target_width = g->target_width;
	s->target_height = g->target_height;
	s->scale[0] = g->to_width / g->from_width;
	s->scale[1] = g->to_height / g->from_height;
	s->offset[0] = g->to_x - g->from_x * s->scale[0];
	s->offset[1] = g->to_y - g->from_y * s->scale[1];
}

static lc_status
move_boxes(const struct lc__recipe *recipe, struct lc__made *made,
    const struct lc__transformed *seen)
{
	struct lc__sample *s = &made->sample;
	bool any = false;

	made->boxes.size = made->class_ids.size = made->clipped.size = 0;
	for (size_t i = 0; i < made->label.n; i++) {
		const struct lc__label_box *box = &made->label.boxes[i];
		double from[4], to[4];
		enum lc__box_fate fate;
		uint8_t cut;

		s->filtered += box->filtered;
		if (box->filtered)
			continue;
		memcpy(from, box->px, sizeof(from));
		if (recipe->boxes_stored)
			lc__geometry_turn(seen->orientation, seen->stored_width,
			    seen->stored_height, from);
		fate = lc__geometry_box(&seen->geometry, from,
		    recipe->min_visible, to);
		s->dropped += fate == LC__BOX_DROPPED;
		if (fate == LC__BOX_DROPPED)
			continue;
		lc__buf_append(&made->boxes, to, sizeof(to));
		lc__buf_append(&made->class_ids, &box->class_id,
		    sizeof(box->class_id));
		cut = fate == LC__BOX_CLIPPED;
		any |= cut;
		lc__buf_append(&made->clipped, &cut, 1);
		s->n++;
	}
	s->boxes_total = made->label.n;
	s->boxes = (const double *)(const void *)made->boxes.data;
	s->class_ids = (const int64_t *)(const void *)made->class_ids.data;
	if (any)
		s->clipped = (lc_id){ made->clipped.data, made->clipped.size };
	return made->boxes.failed || made->class_ids.failed ||
	    made->clipped.failed ? lc__no_memory("build") : LC_OK;
}

/* The size of the target that a picture becomes. */
static lc_bucket
target_of(const struct lc__recipe *recipe, const struct lc__transformed *seen)
{
	const bool turned = seen->orientation > 4;
	const uint32_t width = turned ? seen->stored_height : seen->stored_width;
	const uint32_t height = turned ? seen->stored_width : seen->stored_height;

	if (recipe->n_buckets == 0)
		return (lc_bucket){ recipe->transform.width,
			recipe->transform.height };
	return recipe->buckets[lc_bucket_nearest(recipe->buckets,
	    recipe->n_buckets, width, height)];
}

static lc_status
finish_image(struct lc__maker *maker, struct lc__made *made,
    const struct lc__transformed *seen)
{
	made->sample.planes = made->planes;
	made->sample.pixels = lc__recipe_stored(maker->making->recipe);
	note_geometry(&made->sample, seen);
	return move_boxes(maker->making->recipe, made, seen);
}

/* The image is in the thread's buffer. */
static lc_status
transform(struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame)
{
	const struct lc__recipe *recipe = maker->making->recipe;
	const char *path = made->sample.image.path;
	struct lc__transform how = recipe->transform;
	struct lc__transformed seen = { .orientation = 1 };
	lc_bucket target;
	lc_status status = lc__image_probe(maker->file.data, maker->file.size, path,
	    &seen);

	if (status != LC_OK)
		return undecodable(made, status);
	if (how.ignore_orientation)
		seen.orientation = 1;
	if (!check_label(maker, made, frame, &seen))
		return LC_OK;
	target = target_of(recipe, &seen);
	how.width = target.width;
	how.height = target.height;
	how.wide = lc__recipe_stored(recipe) == LC_U16;
	return_if_error(make_room(made, (size_t)3 * how.width * how.height *
	    lc_dtype_size(lc__recipe_stored(recipe))));
	status = lc__transform_image(&how, maker->file.data, maker->file.size,
	    path, maker->workspace, made->planes, &seen);
	made->ns[LC__PHASE_DECODE] += seen.decode_ns;
	made->ns[LC__PHASE_RESIZE] += seen.resize_ns;
	if (status != LC_OK)
		return undecodable(made, status);
	return finish_image(maker, made, &seen);
}

/* The picture is as it was: only its label is new. */
static lc_status
take_pixels(struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame, bool *taken)
{
	const struct lc__sample *old = &made->kept.sample;
	const bool turned = old->orientation > 4;
	struct lc__transformed seen = { .orientation = old->orientation,
		.deep = old->deep,
		.stored_width = turned ? old->height : old->width,
		.stored_height = turned ? old->width : old->height };
	const lc_dtype pixels = lc__recipe_stored(maker->making->recipe);
	const size_t size = (size_t)3 * old->target_width * old->target_height *
	    lc_dtype_size(pixels);

	return_if_error(make_room(made, size));
	return_if_error(lc__store_pixels(maker->making->store,
	    (const char *)made->key.data, pixels, size, made->planes, taken));
	if (!*taken)
		return LC_OK;
	made->sample.image = old->image;
	lc__geometry_plan(maker->making->recipe->transform.fit, old->width,
	    old->height, old->target_width, old->target_height, &seen.geometry);
	return check_label(maker, made, frame, &seen) ?
	    finish_image(maker, made, &seen) : LC_OK;
}

/* Pixels that the module has are not made again. */
static lc_status
try_pixels(struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame, const char *path, bool *taken)
{
	*taken = false;
	if (!made->kept.any || made->kept.sample.reason != LC__REJECT_NONE)
		return LC_OK;
	return_if_error(lc__kept_image(maker, made, path, taken));
	return *taken ? take_pixels(maker, made, frame, taken) : LC_OK;
}

lc_status
lc__made_image(struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame)
{
	const char *path = lc__frame_image(frame, &made->label);
	enum lc__infile_fate fate;
	bool taken;
	lc_status status;

	if (path == NULL) {
		lc__made_reject(made, LC__REJECT_BLANK_IMAGE, "its label names no image");
		return LC_OK;
	}
	return_if_error(try_pixels(maker, made, frame, path, &taken));
	if (taken)
		return LC_OK;
	made->sample.wanted = path;
	status = lc__maker_read(maker, made, path, LC__IMAGE_LIMIT,
	    &made->sample.image, &fate);
	if (status == LC_OK && fate == LC__INFILE_MISSING)
		lc__made_reject(made, LC__REJECT_NO_FILE, made->detail);
	else if (status == LC_OK && fate == LC__INFILE_REFUSED)
		lc__made_reject(made, LC__REJECT_UNREADABLE, made->detail);
	else if (status == LC_OK && fate == LC__INFILE_BAD)
		lc__made_reject(made, LC__REJECT_UNDECODABLE, made->detail);
	else if (status == LC_OK)
		status = transform(maker, made, frame);
	lc__maker_let_go(maker);
	return status;
}
