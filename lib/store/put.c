/* SPDX-License-Identifier: BSD-2-Clause */
/* put, delete: value -> schema -> coded tensors -> pending write. */
#include "store/put.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "codec/codec.h"
#include "store/change.h"
#include "store/lookup.h"
#include "value/tensor.h"
#include "value/value_record.h"

/* ---- the schema ----------------------------------------------------------- */

#define SCHEMA_TEXT 400

/* Compare with the first structure of a snapshot; LC_NOT_FOUND if it has none. */
static lc_status
compare_first(struct lc__snapshot *snapshot, const struct lc__schema *schema)
{
	char theirs[SCHEMA_TEXT], ours[SCHEMA_TEXT];
	struct lc__known *first;

	if (snapshot->state.next_schema == 0)
		return LC_NOT_FOUND;
	return_if_error(lc__snapshot_schema(snapshot, 0, &first));
	if (lc__schema_alike(first->schema, schema))
		return LC_OK;
	lc__schema_describe(first->schema, theirs, sizeof(theirs));
	lc__schema_describe(schema, ours, sizeof(ours));
	return lc__error(LC_SCHEMA, 0, "the module is strict and holds %s, not %s",
	    theirs, ours);
}

/* The body of a change: make this structure the first one, unless there is a first one
 * now. */
static lc_status
store_first(struct lc__change *change, void *ctx)
{
	const struct lc__schema *schema = ctx;
	struct lc__snapshot *s = &change->snapshot;
	const lc_status status = compare_first(s, schema);

	if (status != LC_NOT_FOUND)
		return status;
	return lc__schema_row_put(s->txn, s->state.next_schema++, schema);
}

static lc_status
check_strictly(struct lc_cache *cache, const struct lc__schema *schema)
{
	struct lc__snapshot *snapshot;
	lc_status status;

	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	status = compare_first(snapshot, schema);
	lc__snapshot_give(snapshot, 0);
	if (status != LC_NOT_FOUND)
		return status;
	if (!lc__cache_commits(cache))
		return LC_OK;
	return lc__change_run(cache->env, cache->options.durability, store_first,
	    (void *)(uintptr_t)schema);
}

/* Read all structures of the module: the one that seemed to exceed the limit may be among
 * them. Damaged ones do not matter here. */
static lc_status
learn_schemas(struct lc_cache *cache)
{
	struct lc__snapshot *snapshot;
	struct lc__known *known;
	lc_status status = LC_OK;

	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	for (uint32_t id = 0; id < snapshot->state.next_schema &&
	     (status == LC_OK || status == LC_CORRUPT);
	     id++)
		status = lc__snapshot_schema(snapshot, id, &known);
	lc__snapshot_give(snapshot, 0);
	return status == LC_CORRUPT ? LC_OK : status;
}

lc_status
lc__check_schema(struct lc_cache *cache, const struct lc__schema *schema)
{
	struct lc__module *module = lc__module_of(cache->env);

	if (atomic_load(&module->settings.policy) == LC_STRICT)
		return_if_error(check_strictly(cache, schema));
	if (lc__schemas_refuses(module->schemas, schema))
		return_if_error(learn_schemas(cache));
	return LC_OK;
}

/* Check a structure and keep it. It is freed if it is refused, or if an equal one is kept
 * already. LC_SCHEMA also if the module has too many. */
static lc_status
keep_schema(struct lc_cache *cache, struct lc__schema *schema, struct lc__known **out)
{
	const lc_status status = lc__check_schema(cache, schema);

	if (status != LC_OK) {
		lc__schema_free(schema);
		return status;
	}
	return lc__schemas_intern(lc__module_of(cache->env)->schemas, schema, out);
}

lc_status
lc__put_schema(struct lc_cache *cache, uint32_t id, const struct lc__schema *schema,
    struct lc__known_by_id *known, struct lc__known **out)
{
	const size_t before = known->n;
	struct lc__schema *same;

	return_if_error(
	    lc__array_reserve(&known->all, &known->n, (size_t)id + 1, "schemas"));
	memset(known->all + before, 0, (known->n - before) * sizeof(*known->all));
	if (known->all[id] == NULL) {
		return_if_error(lc__schema_decode(schema->bytes, schema->size, &same));
		return_if_error(keep_schema(cache, same, &known->all[id]));
	}
	*out = known->all[id];
	return LC_OK;
}

