/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/decoded.h"

#include <stdlib.h>

#include "base/error.h"
#include "codec/codec.h"
#include "store/record.h"

void
lc__decoded_free(struct lc__decoded *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		lc__block_drop(d->blocks[i]);
	free(d->tensors);
	free(d->pointers);
	free(d->blocks);
	free(d->stored);
}

lc_status
lc__decode(const struct lc__record *record, const struct lc__schema *schema,
    struct lc__decoded *d)
{
	const size_t n = schema->tensors;
	lc_status status = LC_OK;

	*d = (struct lc__decoded){
		.tensors = calloc(n + 1, sizeof(*d->tensors)),
		.pointers = calloc(n + 1, sizeof(const lc_tensor *)),
		.blocks = calloc(n + 1, sizeof(struct lc__block *)),
		.stored = calloc(n + 1, sizeof(*d->stored)),
	};
	if (d->tensors == NULL || d->pointers == NULL || d->blocks == NULL ||
	    d->stored == NULL)
		return lc__no_memory("decode");
	d->count = schema->tensors;
	lc__record_tensors(record, schema, 0, d->tensors, d->stored);
	for (uint32_t i = 0; i < n && status == LC_OK; i++) {
		const struct lc__record_part *part = &d->stored[i];
		lc_tensor *tensor = &d->tensors[i];

		d->pointers[i] = tensor;
		if (part->codec == LC_CODEC_NONE)
			continue;
		d->blocks[i] = lc__block_new(tensor->nbytes);
		if (d->blocks[i] == NULL)
			status = lc__no_memory("decode");
		else if (!lc__codec_decode(part->codec, part->data, part->size, tensor,
			     d->blocks[i]->data))
			status = lc__error(LC_CORRUPT, 0, "its coded bytes are damaged");
		else
			tensor->data = d->blocks[i]->data;
	}
	if (status == LC_CORRUPT)
		return lc__error_prefix("key %s",
		    lc__quote_id(record->id.data, record->id.size));
	return status;
}

lc_status
lc__digest_stored(const struct lc__record *record, const struct lc__schema *schema,
    uint64_t *out)
{
	struct lc__decoded decoded;
	const lc_status status = lc__decode(record, schema, &decoded);
	const struct lc__draft draft = {
		.id = record->id,
		.schema = schema,
		.tensors = decoded.pointers,
		.plain = record->plain,
		.plain_size = record->plain_size,
	};

	if (status == LC_OK)
		*out = lc__digest(&draft);
	lc__decoded_free(&decoded);
	return status;
}
