/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/observation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "value/dtype.h"

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
	return lc__no_memory(NULL);
}

void
lc__observer_free(struct lc__observer *observer)
{
	free(observer->boxes);
	free(observer->class_ids);
	memset(observer, 0, sizeof(*observer));
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
	out->n = (uint32_t)lc__boxes_read(sample, observer->class_ids,
	    observer->boxes, observer->room);
	out->boxes = observer->boxes;
	return LC_OK;
}

void
lc__observe_light(const lc_tensor *image, struct lc__observation *out)
{
	const size_t channels = (size_t)image->shape[0];
	const size_t pixels = (size_t)(image->shape[1] * image->shape[2]);
	/* Odd, so that not the same columns are met in every row. */
	const size_t step = pixels > LIGHT_PIXELS ? pixels / LIGHT_PIXELS | 1 : 1;
	const size_t size = lc_dtype_size(image->dtype);
	const double scale = image->dtype == LC_U8 ? 255 :
	    image->dtype == LC_U16 ? 65535 : 1;
	double sum = 0, squares = 0, n = 0;

	if (image->ndim != 3 || image->nbytes == 0)
		return;
	for (size_t i = 0; i < pixels; i += step, n++) {
		double grey = 0;
		for (size_t c = 0; c < channels; c++)
			grey += lc__element_real(image->dtype,
			    (const char *)image->data + (c * pixels + i) * size);
		grey /= scale * (double)channels;
		sum += grey;
		squares += grey * grey;
	}
	out->brightness = sum / n;
	out->contrast = sqrt(fmax(squares / n - sum / n * (sum / n), 0));
	out->lit = true;
}
