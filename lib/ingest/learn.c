/* SPDX-License-Identifier: BSD-2-Clause */
#include "ingest/learn.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"

/* Sides of buckets are multiples of this. */
#define QUANTUM 64
/* Most headers stand within the first of these; all do within the second. */
#define HEAD ((size_t)256 << 10)
#define LONG_HEAD ((size_t)16 << 20)

static lc_status
read_head(struct lc__maker *maker, struct lc__made *made,
    struct lc__infile *file, size_t size)
{
	size_t got = 0;
	void *place;

	maker->file.size = 0;
	place = lc__buf_append(&maker->file, NULL, size);
	if (place == NULL)
		return lc__error(LC_NO_MEMORY, 0, "build: out of memory");
	if (lseek(file->fd, 0, SEEK_SET) == -1)
		return lc__error_sys(errno, "%s: seek", file->path);
	return_if_error(lc__read_full(file->fd, place, size, &got, file->path));
	maker->file.size = got;
	made->bytes_read += got;
	return LC_OK;
}

/* The size is left 0 x 0 if it cannot be found. */
static lc_status
probe(struct lc__maker *maker, struct lc__made *made, struct lc__infile *file)
{
	const size_t end = (size_t)file->st.st_size;
	const size_t all = end < LONG_HEAD ? end : LONG_HEAD;
	struct lc__transformed seen = { .orientation = 1 };
	lc_status status = LC_OK;

	for (size_t size = all < HEAD ? all : HEAD;; size = all) {
		/* What cannot be read says so when its frame's turn comes. */
		if (read_head(maker, made, file, size) != LC_OK)
			return lc_last_error()->status == LC_NO_MEMORY ?
			    LC_NO_MEMORY : LC_OK;
		status = lc__image_probe(maker->file.data, maker->file.size,
		    file->path, &seen);
		if (status == LC_OK || size == all)
			break;
	}
	if (status != LC_OK)
		return status == LC_NO_MEMORY ? status : LC_OK;
	if (maker->making->recipe->transform.ignore_orientation)
		seen.orientation = 1;
	made->sample.width = seen.orientation > 4 ? seen.stored_height :
	    seen.stored_width;
	made->sample.height = seen.orientation > 4 ? seen.stored_width :
	    seen.stored_height;
	return LC_OK;
}

static lc_status
run(struct lc__maker *maker, struct lc__made *made)
{
	const uint64_t start = lc__clock_ns();
	enum lc__infile_fate fate = LC__INFILE_MISSING;
	struct lc__infile file = { .fd = -1 };
	struct lc__frame frame;
	const char *path;
	lc_status status = LC_OK;

	lc__dataset_frame(maker->making->dataset, made->number, &frame);
	if (frame.image_path == NULL)
		return_if_error(lc__made_label(maker, made, &frame));
	path = lc__frame_image(&frame, &made->label);
	if (path != NULL)
		fate = lc__infile_open(&file, maker->making->root, path,
		    LC__IMAGE_LIMIT);
	if (fate == LC__INFILE_GOOD)
		status = probe(maker, made, &file);
	else if (fate == LC__INFILE_FATAL)
		status = lc_last_error()->status;
	lc__infile_close(&file);
	made->ns[LC__PHASE_SCAN] += lc__clock_ns() - start;
	return status;
}

void
lc__learn_probe(struct lc__maker *maker, struct lc__made *made)
{
	if (run(maker, made) != LC_OK)
		made->error = *lc_last_error();
	maker->file.size = 0;
}

lc_status
lc__shapes_add(struct lc__shapes *shapes, const struct lc__sample *sample)
{
	if (sample->width == 0)
		return LC_OK;
	if (shapes->n == shapes->room) {
		const size_t room = shapes->room > 0 ? 2 * shapes->room : 1024;
		double *more = realloc(shapes->ratios, room * sizeof(*more));
		if (more == NULL)
			return lc__error(LC_NO_MEMORY, 0, "build: out of memory");
		shapes->ratios = more;
		shapes->room = room;
	}
	shapes->ratios[shapes->n++] = (double)sample->width / sample->height;
	return LC_OK;
}

lc_status
lc__shapes_choose(struct lc__shapes *shapes, size_t k,
    struct lc__recipe *recipe)
{
	const uint64_t area = (uint64_t)recipe->transform.width *
	    recipe->transform.height;

	if (shapes->n == 0)
		return lc__error(LC_INVALID, 0,
		    "build: no image can be read: no buckets can be learned");
	return lc_buckets_learn(shapes->ratios, shapes->n, k, area, QUANTUM,
	    recipe->buckets, &recipe->n_buckets);
}

void
lc__shapes_free(struct lc__shapes *shapes)
{
	free(shapes->ratios);
	*shapes = (struct lc__shapes){ .n = 0 };
}
