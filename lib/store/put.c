/* SPDX-License-Identifier: BSD-2-Clause */
/* put, put batch, delete, flush: value -> schema -> record -> pending -> commit. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/codec.h"
#include "store/admit.h"
#include "store/flush.h"
#include "store/inputs.h"
#include "store/own.h"
#include "store/put.h"
#include "value/tensor.h"
#include "value/value.h"

/* How a put's tensors are to be stored. */
struct coding {
	lc_codec codec;
	int level;
};

/* The caller's wish, or that of the handle, or the module's setting. */
static struct coding
choose_coding(const struct lc_cache *cache, lc_codec codec, int level)
{
	const struct lc__known_settings *settings =
	    &lc__module_of(cache->env)->settings;

	if (codec != LC_CODEC_DEFAULT)
		return (struct coding){ codec, level };
	if (cache->options.codec != LC_CODEC_DEFAULT)
		return (struct coding){ cache->options.codec,
			cache->options.level };
	return (struct coding){ atomic_load(&settings->codec),
		atomic_load(&settings->level) };
}

/* Tensors coded for one put. */
struct coded {
	uint32_t count;
	struct lc__part *parts; /* the data of those that are coded is malloc'ed */
};

static void
free_coded(struct coded *coded)
{
	for (uint32_t i = 0; i < coded->count; i++)
		free((void *)(uintptr_t)coded->parts[i].data);
	free(coded->parts);
}

/* Keep coded bytes. A buffer that is mostly empty, as that of a small tensor always
 * is, is used again: a value has up to 65,535 of them. */
static lc_status
keep_coded(struct lc__buf *buf, struct lc__part *part)
{
	void *data = buf->data;

	if (buf->size < buf->room / 4) {
		data = malloc(buf->size);
		if (data == NULL)
			return lc__no_memory(NULL);
		memcpy(data, buf->data, buf->size);
	} else {
		memset(buf, 0, sizeof(*buf));
	}
	part->data = data;
	return LC_OK;
}

/* However small it is coded, a larger one is not read (LC__RAW_MAX). */
static lc_status
check_raw_size(const lc_tensor *tensor)
{
	return tensor->nbytes <= LC__RAW_MAX ? LC_OK : lc__error(LC_INVALID, 0,
	    "a tensor of %zu bytes is above the limit of 16 GiB", tensor->nbytes);
}

/* Code one tensor; its part's data stays NULL if it is stored as it is. */
static lc_status
code_tensor(const lc_tensor *tensor, const struct coding *coding,
    struct lc__buf *buf, struct lc__part *part)
{
	return_if_error(check_raw_size(tensor));
	return_if_error(lc__part_code(part, coding->codec, coding->level, tensor,
	    buf));
	part->data = NULL;
	return part->codec == LC_CODEC_NONE ? LC_OK : keep_coded(buf, part);
}

static lc_status
code_tensors(const struct lc__draft *draft, const struct coding *coding,
    struct coded *out)
{
	struct lc__buf buf = { 0 };
	lc_status status = LC_OK;

	out->parts = calloc(draft->schema->tensors, sizeof(*out->parts));
	if (out->parts == NULL)
		return lc__no_memory(NULL);
	out->count = draft->schema->tensors;
	for (uint32_t i = 0; i < out->count && status == LC_OK; i++)
		status = code_tensor(draft->tensors[i], coding, &buf,
		    &out->parts[i]);
	lc__buf_free(&buf);
	return status;
}

/* Where an encoded record goes. */
struct sink {
	struct coding coding;     /* how it is stored */
	struct lc__peeked *block; /* if not NULL it is not, but comes as it is into this */
	lc__put_fn *fn;           /* if not NULL it is given to this, with ctx */
	void *ctx;
};

/* To the pending writes, or where this rank keeps what it may not write. */
static lc_status
store(struct lc_cache *cache, const struct lc__draft *draft,
    struct lc__known *known, const struct sink *sink)
{
	if (sink->fn != NULL)
		return sink->fn(sink->ctx, draft, known);
	return cache->writes ? lc__flush_add(cache, draft, known) :
	    lc__own_keep(cache, draft, known);
}

static lc_status
store_coded(struct lc_cache *cache, struct lc__draft *draft,
    struct lc__known *known, const struct sink *sink)
{
	struct coded coded = { 0 };
	lc_status status;

	/* Memory holds what is ready to be read. */
	if (sink->coding.codec == LC_CODEC_NONE || draft->schema->tensors == 0 ||
	    !cache->writes)
		return store(cache, draft, known, sink);
	status = code_tensors(draft, &sink->coding, &coded);
	draft->parts = coded.parts;
	if (status == LC_OK)
		status = store(cache, draft, known, sink);
	free_coded(&coded);
	return status;
}

