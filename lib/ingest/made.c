/* SPDX-License-Identifier: BSD-2-Clause */
#include "ingest/made.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "warehouse/sources.h"

/* A buffer that one large file has grown is given back behind it. */
#define KEPT_ROOM ((size_t)32 << 20)

lc_status
lc__maker_init(struct lc__maker *maker, const struct lc__making *making)
{
	*maker = (struct lc__maker){ .making = making };
	maker->workspace = lc__workspace_new();
	return maker->workspace != NULL ? LC_OK :
	    lc__error(LC_NO_MEMORY, 0, "build: out of memory");
}

void
lc__maker_free(struct lc__maker *maker)
{
	lc__workspace_free(maker->workspace);
	lc__buf_free(&maker->file);
}

static lc_status
no_memory(void)
{
	return lc__error(LC_NO_MEMORY, 0, "build: out of memory");
}

const char *
lc__frame_image(const struct lc__frame *frame, const struct lc__label *label)
{
	return label->image_path != NULL ? label->image_path : frame->image_path;
}

/* ---- files ------------------------------------------------------------------ */

static void
let_go(struct lc__maker *maker)
{
	if (maker->file.room > KEPT_ROOM)
		lc__buf_free(&maker->file);
	maker->file.size = 0;
	if (maker->held > 0)
		lc__ring_release(maker->making->ring, maker->held);
	maker->held = 0;
}

/* A stopped ring is no failure of its own. */
static lc_status
hold(struct lc__maker *maker, const struct lc__made *made, uint64_t bytes)
{
	if (bytes > 0 &&
	    !lc__ring_hold(maker->making->ring, made->number, bytes))
		return lc__error(LC_CANCELLED, 0, "build: cancelled");
	maker->held += bytes;
	return LC_OK;
}

/* Read a file into the thread's buffer. */
static lc_status
read_file(struct lc__maker *maker, struct lc__made *made, const char *path,
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
	if (*fate == LC__INFILE_FATAL)
		return lc_last_error()->status;
	if (*fate != LC__INFILE_GOOD)
		snprintf(made->detail, sizeof(made->detail), "%s", file.detail);
	return status;
}

/* ---- is it what it was? ------------------------------------------------------ */

/* Compare the content of a file with a note, which gets its new time. */
static lc_status
same_content(struct lc__maker *maker, struct lc__made *made,
    struct lc__source_note *note, bool *same)
{
	const char *path = note->path;
	const uint64_t size = note->size, hash[2] = { note->hash[0], note->hash[1] };
	enum lc__infile_fate fate;
	lc_status status;

	status = read_file(maker, made, path, size, note, &fate);
	let_go(maker);
	*same = status == LC_OK && fate == LC__INFILE_GOOD &&
	    note->size == size && note->hash[0] == hash[0] &&
	    note->hash[1] == hash[1];
	return status;
}

/**
 * Does the file of a note stand there with the same content? @p seen_ns is a later
 * time at which it did, 0 for none.
 */
static lc_status
stands(struct lc__maker *maker, struct lc__made *made,
    struct lc__source_note *note, int64_t seen_ns, bool *same)
{
	struct stat st;
	int64_t mtime;

	*same = true;
	if (note->path == NULL)
		return LC_OK;
	*same = fstatat(maker->making->root, note->path, &st, 0) == 0 &&
	    S_ISREG(st.st_mode) && (uint64_t)st.st_size == note->size;
	if (!*same)
		return LC_OK;
	mtime = lc__sources_mtime(&st);
	if (!maker->making->rehash && ((note->settled && mtime == note->mtime_ns) ||
	        (seen_ns != 0 && mtime == seen_ns))) {
		note->mtime_ns = mtime;
		note->settled = true;
		return LC_OK;
	}
	return same_content(maker, made, note, same);
}

/* The note of a file that was read again says another time than the module. */
static void
keep_time(struct lc__made *made, const struct lc__source_note *now,
    int64_t stored_ns, bool stored_settled, int64_t *seen_ns)
{
	if (now->path == NULL || !now->settled ||
	    (stored_settled && now->mtime_ns == stored_ns))
		return;
	made->touched |= *seen_ns != now->mtime_ns;
	*seen_ns = now->mtime_ns;
}

