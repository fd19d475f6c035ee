/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/directory.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/directory_layout.h"

/* Behind the header, unless a damaged table says otherwise. */
static uint64_t
offset_at(const unsigned char *offsets, uint64_t i)
{
	return (uint64_t)lc__get32(offsets + i * 4) * LC__RECORD_ALIGN;
}

/* Records stand in order, one behind the other. */
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

/* Take the tables apart, whose size fits the value. */
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

static bool
read_stride(const struct lc__chunk *chunk, struct lc__directory *out)
{
	out->stride = chunk->bytes / chunk->records;
	return chunk->bytes % chunk->records == 0 &&
	    out->stride % LC__RECORD_ALIGN == 0;
}

/* Do flags say what makes sense together? */
static bool
flags_fit(const struct lc__chunk *chunk)
{
	const uint32_t flags = chunk->directory;

	if ((flags & LC__DIRECTORY) == 0 || (flags & ~LC__DIRECTORY_KNOWN) != 0)
		return false;
	if ((flags & LC__DIRECTORY_LENGTHS) != 0)
		return (flags & LC__DIRECTORY_HAS_LENGTHS) != 0 &&
		    chunk->length == 0;
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
	if ((chunk->directory & LC__DIRECTORY_OFFSETS) == 0 &&
	    !read_stride(chunk, out))
		return false;
	if ((chunk->directory & LC__DIRECTORY_TABLES) != 0 &&
	    !read_tables(value + end, chunk, out))
		return false;
	out->records = chunk->records;
	out->length = chunk->length;
	out->has_lengths = (chunk->directory & LC__DIRECTORY_HAS_LENGTHS) != 0;
	return true;
}

lc_status
lc__directory_read(struct lc__snapshot *snapshot,
    const struct lc__mapped_chunk *mapped, struct lc__directory *out)
{
	struct lc__directory directory;
	struct lc__chunk chunk;

	if (!lc__chunk_parse(mapped->bytes, mapped->size, mapped->id,
	    &chunk) ||
	    !lc__directory_parse(mapped->bytes, mapped->size, &chunk, &directory))
		return lc__error(LC_CORRUPT, 0, "%s: the directory of chunk %llu "
		    "is damaged", lc__env_dir(snapshot->env),
		    (unsigned long long)mapped->id);
	*out = directory;
	return LC_OK;
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
	if (size == 0 || size > room || lc__get64(bytes + size - 8) !=
	    lc__hash64_seed(bytes, (size_t)size - 8, id))
		return 0;
	return size;
}
