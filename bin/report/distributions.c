/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/distributions.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

/* ---- classes ----------------------------------------------------------------- */

/* The first row whose id is at least @p id. */
static size_t
place_of(const struct lc__classes *classes, int64_t id)
{
	size_t low = 0, high = classes->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (classes->rows[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void
lc__classes_begin(struct lc__classes *classes, uint64_t boxes)
{
	classes->samples++;
	classes->in_sample = (double)boxes;
	classes->n_squares += classes->in_sample * classes->in_sample;
}

lc_status
lc__classes_add(struct lc__classes *classes, int64_t id)
{
	const size_t at = place_of(classes, id);
	const bool there = at < classes->n && classes->rows[at].id == id;
	const bool full = !there && classes->n == LC__CLASSES_MOST;
	struct lc__class_count *row;

	if (!there && !full) {
		return_if_error(lc__array_reserve(&classes->rows, &classes->room,
		    classes->n + 1, NULL));
		memmove(classes->rows + at + 1, classes->rows + at,
		    (classes->n - at) * sizeof(*classes->rows));
		classes->rows[at] = (struct lc__class_count){ .id = id };
		classes->n++;
	}
	row = full ? &classes->others : &classes->rows[at];
	if (row->sample != classes->samples)
		row->now = 0;
	row->sample = classes->samples;
	/* (c + 1) squared less c squared. */
	row->squares += 2 * (double)row->now++ + 1;
	row->products += classes->in_sample;
	row->boxes++;
	classes->boxes++;
	return LC_OK;
}

uint64_t
lc__classes_count(const struct lc__classes *classes, int64_t id)
{
	const size_t at = place_of(classes, id);

	return at < classes->n && classes->rows[at].id == id ? classes->rows[at].boxes
							     : 0;
}

void
lc__classes_free(struct lc__classes *classes)
{
	free(classes->rows);
	memset(classes, 0, sizeof(*classes));
}

/* ---- histograms -------------------------------------------------------------- */

/* Warehouses are compared by these bins: do not change them. */
const struct lc__metric_row lc__metrics[LC__METRICS] = {
	[LC__METRIC_BOXES_PER_SAMPLE] = { "boxes_per_sample", "Boxes per sample", "boxes",
	    LC__OF_SAMPLES, false, 0, 64, 64 },
	[LC__METRIC_BOX_SIDE] = { "box_side", "Side of a box",
	    "square root of its share of the image", LC__OF_BOXES, false, 0, 1, 50 },
	[LC__METRIC_BOX_ASPECT] = { "box_aspect", "Aspect of a box",
	    "width / height in pixels", LC__OF_BOXES, true, -4, 4, 32 },
	[LC__METRIC_BOX_X] = { "box_x", "Centre of a box, across", "0 left, 1 right",
	    LC__OF_BOXES, false, 0, 1, 20 },
	[LC__METRIC_BOX_Y] = { "box_y", "Centre of a box, down", "0 top, 1 bottom",
	    LC__OF_BOXES, false, 0, 1, 20 },
	[LC__METRIC_SOURCE_WIDTH] = { "source_width", "Width of the source image",
	    "pixels", LC__OF_SAMPLES, false, 0, 8192, 64 },
	[LC__METRIC_SOURCE_HEIGHT] = { "source_height", "Height of the source image",
	    "pixels", LC__OF_SAMPLES, false, 0, 8192, 64 },
	[LC__METRIC_SOURCE_MEGAPIXELS] = { "source_megapixels",
	    "Size of the source image", "megapixels", LC__OF_SAMPLES, true, -6, 7, 26 },
	[LC__METRIC_SOURCE_ASPECT] = { "source_aspect", "Aspect of the source image",
	    "width / height", LC__OF_SAMPLES, true, -2, 2, 32 },
	[LC__METRIC_BRIGHTNESS] = { "brightness", "Brightness",
	    "mean of the image, 0 black, 1 white", LC__OF_SAMPLES, false, 0, 1, 32 },
	[LC__METRIC_CONTRAST] = { "contrast", "Contrast",
	    "standard deviation of the grey image", LC__OF_SAMPLES, false, 0, 0.5, 32 },
	[LC__METRIC_FRAMES_PER_RUN] = { "frames_per_run", "Frames per run", "frames",
	    LC__OF_RUNS, true, 0, 24, 24 },
};

const char *
lc__subject_name(enum lc__subject subject)
{
	static const char *const names[] = { "samples", "boxes", "runs" };

	return names[subject];
}

void
lc__distributions_init(struct lc__distributions *seen)
{
	memset(seen, 0, sizeof(*seen));
	for (int i = 0; i < LC__METRICS; i++) {
		const struct lc__metric_row *row = &lc__metrics[i];
		lc__histogram_init(&seen->histograms[i], row->name, row->title, row->low,
		    row->high, row->bins);
	}
}

/* The last bin holds its upper edge too: a box may fill the image. */
static void
count_in(struct lc__histogram *histogram, enum lc__metric metric, double value)
{
	const struct lc__metric_row *row = &lc__metrics[metric];

	if (row->log2)
		value = log2(value);
	if (value == row->high)
		value = nextafter(row->high, row->low);
	if (isfinite(value))
		lc__histogram_add(histogram, value);
}

static void
count(struct lc__distributions *seen, enum lc__metric metric, double value)
{
	count_in(&seen->histograms[metric], metric, value);
}

/* The value of a metric for a box on an image of this size. */
static double
value_of(enum lc__metric metric, const struct lc__box *box, double width, double height)
{
	const double w = box->x1 - box->x0, h = box->y1 - box->y0;

	switch (metric) {
	case LC__METRIC_BOX_SIDE: return sqrt(w * h);
	case LC__METRIC_BOX_ASPECT: return w * width / (h * height);
	case LC__METRIC_BOX_X: return (box->x0 + box->x1) / 2;
	default: return (box->y0 + box->y1) / 2;
	}
}

static void
count_boxes(struct lc__distributions *seen, enum lc__metric metric,
    const struct lc__observation *observation)
{
	const struct lc__metric_row *row = &lc__metrics[metric];
	struct lc__likeness *likeness = &seen->likeness[metric];
	struct lc__histogram one;
	double n;

	lc__histogram_init(&one, row->name, row->title, row->low, row->high, row->bins);
	for (uint32_t i = 0; i < observation->n; i++) {
		const double value = value_of(metric, &observation->boxes[i],
		    observation->width, observation->height);
		count(seen, metric, value);
		count_in(&one, metric, value);
	}
	n = (double)one.n;
	for (uint32_t i = 0; i < one.bins + 2; i++) {
		const double c = (double)lc__category(&one, i);
		likeness->squares[i] += c * c;
		likeness->products[i] += c * n;
	}
	likeness->n_squares += n * n;
}

lc_status
lc__distributions_add(struct lc__distributions *seen,
    const struct lc__observation *observation)
{
	const double width = observation->origin.original_width;
	const double height = observation->origin.original_height;

	for (int m = 0; m < LC__METRICS && observation->n > 0; m++)
		if (lc__metrics[m].subject == LC__OF_BOXES)
			count_boxes(seen, (enum lc__metric)m, observation);
	lc__classes_begin(&seen->classes, observation->n);
	for (uint32_t i = 0; i < observation->n; i++)
		return_if_error(
		    lc__classes_add(&seen->classes, observation->boxes[i].class_id));
	count(seen, LC__METRIC_BOXES_PER_SAMPLE, observation->n);
	if (width > 0 && height > 0) {
		count(seen, LC__METRIC_SOURCE_WIDTH, width);
		count(seen, LC__METRIC_SOURCE_HEIGHT, height);
		count(seen, LC__METRIC_SOURCE_MEGAPIXELS, width * height / 1e6);
		count(seen, LC__METRIC_SOURCE_ASPECT, width / height);
	}
	if (observation->lit) {
		count(seen, LC__METRIC_BRIGHTNESS, observation->brightness);
		count(seen, LC__METRIC_CONTRAST, observation->contrast);
	}
	seen->samples++;
	seen->boxes += observation->n;
	return LC_OK;
}

void
lc__distributions_add_run(struct lc__distributions *seen, uint64_t frames)
{
	count(seen, LC__METRIC_FRAMES_PER_RUN, (double)frames);
}

void
lc__distributions_free(struct lc__distributions *seen)
{
	lc__classes_free(&seen->classes);
}
