/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/record_reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "codec/codec.h"
#include "store/lookup.h"
#include "stream/cursor.h"
#include "value/node.h"
#include "value/path.h"

/* ---- decoded tensors ---------------------------------------------------------- */

void
lc__block_list_drop(struct lc__block_list *blocks)
{
	for (size_t i = 0; i < blocks->n; i++)
		lc__block_drop(blocks->block[i]);
	blocks->n = 0;
}

void
lc__block_list_free(struct lc__block_list *blocks)
{
	lc__block_list_drop(blocks);
	free(blocks->block);
	memset(blocks, 0, sizeof(*blocks));
}

uint64_t
lc__block_list_bytes(const struct lc__block_list *blocks)
{
	uint64_t bytes = blocks->room * sizeof(struct lc__block *);

	for (size_t i = 0; i < blocks->n; i++)
		bytes += lc__block_cost(blocks->block[i]->size);
	return bytes;
}

struct lc__block *
lc__block_list_new(struct lc__block_list *blocks, size_t size)
{
	if (lc__array_reserve(&blocks->block, &blocks->room, blocks->n + 1, "read") !=
	    LC_OK)
		return NULL;
	blocks->block[blocks->n] = lc__block_new(size);
	return blocks->block[blocks->n] == NULL ? NULL : blocks->block[blocks->n++];
}

/* ---- plans -------------------------------------------------------------------- */

static const char *
key_of(const struct lc__record *record)
{
	return lc__quote_id(record->id.data, record->id.size);
}

static lc_status
damaged(const struct lc__snapshot *s, const struct lc__record *record, const char *what)
{
	return lc__error(LC_CORRUPT, 0, "%s: key %s: %s", lc__env_dir(s->env),
	    key_of(record), what);
}

/* Is every tensor of the structure one of the fields? */
static bool
has_all(const struct lc__field_plan *plan, const struct lc__schema *schema)
{
	for (uint32_t node = 0; node < schema->nodes; node++) {
		size_t i = 0;

		if (schema->node[node].kind != LC_TENSOR)
			continue;
		while (i < plan->n && plan->node[i] != node)
			i++;
		if (i == plan->n)
			return false;
	}
	return true;
}

static lc_status
make_plan(struct lc__field_plan *plan, struct lc__snapshot *s,
    const struct lc__record *record, const char *const *fields, size_t n)
{
	const struct lc__schema *schema;
	struct lc__known *known;

	plan->schema = NULL;
	if (lc__snapshot_schema(s, record->schema, &known) != LC_OK)
		return lc__error_prefix("key %s", key_of(record));
	schema = known->schema;
	return_if_error(lc__array_reserve(&plan->node, &plan->room, n, "read"));
	for (size_t i = 0; i < n; i++) {
		const char *path = strcmp(fields[i], ".") == 0 ? NULL : fields[i];

		if (!lc__schema_find(schema, path, &plan->node[i]) ||
		    schema->node[plan->node[i]].kind != LC_TENSOR)
			return lc__error(LC_SCHEMA, 0, "%s: key %s has no tensor %s",
			    lc__env_dir(s->env), key_of(record), fields[i]);
	}
	plan->id = record->schema;
	plan->schema = schema;
	plan->fields = fields;
	plan->n = n;
	plan->alone = n == 1 && lc__schema_is_tensor(schema);
	plan->all = has_all(plan, schema);
	return LC_OK;
}

static lc_status
find_plan(struct lc__record_reader *reader, struct lc__snapshot *s,
    const struct lc__record *record, const char *const *fields, size_t n,
    const struct lc__field_plan **out)
{
	struct lc__field_plan *plan = &reader->plans[record->schema % LC__FIELD_PLANS];

	if (plan->schema == NULL || plan->id != record->schema ||
	    plan->fields != fields || plan->n != n)
		return_if_error(make_plan(plan, s, record, fields, n));
	*out = plan;
	return LC_OK;
}

/* ---- checksums ----------------------------------------------------------------- */

/* The checksum of a record without parts covers its tensors too. */
static bool
head_intact(const struct lc__record_reader *reader, const struct lc__record *record)
{
	const unsigned char *start = lc__record_start(record);
	const uint64_t sum = lc__record_checksum(record);

	if (lc__seen_before(&reader->seen, start, sum))
		return true;
	if (!lc__record_head_intact(record))
		return false;
	lc__seen_note(&reader->seen, start, sum);
	return true;
}