static lc_status
pour(struct lc_cache *cache, struct lc__draft *draft, struct lc__known *known,
    const struct sink *sink)
{
	return sink->block != NULL ? lc__own_encode(draft, known, sink->block) :
	    store_coded(cache, draft, known, sink);
}

static lc_status
schema_of_tensor(struct lc_cache *cache, const lc_tensor *tensor,
    struct lc__known **out)
{
	struct lc__schema *schema;

	*out = lc__schemas_of_tensor(lc__module_of(cache->env)->schemas,
	    tensor->dtype, tensor->ndim);
	if (*out != NULL)
		return lc__admit(cache, (*out)->schema);
	return_if_error(lc__schema_of_tensor(tensor->dtype, tensor->ndim,
	    &schema));
	return lc__admit_new(cache, schema, out);
}

static lc_status
put_tensor(struct lc_cache *cache, const void *id, size_t id_size,
    const lc_tensor *tensor, const struct sink *sink)
{
	struct lc__draft draft = { .id = { id, id_size }, .tensors = &tensor };
	struct lc__known *known;

	if (tensor == NULL)
		return lc__error(LC_INVALID, 0, "no tensor");
	return_if_error(lc__tensor_check(tensor));
	return_if_error(schema_of_tensor(cache, tensor, &known));
	draft.schema = known->schema;
	return pour(cache, &draft, known, sink);
}

/* A value of several parts; schema is the caller's. */
static lc_status
put_parts(struct lc_cache *cache, struct lc__draft *draft,
    const lc_value *value, struct lc__known *known, const struct sink *sink)
{
	const lc_tensor **tensors =
	    calloc(known->schema->tensors + 1, sizeof(*tensors));
	struct lc__buf plain = { 0 };
	lc_status status;

	if (tensors == NULL)
		return lc__no_memory(NULL);
	status = lc__value_leaves(value, tensors, &plain);
	if (status == LC_OK) {
		draft->schema = known->schema;
		draft->tensors = tensors;
		draft->plain = plain.data;
		draft->plain_size = plain.size;
		status = pour(cache, draft, known, sink);
	}
	lc__buf_free(&plain);
	free(tensors);
	return status;
}

static lc_status
put_value(struct lc_cache *cache, const void *id, size_t id_size,
    const lc_value *value, const struct sink *sink)
{
	struct lc__draft draft = { .id = { id, id_size } };
	struct lc__schema *schema;
	struct lc__known *known;
	lc_tensor tensor;

	return_if_error(lc_value_check(value));
	if (lc_value_kind(value) == LC_TENSOR) {
		return_if_error(lc_value_as_tensor(value, &tensor));
		return put_tensor(cache, id, id_size, &tensor, sink);
	}
	return_if_error(lc__schema_infer(value, &schema));
	return_if_error(lc__admit_new(cache, schema, &known));
	return put_parts(cache, &draft, value, known, sink);
}

/* What is wrong with the item is told with its key; a commit that failed earlier
 * has nothing to do with it. */
static lc_status
name_item(lc_status status, const void *id, size_t id_size)
{
	if (status == LC_INVALID || status == LC_SCHEMA)
		return lc__error_prefix("put: %s", lc__quote_id(id, id_size));
	return status;
}

static lc_status
prepare(struct lc_cache *cache, const void *id, size_t id_size,
    lc_codec codec, int level, struct sink *out)
{
	if (cache->writes)
		return_if_error(lc__check_writable(cache, "put"));
	return_if_error(lc__check_id("put", id, id_size));
	return_if_error(lc__codec_check("put", codec, level));
	return_if_error(lc__check_plain(cache, "put"));
	*out = (struct sink){ .coding = choose_coding(cache, codec, level) };
	return LC_OK;
}

lc_status
lc_put(lc_cache *cache, const void *id, size_t id_size,
    const lc_tensor *tensor)
{
	struct sink sink;

	return_if_error(prepare(cache, id, id_size, LC_CODEC_DEFAULT, 0, &sink));
	return name_item(put_tensor(cache, id, id_size, tensor, &sink), id,
	    id_size);
}

lc_status
lc_put_coded(lc_cache *cache, const void *id, size_t id_size,
    const lc_value *value, lc_codec codec, int level)
{
	struct sink sink;

	return_if_error(prepare(cache, id, id_size, codec, level, &sink));
	return name_item(put_value(cache, id, id_size, value, &sink), id, id_size);
}

lc_status
lc_put_value(lc_cache *cache, const void *id, size_t id_size,
    const lc_value *value)
{
	return lc_put_coded(cache, id, id_size, value, LC_CODEC_DEFAULT, 0);
}

