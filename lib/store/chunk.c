/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/chunk.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

/* Offsets in the header. */
enum {
	at_magic = 0,      /* "LCCK" */
	at_version = 4,    /* u16 */
	at_header = 6,     /* u16, size of the header */
	at_id = 8,         /* u64 */
	at_records = 16,   /* u64 */
	at_bytes = 24,     /* u64 */
	at_directory = 32, /* u32, flags */
	at_length = 36,    /* u32 */
	at_checksum = 40   /* u64, XXH3-64 of all before */
};

static const unsigned char magic[4] = { 'L', 'C', 'C', 'K' };
static const uint16_t version = 1;

uint64_t
lc__chunk_tables(const struct lc__chunk *chunk)
{
	return lc__tables_size(chunk->directory, chunk->records);
}

uint64_t
lc__chunk_size(const struct lc__chunk *chunk, uint64_t page_size)
{
	const uint64_t size = LC__CHUNK_HEADER + chunk->bytes + lc__chunk_tables(chunk);

	return size < page_size / 2 ? page_size / 2 : size;
}

void
lc__chunk_encode(unsigned char *out, const struct lc__chunk *chunk)
{
	memcpy(out + at_magic, magic, sizeof(magic));
	lc__set16(out + at_version, version);
	lc__set16(out + at_header, LC__CHUNK_HEADER);
	lc__set64(out + at_id, chunk->id);
	lc__set64(out + at_records, chunk->records);
	lc__set64(out + at_bytes, chunk->bytes);
	lc__set32(out + at_directory, chunk->directory);
	lc__set32(out + at_length, chunk->length);
	lc__set64(out + at_checksum, lc__hash64(out, at_checksum));
}

bool
lc__chunk_parse(const unsigned char *bytes, uint64_t size, uint64_t id,
    struct lc__chunk *out)
{
	if (size < LC__CHUNK_HEADER ||
	    memcmp(bytes + at_magic, magic, sizeof(magic)) != 0 ||
	    lc__get64(bytes + at_checksum) != lc__hash64(bytes, at_checksum) ||
	    lc__get16(bytes + at_version) != version ||
	    lc__get16(bytes + at_header) != LC__CHUNK_HEADER)
		return false;
	out->id = lc__get64(bytes + at_id);
	out->records = lc__get64(bytes + at_records);
	out->bytes = lc__get64(bytes + at_bytes);
	out->directory = lc__get32(bytes + at_directory);
	out->length = lc__get32(bytes + at_length);
	return out->id == id && out->bytes <= size - LC__CHUNK_HEADER &&
	    out->bytes % 64 == 0 && out->records <= out->bytes / 64;
}

bool
lc__chunk_says(const unsigned char *bytes, uint64_t size, uint64_t *id)
{
	struct lc__chunk chunk;

	if (size < LC__CHUNK_HEADER)
		return false;
	*id = lc__get64(bytes + at_id);
	return lc__chunk_parse(bytes, size, *id, &chunk);
}

/* ---- rows of several chunks ----------------------------------------------- */

/* Offsets in the list. */
enum {
	at_list_magic = 0,   /* "LCCF" */
	at_list_version = 4, /* u16 */
	at_list_size = 6,    /* u16, of the list */
	at_list_block = 8,   /* u64, first id of the block */
	at_list_places = 16, /* u16 for each id: offset in the value / 64, 0 if it is not
	                      * in the row */
	at_list_checksum = 144, /* u64, XXH3-64 of all before */
	at_list_zeros = 152     /* to the end */
};

static const unsigned char list_magic[4] = { 'L', 'C', 'C', 'F' };
static const uint16_t list_version = 1;

void
lc__folded_encode(unsigned char out[LC__FOLDED_LIST], uint64_t block,
    const uint64_t places[LC__FOLD_BLOCK])
{
	memcpy(out + at_list_magic, list_magic, sizeof(list_magic));
	lc__set16(out + at_list_version, list_version);
	lc__set16(out + at_list_size, LC__FOLDED_LIST);
	lc__set64(out + at_list_block, block);
	for (unsigned i = 0; i < LC__FOLD_BLOCK; i++)
		lc__set16(out + at_list_places + (size_t)i * 2,
		    (uint16_t)(places[i] / LC__RECORD_ALIGN));
	lc__set64(out + at_list_checksum, lc__hash64(out, at_list_checksum));
	memset(out + at_list_zeros, 0, LC__FOLDED_LIST - at_list_zeros);
}

bool
lc__is_folded(const unsigned char *value, uint64_t size)
{
	return size >= 2 * LC__FOLDED_LIST &&
	    memcmp(value + at_list_magic, list_magic, sizeof(list_magic)) == 0;
}

static uint64_t
place_of(const unsigned char *list, uint64_t i)
{
	return (uint64_t)lc__get16(list + at_list_places + i * 2) * LC__RECORD_ALIGN;
}

