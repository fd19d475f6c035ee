/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a sample came from, by its metadata row. */
#include <string.h>

#include "base/error.h"
#include "format/twh1_row.h"

/* Elements of a mask that are not 0, of any dtype. */
static uint64_t
count_marked(const lc_tensor *mask)
{
	const size_t size = lc_dtype_size(mask->dtype);
	const unsigned char *p = mask->data;
	uint64_t marked = 0;

	for (size_t at = 0; p != NULL && at < mask->nbytes; at += size) {
		unsigned char bits = 0;
		for (size_t k = 0; k < size; k++)
			bits |= p[at + k];
		marked += bits != 0;
	}
	return marked;
}

lc_status
lc_sample_read_origin(const lc_sample *sample, lc_sample_origin *out,
    int64_t *class_ids, size_t room)
{
	lc_sample_origin origin = { .has_frame_id = 0 };
	bool has_total = false;

	if (sample->meta.size > 0 &&
	    !lc__twh1_row_origin(sample->meta, &origin, &has_total, class_ids,
	        room))
		return lc__error(LC_CORRUPT, 0,
		    "the metadata of sample %s is damaged",
		    lc__quote_id(sample->id.data, sample->id.size));
	/* A row says it only where it is not what was written. */
	if (sample->meta.size > 0 && !has_total)
		origin.boxes_total = count_marked(&sample->mask);
	*out = origin;
	return LC_OK;
}
