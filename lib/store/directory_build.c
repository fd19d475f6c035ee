/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/directory_build.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/directory_layout.h"
#include "store/record.h"

static void
append_offset(struct lc__directory_build *b, uint64_t offset)
{
	unsigned char bytes[4];

	lc__set32(bytes, (uint32_t)(offset / LC__RECORD_ALIGN));
	lc__buf_append(&b->offsets, bytes, sizeof(bytes));
}

/* Nothing is written down until a record is not like those before. */
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

/* The header has 32 bits for what all lengths are. */
static bool
needs_lengths(const struct lc__directory_build *b)
{
	return b->lengths.size > 0 || b->length > UINT32_MAX;
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
	if (b->has_lengths && needs_lengths(b))
		chunk->directory |= LC__DIRECTORY_LENGTHS;
	else
		chunk->length = (uint32_t)b->length;
	return LC_OK;
}

/* The table, or the one length above 32 bits of each record. */
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
lc__directory_write(const struct lc__directory_build *b,
    const struct lc__chunk *chunk, unsigned char *out)
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
