/* SPDX-License-Identifier: BSD-2-Clause */
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

static lc_status make_image(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const struct lc__frame *frame);
static lc_status not_stored(const struct lc__frame *frame);

/* Record why a frame is not a sample; @p detail is copied. */
static void
reject(struct lc__frame_job *job, enum lc__reject reason, const char *detail)
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

/* The file to name in messages about a label: for a label without its own file, the
 * image. */
static const char *
label_file(const struct lc__frame *frame)
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
		reject(job,
		    fate == LC__INFILE_BAD ? LC__REJECT_UNPARSABLE
					   : LC__REJECT_UNREADABLE,
		    job->detail);
		return LC_OK;
	}
	if (job->label.reason == LC__REJECT_NONE)
		lc__label_check(&job->label, label_file(frame), 0, 0);
	if (job->label.reason != LC__REJECT_NONE)
		reject(job, job->label.reason, job->label.detail);
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
		return_if_error(make_image(worker, job, frame));
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
	job->put = true;
	/* A frame that is rejected as before is not stored again. */
	if (job->kept.about != NULL && job->sample.reason != LC__REJECT_NONE) {
		lc_value *value = lc__sample_value(&job->sample);

		job->put = !lc_value_equal(lc_value_find(value, LC__SAMPLE_ABOUT),
		    job->kept.about);
		lc_value_free(value);
	}
	return job->put && worker->how->stored_only ? not_stored(&frame) : LC_OK;
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

/* ---- buffers of a thread --------------------------------------------------------- */

/* A buffer that grew for one large file is freed after it. */
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

lc_status
lc__frame_worker_read(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const char *path, uint64_t limit, struct lc__source_note *note,
    enum lc__infile_fate *fate)
{
	const uint64_t start = lc__clock_ns();
	struct lc__infile file;
	lc_status status = LC_OK;

