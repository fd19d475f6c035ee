/* SPDX-License-Identifier: BSD-2-Clause */
#include "draw/boxes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/colour.h"
#include "draw/font.h"

#define SHADE 0x101010u /* beside a frame, and the text of a tag */
#define TAG_HEIGHT 11   /* of a class id with its ground */
#define LEAST_TAGGED 96 /* pixels of the shorter side of an image with tags */

/* An edge on an axis of @p size pixels. */
static int64_t
edge(double share, int64_t size)
{
	return llround(fmin(fmax(share, 0), 1) * (double)size);
}

struct lc__area
lc__box_area(const double box[4], struct lc__area area)
{
	const int64_t left = edge(box[0], area.width), top = edge(box[1], area.height);
	const int64_t right = edge(box[2], area.width),
	    bottom = edge(box[3], area.height);
	const struct lc__area out = { area.x + left, area.y + top,
	    right > left ? right - left : 1, bottom > top ? bottom - top : 1 };

	return out;
}

static bool
is_finite(const double box[4])
{
	return isfinite(box[0]) && isfinite(box[1]) && isfinite(box[2]) &&
	    isfinite(box[3]);
}

static int64_t
class_of(const struct lc__boxes *boxes, size_t i)
{
	return boxes->class_ids ? boxes->class_ids[i] : -1;
}

static void
draw_tag(struct lc__canvas *canvas, struct lc__area area, struct lc__area box,
    int64_t class_id)
{
	const struct lc__pen pen = { SHADE, 1 };
	char text[24];
	struct lc__area tag = { box.x, box.y - TAG_HEIGHT, 0, TAG_HEIGHT };

	snprintf(text, sizeof(text), "%lld", (long long)class_id);
	tag.width = (int64_t)lc__text_width(strlen(text), 1) + 4;
	if (tag.y < area.y)
		tag.y = box.y + box.height + TAG_HEIGHT <= area.y + area.height ?
		    box.y + box.height : box.y;
	if (tag.x + tag.width > area.x + area.width)
		tag.x = area.x + area.width - tag.width;
	if (tag.x < area.x)
		return;
	lc__canvas_fill(canvas, tag, lc__colour_class(class_id));
	lc__text_draw(canvas, tag.x + 2, tag.y + 2, pen, lc_id_of(text));
}

static void
draw_shade(struct lc__canvas *canvas, struct lc__area area, const double box[4],
    uint32_t line)
{
	const struct lc__area at = lc__box_area(box, area);
	const struct lc__area around = { at.x - 1, at.y - 1, at.width + 2,
	    at.height + 2 };

	lc__canvas_frame(canvas, around, line + 2, SHADE);
}

static bool
has_tags(struct lc__area area)
{
	return area.width >= LEAST_TAGGED && area.height >= LEAST_TAGGED;
}

/* Shades first, tags last: what tells most stays whole where boxes overlap. */
void
lc__boxes_draw(struct lc__canvas *canvas, struct lc__area area,
    const struct lc__boxes *boxes, uint32_t line)
{
	for (size_t i = 0; i < boxes->n; i++)
		if (is_finite(boxes->at[i]))
			draw_shade(canvas, area, boxes->at[i], line);
	for (size_t i = 0; i < boxes->n; i++)
		if (is_finite(boxes->at[i]))
			lc__canvas_frame(canvas, lc__box_area(boxes->at[i], area), line,
			    lc__colour_class(class_of(boxes, i)));
	for (size_t i = 0; i < boxes->n && has_tags(area); i++)
		if (is_finite(boxes->at[i]) && class_of(boxes, i) != -1)
			draw_tag(canvas, area, lc__box_area(boxes->at[i], area),
			    class_of(boxes, i));
}
