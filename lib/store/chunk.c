/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/chunk.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "store/directory_layout.h"

/* Offsets in the header. */
enum {
	at_magic = 0,    /* "LCCK" */
	at_version = 4,  /* u16 */
	at_header = 6,   /* u16, size of the header */
	at_id = 8,       /* u64 */
	at_records = 16, /* u64 */
	at_bytes = 24,   /* u64 */
	at_directory = 32, /* u32, flags */
	at_length = 36,  /* u32 */
	at_checksum = 40 /* u64, XXH3-64 of all before */
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
	const uint64_t size = LC__CHUNK_HEADER + chunk->bytes +
	    lc__chunk_tables(chunk);

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
