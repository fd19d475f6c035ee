/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/thumbnails.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "image/canvas.h"
#include "image/tensor_image.h"

#define LINE 1 /* pixels of a box's frame */

/* The size of a picture of which no side is longer than the thumbnail's. */
static void
shrink(const struct lc__canvas *picture, uint32_t *width, uint32_t *height)
{
	const uint32_t longer = picture->width > picture->height ? picture->width :
	    picture->height;

	*width = picture->width;
	*height = picture->height;
	if (longer <= LC__THUMBNAIL_SIDE)
		return;
	*width = (uint32_t)((uint64_t)picture->width * LC__THUMBNAIL_SIDE / longer);
	*height = (uint32_t)((uint64_t)picture->height * LC__THUMBNAIL_SIDE / longer);
	*width += *width == 0;
	*height += *height == 0;
}

static const char *
class_name(const void *facts, int64_t class_id)
{
	return lc__facts_class(facts, class_id);
}

static lc_status
draw_small(const struct lc__facts *facts, const struct lc__canvas *picture,
    const struct lc__observation *observation, struct lc__thumbnail *out)
{
	const struct lc__class_names names = { class_name, facts };
	struct lc__canvas small;
	struct lc__area area = { 0 };
	lc_status status;

	shrink(picture, &out->width, &out->height);
	return_if_error(lc__canvas_new(out->width, out->height, LC__PAPER, &small));
	area.width = out->width;
	area.height = out->height;
	lc__canvas_blit(&small, area, picture);
	lc__boxes_draw_named(&small, area, observation->boxes, observation->n, LINE,
	    &names);
	status = lc__canvas_png(&small, &out->png);
	lc__canvas_free(&small);
	return status;
}

static lc_status
draw(const struct lc__facts *facts, const struct lc__image_form *form, const lc_sample *sample,
    const struct lc__observation *observation, struct lc__thumbnail *out)
{
	struct lc__canvas picture;
	struct lc__value_range range;
	lc_status status;

	return_if_error(lc__image_pixels(&sample->image, form, &picture, &range));
	status = draw_small(facts, &picture, observation, out);
	lc__canvas_free(&picture);
	return status;
}

lc_status
lc__thumbnail_add(struct lc__facts *facts,
    const struct lc__observation *observation, const lc_sample *sample)
{
	struct lc__thumbnail *out = &facts->thumbnails[facts->n_thumbnails];
	struct lc__image_form form;

	if (!lc__image_form_of(&sample->image, &form))
		return LC_OK;
	/* Counted first, so that what is half made is freed as well. */
	facts->n_thumbnails++;
	out->sample = observation->sample;
	out->boxes = observation->n;
	if (sample->id.size > 0) {
		out->id = malloc(sample->id.size);
		if (out->id == NULL)
			return lc__no_memory(NULL);
		memcpy(out->id, sample->id.data, sample->id.size);
		out->id_size = sample->id.size;
	}
	return draw(facts, &form, sample, observation, out);
}
