/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/survey.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/distributions.h"
#include "value/dtype.h"

/* ---- one sample -------------------------------------------------------------- */

#define LIGHT_PIXELS 65536

lc_status
lc__observer_init(struct lc__observer *observer, uint32_t max_boxes)
{
	observer->room = max_boxes;
	observer->boxes = calloc((size_t)max_boxes + 1, sizeof(*observer->boxes));
	observer->class_ids = calloc((size_t)max_boxes + 1, sizeof(*observer->class_ids));
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
	return_if_error(lc_sample_read_origin(sample, &out->origin, observer->class_ids,
	    observer->room));
	out->cache_id = sample->id;
	out->n = (uint32_t)lc__boxes_read(sample, observer->class_ids, observer->boxes,
	    observer->room);
	out->boxes = observer->boxes;
	return LC_OK;
}

void
lc__observe_light(const lc_tensor *image, struct lc__observation *out)
{
	const size_t channels = (size_t)image->shape[0];
	const size_t pixels = (size_t)(image->shape[1] * image->shape[2]);
	/* An odd step, so that successive rows are read at different columns. */
	const size_t step = pixels > LIGHT_PIXELS ? pixels / LIGHT_PIXELS | 1 : 1;
	const size_t size = lc_dtype_size(image->dtype);
	const double scale = image->dtype == LC_U8 ? 255
	    : image->dtype == LC_U16               ? 65535
						   : 1;
	double sum = 0, squares = 0, n = 0;

	if (image->ndim != 3 || image->nbytes == 0 || !lc__dtype_is_number(image->dtype))
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

/* ---- all samples ------------------------------------------------------------- */

/* Samples between two calls of the progress callback. */
#define STEP 256

bool
lc__spread(uint64_t i, uint64_t n, uint64_t most)
{
	return n <= most || i * most / n != (i + 1) * most / n;
}

static lc_status
look_at(lc_warehouse *warehouse, const struct lc__survey *survey,
    struct lc__observer *observer, struct lc__observation *observation,
    struct lc__distributions *seen)
{
	const uint64_t n = lc_warehouse_info_of(warehouse)->samples;
	lc_sample sample;
	lc_status status;

	return_if_error(lc_warehouse_sample(warehouse, observation->sample, &sample));
	status = lc__observe(observer, &sample, observation);
	observation->lit = false;
	if (status == LC_OK && lc__spread(observation->sample, n, survey->lit))
		lc__observe_light(&sample.image, observation);
	if (status == LC_OK)
		status = lc__distributions_add(seen, observation);
	if (status == LC_OK && survey->sample != NULL)
		status = survey->sample(survey->ctx, observation, &sample);
	lc_warehouse_release(warehouse, &sample);
	return status;
}

static lc_status
look_at_all(lc_warehouse *warehouse, const struct lc__survey *survey,
    struct lc__observer *observer, struct lc__distributions *seen)
{
	const lc_warehouse_info *info = lc_warehouse_info_of(warehouse);
	const lc_progress *progress = survey->progress;
	struct lc__observation observation = { 0 };
	lc_series_info series;

	for (uint32_t s = 0; s < info->series; s++) {
		return_if_error(lc_warehouse_series(warehouse, s, &series));
		observation.series = s;
		observation.width = series.width;
		observation.height = series.height;
		for (uint64_t i = 0; i < series.samples; i++) {
			const uint64_t done = series.first + i;
			observation.sample = done;
			if (progress != NULL && progress->step != NULL &&
			    done % STEP == 0 &&
			    progress->step(progress->ctx, done, info->samples) != 0)
				return lc__error(LC_CANCELLED, 0, "stopped");
			return_if_error(
			    look_at(warehouse, survey, observer, &observation, seen));
		}
	}
	return LC_OK;
}

lc_status
lc__survey_run(lc_warehouse *warehouse, const struct lc__survey *survey,
    struct lc__distributions *seen)
{
	struct lc__observer observer;
	lc_status status;

	return_if_error(
	    lc__observer_init(&observer, lc_warehouse_info_of(warehouse)->max_boxes));
	status = look_at_all(warehouse, survey, &observer, seen);
	lc__observer_free(&observer);
	return status;
}
