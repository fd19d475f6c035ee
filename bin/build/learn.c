/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/learn.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "build/header.h"

/* Sides of buckets are multiples of this. */
#define QUANTUM 64

/* The size is left 0 x 0 if it cannot be found: what is wrong with the file is told
 * when its frame's turn comes. */
static lc_status
probe(struct lc__maker *maker, struct lc__made *made, const struct lc__infile *file)
{
	struct lc__header header = {
		.ignore_orientation = maker->making->recipe->transform.ignore_orientation
	};
	const lc_status status = lc__header_read(file, &maker->file, &header);

	made->bytes_read += header.bytes_read;
	/* The build finds what is wrong with the image. */
	if (status == LC_CORRUPT || status == LC_INVALID ||
	    status == LC_UNSUPPORTED ||
	    (status == LC_IO && maker->making->keep_going))
		return LC_OK;
	return_if_error(status);
	made->sample.width = header.width;
	made->sample.height = header.height;
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
	else if (fate == LC__INFILE_FATAL ||
	    (fate == LC__INFILE_REFUSED && !maker->making->keep_going))
		status = lc_last_error()->status;
	lc__infile_close(&file);
	made->ns[LC__PHASE_SCAN] += lc__clock_ns() - start;
	return status;
}

lc_status
lc__learn_probe(struct lc__maker *maker, struct lc__made *made)
{
	const lc_status status = run(maker, made);

	maker->file.size = 0;
	return status;
}

lc_status
lc__shapes_add(struct lc__shapes *shapes, const struct lc__sample *sample)
{
	if (sample->width == 0)
		return LC_OK;
	return_if_error(lc__array_reserve(&shapes->ratios, &shapes->room, shapes->n + 1, "build"));
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
