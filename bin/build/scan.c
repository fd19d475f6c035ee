/* SPDX-License-Identifier: BSD-2-Clause */
/* The scan of a dataset: its frames, and the buckets learned from them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "build/frame_job.h"
#include "build/infile.h"
#include "build/ingesting.h"

/* ---- learning buckets -------------------------------------------------------------- */

/* Sides of buckets are multiples of this. */
#define QUANTUM 64

/* The size stays 0 x 0 if it cannot be found: problems of the file are reported when its
 * frame is processed. */
static lc_status
probe(struct lc__frame_worker *worker, struct lc__frame_job *job,
    const struct lc__infile *file)
{
	struct lc__header header = {
		.ignore_orientation = worker->how->recipe->transform.ignore_orientation,
	};
	const lc_status status = lc__header_read(file, &worker->file, &header);

	job->bytes_read += header.bytes_read;
	/* The build will report what is wrong with the image. */
	if (status == LC_CORRUPT || status == LC_INVALID || status == LC_UNSUPPORTED ||
	    (status == LC_IO && worker->how->keep_going))
		return LC_OK;
	return_if_error(status);
	job->sample.width = header.width;
	job->sample.height = header.height;
	return LC_OK;
}

/* For lc__frame_team.work: put the upright size into job->sample, or 0 x 0. */
static lc_status
scan_frame(struct lc__frame_worker *worker, struct lc__frame_job *job)
{
	const uint64_t start = lc__clock_ns();
	enum lc__infile_fate fate = LC__INFILE_MISSING;
	struct lc__infile file = { .fd = -1 };
	struct lc__frame frame;
	const char *path;
	lc_status status = LC_OK;

	lc__dataset_frame(worker->how->dataset, job->number, &frame);
	if (frame.image_path == NULL)
		return_if_error(lc__frame_job_label(worker, job, &frame));
	path = lc__frame_image(&frame, &job->label);
	if (path != NULL)
		fate = lc__infile_open(&file, worker->how->root, path, LC__IMAGE_LIMIT);
	if (fate == LC__INFILE_GOOD)
		status = probe(worker, job, &file);
	else if (fate == LC__INFILE_FATAL ||
	    (fate == LC__INFILE_REFUSED && !worker->how->keep_going))
		status = lc_last_error()->status;
	lc__infile_close(&file);
	worker->file.size = 0;
	job->ns[LC__PHASE_SCAN] += lc__clock_ns() - start;
	return status;
}

/* The pass over the headers. */
struct learning {
	struct lc__ingesting *b;
	double *ratios; /* of the shapes that were seen, width / height */
	size_t n, room;
};

static lc_status
take_shape(void *ctx, struct lc__frame_job *job)
{
	struct learning *learning = ctx;
	struct lc__ingest_state *state = learning->b->state;

	state->ns[LC__PHASE_SCAN] += job->ns[LC__PHASE_SCAN] + job->ns[LC__PHASE_READ] +
	    job->ns[LC__PHASE_LABEL];
	state->bytes_read += job->bytes_read;
	if (job->sample.width > 0) {
		return_if_error(lc__array_reserve(&learning->ratios, &learning->room,
		    learning->n + 1, "build"));
		learning->ratios[learning->n++] = (double)job->sample.width /
		    job->sample.height;
	}
	return lc__ingesting_step(learning->b);
}

static lc_status
still_learning(void *ctx)
{
	return lc__ingesting_step(((struct learning *)ctx)->b);
}

static lc_status
learn_buckets(struct lc__ingesting *b)
{
	struct learning learning = { .b = b };
	struct lc__recipe *recipe = b->recipe;
	struct lc__frame_team pool = { .how = { .recipe = b->recipe,
		.dataset = b->dataset, .store = &b->store, .root = b->root,
		.keep_going = b->ingest->keep_going, },
		.work = scan_frame, .threads = b->threads,
		.take = take_shape, .idle = still_learning, .ctx = &learning, };
	lc_status status = lc__frame_team_walk(&pool);

	if (status == LC_OK && learning.n == 0)
		status = lc__error(LC_INVALID, 0,
		    "build: no image can be read: no buckets can be learned");
	if (status == LC_OK)
		status = lc_buckets_learn(learning.ratios, learning.n,
		    b->ingest->learn_buckets,
		    (uint64_t)recipe->transform.width * recipe->transform.height, QUANTUM,
		    recipe->buckets, &recipe->n_buckets);
	free(learning.ratios);
	return status;
}

/* ---- shared files ---------------------------------------------------------------- */

static lc_status
add_source(struct lc__ingesting *b, const char *path, bool directory)
{
	struct lc__source_file file = { .path = path, .directory = directory };
	char *full = *path == '/' ? strdup(path)
	    : *path == '\0'       ? strdup(b->root_path)
				  : lc__path_join(b->root_path, path);
	struct stat st;
	lc_status status = LC_OK;

	if (full == NULL)
		return lc__no_memory("build");
	/* The time before the content, so that changes in between are noticed. */
	if (stat(full, &st) == -1)
		status = lc__error_sys(errno, "%s", full);
	else
		file.mtime_ns = lc__sources_mtime(&st);
	if (status == LC_OK)
		status = directory ? lc__sources_hash_dir(full, file.hash)
				   : lc__sources_hash_file(full, file.hash, &file.size);
	if (status == LC_OK)
		status = lc__sources_add(&b->sources, &file);
	free(full);
	return status;
}

/* ---- classes ---------------------------------------------------------------------- */

