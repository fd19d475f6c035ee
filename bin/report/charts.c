/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/charts.h"

#include <stdio.h>

#include "base/error.h"
#include "report/chart.h"
#include "report/class_bars.h"

#define ACROSS 3
#define WIDTH 400
#define HEIGHT 250
#define GAP 20
#define HEAD 46
#define TITLE 26 /* pixels above the bars of the classes, for their title */

static const char *
class_name(const void *facts, int64_t class_id)
{
	return lc__facts_class(facts, class_id);
}

static void
draw_head(struct lc__picture *picture, const struct lc__facts *facts)
{
	const struct lc__font large = { .size = LC__TITLE,
		.colour = LC__INK,
		.bold = true,
		.keep_end = true };
	const struct lc__font small = { .size = LC__SMALL, .colour = LC__DIM_INK };
	const double width = lc__picture_width(picture) - 2 * LC__MARGIN;
	char samples[LC__TICKS_TEXT], boxes[LC__TICKS_TEXT], line[3 * LC__TICKS_TEXT];

	snprintf(line, sizeof(line), "%s samples with %s boxes",
	    lc__ticks_text((double)facts->seen.samples, samples, sizeof(samples)),
	    lc__ticks_text((double)facts->seen.boxes, boxes, sizeof(boxes)));
	lc__picture_text(picture, LC__MARGIN, LC__MARGIN + 14, &large,
	    lc_id_of(facts->info->path), width);
	lc__picture_text(picture, LC__MARGIN, LC__MARGIN + 33, &small, lc_id_of(line),
	    width);
}

/* One column of classes below each column of charts, each filled from top to bottom. */
static void
draw_classes(struct lc__picture *picture, const struct lc__class_bars *bars, double y)
{
	const struct lc__font title = { .size = LC__HEADING, .colour = LC__INK };
	const size_t rows = (bars->n + ACROSS - 1) / ACROSS;

	lc__picture_text(picture, LC__MARGIN, y + 13, &title,
	    lc_id_of("Boxes of each class"), 0);
	for (size_t i = 0; i * rows < bars->n; i++) {
		const size_t left = bars->n - i * rows;
		const struct lc__named_bars list = {
			.area = { LC__MARGIN + (double)i * (WIDTH + GAP), y + TITLE,
			    WIDTH, 0 },
			.bars = bars->bars + i * rows,
			.n = left < rows ? left : rows,
			.unit = LC__UNIT_COUNT,
			.most = bars->most,
			.names = rows < bars->n ? WIDTH / 3 : 0,
			.values = rows < bars->n ? 48 : 0,
		};
		lc__named_bars_draw(picture, &list);
	}
}

lc_status
lc__charts_draw(struct lc__picture *picture, const struct lc__facts *facts)
{
	const struct lc__class_names names = { class_name, facts };
	struct lc__class_bars bars;
	unsigned n = 0, rows;
	double classes;

	return_if_error(lc__class_bars_of(&facts->seen.classes, &names, &bars));
	for (int i = 0; i < LC__METRICS; i++)
		n += facts->seen.histograms[i].n > 0;
	rows = (n + ACROSS - 1) / ACROSS;
	classes = bars.n == 0
	    ? 0
	    : TITLE + lc__named_bars_height((bars.n + ACROSS - 1) / ACROSS, false);
	return_if_error(
	    lc__picture_begin(picture, 2 * LC__MARGIN + ACROSS * (WIDTH + GAP) - GAP,
		2 * LC__MARGIN + HEAD + rows * (HEIGHT + GAP) + classes,
		lc_id_of(facts->info->path)));
	draw_head(picture, facts);
	n = 0;
	for (int i = 0; i < LC__METRICS; i++) {
		const struct lc__chart chart = {
			.histogram = &facts->seen.histograms[i],
			.axis = lc__metrics[i].axis,
			.unit = lc__metrics[i].log2 ? LC__UNIT_POWER2 : LC__UNIT_NUMBER,
			.used = true,
		};
		if (chart.histogram->n == 0)
			continue;
		lc__chart_draw(&chart, picture,
		    (struct lc__rect){ LC__MARGIN + n % ACROSS * (WIDTH + GAP),
			LC__MARGIN + HEAD + n / ACROSS * (HEIGHT + GAP), WIDTH, HEIGHT });
		n++;
	}
	if (bars.n > 0)
		draw_classes(picture, &bars, LC__MARGIN + HEAD + rows * (HEIGHT + GAP));
	return LC_OK;
}