/* Verify all of a part, and copy its first bytes, as lc__part_copy(). */
static bool
copy_intact(const struct lc__record_reader *reader, const struct lc__record_part *part,
    void *out, size_t size, size_t all)
{
	if (lc__seen_before(&reader->seen, part->data, part->hash)) {
		if (size > 0)
			memcpy(out, part->data, size);
		return true;
	}
	if (!lc__part_copy(part, out, size, all))
		return false;
	lc__seen_note(&reader->seen, part->data, part->hash);
	return true;
}

/* Verify bytes [from, to) of a part with blocks. Their checksums are part of the head,
 * which has its own checksum. */
static bool
blocks_intact(const struct lc__record_reader *reader, const struct lc__record_part *part,
    size_t from, size_t to)
{
	if (lc__seen_before(&reader->seen, part->data, part->hash))
		return true;
	for (size_t at = from; at < to; at += LC__RECORD_BLOCK) {
		const struct lc__part_block b = lc__part_block(part, at);

		if (lc__seen_before(&reader->seen, b.data, b.hash))
			continue;
		if (!lc__part_block_intact(&b))
			return false;
		lc__seen_note(&reader->seen, b.data, b.hash);
	}
	return true;
}

/* ---- which bytes are read ------------------------------------------------------ */

/* Bytes of a record before its tensors; all bytes if one checksum covers them. */
static size_t
head_bytes(const struct lc__record_reader *reader, const struct lc__record *record)
{
	return reader->verify && !record->has_parts ? record->size
						    : record->size - record->payload_size;
}

/* Stored bytes of a part. */
struct span {
	size_t from, to;
};

static size_t
min_rows(uint64_t rows, const lc_tensor *tensor)
{
	return (size_t)(rows < tensor->shape[0] ? rows : tensor->shape[0]);
}

/* The bytes of rows, without those that were read before. */
static struct span
span_of_rows(const lc_tensor *tensor, const struct lc__row_span *rows)
{
	const size_t each = tensor->shape[0] > 0
	    ? tensor->nbytes / (size_t)tensor->shape[0]
	    : 0;
	const size_t first = rows->done > rows->from ? min_rows(rows->done, tensor)
						     : min_rows(rows->from, tensor);
	const size_t end = min_rows(rows->from + rows->n, tensor);

	return (struct span){ first * each, (end > first ? end : first) * each };
}

/* The same, in whole blocks, so that no block is verified twice. */
static struct span
span_of_blocks(const lc_tensor *tensor, const struct lc__row_span *rows, size_t padded)
{
	const struct lc__row_span before = { 0, rows->done, 0 };
	const struct span asked = span_of_rows(tensor,
	    &(struct lc__row_span){ rows->from, rows->n, 0 });
	const size_t known = (size_t)lc__round_up(span_of_rows(tensor, &before).to,
	    LC__RECORD_BLOCK);
	struct span span = { asked.from / LC__RECORD_BLOCK * LC__RECORD_BLOCK,
		(size_t)lc__round_up(asked.to, LC__RECORD_BLOCK) };

	if (span.to > padded)
		span.to = padded;
	if (span.from < known)
		span.from = known;
	return asked.from < asked.to && span.from < span.to ? span
							    : (struct span){ 0, 0 };
}

/* The bytes of a part to be read or verified for these rows of its tensor. */
static struct span
span_of(const struct lc__record_reader *reader, const struct lc__record *record,
    const struct lc__record_part *part, const lc_tensor *tensor,
    const struct lc__row_span *rows)
{
	const size_t padded = (size_t)lc__round_up(part->size, LC__RECORD_ALIGN);
	const bool again = rows != NULL && rows->done > 0;

	if (reader->verify && !record->has_parts)
		return (struct span){ 0, 0 };
	if (rows != NULL && tensor->ndim > 0 && !reader->verify &&
	    part->codec == LC_CODEC_NONE)
		return span_of_rows(tensor, rows);
	if (rows != NULL && tensor->ndim > 0 && part->blocks != NULL &&
	    part->codec == LC_CODEC_NONE)
		return span_of_blocks(tensor, rows, padded);
	return (struct span){ 0, again ? 0 : padded };
}

