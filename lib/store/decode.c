/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/codec.h"
#include "store/lookup.h"
#include "store/lru.h"
#include "value/value_record.h"

/* A decoded value, with the memory of its tensors. */
struct lc__decoded_value {
	struct lc__decoded_value *next;
	lc_value *value;
	uint32_t count;             /* number of the record's tensors */
	struct lc__block *blocks[]; /* one per tensor; NULL if the tensor is in place */
};

/* LC_CORRUPT, naming the module and the key. */
static lc_status
damaged(const struct lc_cache *cache, const lc_id *id, const char *what)
{
	return lc__error(LC_CORRUPT, 0, "%s: key %s: %s", lc__env_dir(cache->env),
	    lc__quote_id(id->data, id->size), what);
}

static lc_status
no_memory(const struct lc__decoder *r)
{
	return lc__error(LC_NO_MEMORY, 0, "get: %s: out of memory",
	    lc__quote_id(r->record.id.data, r->record.id.size));
}

lc_status
lc__decoder_open_memory(struct lc__decoder *r, struct lc_cache *cache,
    const struct lc__schema *schema)
{
	if (!lc__record_fits(&r->record, schema))
		return damaged(cache, &r->record.id, "shape and size disagree");
	r->cache = cache;
	r->schema = schema;
	r->location = 0;
	r->verify = false;
	r->seen.once = NULL;
	r->listed = false;
	r->values = NULL;
	return LC_OK;
}

struct lc__once_seen
lc__decode_seen(const struct lc_cache *cache, struct lc__snapshot *snapshot,
    uint64_t location)
{
	if (cache->options.verify != LC_VERIFY_ONCE)
		return (struct lc__once_seen){ .once = NULL };
	return lc__snapshot_seen(snapshot, location);
}

static bool
head_intact(const struct lc__record *record, const struct lc__once_seen *seen)
{
	const unsigned char *start = lc__record_start(record);
	const uint64_t sum = lc__record_checksum(record);

	if (lc__seen_before(seen, start, sum))
		return true;
	if (!lc__record_head_intact(record))
		return false;
	lc__seen_note(seen, start, sum);
	return true;
}

/* Verify the head before its schema id is used: a damaged one may name any schema. */
static lc_status
find_schema(const struct lc_cache *cache, struct lc__snapshot *snapshot,
    const struct lc__record *record, bool verify, const struct lc__once_seen *seen,
    struct lc__known **out)
{
	if (verify && !head_intact(record, seen))
		return damaged(cache, &record->id, "checksum mismatch");
	if (lc__snapshot_schema(snapshot, record->schema, out) != LC_OK)
		return lc__error_prefix("key %s",
		    lc__quote_id(record->id.data, record->id.size));
	return LC_OK;
}

lc_status
lc__decoder_open(struct lc__decoder *r, struct lc_cache *cache,
    struct lc__snapshot *snapshot, uint64_t location, bool verify)
{
	struct lc__once_seen seen = { .once = NULL };
	struct lc__known *known;

	if (verify)
		seen = lc__decode_seen(cache, snapshot, location);
	return_if_error(find_schema(cache, snapshot, &r->record, verify, &seen, &known));
	return_if_error(lc__decoder_open_memory(r, cache, known->schema));
	r->location = location;
	r->verify = verify;
	r->seen = seen;
	return LC_OK;
}

lc_status
lc__decode_alone(const struct lc_cache *cache, struct lc__snapshot *snapshot,
    const struct lc__record *record, uint64_t location, bool verify, lc_tensor *out)
{
	struct lc__once_seen seen = { .once = NULL };
	struct lc__known *known;

	if (verify)
		seen = lc__decode_seen(cache, snapshot, location);
	return_if_error(find_schema(cache, snapshot, record, verify, &seen, &known));
	if (!lc__record_alone(record, known->schema, out))
		return damaged(cache, &record->id, "shape and size disagree");
	return LC_OK;
}