lc_status
lc_put_batch(lc_cache *cache, size_t n, const lc_id *ids,
    const lc_tensor *tensors, lc_status *statuses)
{
	lc_error first = { .status = LC_OK };

	for (size_t i = 0; i < n; i++) {
		const lc_status status =
		    lc_put(cache, ids[i].data, ids[i].size, &tensors[i]);
		if (statuses != NULL)
			statuses[i] = status;
		if (status != LC_OK && first.status == LC_OK)
			first = *lc_last_error();
	}
	return first.status == LC_OK ? LC_OK : lc__error_raise(&first);
}

/* ---- elsewhere ------------------------------------------------------------ */

lc_status
lc__put_tensor_to(struct lc_cache *cache, const lc_id *id,
    const lc_tensor *tensor, lc__put_fn *fn, void *ctx)
{
	const struct sink sink = {
		.coding = choose_coding(cache, LC_CODEC_DEFAULT, 0),
		.fn = fn, .ctx = ctx
	};

	return name_item(put_tensor(cache, id->data, id->size, tensor, &sink),
	    id->data, id->size);
}

lc_status
lc__put_value_to(struct lc_cache *cache, const lc_id *id,
    const lc_value *value, lc__put_fn *fn, void *ctx)
{
	const struct sink sink = {
		.coding = choose_coding(cache, LC_CODEC_DEFAULT, 0),
		.fn = fn, .ctx = ctx
	};

	return name_item(put_value(cache, id->data, id->size, value, &sink),
	    id->data, id->size);
}

/* ---- in two steps --------------------------------------------------------- */

lc_status
lc__put_encode_tensor(struct lc_cache *cache, const lc_id *id,
    const lc_tensor *tensor, struct lc__peeked *out)
{
	const struct sink sink = { .block = out };

	return put_tensor(cache, id->data, id->size, tensor, &sink);
}

lc_status
lc__put_encode_value(struct lc_cache *cache, const lc_id *id,
    const lc_value *value, struct lc__peeked *out)
{
	const struct sink sink = { .block = out };

	return put_value(cache, id->data, id->size, value, &sink);
}

/* Code the tensors of an encoded record and store it. */
static lc_status
recode(struct lc_cache *cache, const struct lc__record *record,
    struct lc__known *known, const struct sink *sink)
{
	const uint32_t count = known->schema->tensors;
	lc_tensor *tensors = calloc(count, sizeof(*tensors));
	const lc_tensor **list = calloc(count, sizeof(*list));
	struct lc__part *parts = calloc(count, sizeof(*parts));
	struct lc__draft draft = {
		.id = record->id, .schema = known->schema, .tensors = list,
		.plain = record->plain, .plain_size = record->plain_size
	};
	lc_status status;

	if (tensors == NULL || list == NULL || parts == NULL) {
		status = lc__no_memory("put");
	} else {
		lc__record_tensors(record, known->schema, 0, tensors, parts);
		for (uint32_t i = 0; i < count; i++)
			list[i] = &tensors[i];
		status = store_coded(cache, &draft, known, sink);
	}
	free(parts);
	free(list);
	free(tensors);
	return status;
}

lc_status
lc__put_encoded(struct lc_cache *cache, const struct lc__peeked *encoded)
{
	const struct sink sink = {
		.coding = choose_coding(cache, LC_CODEC_DEFAULT, 0)
	};
	struct lc__record record;

	/* Our own bytes: they always parse. */
	(void)lc__record_parse(encoded->block->data, encoded->block->size,
	    &record);
	if (!cache->writes) {
		lc__own_keep_block(cache, &record.id, encoded->block,
		    encoded->known);
		return LC_OK;
	}
	if (sink.coding.codec == LC_CODEC_NONE || encoded->known->schema->tensors == 0)
		return lc__flush_add_record(cache, &record, encoded->known);
	return recode(cache, &record, encoded->known, &sink);
}

/* ---- delete, flush --------------------------------------------------------- */

lc_status
lc_delete(lc_cache *cache, const void *id, size_t id_size)
{
	const struct lc__draft draft = { .id = { id, id_size } };

	if (cache->writes)
		return_if_error(lc__check_writable(cache, "delete"));
	return_if_error(lc__check_id("delete", id, id_size));
	return_if_error(lc__check_plain(cache, "delete"));
	return_if_error(lc_contains(cache, id, id_size));
	if (cache->writes)
		return lc__flush_add(cache, &draft, NULL);
	lc__own_forget(cache, &draft.id);
	return LC_OK;
}

lc_status
lc_flush(lc_cache *cache)
{
	return lc__flush_all(cache);
}