bool
lc__folded_intact(const unsigned char *list, uint64_t size)
{
	uint64_t from = LC__FOLDED_LIST;

	if (!lc__is_folded(list, size) ||
	    lc__get64(list + at_list_checksum) != lc__hash64(list, at_list_checksum) ||
	    lc__get16(list + at_list_version) != list_version ||
	    lc__get16(list + at_list_size) != LC__FOLDED_LIST ||
	    lc__get64(list + at_list_block) % LC__FOLD_BLOCK != 0 ||
	    lc__get64(list + at_list_block) > UINT64_MAX / 2)
		return false;
	for (uint64_t i = 0; i < LC__FOLD_BLOCK; i++) {
		const uint64_t at = place_of(list, i);

		if (at == 0)
			continue;
		if (at < from || at + LC__CHUNK_HEADER > size - LC__FOLDED_LIST)
			return false;
		from = at + LC__CHUNK_HEADER;
	}
	return from > LC__FOLDED_LIST;
}

bool
lc__folded_find(const unsigned char *list, uint64_t size, uint64_t id,
    struct lc__folded *out)
{
	uint64_t i, at, end = 0;

	if (!lc__is_folded(list, size))
		return false;
	i = id - lc__get64(list + at_list_block);
	if (i >= LC__FOLD_BLOCK)
		return false;
	at = place_of(list, i);
	while (end == 0 && ++i < LC__FOLD_BLOCK)
		end = place_of(list, i);
	if (end == 0 || end > size - LC__FOLDED_LIST)
		end = size - LC__FOLDED_LIST;
	if (at < LC__FOLDED_LIST || at >= end)
		return false;
	*out = (struct lc__folded){ id, at, end - at };
	return true;
}

bool
lc__folded_next(const unsigned char *list, uint64_t size, struct lc__folded *chunk)
{
	uint64_t id, end;

	if (!lc__is_folded(list, size))
		return false;
	id = lc__get64(list + at_list_block);
	end = id + LC__FOLD_BLOCK;
	if (chunk->size > 0)
		id = chunk->id + 1;
	for (; id < end; id++)
		if (lc__folded_find(list, size, id, chunk))
			return true;
	return false;
}

/* ---- reading a directory ------------------------------------------------- */

/* An offset after the header; only a damaged table has others. */
static uint64_t
offset_at(const unsigned char *offsets, uint64_t i)
{
	return (uint64_t)lc__get32(offsets + i * 4) * LC__RECORD_ALIGN;
}

/* Are the records adjacent? */
static bool
offsets_ascend(const unsigned char *offsets, const struct lc__chunk *chunk)
{
	if (offset_at(offsets, 0) != 0)
		return false;
	for (uint64_t i = 1; i < chunk->records; i++)
		if (offset_at(offsets, i) <= offset_at(offsets, i - 1))
			return false;
	return offset_at(offsets, chunk->records - 1) < chunk->bytes;
}

/* Check and read the tables, whose size fits the value. */
static bool
read_tables(const unsigned char *tables, const struct lc__chunk *chunk,
    struct lc__directory *out)
{
	const uint64_t size = lc__chunk_tables(chunk);
	const unsigned char *p = tables + lc__at_tables;

	if (memcmp(tables, LC__TABLES_MAGIC, 4) != 0 ||
	    lc__get32(tables + lc__at_tables_flags) != chunk->directory ||
	    lc__get64(tables + lc__at_tables_records) != chunk->records ||
	    lc__get64(tables + size - 8) !=
		lc__hash64_seed(tables, (size_t)size - 8, chunk->id))
		return false;
	if ((chunk->directory & LC__DIRECTORY_OFFSETS) != 0) {
		out->offsets = p;
		p += lc__round_up(chunk->records * 4, 8);
		if (!offsets_ascend(out->offsets, chunk))
			return false;
	}
	if ((chunk->directory & LC__DIRECTORY_LENGTHS) != 0)
		out->lengths = p;
	return true;
}

/* Are the flags consistent? */
static bool
flags_fit(const struct lc__chunk *chunk)
{
	const uint32_t flags = chunk->directory;

	if ((flags & LC__DIRECTORY) == 0 || (flags & ~LC__DIRECTORY_KNOWN) != 0)
		return false;
	if ((flags & LC__DIRECTORY_LENGTHS) != 0)
		return (flags & LC__DIRECTORY_HAS_LENGTHS) != 0 && chunk->length == 0;
	return (flags & LC__DIRECTORY_HAS_LENGTHS) != 0 || chunk->length == 0;
}

bool
lc__directory_parse(const unsigned char *value, uint64_t size,
    const struct lc__chunk *chunk, struct lc__directory *out)
{
	const uint64_t end = LC__CHUNK_HEADER + chunk->bytes;

	memset(out, 0, sizeof(*out));
	if (!flags_fit(chunk))
		return false;
	if (chunk->records == 0)
		return true;
	if (lc__chunk_tables(chunk) > size - end)
		return false;
	if ((chunk->directory & LC__DIRECTORY_OFFSETS) == 0) {
		out->stride = chunk->bytes / chunk->records;
		if (chunk->bytes % chunk->records != 0 ||
		    out->stride % LC__RECORD_ALIGN != 0)
			return false;
	}
	if ((chunk->directory & LC__DIRECTORY_TABLES) != 0 &&
	    !read_tables(value + end, chunk, out))
		return false;
	out->records = chunk->records;
	out->length = chunk->length;
	out->has_lengths = (chunk->directory & LC__DIRECTORY_HAS_LENGTHS) != 0;
	return true;
}