lc_status
lc__record_extents(struct lc__record_reader *reader, struct lc__snapshot *s,
    const struct lc__record *record, const char *const *fields, size_t n,
    const struct lc__row_span *rows, struct lc__extents *out)
{
	const struct lc__field_plan *plan;
	lc_status status;

	if (rows == NULL || rows->done == 0)
		return_if_error(lc__extents_add(out, lc__record_start(record),
		    head_bytes(reader, record)));
	if (reader->verify && !record->has_parts)
		return LC_OK;
	status = find_plan(reader, s, record, fields, n, &plan);
	/* A record of another structure cannot be read: all of it counts. */
	if (status == LC_SCHEMA)
		return lc__extents_add(out, record->payload, record->payload_size);
	return_if_error(status);
	if (!lc__record_fits(record, plan->schema))
		return damaged(s, record, "shape and size disagree");
	for (size_t i = 0; i < n; i++) {
		lc_tensor tensor;
		struct lc__record_part part;
		struct span span;

		lc__record_tensors(record, plan->schema, plan->node[i], &tensor, &part);
		span = span_of(reader, record, &part, &tensor, rows);
		return_if_error(lc__extents_add(out,
		    (const unsigned char *)part.data + span.from, span.to - span.from));
	}
	return LC_OK;
}

bool
lc__record_reads_all(struct lc__record_reader *reader, struct lc__snapshot *s,
    uint64_t stored, const char *const *fields, size_t n, const struct lc__row_span *rows)
{
	const struct lc__record any = { .schema = 0 };
	const struct lc__field_plan *plan;

	if (s->state.next_schema != 1 ||
	    find_plan(reader, s, &any, fields, n, &plan) != LC_OK)
		return false;
	return plan->all &&
	    (rows == NULL ||
		(plan->alone && reader->verify && stored <= LC__RECORD_BLOCK &&
		    rows->done == 0));
}

/* ---- reading ------------------------------------------------------------------ */

static lc_status
decode(struct lc__record_reader *reader, struct lc__snapshot *s,
    const struct lc__record *record, const struct lc__record_part *part,
    lc_tensor *tensor)
{
	struct lc__block *block = lc__block_list_new(&reader->decoded, tensor->nbytes);

	if (block == NULL)
		return lc__error(LC_NO_MEMORY, 0, "read: %s: out of memory",
		    key_of(record));
	if (!lc__codec_decode(part->codec, part->data, part->size, tensor, block->data))
		return damaged(s, record, "its coded bytes are damaged");
	tensor->data = block->data;
	return LC_OK;
}

/* Verify the needed rows of a tensor, and decode it. */
static lc_status
read_part(struct lc__record_reader *reader, struct lc__snapshot *s,
    const struct lc__record *record, const struct lc__record_part *part,
    const struct lc__row_span *rows, lc_tensor *tensor)
{
	const struct span span = span_of(reader, record, part, tensor, rows);
	const bool whole = span.from == 0 && span.to >= part->size;

	reader->touched += span.to - span.from;
	if (span.from == span.to && rows != NULL && rows->done > 0)
		return LC_OK;
	if (reader->verify && record->has_parts &&
	    !(whole ? copy_intact(reader, part, NULL, 0, 0)
		    : blocks_intact(reader, part, span.from, span.to)))
		return damaged(s, record, "checksum mismatch");
	return part->codec == LC_CODEC_NONE ? LC_OK
					    : decode(reader, s, record, part, tensor);
}

/* Read a whole tensor to @p out; @p all is the size of everything copied together. */
static lc_status
copy_part(struct lc__record_reader *reader, struct lc__snapshot *s,
    const struct lc__record *record, const struct lc__record_part *part,
    lc_tensor *tensor, void *out, size_t all)
{
	if (reader->verify && record->has_parts && part->codec == LC_CODEC_NONE) {
		reader->touched += lc__round_up(part->size, LC__RECORD_ALIGN);
		if (!copy_intact(reader, part, out, tensor->nbytes, all))
			return damaged(s, record, "checksum mismatch");
	} else {
		return_if_error(read_part(reader, s, record, part, NULL, tensor));
		if (tensor->nbytes > 0)
			memcpy(out, tensor->data, tensor->nbytes);
	}
	tensor->data = out;
	return LC_OK;
}

/* Ask for the destinations of the tensors of the plan. */
static lc_status
place_parts(const struct lc__record *record, const struct lc__field_plan *plan,
    struct lc__copier *copier, lc_tensor *tensors)
{
	for (size_t i = 0; i < plan->n; i++) {
		struct lc__record_part part;

		lc__record_tensors(record, plan->schema, plan->node[i], &tensors[i],
		    &part);
	}
	return copier->place(copier, tensors);
}

