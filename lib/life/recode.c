/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/recode.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/codec.h"
#include "life/decoded.h"

/* The tensors of a record, decoded and coded anew. */
struct work {
	struct lc__decoded decoded;
	struct lc__part *coded;
	struct lc__buf *bufs;       /* that hold those coded anew */
};

static void
free_work(struct work *w)
{
	for (uint32_t i = 0; i < w->decoded.count && w->bufs != NULL; i++)
		lc__buf_free(&w->bufs[i]);
	lc__decoded_free(&w->decoded);
	free(w->coded);
	free(w->bufs);
}

static lc_status
make_work(struct work *w, uint32_t count)
{
	w->coded = calloc((size_t)count + 1, sizeof(*w->coded));
	w->bufs = calloc((size_t)count + 1, sizeof(*w->bufs));
	return w->coded == NULL || w->bufs == NULL ? lc__no_memory("compact") : LC_OK;
}

static lc_status
encode(struct work *w, uint32_t i, lc_codec codec, int level)
{
	if (codec == LC_CODEC_NONE)
		return LC_OK;
	return lc__part_code(&w->coded[i], codec, level, &w->decoded.tensors[i],
	    &w->bufs[i]);
}

static lc_status
write_record(const struct work *w, const struct lc__record *record,
    const struct lc__schema *schema, unsigned char **out, size_t *size)
{
	const struct lc__draft draft = {
		.id = record->id, .schema = schema,
		.tensors = w->decoded.pointers,
		.parts = w->coded, .plain = record->plain,
		.plain_size = record->plain_size
	};

	*out = NULL;
	*size = lc__record_size(&draft);
	if (*size == 0)
		return LC_OK;
	*out = malloc(*size);
	if (*out == NULL)
		return lc__no_memory("compact");
	lc__record_encode(*out, *size, &draft);
	lc__record_seal(*out, record->schema);
	return LC_OK;
}

lc_status
lc__recode(const struct lc__record *record, const struct lc__schema *schema,
    lc_codec codec, int level, unsigned char **out, size_t *size)
{
	struct work w = { .coded = NULL };
	lc_status status = lc__decode(record, schema, &w.decoded);

	if (status == LC_OK)
		status = make_work(&w, w.decoded.count);
	for (uint32_t i = 0; i < w.decoded.count && status == LC_OK; i++)
		status = encode(&w, i, codec, level);
	if (status == LC_OK)
		status = write_record(&w, record, schema, out, size);
	free_work(&w);
	return status;
}
