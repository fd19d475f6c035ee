/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/twh1_sample.h"

#include <string.h>

#include "base/error.h"
#include "format/twh1_row.h"

lc_status
lc__twh1_form(const struct lc__twh1 *shard, lc_sample *out)
{
	const lc_shard_info *info = &shard->info;
	const uint64_t image[3] = { info->channels, info->height, info->width };
	const uint64_t boxes[2] = { info->max_boxes, 4 };

	memset(out, 0, sizeof(*out));
	return_if_error(lc_tensor_init(&out->image, info->dtype, 3, image, NULL));
	return_if_error(lc_tensor_init(&out->boxes, info->boxes_dtype, 2, boxes, NULL));
	return lc_tensor_init(&out->mask, info->boxes_dtype, 1, boxes, NULL);
}

/* Sample i of a region; one without bytes has no address. */
static const void *
address(const struct lc__twh1 *shard, uint64_t offset, uint64_t each, uint64_t i)
{
	return each > 0 ? shard->file + offset + i * each : NULL;
}

void
lc__twh1_place(const struct lc__twh1 *shard, uint64_t i, lc_sample *sample)
{
	const lc_shard_info *info = &shard->info;

	sample->image.data = address(shard, info->image_offset, shard->sizes.image, i);
	sample->boxes.data = address(shard, info->boxes_offset, shard->sizes.boxes, i);
	sample->mask.data = address(shard, info->mask_offset, shard->sizes.mask, i);
}

/* The shape before it became CHW, if it becomes this shard's CHW again. */
static bool
restore_shape(const lc_shard_info *info, const struct lc__twh1_row *row, lc_tensor *image)
{
	const void *data = image->data;
	uint32_t chw[3];

	return lc_tensor_init(image, info->dtype, row->ndim, row->shape, data) == LC_OK &&
	    lc__twh1_chw(image, chw) == LC_OK && chw[0] == info->channels &&
	    chw[1] == info->height && chw[2] == info->width;
}

bool
lc__twh1_read_row(const lc_shard_info *info, lc_id row, lc_sample *sample)
{
	struct lc__twh1_row said;

	if (!lc__twh1_row_decode(row, &said) ||
	    (said.has_shape && !restore_shape(info, &said, &sample->image)))
		return false;
	sample->meta = row;
	sample->id = said.cache_id;
	return true;
}

lc_status
lc__twh1_sample(const struct lc__twh1 *shard, const char *name, uint64_t i,
    lc_sample *out)
{
	lc_sample sample;
	lc_id row;

	return_if_error(lc__twh1_form(shard, &sample));
	lc__twh1_place(shard, i, &sample);
	if (shard->rows != NULL &&
	    (!lc__twh1_row_at(shard, i, &row) ||
		!lc__twh1_read_row(&shard->info, row, &sample)))
		return lc__error(LC_CORRUPT, 0, "%s: metadata of sample %llu is damaged",
		    name, (unsigned long long)i);
	*out = sample;
	return LC_OK;
}
