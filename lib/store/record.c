/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/record.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "codec/codec.h"
#include "value/path.h"

/* Offsets in the prefix. */
enum {
	at_checksum = 0, /* u64, XXH3-64 of the bytes from at_units on that it covers */
	at_units = 8,    /* u32, size of the record in units of 64 bytes */
	at_schema = 12,  /* u32 */
	at_id_size = 16, /* u16, size - 1 */
	at_zero = 18,    /* u8 */
	at_flags = 19,   /* u8 */
	at_ndims = 20,   /* u16 */
	at_nparts = 22,  /* u16 */
	at_plain = 24,   /* u32, bytes of plain data */
	at_nblocks = 28  /* u32, number of checksums of blocks */
};

/* The record has a table of parts. */
#define FLAG_PARTS 0x01

/* Offsets in an entry of the table of parts. */
enum {
	part_hash = 0,   /* u64, XXH3-64 of the stored bytes and their padding, or of the
	                   checksums of their blocks */
	part_size = 8,   /* u32, stored bytes without padding */
	part_codec = 12, /* u8 */
	part_zero = 13,  /* 3 bytes */
	part_bytes = 16
};

/* Bytes before the payload. The sum cannot overflow: each term has a small bound. */
static uint64_t
head_size(uint64_t ndims, uint64_t nparts, uint64_t nblocks, uint64_t id_size,
    uint64_t plain)
{
	return lc__round_up(LC__RECORD_PREFIX + ndims * 8 + nparts * part_bytes +
		nblocks * 8 + id_size + plain,
	    LC__RECORD_ALIGN);
}

/* Number of blocks of a part of @p size bytes; 0 if it is not longer than a block. */
static uint32_t
blocks_of(size_t size)
{
	const uint64_t padded = lc__round_up(size, LC__RECORD_ALIGN);

	return padded <= LC__RECORD_BLOCK
	    ? 0
	    : (uint32_t)((padded + LC__RECORD_BLOCK - 1) / LC__RECORD_BLOCK);
}

/* ---- parts ---------------------------------------------------------------- */

lc_status
lc__part_code(struct lc__record_part *part, lc_codec codec, int level,
    const lc_tensor *tensor, struct lc__buf *buf)
{
	return_if_error(lc__codec_encode(codec, level, tensor, buf, &part->codec));
	/* Stored bytes are padded, so saving a few bytes may save nothing. */
	if (lc__round_up(buf->size, LC__RECORD_ALIGN) >=
	    lc__round_up(tensor->nbytes, LC__RECORD_ALIGN))
		part->codec = LC_CODEC_NONE;
	part->data = buf->data;
	part->size = buf->size;
	return LC_OK;
}

/* ---- writing -------------------------------------------------------------- */

static bool
needs_parts(const struct lc__draft *draft)
{
	return draft->schema != NULL &&
	    (!lc__schema_is_tensor(draft->schema) ||
		(draft->parts != NULL && draft->parts[0].codec != LC_CODEC_NONE) ||
		blocks_of(draft->tensors[0]->nbytes) > 0);
}

/* How tensor @p i is stored. */
static struct lc__record_part
part_of(const struct lc__draft *draft, uint32_t i)
{
	const lc_tensor *tensor = draft->tensors[i];
	const struct lc__record_part raw = { LC_CODEC_NONE, tensor->data, tensor->nbytes,
		0, NULL };

	return draft->parts == NULL || draft->parts[i].codec == LC_CODEC_NONE
	    ? raw
	    : draft->parts[i];
}

static uint32_t
tensors_of(const struct lc__draft *draft)
{
	return draft->schema == NULL ? 0 : draft->schema->tensors;
}

/* Blocks of all parts, each of which is smaller than LC__RECORD_MAX. */
static uint64_t
count_blocks(const struct lc__draft *draft)
{
	uint64_t blocks = 0;

	for (uint32_t i = 0; i < tensors_of(draft); i++)
		blocks += blocks_of(part_of(draft, i).size);
	return blocks;
}

size_t
lc__record_head(const struct lc__draft *draft)
{
	const uint32_t ndims = draft->schema == NULL ? 0 : draft->schema->dims;

	return (size_t)head_size(ndims, needs_parts(draft) ? tensors_of(draft) : 0,
	    count_blocks(draft), draft->id.size, draft->plain_size);
}