/* ---- from values to drafts ------------------------------------------------ */

/* Check a tensor and pass its draft to @p emit. */
static lc_status
put_tensor(struct lc_cache *cache, const lc_id *id, const lc_tensor *tensor,
    lc__put_fn *emit, void *ctx)
{
	struct lc__draft draft = { .id = *id, .tensors = &tensor };
	struct lc__schema *schema;
	struct lc__known *known;

	if (tensor == NULL)
		return lc__error(LC_INVALID, 0, "no tensor");
	return_if_error(lc__tensor_check(tensor));
	known = lc__schemas_of_tensor(lc__module_of(cache->env)->schemas, tensor->dtype,
	    tensor->ndim);
	if (known != NULL) {
		return_if_error(lc__check_schema(cache, known->schema));
	} else {
		return_if_error(
		    lc__schema_of_tensor(tensor->dtype, tensor->ndim, &schema));
		return_if_error(keep_schema(cache, schema, &known));
	}
	draft.schema = known->schema;
	return emit(ctx, &draft, known);
}

/* Check a value and pass its draft to @p emit. */
static lc_status
put_value(struct lc_cache *cache, const lc_id *id, const lc_value *value,
    lc__put_fn *emit, void *ctx)
{
	struct lc__draft draft = { .id = *id };
	struct lc__buf plain = { 0 };
	const lc_tensor **tensors;
	struct lc__schema *schema;
	struct lc__known *known;
	lc_tensor tensor;
	lc_status status;

	return_if_error(lc_value_check(value));
	if (lc_value_kind(value) == LC_TENSOR) {
		return_if_error(lc_value_as_tensor(value, &tensor));
		return put_tensor(cache, id, &tensor, emit, ctx);
	}
	known = lc__schemas_of_value(lc__module_of(cache->env)->schemas, value);
	if (known != NULL) {
		return_if_error(lc__check_schema(cache, known->schema));
	} else {
		return_if_error(lc__schema_infer(value, &schema));
		return_if_error(keep_schema(cache, schema, &known));
	}
	tensors = calloc(known->schema->tensors + 1, sizeof(*tensors));
	if (tensors == NULL)
		return lc__no_memory(NULL);
	status = lc__value_leaves(value, tensors, &plain);
	if (status == LC_OK) {
		draft.schema = known->schema;
		draft.tensors = tensors;
		draft.plain = plain.data;
		draft.plain_size = plain.size;
		status = emit(ctx, &draft, known);
	}
	lc__buf_free(&plain);
	free(tensors);
	return status;
}

/* ---- coding --------------------------------------------------------------- */

/* The destination of a coded record, and how its tensors are coded. */
struct target {
	struct lc_cache *cache;
	lc_codec codec;
	int level;
	lc__put_fn *fn; /* gets the record, with ctx */
	void *ctx;
};

/* The codec is chosen by the caller, else the handle, else the module's setting. */
static struct target
make_target(struct lc_cache *cache, lc_codec codec, int level, lc__put_fn *fn, void *ctx)
{
	const struct lc__known_settings *settings = &lc__module_of(cache->env)->settings;
	struct target target = { cache, codec, level, fn, ctx };

	if (codec == LC_CODEC_DEFAULT) {
		target.codec = cache->options.codec;
		target.level = cache->options.level;
	}
	if (target.codec == LC_CODEC_DEFAULT) {
		target.codec = atomic_load(&settings->codec);
		target.level = atomic_load(&settings->level);
	}
	return target;
}

/* Code one tensor; its part's data stays NULL if it is stored uncoded. */
static lc_status
code_tensor(const lc_tensor *tensor, const struct target *target, struct lc__buf *buf,
    struct lc__record_part *part)
{
	void *data;

