/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes, numbers, aspects and classes of boxes as bar charts. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "cmd/view.h"
#include "draw/axes.h"
#include "report/chart.h"
#include "report/class_bars.h"
#include "report/survey.h"
#include "ui/progress.h"
#include "ui/report.h"

#define CHART_WIDTH 560
#define CHART_HEIGHT 300
#define GAP 24
#define HEAD 52
#define BINS 40     /* about, where values are not whole */
#define FEW_ROWS 15 /* classes in a place as high as a chart */
#define ASPECTS 4.0 /* from 1:16 to 16:1 */

enum { SIDE, NUMBER, ASPECT, CLASS, CHARTS };

/* The counts, made in two passes: the first finds the range of the values. */
struct counting {
	const struct samples *samples;
	struct lc__observer observer;
	struct lc__histogram histograms[CHARTS];
	double largest_side;
	uint32_t most_boxes;
	int64_t largest_class;      /* -1 if no box has one */
	struct lc__classes classes; /* how many boxes each has */
	uint64_t boxes, empty;      /* boxes, and samples without one */
	uint64_t damaged;           /* samples that could not be read */
	bool no_memory;             /* for classes */
};

typedef void count_fn(struct counting *counting, const struct lc__observation *seen);

static double
side_of(const struct lc__observation *seen, uint32_t i)
{
	const struct lc__box *box = &seen->boxes[i];

	return sqrt(
	    (box->x1 - box->x0) * seen->width * ((box->y1 - box->y0) * seen->height));
}

/* ---- first: how far ------------------------------------------------------------- */

static void
find_reach(struct counting *counting, const struct lc__observation *seen)
{
	lc__classes_begin(&counting->classes, seen->n);
	for (uint32_t i = 0; i < seen->n; i++) {
		const double side = side_of(seen, i);
		if (isfinite(side) && side > counting->largest_side)
			counting->largest_side = side;
		if (seen->boxes[i].class_id > counting->largest_class)
			counting->largest_class = seen->boxes[i].class_id;
		counting->no_memory |= lc__classes_add(&counting->classes,
					   seen->boxes[i].class_id) != LC_OK;
	}
	if (seen->n > counting->most_boxes)
		counting->most_boxes = seen->n;
	counting->boxes += seen->n;
	counting->empty += seen->n == 0;
}

/* Bins of a round width that begin at 0. */
static void
set_up_reals(struct lc__histogram *out, const char *name, const char *title, double most)
{
	const struct lc__ticks ticks = lc__ticks_of(0, most > 0 ? most : 1, BINS, 0);
	const uint32_t bins = (uint32_t)(most / ticks.step) + 1;

	lc__histogram_init(out, name, title, 0, bins * ticks.step, bins);
}

/* A bin for each whole number, or for as few as there is room for. */
static void
set_up_wholes(struct lc__histogram *out, const char *name, const char *title,
    uint64_t most)
{
	const uint64_t width = most / LC__HISTOGRAM_BINS + 1;
	const uint32_t bins = (uint32_t)(most / width) + 1;

	lc__histogram_init(out, name, title, -0.5, (double)(bins * width) - 0.5, bins);
}

static void
set_up(struct counting *counting)
{
	struct lc__histogram *histograms = counting->histograms;

	set_up_reals(&histograms[SIDE], "box_side",
	    "side of a box: square root of its area, pixels", counting->largest_side);
	set_up_wholes(&histograms[NUMBER], "boxes_per_sample", "boxes of a sample",
	    counting->most_boxes);
	lc__histogram_init(&histograms[ASPECT], "box_aspect",
	    "aspect of a box: width to height in pixels", -ASPECTS, ASPECTS, 32);
	set_up_wholes(&histograms[CLASS], "box_class", "boxes of a class, by class id",
	    counting->largest_class > 0 ? (uint64_t)counting->largest_class : 0);
}

/* ---- then: how many ------------------------------------------------------------- */

static void
count_values(struct counting *counting, const struct lc__observation *seen)
{
	struct lc__histogram *histograms = counting->histograms;

	for (uint32_t i = 0; i < seen->n; i++) {
		const struct lc__box *box = &seen->boxes[i];
		const double aspect = (box->x1 - box->x0) * seen->width /
		    ((box->y1 - box->y0) * seen->height);
		lc__histogram_add(&histograms[SIDE], side_of(seen, i));
		if (aspect > 0 && isfinite(aspect))
			lc__histogram_add(&histograms[ASPECT], log2(aspect));
		if (box->class_id >= 0)
			lc__histogram_add(&histograms[CLASS], (double)box->class_id);
	}
	lc__histogram_add(&histograms[NUMBER], seen->n);
}