size_t
lc__record_size(const struct lc__draft *draft)
{
	uint64_t size;

	if (draft->plain_size > LC__RECORD_MAX)
		return 0;
	size = 0;
	for (uint32_t i = 0; i < tensors_of(draft); i++) {
		const struct lc__record_part part = part_of(draft, i);

		if (part.size > LC__RECORD_MAX)
			return 0;
		size += lc__round_up(part.size, LC__RECORD_ALIGN);
		if (size > LC__RECORD_MAX)
			return 0;
	}
	size += lc__record_head(draft);
	return size > LC__RECORD_MAX ? 0 : (size_t)size;
}

/* Copy bytes, and zeros up to the next boundary. Returns the end. */
static unsigned char *
put_padded(unsigned char *out, const void *data, size_t size)
{
	const size_t padded = (size_t)lc__round_up(size, LC__RECORD_ALIGN);

	if (size > 0 && data != out)
		memcpy(out, data, size);
	memset(out + size, 0, padded - size);
	return out + padded;
}

static unsigned char *
put_dims(unsigned char *p, const struct lc__draft *draft)
{
	for (uint32_t i = 0; i < tensors_of(draft); i++)
		for (uint32_t d = 0; d < draft->tensors[i]->ndim; d++, p += 8)
			lc__set64(p, draft->tensors[i]->shape[d]);
	return p;
}

/* As put_padded(), block by block, and hash each while it is in the processor's cache. */
static unsigned char *
put_blocks(unsigned char *out, const struct lc__record_part *part, unsigned char *blocks)
{
	const unsigned char *data = part->data;
	size_t left = part->size;

	for (; left > 0; blocks += 8) {
		const size_t size = left < LC__RECORD_BLOCK ? left : LC__RECORD_BLOCK;
		unsigned char *end = put_padded(out, data, size);

		lc__set64(blocks, lc__hash64(out, (size_t)(end - out)));
		out = end;
		data += size;
		left -= size;
	}
	return out;
}

/* Copy the tensors. If @p table is not NULL, write an entry for each, and to @p blocks
 * the checksums of those with several blocks. */
static void
put_tensors(unsigned char *p, unsigned char *table, unsigned char *blocks,
    const struct lc__draft *draft)
{
	for (uint32_t i = 0; i < tensors_of(draft); i++) {
		const struct lc__record_part part = part_of(draft, i);
		const size_t sums = (size_t)blocks_of(part.size) * 8;
		unsigned char *end = sums > 0 ? put_blocks(p, &part, blocks)
					      : put_padded(p, part.data, part.size);

		if (table != NULL) {
			lc__set64(table + part_hash,
			    sums > 0 ? lc__hash64(blocks, sums)
				     : lc__hash64(p, (size_t)(end - p)));
			blocks += sums;
			lc__set32(table + part_size, (uint32_t)part.size);
			table[part_codec] = (unsigned char)part.codec;
			memset(table + part_zero, 0, 3);
			table += part_bytes;
		}
		p = end;
	}
}

/* The addresses of the parts of a head. */
struct head {
	unsigned char *table;  /* of the parts; NULL without one */
	unsigned char *blocks; /* checksums of the blocks */
	unsigned char *end;
};

/* Write the head, without the table of parts and the checksums of blocks. */
static struct head
put_head(unsigned char *out, size_t size, const struct lc__draft *draft)
{
	const bool parts = needs_parts(draft);
	const uint64_t nblocks = parts ? count_blocks(draft) : 0;
	struct head head = { .end = out + lc__record_head(draft) };
	unsigned char *p = out + LC__RECORD_PREFIX;

	memset(out, 0, LC__RECORD_PREFIX);
	lc__set32(out + at_units, (uint32_t)(size / LC__RECORD_ALIGN));
	lc__set16(out + at_id_size, (uint16_t)(draft->id.size - 1));
	lc__set32(out + at_plain, (uint32_t)draft->plain_size);
	if (draft->schema != NULL)
		lc__set16(out + at_ndims, (uint16_t)draft->schema->dims);
	if (parts) {
		out[at_flags] = FLAG_PARTS;
		lc__set16(out + at_nparts, (uint16_t)draft->schema->tensors);
	}
	lc__set32(out + at_nblocks, (uint32_t)nblocks);
	p = put_dims(p, draft);
	if (parts) {
		head.table = p;
		p += (size_t)draft->schema->tensors * part_bytes;
	}
	head.blocks = p;
	p += (size_t)nblocks * 8;
	memcpy(p, draft->id.data, draft->id.size);
	p += draft->id.size;
	if (draft->plain_size > 0)
		memcpy(p, draft->plain, draft->plain_size);
	p += draft->plain_size;
	memset(p, 0, (size_t)(head.end - p));
	return head;
}