static struct lc__lru_key
key_of(const struct lc__record *record, uint64_t location, uint32_t i)
{
	return (struct lc__lru_key){
		.location = location,
		.checksum = lc__record_checksum(record),
		.part = i,
	};
}

bool
lc__decode_cached(const struct lc_cache *cache, const struct lc__record *record,
    uint64_t location)
{
	const struct lc__lru_key key = key_of(record, location, 0);

	return lc__lru_has(cache->lru, &key);
}

static lc_status
decode(const struct lc__decoder *r, const struct lc__record_part *part,
    const lc_tensor *tensor, struct lc__block **out)
{
	struct lc__block *block = lc__block_new(tensor->nbytes);

	if (block == NULL)
		return no_memory(r);
	if (!lc__codec_decode(part->codec, part->data, part->size, tensor, block->data)) {
		lc__block_drop(block);
		return damaged(r->cache, &r->record.id, "its coded bytes are damaged");
	}
	*out = block;
	return LC_OK;
}

/* From this size on a copy prefetches the next piece while it copies one: the processor
 * reads ahead by itself only within a page. For less it does not pay. */
#define LONG_COPY ((size_t)64 << 10)
#define PIECE ((size_t)4096)

static void
copy(void *out, const void *data, size_t size)
{
	const unsigned char *from = data;
	unsigned char *to = out;

	if (size < LONG_COPY) {
		if (size > 0)
			memcpy(out, data, size);
		return;
	}
	for (size_t at = 0, piece; at < size; at += piece) {
		piece = size - at < PIECE ? size - at : PIECE;
		for (size_t i = at + piece; i < size && i < at + piece + PIECE; i += 64)
			__builtin_prefetch(from + i, 0, 2);
		memcpy(to + at, from + at, piece);
	}
}

/* Verify a part and copy its first bytes, as lc__part_copy() does. */
static bool
part_intact(const struct lc__decoder *r, const struct lc__record_part *part, void *out,
    size_t size, size_t all)
{
	if (lc__seen_before(&r->seen, part->data, part->hash)) {
		copy(out, part->data, size);
		return true;
	}
	if (!lc__part_copy(part, out, size, all))
		return false;
	lc__seen_note(&r->seen, part->data, part->hash);
	return true;
}

/* Verify tensor @p i and set its data. A coded one is taken from the LRU if it is
 * there. */
static lc_status
read_tensor(const struct lc__decoder *r, uint32_t i, const struct lc__record_part *part,
    lc_tensor *tensor, struct lc__block **block)
{
	struct lc__lru *lru = r->location != 0 ? r->cache->lru : NULL;
	const struct lc__lru_key key = key_of(&r->record, r->location, i);

	*block = NULL;
	if (r->listed) {
		tensor->data = NULL;
		return LC_OK;
	}
	*block = part->codec == LC_CODEC_NONE ? NULL : lc__lru_get(lru, &key);
	if (*block == NULL) {
		if (r->verify && r->record.has_parts && !part_intact(r, part, NULL, 0, 0))
			return damaged(r->cache, &r->record.id, "checksum mismatch");
		if (part->codec == LC_CODEC_NONE)
			return LC_OK;
		return_if_error(decode(r, part, tensor, block));
		lc__lru_put(lru, &key, *block, NULL);
	}
	tensor->data = (*block)->data;
	return LC_OK;
}

lc_status
lc__decoder_tensor(struct lc__decoder *r, lc_tensor *out, struct lc__block **block)
{
	struct lc__record_part part;

	lc__record_tensors(&r->record, r->schema, 0, out, &part);
	return read_tensor(r, 0, &part, out, block);
}

lc_status
lc__decoder_copy(const struct lc__decoder *r, uint32_t node, const lc_tensor *tensor,
    const struct lc__record_part *part, void *out, size_t all)
{
	struct lc__block *block = NULL;
	lc_tensor read = *tensor;
	lc_status status = LC_OK;

	if (part->codec == LC_CODEC_NONE && r->verify && r->record.has_parts)
		return part_intact(r, part, out, tensor->nbytes, all)
		    ? LC_OK
		    : damaged(r->cache, &r->record.id, "checksum mismatch");
	if (part->codec != LC_CODEC_NONE)
		status = read_tensor(r, r->schema->node[node].first_tensor, part, &read,
		    &block);
	if (status == LC_OK)
		copy(out, read.data, read.nbytes);
	if (block != NULL)
		lc__block_drop(block);
	return status;
}