static bool
same_path(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Whether the record is of a frame that is put together as this one is. */
static bool
is_of(const struct lc__sample *s, const struct lc__frame *frame)
{
	return !lc__sample_is_passing(s) && s->label_hash == frame->label_hash &&
	    same_path(s->label.path, frame->label_path) &&
	    (frame->image_path == NULL || s->image.path == NULL ||
	        strcmp(s->image.path, frame->image_path) == 0);
}

/* Take what the module has, if the files are what they were. */
static lc_status
try_reuse(struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame)
{
	const char *key = (const char *)made->key.data;
	struct lc__sample *s = &made->sample;
	struct lc__source_note label, image;
	bool same = false;

	return_if_error(lc__store_get(maker->making->store, key, &made->about));
	if (made->about == NULL || !lc__sample_read(made->about, s) ||
	    !is_of(s, frame))
		return LC_OK;
	return_if_error(lc__store_seen(maker->making->store, key, &made->seen));
	label = s->label;
	image = s->image;
	return_if_error(stands(maker, made, &s->label, made->seen.label_ns, &same));
	if (same)
		return_if_error(stands(maker, made, &s->image,
		    made->seen.image_ns, &same));
	if (!same)
		return LC_OK;
	made->reused = true;
	keep_time(made, &s->label, label.mtime_ns, label.settled,
	    &made->seen.label_ns);
	keep_time(made, &s->image, image.mtime_ns, image.settled,
	    &made->seen.image_ns);
	return LC_OK;
}

/* ---- made anew ---------------------------------------------------------------- */

static void
reject(struct lc__made *made, enum lc__reject reason, const char *detail)
{
	made->sample.reason = reason;
	if (detail != made->detail)
		snprintf(made->detail, sizeof(made->detail), "%.*s",
		    (int)sizeof(made->detail) - 1, detail);
	made->sample.detail = made->detail;
}

/* For messages. */
static const char *
label_name(const struct lc__frame *frame)
{
	return frame->label_path != NULL ? frame->label_path : frame->name;
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
		status = read_file(maker, made, frame->label_path, LC__LABEL_LIMIT,
		    &made->sample.label, &fate);
	start = lc__clock_ns();
	if (status == LC_OK && fate == LC__INFILE_GOOD)
		status = lc__label_read(maker->making->dataset, frame,
		    frame->label_path != NULL ? maker->file.data : NULL,
		    maker->file.size, &made->label);
	let_go(maker);
	return_if_error(status);
	if (fate != LC__INFILE_GOOD) {
		reject(made, LC__REJECT_UNREADABLE, made->detail);
		return LC_OK;
	}
	if (made->label.reason == LC__REJECT_NONE)
		lc__label_check(&made->label, label_name(frame), 0, 0);
	if (made->label.reason != LC__REJECT_NONE)
		reject(made, made->label.reason, made->label.detail);
	made->ns[LC__PHASE_LABEL] += lc__clock_ns() - start;
	return LC_OK;
}

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
	lc__label_check(label, label_name(frame), width, height);
	if (label->reason != LC__REJECT_NONE)
		reject(made, label->reason, label->detail);
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
		return no_memory();
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
	reject(made, LC__REJECT_UNDECODABLE, lc_last_error()->text);
	return LC_OK;
}

static void
note_geometry(struct lc__sample *s, const struct lc__transformed *seen)
{
	const struct lc__geometry *g = &seen->geometry;

	s->width = g->source_width;
	s->height = g->source_height;
	s->orientation = seen->orientation;
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
	    made->clipped.failed ? no_memory() : LC_OK;
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
	lc_status status = lc__image_probe(maker->file.data, maker->file.size, path,
	    &seen);

	if (status != LC_OK)
		return undecodable(made, status);
	if (how.ignore_orientation)
		seen.orientation = 1;
	if (!check_label(maker, made, frame, &seen))
		return LC_OK;
	if (recipe->n_buckets > 0) {
		const bool turned = seen.orientation > 4;
		const size_t b = lc__bucket_nearest(recipe->buckets,
		    recipe->n_buckets,
		    turned ? seen.stored_height : seen.stored_width,
		    turned ? seen.stored_width : seen.stored_height);
		how.width = recipe->buckets[b].width;
		how.height = recipe->buckets[b].height;
	}
	return_if_error(make_room(made, (size_t)3 * how.width * how.height));
	status = lc__transform_image(&how, maker->file.data, maker->file.size,
	    path, maker->workspace, made->planes, &seen);
	made->ns[LC__PHASE_DECODE] += seen.decode_ns;
	made->ns[LC__PHASE_RESIZE] += seen.resize_ns;
	if (status != LC_OK)
		return undecodable(made, status);
	made->sample.planes = made->planes;
	note_geometry(&made->sample, &seen);
	return move_boxes(recipe, made, &seen);
}

static lc_status
read_image(struct lc__maker *maker, struct lc__made *made,
    const struct lc__frame *frame)
{
	const char *path = lc__frame_image(frame, &made->label);
	enum lc__infile_fate fate;
	lc_status status;

	if (path == NULL) {
		reject(made, LC__REJECT_BLANK_IMAGE, "its label names no image");
		return LC_OK;
	}
	made->sample.wanted = path;
	status = read_file(maker, made, path, LC__IMAGE_LIMIT,
	    &made->sample.image, &fate);
	if (status == LC_OK && fate == LC__INFILE_MISSING)
		reject(made, LC__REJECT_NO_FILE, made->detail);
	else if (status == LC_OK && fate == LC__INFILE_BAD)
		reject(made, LC__REJECT_UNDECODABLE, made->detail);
	else if (status == LC_OK)
		status = transform(maker, made, frame);
	let_go(maker);
	return status;
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
		return_if_error(read_image(maker, made, frame));
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

	if (made->about == NULL || made->sample.reason == LC__REJECT_NONE)
		return true;
	value = lc__sample_value(&made->sample);
	same = lc_value_equal(lc_value_find(value, LC__SAMPLE_ABOUT),
	    made->about);
	lc_value_free(value);
	return !same;
}

static lc_status
run(struct lc__maker *maker, struct lc__made *made)
{
	struct lc__frame frame;

	lc__dataset_frame(maker->making->dataset, made->number, &frame);
	if (!lc__store_key(maker->making->store, frame.run, frame.name, &made->key))
		return no_memory();
	return_if_error(try_reuse(maker, made, &frame));
	if (made->reused)
		return LC_OK;
	made->touched = false;
	return_if_error(make_anew(maker, made, &frame));
	made->put = differs(made);
	return LC_OK;
}

void
lc__made_run(struct lc__maker *maker, struct lc__made *made)
{
	if (run(maker, made) != LC_OK)
		made->error = *lc_last_error();
	let_go(maker);
}

void
lc__made_clear(struct lc__made *made)
{
	const struct lc__made kept = { .key = made->key, .planes = made->planes,
		.planes_room = made->planes_room, .boxes = made->boxes,
		.class_ids = made->class_ids, .clipped = made->clipped };

	lc_value_free(made->about);
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