static const char *
name_of(const char *const *names, size_t n, size_t id)
{
	return id < n && names[id] != NULL ? names[id] : "";
}

/* A model that was trained with the ids of `current` would confuse classes. */
static void
warn_of_ids(const struct lc__ingesting *b, const struct lc__warehouse_about *old)
{
	const struct lc__ingest_watch *watch = b->ingest->watch;
	const char *const *names, *const *before = (const char *const *)old->classes;
	const size_t n = lc__dataset_classes(b->dataset, &names);
	size_t first = 0, others = 0;
	char line[400];

	for (size_t id = 0; id < old->n_classes; id++) {
		const char *name = name_of(before, old->n_classes, id);
		if (*name == '\0' || strcmp(name, name_of(names, n, id)) == 0)
			continue;
		if (others++ == 0)
			first = id;
	}
	if (others == 0 || n == 0)
		return;
	const char *now = name_of(names, n, first);
	snprintf(line, sizeof(line),
	    "class ids differ from those of the current version: "
	    "%zu was '%.100s' and is now %s%.100s%s%s",
	    first, name_of(before, old->n_classes, first), *now != '\0' ? "'" : "",
	    *now != '\0' ? now : "none", *now != '\0' ? "'" : "",
	    others > 1 ? "; others have changed too" : "");
	watch->warn(watch->ctx, line);
}

/* For a dataset with another name, ids differ anyway. */
static lc_status
compare_ids(const struct lc__ingesting *b)
{
	const struct lc__ingest_watch *watch = b->ingest->watch;
	struct lc__built_version built = { .dir = NULL };
	lc_status status;

	if (watch == NULL || watch->warn == NULL)
		return LC_OK;
	status = lc__built_version_current(b->ingest->warehouse, &built);
	if (status == LC_OK &&
	    strcmp(built.manifest.dataset_root, b->recipe->dataset_root) == 0)
		warn_of_ids(b, &built.about);
	if (status == LC_OK)
		lc__built_version_free(&built);
	return status == LC_NO_MEMORY ? status : LC_OK;
}

/* ---- all of it ------------------------------------------------------------------ */

static lc_status
scan(struct lc__ingesting *b)
{
	const struct lc__ingest *in = b->ingest;
	const struct lc__ingest_watch *watch = in->watch;
	struct lc__recipe *recipe = b->recipe;
	struct timespec at = { 0, 0 };
	const char *const *list;
	int64_t wall, now;
	size_t n;
	lc_status status;

	/* Wall clock, or an earlier time in SOURCE_DATE_EPOCH: then lists of equal files
	 * are equal. */
	wall = (int64_t)(lc__clock_wall_ms() * 1000000);
	clock_gettime(CLOCK_REALTIME, &at);
	now = (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
	b->sources.since_ns = wall < now ? wall : now;

	b->root = lc__open(in->dataset, O_RDONLY | O_DIRECTORY);
	if (b->root == -1)
		return lc__error_sys(errno, "%s: open", in->dataset);
	b->root_path = realpath(in->dataset, NULL);
	if (b->root_path == NULL)
		return lc__error_sys(errno, "%s", in->dataset);
	status = lc__dataset_open(in->dataset, recipe->layout, in->labels, &b->dataset);
	/* LC_CORRUPT is for damage to the warehouse; a bad dataset is invalid input. */
	if (status == LC_CORRUPT)
		status = lc__error_as(LC_INVALID);
	return_if_error(status);
	recipe->layout = lc__dataset_layout(b->dataset);
	/* Without any labels, none can be missing. */
	if (recipe->layout == LC__LAYOUT_UNLABELLED)
		recipe->skip_empty = false;
	b->state->frames = lc__dataset_frames(b->dataset);
	b->samples.dataset = b->dataset;
	if (lc__dataset_learned(b->dataset))
		recipe->n_classes = lc__dataset_classes(b->dataset, &recipe->classes);
	b->out->ignored = *lc__dataset_ignored(b->dataset);
	n = lc__dataset_notes(b->dataset, &list);
	for (size_t i = 0; watch != NULL && watch->warn != NULL && i < n; i++)
		watch->warn(watch->ctx, list[i]);
	if (recipe->class_map != NULL)
		return_if_error(lc__dataset_map_classes(b->dataset, recipe->class_map));
	return_if_error(compare_ids(b));

	n = lc__dataset_dirs(b->dataset, &list);
	for (size_t i = 0; i < n; i++)
		return_if_error(add_source(b, list[i], true));
	n = lc__dataset_shared(b->dataset, &list);
	for (size_t i = 0; i < n; i++)
		return_if_error(add_source(b, list[i], false));
	return LC_OK;
}

lc_status
lc__ingesting_scan(struct lc__ingesting *b)
{
	uint64_t start = lc__clock_ns();
	char key[65];
	lc_status status = scan(b);

	lc__ingesting_spent(b, LC__PHASE_SCAN, &start);
	return_if_error(status);
	return_if_error(lc__ingesting_step(b));
	if (b->ingest->learn_buckets > 0)
		return_if_error(learn_buckets(b));
	if (b->ingest->tasks > 0)
		b->state->frames = lc__frames_of(b->state->frames, b->ingest->task,
		    b->ingest->tasks);
	return_if_error(lc__recipe_version(b->recipe, b->edition.version));
	memcpy(b->out->version, b->edition.version, sizeof(b->out->version));
	return_if_error(lc__recipe_sample_key(b->recipe, key));
	memcpy(b->store.prefix, key, sizeof(b->store.prefix) - 1);
	return LC_OK;
}