void
lc__record_encode(unsigned char *out, size_t size, const struct lc__draft *draft)
{
	const struct head head = put_head(out, size, draft);

	put_tensors(head.end, head.table, head.blocks, draft);
}

void
lc__record_encode_head(unsigned char *out, size_t size, const struct lc__draft *draft)
{
	memset(out, 0, lc__record_head(draft));
	(void)put_head(out, size, draft);
}

/* How many bytes from at_units on the record's checksum covers. */
static size_t
covered(const struct lc__record *record)
{
	const unsigned char *start = lc__record_start(record);

	return (record->has_parts ? (size_t)(record->payload - start) : record->size) -
	    at_units;
}

void
lc__record_seal(unsigned char *bytes, uint32_t schema)
{
	struct lc__record record;

	/* Encoded by this process: it always parses. */
	(void)lc__record_parse(bytes, LC__RECORD_MAX, &record);
	lc__set32(bytes + at_schema, schema);
	lc__set64(bytes + at_checksum, lc__hash64(bytes + at_units, covered(&record)));
}

/* ---- reading -------------------------------------------------------------- */

bool
lc__record_parse(const unsigned char *bytes, uint64_t room, struct lc__record *out)
{
	uint64_t size, head;
	unsigned flags;

	if (room < LC__RECORD_PREFIX)
		return false;
	flags = bytes[at_flags];
	size = (uint64_t)lc__get32(bytes + at_units) * LC__RECORD_ALIGN;
	out->ndims = lc__get16(bytes + at_ndims);
	out->nparts = lc__get16(bytes + at_nparts);
	out->nblocks = lc__get32(bytes + at_nblocks);
	out->has_parts = (flags & FLAG_PARTS) != 0;
	out->id.size = (size_t)lc__get16(bytes + at_id_size) + 1;
	out->plain_size = lc__get32(bytes + at_plain);
	head = head_size(out->ndims, out->nparts, out->nblocks, out->id.size,
	    out->plain_size);
	if (size > room || head > size)
		return false;
	out->schema = lc__get32(bytes + at_schema);
	out->dims = bytes + LC__RECORD_PREFIX;
	out->parts = out->dims + (size_t)out->ndims * 8;
	out->blocks = out->parts + (size_t)out->nparts * part_bytes;
	out->id.data = out->blocks + (size_t)out->nblocks * 8;
	out->plain = (const unsigned char *)out->id.data + out->id.size;
	out->payload = bytes + head;
	out->payload_size = (size_t)(size - head);
	out->size = (size_t)size;
	if (bytes[at_zero] != 0 || (flags & ~FLAG_PARTS) != 0)
		return false;
	return out->has_parts ||
	    (out->nparts == 0 && out->nblocks == 0 && out->plain_size == 0);
}

const unsigned char *
lc__record_start(const struct lc__record *record)
{
	return record->dims - LC__RECORD_PREFIX;
}

uint64_t
lc__record_checksum(const struct lc__record *record)
{
	return lc__get64(lc__record_start(record) + at_checksum);
}

bool
lc__record_head_intact(const struct lc__record *record)
{
	return lc__record_checksum(record) ==
	    lc__hash64(lc__record_start(record) + at_units, covered(record));
}

bool
lc__record_last_sum(const struct lc__record *record, const void **data,
    uint64_t *checksum)
{
	const bool has_one = record->nparts == 1;

	*data = has_one ? record->payload : lc__record_start(record);
	*checksum = has_one ? lc__get64(record->parts + part_hash)
			    : lc__record_checksum(record);
	return record->nparts <= 1;
}

/* What precedes a part: bytes of the payload, and checksums of blocks. */
struct place {
	size_t offset;
	uint32_t block;
};

/* Read entry @p i of the table. Its bytes start at @p at, which moves to the next part;
 * false if they do not fit. */