/* ---- values --------------------------------------------------------------- */

static void
free_value(struct lc__decoded_value *read)
{
	lc_value_free(read->value);
	for (uint32_t i = 0; i < read->count; i++)
		lc__block_drop(read->blocks[i]);
	free(read);
}

/* Decode the tensors below a node and build the value. */
static lc_status
restore(const struct lc__decoder *r, uint32_t node, struct lc__decoded_value *read,
    lc_tensor *tensors, struct lc__record_part *parts)
{
	const uint32_t first = r->schema->node[node].first_tensor;

	lc__record_tensors(&r->record, r->schema, node, tensors, parts);
	for (uint32_t i = 0; i < read->count; i++)
		return_if_error(
		    read_tensor(r, first + i, &parts[i], &tensors[i], &read->blocks[i]));
	if (lc__value_restore(r->schema, node, tensors, r->record.plain,
		r->record.plain_size, &read->value) != LC_OK)
		return lc__error_prefix("%s: key %s", lc__env_dir(r->cache->env),
		    lc__quote_id(r->record.id.data, r->record.id.size));
	return LC_OK;
}

/* Most values have few tensors: then the stack has room for them. */
#define FEW 8

static lc_status
read_node(const struct lc__decoder *r, uint32_t node, struct lc__decoded_value *read)
{
	lc_tensor few[FEW], *tensors;
	struct lc__record_part few_parts[FEW], *parts;
	lc_status status;

	if (read->count <= FEW)
		return restore(r, node, read, few, few_parts);
	tensors = calloc(read->count, sizeof(*tensors));
	parts = calloc(read->count, sizeof(*parts));
	if (tensors != NULL && parts != NULL)
		status = restore(r, node, read, tensors, parts);
	else
		status = no_memory(r);
	free(tensors);
	free(parts);
	return status;
}

static lc_status
no_part(const struct lc__decoder *r, const char *path)
{
	return lc__error(LC_NOT_FOUND, 0, "key %s has no part %s",
	    lc__quote_id(r->record.id.data, r->record.id.size), path);
}

lc_status
lc__decoder_value(struct lc__decoder *r, const char *path, const lc_value **out)
{
	struct lc__decoded_value *read;
	const char *rest = NULL;
	uint32_t node = 0, count;
	lc_status status;

	if (!lc__schema_walk(r->schema, path, &node, &rest))
		return no_part(r, path);
	count = lc__schema_tensors(r->schema, node);
	read = malloc(sizeof(*read) + count * sizeof(*read->blocks));
	if (read == NULL)
		return no_memory(r);
	read->value = NULL;
	read->count = count;
	for (uint32_t i = 0; i < count; i++)
		read->blocks[i] = NULL;
	status = read_node(r, node, read);
	if (status != LC_OK) {
		free_value(read);
		return status;
	}
	read->next = r->values;
	r->values = read;
	*out = rest == NULL ? read->value : lc_value_find(read->value, rest);
	return *out == NULL ? no_part(r, path) : LC_OK;
}

lc_status
lc__decoder_kind(struct lc__decoder *r, lc_kind *out)
{
	const lc_value *value;

	*out = r->schema->node[0].kind;
	if (r->schema->node[0].kind == LC__PLAIN) {
		/* Only the data shows which kind of plain value it is. */
		return_if_error(lc__decoder_value(r, NULL, &value));
		*out = lc_value_kind(value);
	}
	return LC_OK;
}

void
lc__decoder_close(struct lc__decoder *r)
{
	struct lc__decoded_value *next;

	for (struct lc__decoded_value *read = r->values; read != NULL; read = next) {
		next = read->next;
		free_value(read);
	}
	r->values = NULL;
}