static lc_status
read_sample(struct counting *counting, uint64_t i, count_fn *fn)
{
	struct lc__observation seen = { .sample = i };
	lc_sample sample = { 0 };
	lc_status status;

	return_if_error(samples_get(counting->samples, i, &sample));
	status = lc__observe(&counting->observer, &sample, &seen);
	if (status == LC_OK && sample.image.ndim >= 2) {
		seen.width = (uint32_t)sample.image.shape[sample.image.ndim - 1];
		seen.height = (uint32_t)sample.image.shape[sample.image.ndim - 2];
	}
	if (status == LC_OK)
		fn(counting, &seen);
	samples_release(counting->samples, &sample);
	return status;
}

/* Damaged samples are reported only in the first pass. */
static int
read_all(struct counting *counting, count_fn *fn, bool first)
{
	const uint64_t n = counting->samples->count;
	int status = EXIT_DONE;

	progress_begin("view");
	for (uint64_t i = 0; i < n && status == EXIT_DONE; i++) {
		if (read_sample(counting, i, fn) != LC_OK && first) {
			report_library(EXIT_DATA);
			counting->damaged++;
		}
		progress_items(i + 1, n);
		if (progress_step(NULL, 0, 0) != 0)
			status = report_status(LC_CANCELLED);
	}
	progress_end();
	return status;
}

static const char *
class_name(const void *warehouse, int64_t class_id)
{
	return warehouse != NULL ? lc_warehouse_class(warehouse, class_id) : NULL;
}

/* The names that the bins of classes have: none where a bin is several classes. */
static struct lc__class_names
names_of(const struct counting *counting)
{
	const struct lc__histogram *of = &counting->histograms[CLASS];
	const lc_warehouse *warehouse = counting->samples->warehouse;
	const bool named = warehouse != NULL &&
	    lc_warehouse_info_of(warehouse)->classes > 0 &&
	    of->high - of->low == of->bins;

	return (struct lc__class_names){ named ? class_name : NULL, warehouse };
}

/* ---- the page ------------------------------------------------------------------- */

static void
write_names(struct json *json, const struct lc__class_names *names, uint32_t bins)
{
	jw_open(json, "names", '[');
	for (uint32_t i = 0; i < bins; i++) {
		const char *name = names->find(names->ctx, i);
		if (name != NULL)
			jw_text(json, NULL, name);
		else
			jw_null(json, NULL);
	}
	jw_close(json, ']');
}

/* @p names is NULL if the values are not classes. */
static void
write_histogram(struct json *json, const struct lc__histogram *histogram,
    const struct lc__class_names *names)
{
	const bool middle = names == NULL;

	jw_open(json, NULL, '{');
	jw_text(json, "name", histogram->name);
	jw_text(json, "title", histogram->title);
	jw_count(json, "n", histogram->n);
	if (histogram->n > 0 && middle) {
		jw_real(json, "mean", histogram->sum / (double)histogram->n);
		jw_real(json, "median", lc__histogram_quantile(histogram, 0.5));
	}
	jw_real(json, "low", histogram->low);
	jw_real(json, "high", histogram->high);
	jw_count(json, "below", histogram->below);
	jw_count(json, "above", histogram->above);
	jw_open(json, "counts", '[');
	for (uint32_t i = 0; i < histogram->bins; i++)
		jw_count(json, NULL, histogram->counts[i]);
	jw_close(json, ']');
	if (names != NULL && names->find != NULL)
		write_names(json, names, histogram->bins);
	jw_close(json, '}');
}

static void
write_json(const struct counting *counting, const char *path, int charts,
    struct json *json)
{
	const struct lc__class_names names = names_of(counting);

	jw_text(json, "kind", "histograms");
	jw_text(json, "source", path);
	jw_count(json, "samples", counting->samples->count);
	jw_count(json, "damaged", counting->damaged);
	jw_count(json, "boxes", counting->boxes);
	jw_open(json, "histograms", '[');
	for (int i = 0; i < charts; i++)
		write_histogram(json, &counting->histograms[i],
		    i == CLASS ? &names : NULL);
	jw_close(json, ']');
}

