/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/observation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/numbers.h"

#define LIGHT_PIXELS 65536

lc_status
lc__observer_init(struct lc__observer *observer, uint32_t max_boxes)
{
	observer->room = max_boxes;
	observer->boxes = calloc((size_t)max_boxes + 1, sizeof(*observer->boxes));
	observer->class_ids = calloc((size_t)max_boxes + 1,
	    sizeof(*observer->class_ids));
	if (observer->boxes != NULL && observer->class_ids != NULL)
		return LC_OK;
	lc__observer_free(observer);
	return lc__error(LC_NO_MEMORY, 0, "out of memory");
}

void
lc__observer_free(struct lc__observer *observer)
{
	free(observer->boxes);
	free(observer->class_ids);
	memset(observer, 0, sizeof(*observer));
}

/* The boxes that the mask marks, to the front. */
static uint32_t
take_boxes(struct lc__observer *observer, const lc_tensor *boxes,
    const lc_tensor *mask)
{
	const size_t size = lc_dtype_size(boxes->dtype);
	size_t rows = size > 0 ? boxes->nbytes / size / 4 : 0;
	uint32_t n = 0;

	if (!lc__number_known(boxes->dtype) || !lc__number_known(mask->dtype))
		return 0;
	if (rows > observer->room)
		rows = observer->room;
	if (rows > mask->nbytes / lc_dtype_size(mask->dtype))
		rows = mask->nbytes / lc_dtype_size(mask->dtype);
	for (size_t i = 0; i < rows; i++) {
		if (!(lc__number(mask->dtype, mask->data, i) > 0))
			continue;
		for (size_t k = 0; k < 4; k++)
			observer->boxes[n][k] = lc__number(boxes->dtype,
			    boxes->data, 4 * i + k);
		n++;
	}
	return n;
}

lc_status
lc__observe(struct lc__observer *observer, const lc_sample *sample,
    struct lc__observation *out)
{
	for (size_t i = 0; i < observer->room; i++)
		observer->class_ids[i] = -1;
	return_if_error(lc_sample_read_origin(sample, &out->origin,
	    observer->class_ids, observer->room));
	out->cache_id = sample->id;
	out->n = take_boxes(observer, &sample->boxes, &sample->mask);
	out->boxes = (const double (*)[4])observer->boxes;
	out->class_ids = observer->class_ids;
	return LC_OK;
}

void
lc__observe_light(const lc_tensor *image, struct lc__observation *out)
{
	const size_t channels = (size_t)image->shape[0];
	const size_t pixels = (size_t)(image->shape[1] * image->shape[2]);
	/* Odd, so that not the same columns are met in every row. */
	const size_t step = pixels > LIGHT_PIXELS ? pixels / LIGHT_PIXELS | 1 : 1;
	const double scale = image->dtype == LC_U8 ? 255 : 1;
	double sum = 0, squares = 0, n = 0;

	if (image->ndim != 3 || !lc__number_known(image->dtype) || pixels == 0 ||
	    channels == 0)
		return;
	for (size_t i = 0; i < pixels; i += step, n++) {
		double grey = 0;
		for (size_t c = 0; c < channels; c++)
			grey += lc__number(image->dtype, image->data,
			    c * pixels + i);
		grey /= scale * (double)channels;
		sum += grey;
		squares += grey * grey;
	}
	out->brightness = sum / n;
	out->contrast = sqrt(fmax(squares / n - sum / n * (sum / n), 0));
	out->lit = true;
}
