/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/boxes.h"

#include <math.h>
#include <stdio.h>

#include "value/dtype.h"

#define SHADE 0x101010u /* the colour beside a frame and around the text of a tag */
#define TAG_SIZE 10     /* of the text of a tag */
#define TAG_HEIGHT 13   /* of a tag with its background */
#define LEAST_TAGGED 96 /* the shorter side of an image from which on boxes have tags */

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
static double
edge(double share, double size)
{
	return round(fmin(fmax(share, 0), 1) * size);
}

struct lc__rect
lc__box_area(const struct lc__box *box, struct lc__rect area)
{
	const double left = edge(box->x0, area.width), top = edge(box->y0, area.height);
	const double right = edge(box->x1, area.width);
	const double bottom = edge(box->y1, area.height);

	return (struct lc__rect){ area.x + left, area.y + top, fmax(right - left, 1),
		fmax(bottom - top, 1) };
}

static bool
is_finite(const struct lc__box *box)
{
	return isfinite(box->x0) && isfinite(box->y0) && isfinite(box->x1) &&
	    isfinite(box->y1);
}

/* Above the box, or below it, or inside a box that is as high as the image. */
static void
draw_tag(struct lc__picture *picture, struct lc__rect area, struct lc__rect box,
    int64_t class_id, const struct lc__class_names *names)
{
	const struct lc__font font = { .size = TAG_SIZE, .colour = SHADE };
	const char *text = names != NULL && names->find != NULL
	    ? names->find(names->ctx, class_id)
	    : NULL;
	struct lc__rect tag = { box.x, box.y - TAG_HEIGHT, 0, TAG_HEIGHT };
	char number[24];

	snprintf(number, sizeof(number), "%lld", (long long)class_id);
	if (text == NULL)
		text = number;
	tag.width = fmin(ceil(lc__picture_text_width(picture, &font, lc_id_of(text))) + 4,
	    area.width);
	if (tag.y < area.y)
		tag.y = box.y + box.height + TAG_HEIGHT <= area.y + area.height
		    ? box.y + box.height
		    : box.y;
	tag.x = fmin(tag.x, area.x + area.width - tag.width);
	lc__picture_fill(picture, tag, lc__colour_class(class_id));
	lc__picture_text(picture, tag.x + 2, tag.y + TAG_HEIGHT - 3, &font,
	    lc_id_of(text), tag.width - 4);
}

/* Dark lines first, tags last: where boxes overlap, what matters most stays visible. */
void
lc__boxes_draw(struct lc__picture *picture, struct lc__rect area,
    const struct lc__box *boxes, size_t n, double line,
    const struct lc__class_names *names)
{
	const bool tags = area.width >= LEAST_TAGGED && area.height >= LEAST_TAGGED;

	for (size_t i = 0; i < n; i++) {
		struct lc__rect at;
		if (!is_finite(&boxes[i]))
			continue;
		at = lc__box_area(&boxes[i], area);
		at = (struct lc__rect){ at.x - 1, at.y - 1, at.width + 2, at.height + 2 };
		lc__picture_frame(picture, at, line + 2, SHADE);
	}
	for (size_t i = 0; i < n; i++)
		if (is_finite(&boxes[i]))
			lc__picture_frame(picture, lc__box_area(&boxes[i], area), line,
			    lc__colour_class(boxes[i].class_id));
	for (size_t i = 0; i < n && tags; i++)
		if (is_finite(&boxes[i]) && boxes[i].class_id != -1)
			draw_tag(picture, area, lc__box_area(&boxes[i], area),
			    boxes[i].class_id, names);
}
