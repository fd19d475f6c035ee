/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/survey.h"

#include "base/error.h"

/* The progress callback is asked once in so many samples. */
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
tell(const lc_progress *progress, uint64_t done, uint64_t total)
{
	if (progress == NULL || progress->step == NULL || done % STEP != 0 ||
	    progress->step(progress->ctx, done, total) == 0)
		return LC_OK;
	return lc__error(LC_CANCELLED, 0, "stopped");
}

static lc_status
look_at_all(lc_warehouse *warehouse, const struct lc__survey *survey,
    struct lc__observer *observer, struct lc__distributions *seen)
{
	const lc_warehouse_info *info = lc_warehouse_info_of(warehouse);
	struct lc__observation observation = { 0 };
	lc_series_info series;

	for (uint32_t s = 0; s < info->series; s++) {
		return_if_error(lc_warehouse_series(warehouse, s, &series));
		observation.series = s;
		observation.width = series.width;
		observation.height = series.height;
		for (uint64_t i = 0; i < series.samples; i++) {
			observation.sample = series.first + i;
			return_if_error(tell(survey->progress,
			    observation.sample, info->samples));
			return_if_error(look_at(warehouse, survey, observer,
			    &observation, seen));
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

	return_if_error(lc__observer_init(&observer,
	    lc_warehouse_info_of(warehouse)->max_boxes));
	status = look_at_all(warehouse, survey, &observer, seen);
	lc__observer_free(&observer);
	return status;
}