	*fate = lc__infile_open(&file, worker->how->root, path, limit);
	if (*fate == LC__INFILE_GOOD && file.st.st_size > 0) {
		const uint64_t bytes = (uint64_t)file.st.st_size;

		/* A team that stops grants no memory: its failure is reported, not this
		 * one. */
		if (lc__team_hold(worker->how->team, job->turn, bytes))
			worker->held += bytes;
		else
			status = lc__error(LC_CANCELLED, 0, "build: cancelled");
	}
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

/* Compare the label with the image's true size. False if they do not match. */
static bool
check_label(const struct lc__frame_worker *worker, struct lc__frame_job *job,
    const struct lc__frame *frame, const struct lc__transformed *seen)
{
	const uint64_t start = lc__clock_ns();
	struct lc__label *label = &job->label;
	const bool turned = seen->orientation > 4 && !worker->how->recipe->boxes_stored;

	lc__label_check(label, label_file(frame),
	    turned ? seen->stored_height : seen->stored_width,
	    turned ? seen->stored_width : seen->stored_height);
	if (label->reason != LC__REJECT_NONE)
		reject(job, label->reason, label->detail);
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

/* A damaged image rejects the frame; lack of memory ends the build. */
static lc_status
undecodable(struct lc__frame_job *job, lc_status status)
{
	if (status != LC_CORRUPT && status != LC_INVALID && status != LC_UNSUPPORTED)
		return status;
	reject(job, LC__REJECT_UNDECODABLE, lc_last_error()->text);
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

static lc_status
finish_image(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const struct lc__transformed *seen)
{
	job->sample.planes = job->planes;
	job->sample.pixels = lc__recipe_stored(worker->how->recipe);
	note_geometry(&job->sample, seen);
	return move_boxes(worker->how->recipe, job, seen);
}

static lc_status
not_stored(const struct lc__frame *frame)
{
	const char *run = frame->run, *slash = *run != '\0' ? "/" : "";

	return lc__error(LC_FAILED, 0,
	    "%s%s%s: no warehouse of --samples has its current state; run the build of its task first",
	    run, slash, frame->name);
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
	lc_status status = lc__image_probe(worker->file.data, worker->file.size, path,
	    &seen);

	if (status != LC_OK)
		return undecodable(job, status);
	if (how.ignore_orientation)
		seen.orientation = 1;
	if (!check_label(worker, job, frame, &seen))
		return LC_OK;
	if (recipe->n_buckets > 0) {
		const bool turned = seen.orientation > 4;
		const size_t i = lc_bucket_nearest(recipe->buckets, recipe->n_buckets,
		    turned ? seen.stored_height : seen.stored_width,
		    turned ? seen.stored_width : seen.stored_height);

		how.width = recipe->buckets[i].width;
		how.height = recipe->buckets[i].height;
	}
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

/* The image is unchanged: only its label is new. */
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
	return_if_error(lc__store_pixels(job->kept.from, (const char *)job->key.data,
	    pixels, size, job->planes, taken));
	if (!*taken)
		return LC_OK;
	job->sample.image = old->image;
	lc__geometry_plan(worker->how->recipe->transform.fit, old->width, old->height,
	    old->target_width, old->target_height, &seen.geometry);
	return check_label(worker, job, frame, &seen) ? finish_image(worker, job, &seen)
						      : LC_OK;
}

/* Read, check and transform the image of a frame with a good label; or take the stored
 * pixels. A rejection is in job->sample. */
static lc_status
make_image(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const struct lc__frame *frame)
{
	const char *path = lc__frame_image(frame, &job->label);
	enum lc__infile_fate fate;
	bool taken;
	lc_status status;

	if (path == NULL) {
		reject(job, LC__REJECT_BLANK_IMAGE, "the label does not name an image");
		return LC_OK;
	}
	/* Stored pixels are not computed again. */
	if (job->kept.any && job->kept.sample.reason == LC__REJECT_NONE) {
		return_if_error(lc__reused_image(worker, job, path, &taken));
		if (taken)
			return_if_error(take_pixels(worker, job, frame, &taken));
		if (taken)
			return LC_OK;
	}
	job->sample.wanted = path;
	status = lc__frame_worker_read(worker, job, path, LC__IMAGE_LIMIT,
	    &job->sample.image, &fate);
	if (status == LC_OK && fate == LC__INFILE_MISSING)
		reject(job, LC__REJECT_NO_FILE, job->detail);
	else if (status == LC_OK && fate == LC__INFILE_REFUSED)
		reject(job, LC__REJECT_UNREADABLE, job->detail);
	else if (status == LC_OK && fate == LC__INFILE_BAD)
		reject(job, LC__REJECT_UNDECODABLE, job->detail);
	else if (status == LC_OK)
		status = worker->how->stored_only ? not_stored(frame)
						  : transform(worker, job, frame);
	lc__frame_worker_let_go(worker);
	return status;
}

/* ---- the walk over all frames -------------------------------------------------------- */

/* Frames in progress for each thread: enough that a slow one does not make the others
 * wait. */
#define SLOTS_PER_THREAD 4
/* Memory for results, but at least a slot for each thread. */
#define SLOT_BUDGET ((uint64_t)512 << 20)
/* Memory for files; a larger one is read alone. */
#define FILE_BUDGET ((uint64_t)256 << 20)
#define IDLE_MS 100

static lc_status
work_on(struct lc__team *team, unsigned thread, uint64_t job)
{
	const struct lc__frame_team *pool = team->ctx;
	struct lc__frame_job *frame = &pool->slots[job % team->window];

	frame->turn = job;
	frame->number = pool->first + job * (pool->step > 0 ? pool->step : 1);
	return pool->work(&pool->workers[thread], frame);
}

uint64_t
lc__frames_of(uint64_t frames, uint64_t first, uint64_t step)
{
	return first < frames ? (frames - first - 1) / step + 1 : 0;
}

static lc_status
start_walk(struct lc__frame_team *pool)
{
	const size_t most = SLOTS_PER_THREAD * (size_t)pool->threads;
	const size_t least = (size_t)pool->threads + 1;
	const uint64_t fit = SLOT_BUDGET / (pool->slot_bytes + 1);
	const uint64_t step = pool->step > 0 ? pool->step : 1;
	const uint64_t frames = lc__dataset_frames(pool->how.dataset);
	const size_t window = fit >= most ? most : fit <= least ? least : (size_t)fit;

	pool->how.team = &pool->team;
	pool->slots = calloc(window, sizeof(*pool->slots));
	pool->workers = calloc(pool->threads, sizeof(*pool->workers));
	if (pool->slots == NULL || pool->workers == NULL)
		return lc__no_memory("build");
	/* Fewer workers than threads are acceptable. */
	while (pool->n_workers < pool->threads) {
		struct lc__frame_worker *worker = &pool->workers[pool->n_workers];
		const lc_status status = lc__frame_worker_init(worker, &pool->how);

		if (status != LC_OK) {
			lc__frame_worker_free(worker);
			if (pool->n_workers == 0)
				return status;
			break;
		}
		pool->n_workers++;
	}
	pool->team = (struct lc__team){
		.work = work_on,
		.ctx = pool,
		.jobs = lc__frames_of(frames, pool->first, step),
		.threads = pool->n_workers,
		.window = window,
		.budget = FILE_BUDGET,
	};
	return lc__team_start(&pool->team) == LC_OK ? LC_OK : lc__error_prefix("build");
}

static void
stop_walk(struct lc__frame_team *pool)
{
	lc__team_end(&pool->team);
	for (unsigned i = 0; i < pool->n_workers; i++)
		lc__frame_worker_free(&pool->workers[i]);
	for (size_t i = 0; pool->slots != NULL && i < pool->team.window; i++)
		lc__frame_job_free(&pool->slots[i]);
	free(pool->slots);
	free(pool->workers);
}

static lc_status
take_next(struct lc__frame_team *pool)
{
	struct lc__frame_job *frame;
	lc_status status;
	uint64_t job;

	while (!lc__team_wait(&pool->team, IDLE_MS))
		return_if_error(pool->idle(pool->ctx));
	status = lc__team_next(&pool->team, &job);
	frame = &pool->slots[job % pool->team.window];
	if (status == LC_OK)
		status = pool->take(pool->ctx, frame);
	lc__frame_job_clear(frame);
	return status;
}

lc_status
lc__frame_team_walk(struct lc__frame_team *pool)
{
	lc_status status = start_walk(pool);

	for (uint64_t i = 0; i < pool->team.jobs && status == LC_OK; i++)
		status = take_next(pool);
	stop_walk(pool);
	return status;
}
