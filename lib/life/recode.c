/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/recode.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/codec.h"
#include "store/block.h"

/* The tensors of a record: as stored, decoded, coded anew. */
struct work {
	uint32_t count;
	lc_tensor *tensors;         /* decoded */
	const lc_tensor **pointers; /* to them */
	struct lc__block **blocks;  /* that hold those that were coded */
	struct lc__part *stored;
	struct lc__part *coded;
	struct lc__buf *bufs;       /* that hold those coded anew */
};

static void
free_work(struct work *w)
{
	for (uint32_t i = 0; i < w->count; i++) {
		lc__block_drop(w->blocks[i]);
		lc__buf_free(&w->bufs[i]);
	}
	free(w->tensors);
	free(w->pointers);
	free(w->blocks);
	free(w->stored);
	free(w->coded);
	free(w->bufs);
}

static lc_status
no_memory(void)
{
	return lc__error(LC_NO_MEMORY, 0, "compact: out of memory");
}

static lc_status
make_work(struct work *w, uint32_t count)
{
	w->tensors = calloc(count + 1, sizeof(*w->tensors));
	w->pointers = calloc(count + 1, sizeof(const lc_tensor *));
	w->blocks = calloc(count + 1, sizeof(struct lc__block *));
	w->stored = calloc(count + 1, sizeof(*w->stored));
	w->coded = calloc(count + 1, sizeof(*w->coded));
	w->bufs = calloc(count + 1, sizeof(*w->bufs));
	if (w->tensors == NULL || w->pointers == NULL || w->blocks == NULL ||
	    w->stored == NULL || w->coded == NULL || w->bufs == NULL)
		return no_memory();
	w->count = count;
	return LC_OK;
}

static lc_status
decode(struct work *w, uint32_t i)
{
	lc_tensor *tensor = &w->tensors[i];
	const struct lc__part *part = &w->stored[i];

	w->pointers[i] = tensor;
	if (part->codec == LC_CODEC_NONE)
		return LC_OK;
	w->blocks[i] = lc__block_new(tensor->nbytes);
	if (w->blocks[i] == NULL)
		return no_memory();
	if (!lc__codec_decode(part->codec, part->data, part->size, tensor,
	    w->blocks[i]->data))
		return lc__error(LC_CORRUPT, 0, "its coded bytes are damaged");
	tensor->data = w->blocks[i]->data;
	return LC_OK;
}

static lc_status
encode(struct work *w, uint32_t i, lc_codec codec, int level)
{
	if (codec == LC_CODEC_NONE)
		return LC_OK;
	return lc__part_code(&w->coded[i], codec, level, &w->tensors[i],
	    &w->bufs[i]);
}

static lc_status
write_record(const struct work *w, const struct lc__record *record,
    const struct lc__schema *schema, unsigned char **out, size_t *size)
{
	const struct lc__draft draft = {
		.id = record->id, .schema = schema, .tensors = w->pointers,
		.parts = w->coded, .plain = record->plain,
		.plain_size = record->plain_size
	};

	*out = NULL;
	*size = lc__record_size(&draft);
	if (*size == 0)
		return LC_OK;
	*out = malloc(*size);
	if (*out == NULL)
		return no_memory();
	lc__record_encode(*out, *size, &draft);
	lc__record_seal(*out, record->schema);
	return LC_OK;
}

lc_status
lc__recode(const struct lc__record *record, const struct lc__schema *schema,
    lc_codec codec, int level, unsigned char **out, size_t *size)
{
	struct work w = { 0 };
	lc_status status = make_work(&w, schema->tensors);

	if (status == LC_OK)
		lc__record_tensors(record, schema, 0, w.tensors, w.stored);
	for (uint32_t i = 0; i < w.count && status == LC_OK; i++) {
		status = decode(&w, i);
		if (status == LC_OK)
			status = encode(&w, i, codec, level);
	}
	if (status == LC_OK)
		status = write_record(&w, record, schema, out, size);
	free_work(&w);
	if (status == LC_CORRUPT)
		return lc__error_prefix("key %s", lc__quote_id(record->id.data,
		    record->id.size));
	return status;
}