	/* A larger one could not be read, even if it is small when coded
	 * (LC__RAW_MAX). */
	if (tensor->nbytes > LC__RAW_MAX)
		return lc__error(LC_INVALID, 0,
		    "a tensor of %zu bytes is above the limit of 16 GiB", tensor->nbytes);
	return_if_error(lc__part_code(part, target->codec, target->level, tensor, buf));
	part->data = NULL;
	if (part->codec == LC_CODEC_NONE)
		return LC_OK;

	/* A buffer that is mostly empty, as it is for small tensors, is reused for the
	 * next one: a value has up to 65,535 tensors. */
	data = buf->data;
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

/* An lc__put_fn: code the tensors of a draft and pass it to the target. */
static lc_status
emit_coded(void *ctx, const struct lc__draft *draft, struct lc__known *known)
{
	const struct target *target = ctx;
	const uint32_t count = draft->schema->tensors;
	struct lc__draft coded = *draft;
	struct lc__buf buf = { 0 };
	struct lc__record_part *parts;
	lc_status status = LC_OK;

	/* A rank that does not write keeps records in memory, ready to be read. */
	if (target->codec == LC_CODEC_NONE || count == 0 || !target->cache->writes)
		return target->fn(target->ctx, draft, known);
	parts = calloc(count, sizeof(*parts));
	if (parts == NULL)
		return lc__no_memory(NULL);
	for (uint32_t i = 0; i < count && status == LC_OK; i++)
		status = code_tensor(draft->tensors[i], target, &buf, &parts[i]);
	lc__buf_free(&buf);
	coded.parts = parts;
	if (status == LC_OK)
		status = target->fn(target->ctx, &coded, known);
	for (uint32_t i = 0; i < count; i++)
		free((void *)(uintptr_t)parts[i].data);
	free(parts);
	return status;
}

/* An lc__put_fn: add a record to the handle's pending writes. */
static lc_status
emit_pending(void *ctx, const struct lc__draft *draft, struct lc__known *known)
{
	return lc__flush_add(ctx, draft, known);
}

/* An lc__put_fn: put a record and commit it. */
static lc_status
emit_durable(void *ctx, const struct lc__draft *draft, struct lc__known *known)
{
	return lc__flush_put(ctx, draft, known);
}

/* An lc__put_fn: encode a record into a block. */
static lc_status
emit_encoded(void *ctx, const struct lc__draft *draft, struct lc__known *known)
{
	return lc__encode(draft, known, ctx);
}

/* ---- put ------------------------------------------------------------------ */

/* Name the key in an error of the item itself. A put may also report the failure of an
 * earlier commit, which is not about this key. */
static lc_status
name_item(lc_status status, const lc_id *id)
{
	if (status == LC_INVALID || status == LC_SCHEMA)
		return lc__error_prefix("put: %s", lc__quote_id(id->data, id->size));
	return status;
}

static lc_status
check_put(struct lc_cache *cache, const lc_id *id, lc_codec codec, int level)
{
	if (cache->writes)
		return_if_error(lc__check_writable(cache, "put"));
	return_if_error(lc__check_id("put", id->data, id->size));
	return_if_error(lc__codec_check("put", codec, level));
	return lc__check_plain(cache, "put");
}

lc_status
lc__put_check(struct lc_cache *cache, const lc_id *id)
{
	return check_put(cache, id, LC_CODEC_DEFAULT, 0);
}

lc_status
lc_put(lc_cache *cache, const void *id, size_t id_size, const lc_tensor *tensor)
{
	const lc_id key = { id, id_size };
	struct target target;

	return_if_error(lc__put_check(cache, &key));
	target = make_target(cache, LC_CODEC_DEFAULT, 0, emit_pending, cache);
	return name_item(put_tensor(cache, &key, tensor, emit_coded, &target), &key);
}

lc_status
lc_put_coded(lc_cache *cache, const void *id, size_t id_size, const lc_value *value,
    lc_codec codec, int level)
{
	const lc_id key = { id, id_size };
	struct target target;

	return_if_error(check_put(cache, &key, codec, level));
	target = make_target(cache, codec, level, emit_pending, cache);
	return name_item(put_value(cache, &key, value, emit_coded, &target), &key);
}

lc_status
lc_put_value(lc_cache *cache, const void *id, size_t id_size, const lc_value *value)
{
	return lc_put_coded(cache, id, id_size, value, LC_CODEC_DEFAULT, 0);
}

lc_status
lc_put_durable(lc_cache *cache, const void *id, size_t id_size, const lc_tensor *tensor)
{
	const lc_id key = { id, id_size };

	return_if_error(lc__put_check(cache, &key));
	return lc__put_tensor_to(cache, &key, tensor, emit_durable, cache);
}

lc_status
lc_put_value_durable(lc_cache *cache, const void *id, size_t id_size,
    const lc_value *value)
{
	const lc_id key = { id, id_size };

	return_if_error(lc__put_check(cache, &key));
	return lc__put_value_to(cache, &key, value, emit_durable, cache);
}

lc_status
lc_delete(lc_cache *cache, const void *id, size_t id_size)
{
	const struct lc__draft draft = { .id = { id, id_size } };

	if (cache->writes)
		return_if_error(lc__check_writable(cache, "delete"));
	return_if_error(lc__check_id("delete", id, id_size));
	return_if_error(lc__check_plain(cache, "delete"));
	return_if_error(lc_contains(cache, id, id_size));
	return lc__flush_add(cache, &draft, NULL);
}

/* ---- put elsewhere -------------------------------------------------------- */

lc_status
lc__put_tensor_to(struct lc_cache *cache, const lc_id *id, const lc_tensor *tensor,
    lc__put_fn *fn, void *ctx)
{
	struct target target = make_target(cache, LC_CODEC_DEFAULT, 0, fn, ctx);

	return name_item(put_tensor(cache, id, tensor, emit_coded, &target), id);
}

lc_status
lc__put_value_to(struct lc_cache *cache, const lc_id *id, const lc_value *value,
    lc__put_fn *fn, void *ctx)
{
	struct target target = make_target(cache, LC_CODEC_DEFAULT, 0, fn, ctx);

	return name_item(put_value(cache, id, value, emit_coded, &target), id);
}

lc_status
lc__put_plan_tensor(struct lc_cache *cache, const lc_id *id, const lc_tensor *tensor,
    lc__put_fn *fn, void *ctx)
{
	return name_item(put_tensor(cache, id, tensor, fn, ctx), id);
}

/* ---- put in two steps ----------------------------------------------------- */

lc_status
lc__put_encode_tensor(struct lc_cache *cache, const lc_id *id, const lc_tensor *tensor,
    struct lc__encoded *out)
{
	return put_tensor(cache, id, tensor, emit_encoded, out);
}

lc_status
lc__put_encode_value(struct lc_cache *cache, const lc_id *id, const lc_value *value,
    struct lc__encoded *out)
{
	return put_value(cache, id, value, emit_encoded, out);
}

lc_status
lc__put_encoded(struct lc_cache *cache, const struct lc__encoded *encoded)
{
	struct target target = make_target(cache, LC_CODEC_DEFAULT, 0, emit_pending,
	    cache);
	const struct lc__schema *schema = encoded->known->schema;
	const uint32_t count = schema->tensors;
	struct lc__record_part *parts;
	struct lc__record record;
	const lc_tensor **list;
	lc_tensor *tensors;
	lc_status status;

	if (!cache->writes || target.codec == LC_CODEC_NONE || count == 0)
		return lc__flush_add_encoded(cache, encoded);

	/* The record has its tensors uncoded: parse it and code them. */
	tensors = calloc(count, sizeof(*tensors));
	list = calloc(count, sizeof(*list));
	parts = calloc(count, sizeof(*parts));
	if (tensors == NULL || list == NULL || parts == NULL) {
		status = lc__no_memory("put");
	} else {
		struct lc__draft draft = { .schema = schema, .tensors = list };

		/* Encoded by this process: it always parses. */
		(void)lc__record_parse(encoded->block->data, encoded->block->size,
		    &record);
		lc__record_tensors(&record, schema, 0, tensors, parts);
		for (uint32_t i = 0; i < count; i++)
			list[i] = &tensors[i];
		draft.id = record.id;
		draft.plain = record.plain;
		draft.plain_size = record.plain_size;
		status = emit_coded(&target, &draft, encoded->known);
	}
	free(parts);
	free(list);
	free(tensors);
	return status;
}
