/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame's work on a thread: its image read, decoded and brought to size. */
#include "build/frame_job.h"

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

static lc_status lc__frame_job_image(struct lc__frame_worker *worker,
    struct lc__frame_job *job, const struct lc__frame *frame);

/* Note why a frame is no sample; @p detail is copied. */
static void
lc__frame_job_reject(struct lc__frame_job *job, enum lc__reject reason,
    const char *detail)
{
	job->sample.reason = reason;
	if (detail != job->detail)
		snprintf(job->detail, sizeof(job->detail), "%.*s",
		    (int)sizeof(job->detail) - 1, detail);
	job->sample.detail = job->detail;
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
lc__frame_job_label(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const struct lc__frame *frame)
{
	enum lc__infile_fate fate = LC__INFILE_GOOD;
	uint64_t start;
	lc_status status = LC_OK;

	job->sample.label_hash = frame->label_hash;
	if (frame->label_path != NULL)
		status = lc__frame_worker_read(worker, job, frame->label_path,
		    LC__LABEL_MAX_BYTES, &job->sample.label, &fate);
	start = lc__clock_ns();
	if (status == LC_OK && fate == LC__INFILE_GOOD)
		status = lc__label_read(worker->how->dataset, frame,
		    frame->label_path != NULL ? worker->file.data : NULL,
		    worker->file.size, &job->label);
	lc__frame_worker_let_go(worker);
	return_if_error(status);
	if (fate != LC__INFILE_GOOD) {
		lc__frame_job_reject(job,
		    fate == LC__INFILE_BAD ? LC__REJECT_UNPARSABLE
					   : LC__REJECT_UNREADABLE,
		    job->detail);
		return LC_OK;
	}
	if (job->label.reason == LC__REJECT_NONE)
		lc__label_check(&job->label, lc__frame_label(frame), 0, 0);
	if (job->label.reason != LC__REJECT_NONE)
		lc__frame_job_reject(job, job->label.reason, job->label.detail);
	job->ns[LC__PHASE_LABEL] += lc__clock_ns() - start;
	return LC_OK;
}

static lc_status
make_anew(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const struct lc__frame *frame)
{
	struct lc__sample *s = &job->sample;
	uint64_t start;

	*s = (struct lc__sample){ .detail = "" };
	return_if_error(lc__frame_job_label(worker, job, frame));
	if (s->reason == LC__REJECT_NONE)
		return_if_error(lc__frame_job_image(worker, job, frame));
	if (s->reason != LC__REJECT_NONE)
		return LC_OK;
	start = lc__clock_ns();
	s->has_frame_id = job->label.has_frame_id;
	s->frame_id = job->label.frame_id;
	s->extra = (lc_id){ job->label.extra.data, job->label.extra.size };
	lc__sample_seal(s, (const char *)job->key.data);
	job->ns[LC__PHASE_STORE] += lc__clock_ns() - start;
	return LC_OK;
}

/* A frame that is rejected as it was before is not stored again. */
static bool
differs(const struct lc__frame_job *job)
{
	lc_value *value;
	bool same;

	if (job->kept.about == NULL || job->sample.reason == LC__REJECT_NONE)
		return true;
	value = lc__sample_value(&job->sample);
	same = lc_value_equal(lc_value_find(value, LC__SAMPLE_ABOUT), job->kept.about);
	lc_value_free(value);
	return !same;
}

static lc_status
run_job(struct lc__frame_worker *worker, struct lc__frame_job *job)
{
	struct lc__frame frame;

	lc__dataset_frame(worker->how->dataset, job->number, &frame);
	if (!lc__store_key(worker->how->store, frame.run, frame.name, &job->key))
		return lc__no_memory("build");
	return_if_error(lc__reused_find(worker, job, &frame));
	if (job->reused)
		return LC_OK;
	job->touched = false;
	return_if_error(make_anew(worker, job, &frame));
	job->put = differs(job);
	return LC_OK;
}

lc_status
lc__frame_job_run(struct lc__frame_worker *worker, struct lc__frame_job *job)
{
	const lc_status status = run_job(worker, job);

	lc__frame_worker_let_go(worker);
	return status;
}

void
lc__frame_job_clear(struct lc__frame_job *job)
{
	const struct lc__frame_job kept = {
		.key = job->key,
		.planes = job->planes,
		.planes_room = job->planes_room,
		.boxes = job->boxes,
		.class_ids = job->class_ids,
		.clipped = job->clipped,
	};

	lc_value_free(job->kept.about);
	lc__label_free(&job->label);
	*job = kept;
}

void
lc__frame_job_free(struct lc__frame_job *job)
{
	lc__frame_job_clear(job);
	lc__buf_free(&job->key);
	lc__buf_free(&job->boxes);
	lc__buf_free(&job->class_ids);
	lc__buf_free(&job->clipped);
	free(job->planes);
}

/* ---- the scratch of a thread ------------------------------------------------------- */

/* A buffer that one large file has grown is given back behind it. */
#define KEPT_ROOM ((size_t)32 << 20)

lc_status
lc__frame_worker_init(struct lc__frame_worker *worker, const struct lc__frame_how *how)
{
	*worker = (struct lc__frame_worker){ .how = how };
	worker->workspace = lc__workspace_new();
	return worker->workspace != NULL ? LC_OK : lc__no_memory("build");
}

void
lc__frame_worker_free(struct lc__frame_worker *worker)
{
	lc__workspace_free(worker->workspace);
	lc__buf_free(&worker->file);
}

void
lc__frame_worker_let_go(struct lc__frame_worker *worker)
{
	if (worker->file.room > KEPT_ROOM)
		lc__buf_free(&worker->file);
	worker->file.size = 0;
	if (worker->held > 0)
		lc__team_release(worker->how->team, worker->held);
	worker->held = 0;
}

/* A team that stops grants no memory: what stopped it is reported, not this. */
static lc_status
hold(struct lc__frame_worker *worker, const struct lc__frame_job *job, uint64_t bytes)
{
	if (bytes > 0 && !lc__team_hold(worker->how->team, job->number, bytes))
		return lc__error(LC_CANCELLED, 0, "build: cancelled");
	worker->held += bytes;
	return LC_OK;
}

lc_status
lc__frame_worker_read(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const char *path, uint64_t limit, struct lc__source_note *note,
    enum lc__infile_fate *fate)
{
	const uint64_t start = lc__clock_ns();
	struct lc__infile file;
	lc_status status = LC_OK;

	*fate = lc__infile_open(&file, worker->how->root, path, limit);
	if (*fate == LC__INFILE_GOOD)
		status = hold(worker, job, (uint64_t)file.st.st_size);
	if (*fate == LC__INFILE_GOOD && status == LC_OK)
		*fate = lc__infile_read(&file, &worker->file, note);
	lc__infile_close(&file);
	job->bytes_read += worker->file.size;
	job->ns[LC__PHASE_READ] += lc__clock_ns() - start;
	if (*fate == LC__INFILE_FATAL ||
	    (*fate == LC__INFILE_REFUSED && !worker->how->keep_going))
		return lc_last_error()->status;
	if (*fate != LC__INFILE_GOOD)
		snprintf(job->detail, sizeof(job->detail), "%s", file.detail);
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
check_label(const struct lc__frame_worker *worker, struct lc__frame_job *job,
    const struct lc__frame *frame, const struct lc__transformed *seen)
{
	const uint64_t start = lc__clock_ns();
	struct lc__label *label = &job->label;
	uint32_t width, height;

	boxes_size(worker->how->recipe, seen, &width, &height);
	lc__label_check(label, lc__frame_label(frame), width, height);
	if (label->reason != LC__REJECT_NONE)
		lc__frame_job_reject(job, label->reason, label->detail);
	job->ns[LC__PHASE_LABEL] += lc__clock_ns() - start;
	return job->sample.reason == LC__REJECT_NONE;
}

static lc_status
make_room(struct lc__frame_job *job, size_t size)
{
	if (job->planes_room >= size)
		return LC_OK;
	free(job->planes);
	job->planes_room = 0;
	job->planes = malloc(size);
	if (job->planes == NULL)
		return lc__no_memory("build");
	job->planes_room = size;
	return LC_OK;
}

/* A damaged image is a frame's fault; without memory nothing goes on. */
static lc_status
undecodable(struct lc__frame_job *job, lc_status status)
{
	if (status != LC_CORRUPT && status != LC_INVALID && status != LC_UNSUPPORTED)
		return status;
	lc__frame_job_reject(job, LC__REJECT_UNDECODABLE, lc_last_error()->text);
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
move_boxes(const struct lc__recipe *recipe, struct lc__frame_job *job,
    const struct lc__transformed *seen)
{
	struct lc__sample *s = &job->sample;
	bool any = false;

	job->boxes.size = job->class_ids.size = job->clipped.size = 0;
	for (size_t i = 0; i < job->label.n; i++) {
		const struct lc__label_box *box = &job->label.boxes[i];
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
		fate = lc__geometry_box(&seen->geometry, from, recipe->min_visible, to);
		s->dropped += fate == LC__BOX_DROPPED;
		if (fate == LC__BOX_DROPPED)
			continue;
		lc__buf_append(&job->boxes, to, sizeof(to));
		lc__buf_append(&job->class_ids, &box->class_id, sizeof(box->class_id));
		cut = fate == LC__BOX_CLIPPED;
		any |= cut;
		lc__buf_append(&job->clipped, &cut, 1);
		s->n++;
	}
	s->boxes_total = job->label.n;
	s->boxes = (const double *)(const void *)job->boxes.data;
	s->class_ids = (const int64_t *)(const void *)job->class_ids.data;
	if (any)
		s->clipped = (lc_id){ job->clipped.data, job->clipped.size };
	return job->boxes.failed || job->class_ids.failed || job->clipped.failed
	    ? lc__no_memory("build")
	    : LC_OK;
}

/* The size of the target that a picture becomes. */
static lc_bucket
target_of(const struct lc__recipe *recipe, const struct lc__transformed *seen)
{
	const bool turned = seen->orientation > 4;
	const uint32_t width = turned ? seen->stored_height : seen->stored_width;
	const uint32_t height = turned ? seen->stored_width : seen->stored_height;

	if (recipe->n_buckets == 0)
		return (lc_bucket){ recipe->transform.width, recipe->transform.height };
	return recipe->buckets[lc_bucket_nearest(recipe->buckets, recipe->n_buckets,
	    width, height)];
}

static lc_status
finish_image(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const struct lc__transformed *seen)
{
	job->sample.planes = job->planes;
	job->sample.pixels = lc__recipe_stored(worker->how->recipe);
	note_geometry(&job->sample, seen);
	return move_boxes(worker->how->recipe, job, seen);
}

/* The image is in the thread's buffer. */
static lc_status
transform(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const struct lc__frame *frame)
{
	const struct lc__recipe *recipe = worker->how->recipe;
	const char *path = job->sample.image.path;
	struct lc__transform how = recipe->transform;
	struct lc__transformed seen = { .orientation = 1 };
	lc_bucket target;
	lc_status status = lc__image_probe(worker->file.data, worker->file.size, path,
	    &seen);

	if (status != LC_OK)
		return undecodable(job, status);
	if (how.ignore_orientation)
		seen.orientation = 1;
	if (!check_label(worker, job, frame, &seen))
		return LC_OK;
	target = target_of(recipe, &seen);
	how.width = target.width;
	how.height = target.height;
	how.wide = lc__recipe_stored(recipe) == LC_U16;
	return_if_error(make_room(job,
	    (size_t)3 * how.width * how.height *
		lc_dtype_size(lc__recipe_stored(recipe))));
	status = lc__transform_image(&how, worker->file.data, worker->file.size, path,
	    worker->workspace, job->planes, &seen);
	job->ns[LC__PHASE_DECODE] += seen.decode_ns;
	job->ns[LC__PHASE_RESIZE] += seen.resize_ns;
	if (status != LC_OK)
		return undecodable(job, status);
	return finish_image(worker, job, &seen);
}

/* The picture is as it was: only its label is new. */
static lc_status
take_pixels(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const struct lc__frame *frame, bool *taken)
{
	const struct lc__sample *old = &job->kept.sample;
	const bool turned = old->orientation > 4;
	struct lc__transformed seen = {
		.orientation = old->orientation,
		.deep = old->deep,
		.stored_width = turned ? old->height : old->width,
		.stored_height = turned ? old->width : old->height,
	};
	const lc_dtype pixels = lc__recipe_stored(worker->how->recipe);
	const size_t size = (size_t)3 * old->target_width * old->target_height *
	    lc_dtype_size(pixels);

	return_if_error(make_room(job, size));
	return_if_error(lc__store_pixels(worker->how->store, (const char *)job->key.data,
	    pixels, size, job->planes, taken));
	if (!*taken)
		return LC_OK;
	job->sample.image = old->image;
	lc__geometry_plan(worker->how->recipe->transform.fit, old->width, old->height,
	    old->target_width, old->target_height, &seen.geometry);
	return check_label(worker, job, frame, &seen) ? finish_image(worker, job, &seen)
						      : LC_OK;
}

/* Pixels that the module has are not made again. */
static lc_status
try_pixels(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const struct lc__frame *frame, const char *path, bool *taken)
{
	*taken = false;
	if (!job->kept.any || job->kept.sample.reason != LC__REJECT_NONE)
		return LC_OK;
	return_if_error(lc__reused_image(worker, job, path, taken));
	return *taken ? take_pixels(worker, job, frame, taken) : LC_OK;
}

/* Read, check and transform the image of a frame whose label is good; or take the
 *  pixels that the module has of it. A reason is in made->sample. */
static lc_status
lc__frame_job_image(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const struct lc__frame *frame)
{
	const char *path = lc__frame_image(frame, &job->label);
	enum lc__infile_fate fate;
	bool taken;
	lc_status status;

	if (path == NULL) {
		lc__frame_job_reject(job, LC__REJECT_BLANK_IMAGE,
		    "its label names no image");
		return LC_OK;
	}
	return_if_error(try_pixels(worker, job, frame, path, &taken));
	if (taken)
		return LC_OK;
	job->sample.wanted = path;
	status = lc__frame_worker_read(worker, job, path, LC__IMAGE_LIMIT,
	    &job->sample.image, &fate);
	if (status == LC_OK && fate == LC__INFILE_MISSING)
		lc__frame_job_reject(job, LC__REJECT_NO_FILE, job->detail);
	else if (status == LC_OK && fate == LC__INFILE_REFUSED)
		lc__frame_job_reject(job, LC__REJECT_UNREADABLE, job->detail);
	else if (status == LC_OK && fate == LC__INFILE_BAD)
		lc__frame_job_reject(job, LC__REJECT_UNDECODABLE, job->detail);
	else if (status == LC_OK)
		status = transform(worker, job, frame);
	lc__frame_worker_let_go(worker);
	return status;
}