/* Read the parts in the plan. */
static lc_status
read_parts(struct lc__record_reader *reader, struct lc__snapshot *s,
    const struct lc__record *record, const struct lc__field_plan *plan,
    const struct lc__row_span *rows, struct lc__copier *copier, lc_tensor *tensors)
{
	if (!lc__record_fits(record, plan->schema))
		return damaged(s, record, "shape and size disagree");
	if (copier != NULL)
		return_if_error(place_parts(record, plan, copier, tensors));
	for (size_t i = 0; i < plan->n; i++) {
		struct lc__record_part part;
		lc_tensor tensor;

		lc__record_tensors(record, plan->schema, plan->node[i], &tensor, &part);
		if (copier != NULL && copier->to[i] != NULL)
			return_if_error(copy_part(reader, s, record, &part, &tensor,
			    copier->to[i], copier->all));
		else
			return_if_error(
			    read_part(reader, s, record, &part, rows, &tensor));
		if (rows == NULL || rows->done == 0)
			tensors[i] = tensor;
	}
	return LC_OK;
}

lc_status
lc__record_read(struct lc__record_reader *reader, struct lc__snapshot *s,
    const struct lc__record *record, const char *const *fields, size_t n,
    const struct lc__row_span *rows, struct lc__copier *copier, lc_tensor *tensors)
{
	const bool again = rows != NULL && rows->done > 0;
	const struct lc__field_plan *plan;

	/* Check this first: a damaged head may name any schema. */
	if (reader->verify && !again && !head_intact(reader, record))
		return damaged(s, record, "checksum mismatch");
	return_if_error(find_plan(reader, s, record, fields, n, &plan));
	/* The fast path for most records: one tensor, without parts. */
	if (plan->alone && !record->has_parts && rows == NULL) {
		if (!lc__record_alone(record, plan->schema, tensors))
			return damaged(s, record, "shape and size disagree");
		reader->touched += record->size;
		return copier != NULL ? lc__copier_copy(copier, tensors, n) : LC_OK;
	}
	if (!again)
		reader->touched += head_bytes(reader, record);
	return read_parts(reader, s, record, plan, rows, copier, tensors);
}

/* ---- the names of fields -------------------------------------------------------------- */

/* The names so far, and the path of the present node. */
struct naming {
	const struct lc__schema *schema;
	char **names;
	size_t n;
	struct lc__buf path; /* of the node */
};

/* Children follow their parent, each with all of its descendants. Nesting is limited, and
 * so is this recursion. */
static lc_status
name_node(struct naming *naming, uint32_t node)
{
	const struct lc__schema_node *of = &naming->schema->node[node];
	const size_t size = naming->path.size;
	uint32_t child = node + 1;

	if (of->kind == LC_TENSOR) {
		/* The record itself is ".". */
		const char *text = size > 0 ? lc__path_text(&naming->path) : ".";
		char *name = naming->path.failed ? NULL : strdup(text);

		if (name == NULL)
			return lc__no_memory("read");
		naming->names[naming->n++] = name;
		return LC_OK;
	}
	for (uint32_t i = 0; i < of->children;
	     i++, child = naming->schema->node[child].end) {
		if (lc__schema_tensors(naming->schema, child) == 0)
			continue;
		if (lc__has_names(of->kind))
			lc__path_name(&naming->path, naming->schema->node[child].name);
		else
			lc__path_index(&naming->path, i);
		return_if_error(name_node(naming, child));
		lc__path_cut(&naming->path, size);
	}
	return LC_OK;
}

lc_status
lc__record_fields(const struct lc__record_reader *reader, struct lc__snapshot *s,
    const struct lc__record *record, char ***names, size_t *n)
{
	struct naming naming = { .schema = NULL };
	struct lc__known *known;
	lc_status status;

	if (reader->verify && !lc__record_head_intact(record))
		return damaged(s, record, "checksum mismatch");
	if (lc__snapshot_schema(s, record->schema, &known) != LC_OK)
		return lc__error_prefix("key %s", key_of(record));
	naming.schema = known->schema;
	naming.names = calloc((size_t)known->schema->tensors + 1, sizeof(*naming.names));
	if (naming.names == NULL)
		return lc__no_memory("read");
	status = name_node(&naming, 0);
	lc__buf_free(&naming.path);
	if (status != LC_OK) {
		lc__field_names_free(naming.names, naming.n);
		return status;
	}
	*names = naming.names;
	*n = naming.n;
	return LC_OK;
}

void
lc__record_reader_free(struct lc__record_reader *reader)
{
	for (size_t i = 0; i < LC__FIELD_PLANS; i++)
		free(reader->plans[i].node);
	lc__block_list_free(&reader->decoded);
}
