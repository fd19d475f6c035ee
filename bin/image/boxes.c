/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/boxes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "image/canvas.h"
#include "image/font.h"
#include "value/dtype.h"

#define SHADE 0x101010u /* beside a frame, and the text of a tag */
#define TAG_HEIGHT 11   /* of a class id with its ground */
#define LEAST_TAGGED 96 /* pixels of the shorter side of an image with tags */

static double
element(const lc_tensor *tensor, size_t i)
{
	return lc__element_real(tensor->dtype,
	    (const char *)tensor->data + i * lc_dtype_size(tensor->dtype));
}

size_t
lc__boxes_read(const lc_sample *sample, const int64_t *class_ids, struct lc__box *out,
    size_t room)
{
	const lc_tensor *boxes = &sample->boxes;
	const size_t all = sample->mask.ndim == 1 ? sample->mask.shape[0] : 0;
	size_t n = 0;

	for (size_t i = 0; i < all && n < room; i++)
		if (element(&sample->mask, i) > 0)
			out[n++] = (struct lc__box){
				.x0 = element(boxes, 4 * i),
				.y0 = element(boxes, 4 * i + 1),
				.x1 = element(boxes, 4 * i + 2),
				.y1 = element(boxes, 4 * i + 3),
				.class_id = class_ids != NULL ? class_ids[i] : -1,
			};
	return n;
}

/* An edge on an axis of @p size pixels. */
static int64_t
edge(double share, int64_t size)
{
	return llround(fmin(fmax(share, 0), 1) * (double)size);
}

struct lc__area
lc__box_area(const struct lc__box *box, struct lc__area area)
{
	const int64_t left = edge(box->x0, area.width), top = edge(box->y0, area.height);
	const int64_t right = edge(box->x1, area.width),
		      bottom = edge(box->y1, area.height);
	const struct lc__area out = { area.x + left, area.y + top,
		right > left ? right - left : 1, bottom > top ? bottom - top : 1 };

	return out;
}

static bool
is_finite(const struct lc__box *box)
{
	return isfinite(box->x0) && isfinite(box->y0) && isfinite(box->x1) &&
	    isfinite(box->y1);
}

static int64_t
tag_width(const char *text)
{
	return (int64_t)lc__text_width(lc__text_length(lc_id_of(text)), 1) + 4;
}

static void
draw_tag(struct lc__canvas *canvas, struct lc__area area, struct lc__area box,
    int64_t class_id, const struct lc__class_names *names)
{
	const struct lc__pen pen = { SHADE, 1 };
	const char *text = names != NULL ? names->find(names->ctx, class_id) : NULL;
	char number[24];
	struct lc__area tag = { box.x, box.y - TAG_HEIGHT, 0, TAG_HEIGHT };

	snprintf(number, sizeof(number), "%lld", (long long)class_id);
	if (text == NULL || tag_width(text) > area.width)
		text = number;
	tag.width = tag_width(text);
	if (tag.y < area.y)
		tag.y = box.y + box.height + TAG_HEIGHT <= area.y + area.height
		    ? box.y + box.height
		    : box.y;
	if (tag.x + tag.width > area.x + area.width)
		tag.x = area.x + area.width - tag.width;
	if (tag.x < area.x)
		return;
	lc__canvas_fill(canvas, tag, lc__colour_class(class_id));
	lc__text_draw(canvas, tag.x + 2, tag.y + 2, pen, lc_id_of(text));
}

void
lc__boxes_draw(struct lc__canvas *canvas, struct lc__area area,
    const struct lc__box *boxes, size_t n, uint32_t line)
{
	lc__boxes_draw_named(canvas, area, boxes, n, line, NULL);
}

/* Shades first, tags last: what tells most stays whole where boxes overlap. */
void
lc__boxes_draw_named(struct lc__canvas *canvas, struct lc__area area,
    const struct lc__box *boxes, size_t n, uint32_t line,
    const struct lc__class_names *names)
{
	const bool tags = area.width >= LEAST_TAGGED && area.height >= LEAST_TAGGED;

	for (size_t i = 0; i < n; i++) {
		struct lc__area at;
		if (!is_finite(&boxes[i]))
			continue;
		at = lc__box_area(&boxes[i], area);
		at = (struct lc__area){ at.x - 1, at.y - 1, at.width + 2, at.height + 2 };
		lc__canvas_frame(canvas, at, line + 2, SHADE);
	}
	for (size_t i = 0; i < n; i++)
		if (is_finite(&boxes[i]))
			lc__canvas_frame(canvas, lc__box_area(&boxes[i], area), line,
			    lc__colour_class(boxes[i].class_id));
	for (size_t i = 0; i < n && tags; i++)
		if (is_finite(&boxes[i]) && boxes[i].class_id != -1)
			draw_tag(canvas, area, lc__box_area(&boxes[i], area),
			    boxes[i].class_id, names);
}
