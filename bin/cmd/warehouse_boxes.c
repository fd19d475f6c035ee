/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/warehouse_boxes.h"

#include <stdio.h>

#include "ui/interrupt.h"
#include "value/element.h"

#define NO_BOX UINT64_MAX
#define MOST_FINDINGS 20 /* of one shard; more say no more */

/* Element @p i of a tensor. */
static double
at(const lc_tensor *tensor, uint64_t i)
{
	return lc__element_real(tensor->dtype, (const char *)tensor->data +
	    i * lc_dtype_size(tensor->dtype));
}

/* Ones, then zeros: how many ones, or -1. */
static int64_t
count_mask(const lc_tensor *mask)
{
	const uint64_t n = mask->shape[0];
	uint64_t ones = 0;

	while (ones < n && at(mask, ones) == 1)
		ones++;
	for (uint64_t i = ones; i < n; i++)
		if (at(mask, i) != 0)
			return -1;
	return (int64_t)ones;
}

/* NaN fails each of the comparisons. */
static const char *
check_box(const lc_tensor *boxes, uint64_t i)
{
	const double x0 = at(boxes, 4 * i), y0 = at(boxes, 4 * i + 1);
	const double x1 = at(boxes, 4 * i + 2), y1 = at(boxes, 4 * i + 3);

	if (!(x0 >= 0 && y0 >= 0 && x1 <= 1 && y1 <= 1))
		return "is not within 0 to 1";
	return x0 < x1 && y0 < y1 ? NULL : "is empty";
}

static const char *
check_padding(const lc_tensor *boxes, uint64_t i)
{
	for (uint64_t k = 0; k < 4; k++)
		if (at(boxes, 4 * i + k) != 0)
			return "is not 0 where the mask is";
	return NULL;
}

/* What is wrong with a sample, and which box it is; NO_BOX for its mask. */
static const char *
check_sample(const lc_sample *sample, uint64_t *box, uint64_t *ones)
{
	const int64_t n = count_mask(&sample->mask);
	const char *wrong = NULL;

	if (n < 0) {
		*box = NO_BOX;
		return "its mask is not ones and then zeros";
	}
	for (*box = 0; *box < sample->mask.shape[0]; ++*box) {
		wrong = *box < (uint64_t)n ? check_box(&sample->boxes, *box) :
		    check_padding(&sample->boxes, *box);
		if (wrong != NULL)
			return wrong;
	}
	*ones += (uint64_t)n;
	return NULL;
}

static void
tell(const lc_progress *progress, const char *path, uint64_t sample, uint64_t box,
    const char *wrong)
{
	char line[1000];

	if (box == NO_BOX)
		snprintf(line, sizeof(line), "%s: sample %llu: %s", path,
		    (unsigned long long)sample, wrong);
	else
		snprintf(line, sizeof(line), "%s: sample %llu: box %llu %s", path,
		    (unsigned long long)sample, (unsigned long long)box, wrong);
	progress->damage(progress->ctx, line);
}

lc_status
warehouse_boxes_check(const lc_shard *shard, const char *path,
    const lc_progress *progress, uint64_t *boxes)
{
	const lc_shard_info *info = lc_shard_info_of(shard);
	unsigned findings = 0;
	lc_sample sample;

	if (info->max_boxes == 0)
		return LC_OK;
	for (uint64_t i = 0; i < info->samples && findings < MOST_FINDINGS; i++) {
		uint64_t box;
		const char *wrong;

		if (interrupt_pending())
			return LC_CANCELLED;
		if (lc_shard_sample(shard, i, &sample) != LC_OK)
			continue; /* told of with the rows */
		wrong = check_sample(&sample, &box, boxes);
		if (wrong != NULL) {
			findings++;
			tell(progress, path, i, box, wrong);
		}
	}
	return LC_OK;
}
