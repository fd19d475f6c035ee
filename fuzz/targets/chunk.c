/* SPDX-License-Identifier: BSD-2-Clause */
/* Chunks: store/chunk.c, and the records in them. Input: the value of a
 * chunk, whose checksums are put right. */
#include "fuzz.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "mend.h"
#include "store/chunk.h"
#include "store/record.h"

static void
read_directory(const unsigned char *value, size_t size, const struct lc__chunk *chunk)
{
	struct lc__directory directory;

	if (!lc__directory_parse(value, size, chunk, &directory))
		return;
	fuzz_require(directory.records == 0 || directory.records == chunk->records);
	for (uint64_t i = 0; i < directory.records; i++) {
		const uint64_t at = lc__directory_offset(&directory, i);
		struct lc__record record;

		fuzz_require(at < chunk->bytes);
		(void)lc__directory_length(&directory, i);
		if (lc__record_parse(value + LC__CHUNK_HEADER + at, chunk->bytes - at,
		    &record))
			fuzz_touch(record.id.data, record.id.size);
	}
}

static void
walk_records(const unsigned char *value, const struct lc__chunk *chunk)
{
	const unsigned char *bytes = value + LC__CHUNK_HEADER;
	struct lc__record record;

	for (uint64_t at = 0; at < chunk->bytes; at += record.size) {
		if (!lc__record_parse(bytes + at, chunk->bytes - at, &record))
			break;
		(void)lc__record_intact(&record);
		fuzz_require(record.size >= LC__RECORD_ALIGN);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *value = fuzz_copy(data, size);
	struct lc__folded folded = { 0 }, found;
	struct lc__chunk chunk;
	unsigned chunks = 0;
	const uint64_t id = size >= 16 ? lc__get64(value + 8) : 0;

	mend_chunk(value, size);
	if (lc__chunk_parse(value, size, id, &chunk)) {
		fuzz_require(chunk.bytes <= size - LC__CHUNK_HEADER);
		read_directory(value, size, &chunk);
		walk_records(value, &chunk);
	}
	(void)lc__directory_tables_at(value, size, id);
	if (size >= LC__FOLDED_LIST)
		lc__set64(value + 144, lc__hash64(value, 144));
	while (lc__folded_next(value, size, &folded)) {
		fuzz_require(folded.size > 0 && folded.size <= size);
		fuzz_require(folded.at <= size - folded.size);
		fuzz_touch(value + folded.at, folded.size);
		fuzz_require(lc__folded_find(value, size, folded.id, &found));
		chunks++;
	}
	fuzz_require(!lc__folded_intact(value, size) || chunks > 0);
	free(value);
	return 0;
}