static bool
next_part(const struct lc__record *record, uint32_t i, struct place *at,
    struct lc__record_part *out)
{
	const unsigned char *entry = record->parts + (size_t)i * part_bytes;
	const size_t left = record->payload_size - at->offset;
	uint64_t padded;
	uint32_t blocks;

	out->hash = lc__get64(entry + part_hash);
	out->size = lc__get32(entry + part_size);
	out->codec = entry[part_codec];
	out->data = record->payload + at->offset;
	padded = lc__round_up(out->size, LC__RECORD_ALIGN);
	blocks = blocks_of(out->size);
	if (padded > left || out->codec >= LC_CODEC_COUNT ||
	    blocks > record->nblocks - at->block)
		return false;
	out->blocks = blocks > 0 ? record->blocks + (size_t)at->block * 8 : NULL;
	at->offset += (size_t)padded;
	at->block += blocks;
	return true;
}

struct lc__part_block
lc__part_block(const struct lc__record_part *part, size_t at)
{
	const size_t padded = (size_t)lc__round_up(part->size, LC__RECORD_ALIGN);
	const size_t i = at / LC__RECORD_BLOCK, from = i * LC__RECORD_BLOCK;

	return (struct lc__part_block){
		.data = (const unsigned char *)part->data + from,
		.size = padded - from < LC__RECORD_BLOCK ? padded - from
							 : LC__RECORD_BLOCK,
		.hash = lc__get64(part->blocks + i * 8),
	};
}

bool
lc__part_block_intact(const struct lc__part_block *block)
{
	return block->hash == lc__hash64(block->data, block->size);
}

bool
lc__part_intact(const struct lc__record_part *part)
{
	return lc__part_copy(part, NULL, 0, 0);
}

bool
lc__part_copy(const struct lc__record_part *part, void *out, size_t size, size_t all)
{
	if (part->blocks == NULL)
		return part->hash ==
		    lc__hash64_copy(part->data,
			(size_t)lc__round_up(part->size, LC__RECORD_ALIGN), out, size,
			all);
	if (part->hash != lc__hash64(part->blocks, (size_t)blocks_of(part->size) * 8))
		return false;
	for (size_t at = 0; at < part->size; at += LC__RECORD_BLOCK) {
		const struct lc__part_block block = lc__part_block(part, at);
		const size_t left = at < size ? size - at : 0;

		if (block.hash !=
		    lc__hash64_copy(block.data, block.size,
			left > 0 ? (unsigned char *)out + at : NULL,
			left < block.size ? left : block.size, all))
			return false;
	}
	return true;
}

bool
lc__record_intact(const struct lc__record *record)
{
	struct lc__record_part part;
	struct place at = { 0, 0 };

	if (!lc__record_head_intact(record))
		return false;
	for (uint32_t i = 0; i < record->nparts; i++)
		if (!next_part(record, i, &at, &part) || !lc__part_intact(&part))
			return false;
	return true;
}

/* Shape and size of the tensor of a node; false on overflow. */
static bool
shape_of(const struct lc__record *record, const struct lc__schema_node *node,
    lc_tensor *out)
{
	const unsigned char *dims = record->dims + (size_t)node->first_dim * 8;
	uint64_t nbytes = lc_dtype_size(node->dtype);

	out->dtype = node->dtype;
	out->ndim = node->ndim;
	for (uint32_t i = 0; i < node->ndim; i++) {
		out->shape[i] = lc__get64(dims + (size_t)i * 8);
		if (!lc__mul64(nbytes, out->shape[i], &nbytes))
			return false;
	}
	out->nbytes = (size_t)nbytes;
	return nbytes <= LC__RAW_MAX;
}

bool
lc__record_alone(const struct lc__record *record, const struct lc__schema *schema,
    lc_tensor *out)
{
	if (!lc__schema_is_tensor(schema) || record->ndims != schema->dims ||
	    !shape_of(record, &schema->node[0], out))
		return false;
	out->data = record->payload;
	return lc__round_up(out->nbytes, LC__RECORD_ALIGN) == record->payload_size;
}

