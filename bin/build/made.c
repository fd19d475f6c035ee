/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame's work on a thread: its image read, decoded and brought to size. */
#include "build/made.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/team.h"
#include "build/infile.h"
#include "build/ingest.h"
#include "build/store.h"
#include "labels/dataset.h"

static lc_status lc__made_image(struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame);

/* Note why a frame is no sample; @p detail is copied. */
static void
lc__made_reject(struct lc__made *made, enum lc__reject reason, const char *detail)
{
	made->sample.reason = reason;
	if (detail != made->detail)
		snprintf(made->detail, sizeof(made->detail), "%.*s",
		    (int)sizeof(made->detail) - 1, detail);
	made->sample.detail = made->detail;
}

const char *
lc__frame_image(const struct lc__frame *frame, const struct lc__label *label)
{
	return label->image_path != NULL ? label->image_path : frame->image_path;
}

/* The file that messages of a label name: a label without one of its own is the
 *  image's. */
static const char *
lc__frame_label(const struct lc__frame *frame)
{
	return frame->label_path != NULL ? frame->label_path : frame->image_path;
}

lc_status
lc__made_label(struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame)
{
	enum lc__infile_fate fate = LC__INFILE_GOOD;
	uint64_t start;
	lc_status status = LC_OK;

	made->sample.label_hash = frame->label_hash;
	if (frame->label_path != NULL)
		status = lc__maker_read(maker, made, frame->label_path,
		    LC__LABEL_MAX_BYTES, &made->sample.label, &fate);
	start = lc__clock_ns();
	if (status == LC_OK && fate == LC__INFILE_GOOD)
		status = lc__label_read(maker->making->dataset, frame,
		    frame->label_path != NULL ? maker->file.data : NULL,
		    maker->file.size, &made->label);
	lc__maker_let_go(maker);
	return_if_error(status);
	if (fate != LC__INFILE_GOOD) {
		lc__made_reject(made, fate == LC__INFILE_BAD ?
		    LC__REJECT_UNPARSABLE : LC__REJECT_UNREADABLE, made->detail);
		return LC_OK;
	}
	if (made->label.reason == LC__REJECT_NONE)
		lc__label_check(&made->label, lc__frame_label(frame), 0, 0);
	if (made->label.reason != LC__REJECT_NONE)
		lc__made_reject(made, made->label.reason, made->label.detail);
	made->ns[LC__PHASE_LABEL] += lc__clock_ns() - start;
	return LC_OK;
}

static lc_status
make_anew(struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame)
{
	struct lc__sample *s = &made->sample;
	uint64_t start;

	*s = (struct lc__sample){ .detail = "" };
	return_if_error(lc__made_label(maker, made, frame));
	if (s->reason == LC__REJECT_NONE)
		return_if_error(lc__made_image(maker, made, frame));
	if (s->reason != LC__REJECT_NONE)
		return LC_OK;
	start = lc__clock_ns();
	s->has_frame_id = made->label.has_frame_id;
	s->frame_id = made->label.frame_id;
	s->extra = (lc_id){ made->label.extra.data, made->label.extra.size };
	lc__sample_seal(s, (const char *)made->key.data);
	made->ns[LC__PHASE_STORE] += lc__clock_ns() - start;
	return LC_OK;
}

/* A frame that is rejected as it was before is not stored again. */
static bool
differs(const struct lc__made *made)
{
	lc_value *value;
	bool same;

	if (made->kept.about == NULL || made->sample.reason == LC__REJECT_NONE)
		return true;
	value = lc__sample_value(&made->sample);
	same = lc_value_equal(lc_value_find(value, LC__SAMPLE_ABOUT),
	    made->kept.about);
	lc_value_free(value);
	return !same;
}

static lc_status
run(struct lc__maker *maker, struct lc__made *made)
{
	struct lc__frame frame;

	lc__dataset_frame(maker->making->dataset, made->number, &frame);
	if (!lc__store_key(maker->making->store, frame.run, frame.name, &made->key))
		return lc__no_memory("build");
	return_if_error(lc__kept_find(maker, made, &frame));
	if (made->reused)
		return LC_OK;
	made->touched = false;
	return_if_error(make_anew(maker, made, &frame));
	made->put = differs(made);
	return LC_OK;
}

lc_status
lc__made_run(struct lc__maker *maker, struct lc__made *made)
{
	const lc_status status = run(maker, made);

	lc__maker_let_go(maker);
	return status;
}

void
lc__made_clear(struct lc__made *made)
{
	const struct lc__made kept = { .key = made->key, .planes = made->planes,
		.planes_room = made->planes_room, .boxes = made->boxes,
		.class_ids = made->class_ids, .clipped = made->clipped };

	lc_value_free(made->kept.about);
	lc__label_free(&made->label);
	*made = kept;
}

void
lc__made_free(struct lc__made *made)
{
	lc__made_clear(made);
	lc__buf_free(&made->key);
	lc__buf_free(&made->boxes);
	lc__buf_free(&made->class_ids);
	lc__buf_free(&made->clipped);
	free(made->planes);
}

/* ---- the scratch of a thread ------------------------------------------------------- */

/* A buffer that one large file has grown is given back behind it. */
#define KEPT_ROOM ((size_t)32 << 20)

lc_status
lc__maker_init(struct lc__maker *maker, const struct lc__making *making)
{
	*maker = (struct lc__maker){ .making = making };
	maker->workspace = lc__workspace_new();
	return maker->workspace != NULL ? LC_OK : lc__no_memory("build");
}

void
lc__maker_free(struct lc__maker *maker)
{
	lc__workspace_free(maker->workspace);
	lc__buf_free(&maker->file);
}

void
lc__maker_let_go(struct lc__maker *maker)
{
	if (maker->file.room > KEPT_ROOM)
		lc__buf_free(&maker->file);
	maker->file.size = 0;
	if (maker->held > 0)
		lc__team_release(maker->making->team, maker->held);
	maker->held = 0;
}

/* A team that stops grants no memory: what stopped it is reported, not this. */
static lc_status
hold(struct lc__maker *maker, const struct lc__made *made, uint64_t bytes)
{
	if (bytes > 0 &&
	    !lc__team_hold(maker->making->team, made->number, bytes))
		return lc__error(LC_CANCELLED, 0, "build: cancelled");
	maker->held += bytes;
	return LC_OK;
}

lc_status
lc__maker_read(struct lc__maker *maker, struct lc__made *made, const char *path,
    uint64_t limit, struct lc__source_note *note, enum lc__infile_fate *fate)
{
	const uint64_t start = lc__clock_ns();
	struct lc__infile file;
	lc_status status = LC_OK;

	*fate = lc__infile_open(&file, maker->making->root, path, limit);
	if (*fate == LC__INFILE_GOOD)
		status = hold(maker, made, (uint64_t)file.st.st_size);
	if (*fate == LC__INFILE_GOOD && status == LC_OK)
		*fate = lc__infile_read(&file, &maker->file, note);
	lc__infile_close(&file);
	made->bytes_read += maker->file.size;
	made->ns[LC__PHASE_READ] += lc__clock_ns() - start;
	if (*fate == LC__INFILE_FATAL ||
	    (*fate == LC__INFILE_REFUSED && !maker->making->keep_going))
		return lc_last_error()->status;
	if (*fate != LC__INFILE_GOOD)
		snprintf(made->detail, sizeof(made->detail), "%s", file.detail);
	return status;
}

/* ---- the image --------------------------------------------------------------------- */

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

/* Read, check and transform the image of a frame whose label is good; or take the
 *  pixels that the module has of it. A reason is in made->sample. */
static lc_status
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