uint64_t
lc__directory_offset(const struct lc__directory *d, uint64_t i)
{
	return d->offsets == NULL ? i * d->stride : offset_at(d->offsets, i);
}

uint64_t
lc__directory_length(const struct lc__directory *d, uint64_t i)
{
	return d->lengths == NULL ? d->length : lc__get64(d->lengths + i * 8);
}

uint64_t
lc__directory_tables_at(const unsigned char *bytes, uint64_t room, uint64_t id)
{
	uint32_t flags;
	uint64_t records, size;

	if (room < lc__at_tables || memcmp(bytes, LC__TABLES_MAGIC, 4) != 0)
		return 0;
	flags = lc__get32(bytes + lc__at_tables_flags);
	records = lc__get64(bytes + lc__at_tables_records);
	if (records > room)
		return 0;
	size = lc__tables_size(flags, records);
	if (size == 0 || size > room ||
	    lc__get64(bytes + size - 8) != lc__hash64_seed(bytes, (size_t)size - 8, id))
		return 0;
	return size;
}

/* ---- building a directory ------------------------------------------------ */

static void
append_offset(struct lc__directory_build *b, uint64_t offset)
{
	unsigned char bytes[4];

	lc__set32(bytes, (uint32_t)(offset / LC__RECORD_ALIGN));
	lc__buf_append(&b->offsets, bytes, sizeof(bytes));
}

/* The tables stay empty until a record differs from those before. */
static void
add_size(struct lc__directory_build *b, uint64_t size)
{
	if (b->records == 0)
		b->stride = size;
	if (b->offsets.size == 0 && size != b->stride)
		for (uint64_t i = 0; i < b->records; i++)
			append_offset(b, i * b->stride);
	if (b->offsets.size > 0)
		append_offset(b, b->bytes);
}

static void
add_length(struct lc__directory_build *b, uint64_t length)
{
	if (b->records == 0)
		b->length = length;
	if (b->lengths.size == 0 && length != b->length)
		for (uint64_t i = 0; i < b->records; i++)
			lc__buf_append64(&b->lengths, b->length);
	if (b->lengths.size > 0)
		lc__buf_append64(&b->lengths, length);
}

void
lc__directory_add(struct lc__directory_build *b, uint64_t size, uint64_t length)
{
	add_size(b, size);
	if (b->has_lengths)
		add_length(b, length);
	b->records++;
	b->bytes += size;
}

lc_status
lc__directory_done(const struct lc__directory_build *b, struct lc__chunk *chunk)
{
	if (b->offsets.failed || b->lengths.failed)
		return lc__no_memory("commit");
	chunk->directory = LC__DIRECTORY;
	chunk->length = 0;
	if (b->offsets.size > 0)
		chunk->directory |= LC__DIRECTORY_OFFSETS;
	if (b->has_lengths)
		chunk->directory |= LC__DIRECTORY_HAS_LENGTHS;
	/* The header has only 32 bits for a length that all records share. */
	if (b->has_lengths && (b->lengths.size > 0 || b->length > UINT32_MAX))
		chunk->directory |= LC__DIRECTORY_LENGTHS;
	else
		chunk->length = (uint32_t)b->length;
	return LC_OK;
}

/* Write the table of lengths, or the one length, above 32 bits, of every record. */
static unsigned char *
put_lengths(const struct lc__directory_build *b, unsigned char *p)
{
	if (b->lengths.size > 0) {
		memcpy(p, b->lengths.data, b->lengths.size);
		return p + b->lengths.size;
	}
	for (uint64_t i = 0; i < b->records; i++, p += 8)
		lc__set64(p, b->length);
	return p;
}

void
lc__directory_write(const struct lc__directory_build *b, const struct lc__chunk *chunk,
    unsigned char *out)
{
	unsigned char *p = out + lc__at_tables;

	if ((chunk->directory & LC__DIRECTORY_TABLES) == 0)
		return;
	memcpy(out + lc__at_tables_magic, LC__TABLES_MAGIC, 4);
	lc__set32(out + lc__at_tables_flags, chunk->directory);
	lc__set64(out + lc__at_tables_records, chunk->records);
	if (b->offsets.size > 0) {
		const size_t padded = (size_t)lc__round_up(b->offsets.size, 8);

		memset(p + padded - 8, 0, 8);
		memcpy(p, b->offsets.data, b->offsets.size);
		p += padded;
	}
	if ((chunk->directory & LC__DIRECTORY_LENGTHS) != 0)
		p = put_lengths(b, p);
	lc__set64(p, lc__hash64_seed(out, (size_t)(p - out), chunk->id));
}

void
lc__directory_free(struct lc__directory_build *b)
{
	lc__buf_free(&b->offsets);
	lc__buf_free(&b->lengths);
}