bool
lc__record_fits(const struct lc__record *record, const struct lc__schema *schema)
{
	struct place at = { 0, 0 };
	struct lc__record_part part;
	lc_tensor tensor;

	if (!record->has_parts)
		return lc__record_alone(record, schema, &tensor);
	if (record->ndims != schema->dims || record->nparts != schema->tensors)
		return false;
	for (uint32_t i = 0; i < schema->nodes; i++) {
		if (schema->node[i].kind != LC_TENSOR)
			continue;
		if (!shape_of(record, &schema->node[i], &tensor) ||
		    !next_part(record, schema->node[i].first_tensor, &at, &part) ||
		    !lc__codec_holds(part.codec, part.size, tensor.nbytes))
			return false;
	}
	return at.offset == record->payload_size && at.block == record->nblocks;
}

void
lc__record_tensors(const struct lc__record *record, const struct lc__schema *schema,
    uint32_t node, lc_tensor *tensors, struct lc__record_part *parts)
{
	const uint32_t first = schema->node[node].first_tensor;
	struct place at = { 0, 0 };
	struct lc__record_part passed;

	for (uint32_t i = 0; record->has_parts && i < first; i++)
		(void)next_part(record, i, &at, &passed);
	for (uint32_t n = node; n < schema->node[node].end; n++) {
		const struct lc__schema_node *leaf = &schema->node[n];
		const uint32_t i = leaf->first_tensor - first;

		if (leaf->kind != LC_TENSOR)
			continue;
		(void)shape_of(record, leaf, &tensors[i]);
		if (record->has_parts)
			(void)next_part(record, leaf->first_tensor, &at, &parts[i]);
		else
			parts[i] = (struct lc__record_part){ LC_CODEC_NONE,
				record->payload, tensors[i].nbytes, 0, NULL };
		tensors[i].data = parts[i].data;
	}
}

lc_codec
lc__record_first_codec(const struct lc__record *record)
{
	struct lc__record_part part = { .codec = LC_CODEC_NONE };
	struct place at = { 0, 0 };

	if (record->nparts > 0)
		(void)next_part(record, 0, &at, &part);
	return part.codec;
}

/* ---- the length of a record ---------------------------------------------- */

bool
lc__is_length_field(const char *field)
{
	const char *rest = field;
	struct lc__step step;

	if (*field == '\0' || strcmp(field, ".") == 0)
		return true;
	while (rest != NULL)
		if (!lc__path_step(&rest, &step) || step.size == 0)
			return false;
	return true;
}

/* Find the field in a schema. */
static void
find_axis(struct lc__measure *m, const struct lc__schema *schema)
{
	const struct lc__schema_node *node;
	uint32_t n = 0;

	m->schema = schema;
	m->dim = LC__NO_AXIS;
	m->fixed = 0;
	if (strcmp(m->field, ".") != 0 && !lc__schema_find(schema, m->field, &n))
		return;
	node = &schema->node[n];
	if (node->kind != LC_TENSOR)
		return;
	if (node->ndim == 0)
		m->fixed = 1;
	else
		m->dim = node->first_dim;
}

uint64_t
lc__measure(struct lc__measure *m, const struct lc__record *record,
    const struct lc__schema *schema)
{
	uint64_t length;

	if (!lc__measures(m))
		return 0;
	if (m->schema != schema)
		find_axis(m, schema);
	if (m->dim == LC__NO_AXIS)
		return m->fixed;
	if (m->dim >= record->ndims)
		return 0;
	length = lc__get64(record->dims + (size_t)m->dim * 8);
	return length > LC__RAW_MAX ? 0 : length;
}

/* ---- the digest of a record ---------------------------------------------- */

uint64_t
lc__digest(const struct lc__draft *draft)
{
	unsigned char shape[LC_MAX_NDIM * 8];
	uint64_t h = draft->schema->hash;

	h = lc__hash64_seed(draft->id.data, draft->id.size, h);
	h = lc__hash64_seed(draft->plain, draft->plain_size, h);
	for (uint32_t i = 0; i < draft->schema->tensors; i++) {
		const lc_tensor *tensor = draft->tensors[i];

		for (uint32_t d = 0; d < tensor->ndim; d++)
			lc__set64(shape + 8 * (size_t)d, tensor->shape[d]);
		h = lc__hash64_seed(shape, 8 * (size_t)tensor->ndim, h);
		h = lc__hash64_seed(tensor->data, tensor->nbytes, h);
	}
	return h;
}

uint64_t
lc__digest_add(uint64_t chunk, uint64_t record)
{
	unsigned char bytes[8];

	lc__set64(bytes, record);
	return lc__hash64_seed(bytes, sizeof(bytes), chunk);
}