static void
draw_head(const struct counting *counting, const char *path, struct lc__picture *picture)
{
	const struct lc__font large = { .size = LC__TITLE,
		.colour = LC__INK,
		.bold = true,
		.keep_end = true };
	const struct lc__font small = { .size = LC__SMALL, .colour = LC__DIM_INK };
	const double width = lc__picture_width(picture) - 2 * LC__MARGIN;
	char samples[LC__TICKS_TEXT], boxes[LC__TICKS_TEXT], empty[LC__TICKS_TEXT];
	char line[4 * LC__TICKS_TEXT];

	lc__ticks_text((double)counting->samples->count, samples, sizeof(samples));
	lc__ticks_text((double)counting->boxes, boxes, sizeof(boxes));
	lc__ticks_text((double)counting->empty, empty, sizeof(empty));
	snprintf(line, sizeof(line), "%s samples, %s of them without a box; %s boxes",
	    samples, empty, boxes);
	lc__picture_text(picture, LC__MARGIN, LC__MARGIN + 14, &large, lc_id_of(path),
	    width);
	lc__picture_text(picture, LC__MARGIN, LC__MARGIN + 33, &small, lc_id_of(line),
	    width);
}

static struct lc__rect
place_of(int i)
{
	return (struct lc__rect){ LC__MARGIN + i % 2 * (CHART_WIDTH + GAP),
		LC__MARGIN + HEAD + i / 2 * (CHART_HEIGHT + GAP), CHART_WIDTH,
		CHART_HEIGHT };
}

/* Three charts and the classes, two in a row; many classes have the right side alone. */
static int
draw_charts(struct counting *counting, const char *path, struct lc__picture *picture,
    struct json *json)
{
	const int charts = counting->largest_class >= 0 ? CHARTS : CLASS;
	const struct lc__class_names names = { class_name, counting->samples->warehouse };
	struct lc__class_bars bars;
	bool many;
	lc_status status = lc__class_bars_of(&counting->classes, &names, &bars);

	if (status != LC_OK)
		return report_status(status);
	many = charts == CHARTS && bars.n > FEW_ROWS;
	status = lc__picture_begin(picture, 2 * (LC__MARGIN + CHART_WIDTH) + GAP,
	    2 * LC__MARGIN + HEAD + (many ? 3 : 2) * (CHART_HEIGHT + GAP) - GAP,
	    lc_id_of(path));
	if (status != LC_OK)
		return report_status(status);
	draw_head(counting, path, picture);
	for (int i = 0; i < CLASS; i++) {
		const struct lc__chart chart = {
			.histogram = &counting->histograms[i],
			.unit = i == ASPECT ? LC__UNIT_LOG2
			    : i == NUMBER   ? LC__UNIT_COUNT
					    : LC__UNIT_NUMBER,
		};
		lc__chart_draw(&chart, picture, place_of(many ? 2 * i : i));
	}
	if (charts == CHARTS) {
		const struct lc__named_bars list = {
			.area = place_of(many ? 1 : CLASS),
			.title = "boxes of a class",
			.bars = bars.bars,
			.n = bars.n,
			.unit = LC__UNIT_COUNT,
		};
		lc__named_bars_draw(picture, &list);
	}
	write_json(counting, path, charts, json);
	return counting->damaged > 0 || counting->samples->damaged ? EXIT_DATA
								   : EXIT_DONE;
}

static int
count_all(struct counting *counting)
{
	const lc_status ready = lc__observer_init(&counting->observer,
	    counting->samples->max_boxes);
	int status;

	if (ready != LC_OK)
		return report_status(ready);
	status = read_all(counting, find_reach, true);
	if (status == EXIT_DONE && counting->no_memory)
		status = report_no_memory();
	if (status == EXIT_DONE) {
		set_up(counting);
		status = read_all(counting, count_values, false);
	}
	lc__observer_free(&counting->observer);
	return status;
}

int
view_histograms(const char *path, struct lc__picture *picture, struct json *json)
{
	struct samples samples;
	struct counting counting = { .samples = &samples, .largest_class = -1 };
	int status = samples_open(path, false, &samples);

	if (status != EXIT_DONE)
		return status;
	if (samples.max_boxes == 0) {
		status = report_error(EXIT_DATA, "%s: the samples have no boxes", path);
	} else {
		status = count_all(&counting);
	}
	if (status == EXIT_DONE)
		status = draw_charts(&counting, path, picture, json);
	lc__classes_free(&counting.classes);
	samples_close(&samples);
	return status;
}
