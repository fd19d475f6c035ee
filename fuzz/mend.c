/* SPDX-License-Identifier: BSD-2-Clause */
#include "mend.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "index/run.h"
#include "index/run_layout.h"
#include "store/chunk.h"
#include "store/record.h"

/* Places in bytes that lmdbcache(5) describes. */
enum {
	hash_size = 8,
	record_covered = 8,   /* what a record's checksum covers begins here */
	part_entry = 16, part_size = 8,
	header_checksum = 40, /* of a chunk and of a run */
	chunk_id = 8, run_id = 8
};

void
mend_row(unsigned char *row, size_t size, uint64_t seed)
{
	if (size >= hash_size)
		lc__set64(row + size - hash_size, lc__hash64_seed(row, size - hash_size,
		    seed));
}

unsigned char *
mend_appended(unsigned char *bytes, size_t size, uint64_t seed)
{
	unsigned char *more = realloc(bytes, size + hash_size);

	if (more == NULL)
		abort();
	mend_row(more, size + hash_size, seed);
	return more;
}

size_t
mend_record(unsigned char *bytes, uint64_t room)
{
	struct lc__record record;
	unsigned char *sum;
	size_t head, at;

	if (!lc__record_parse(bytes, room, &record))
		return 0;
	at = head = (size_t)(record.payload - bytes);
	sum = bytes + (record.blocks - bytes);
	for (uint32_t i = 0; i < record.nparts; i++) {
		unsigned char *entry = bytes + (record.parts - bytes) + (size_t)i * part_entry;
		const uint64_t size = lc__round_up(lc__get32(entry + part_size),
		    LC__RECORD_ALIGN);

		if (size > record.size - at)
			break;
		if (size > LC__RECORD_BLOCK) {
			unsigned char *first = sum;

			for (size_t n = 0; n < size; n += LC__RECORD_BLOCK, sum += 8) {
				if (sum + 8 > (const unsigned char *)record.id.data)
					break;
				lc__set64(sum, lc__hash64(bytes + at + n,
				    size - n < LC__RECORD_BLOCK ? (size_t)(size - n) :
				    LC__RECORD_BLOCK));
			}
			lc__set64(entry, lc__hash64(first, (size_t)(sum - first)));
		} else {
			lc__set64(entry, lc__hash64(bytes + at, (size_t)size));
		}
		at += (size_t)size;
	}
	lc__set64(bytes, lc__hash64(bytes + record_covered,
	    (record.has_parts ? head : record.size) - record_covered));
	return record.size;
}

/* The header first: the rest is found by it. */
void
mend_chunk(unsigned char *value, uint64_t size)
{
	struct lc__chunk chunk;
	uint64_t at = LC__CHUNK_HEADER, end, tables;

	if (size < LC__CHUNK_HEADER)
		return;
	lc__set64(value + header_checksum, lc__hash64(value, header_checksum));
	if (!lc__chunk_parse(value, size, lc__get64(value + chunk_id), &chunk))
		return;
	end = LC__CHUNK_HEADER + chunk.bytes;
	for (size_t n = 1; n > 0 && at < end; at += n)
		n = mend_record(value + at, end - at);
	if ((chunk.directory & ~LC__DIRECTORY_KNOWN) != 0)
		return;
	tables = lc__chunk_tables(&chunk);
	if (tables >= hash_size && tables <= size - end)
		lc__set64(value + end + tables - hash_size, lc__hash64_seed(value + end,
		    (size_t)tables - hash_size, chunk.id));
}

static void
mend_buckets(unsigned char *table, uint32_t buckets)
{
	for (uint32_t i = 0; i < buckets; i++, table += LC__RUN_BUCKET) {
		const uint32_t overflow = lc__get32(table + bucket_at_check) &
		    BUCKET_OVERFLOW;

		lc__set32(table + bucket_at_check,
		    bucket_check(table, i, overflow) | overflow);
	}
}

static void
mend_blocks(unsigned char *keys, const struct lc__run *run)
{
	const uint64_t room = run->keys_size - 4 - (uint64_t)run->blocks * 4;

	for (uint32_t i = 0; i < run->blocks; i++) {
		const uint64_t offset = lc__get32(keys + room + (size_t)i * 4);
		unsigned char *block;
		uint32_t size;

		if (offset > room || room - offset < block_header)
			continue;
		block = keys + offset;
		size = lc__get32(block + block_at_size);
		if (size >= block_header && size <= room - offset)
			lc__set64(block + block_at_checksum, block_checksum(block, size, i,
			    lc__get32(block + block_at_entries)));
	}
}

void
mend_run(unsigned char *value, uint64_t size)
{
	struct lc__run run;

	if (size < LC__RUN_HEADER)
		return;
	lc__set64(value + header_checksum, lc__hash64(value, header_checksum));
	if (!lc__run_parse(value, size, lc__get64(value + run_id), &run))
		return;
	mend_buckets(value + (run.table - value), run.buckets);
	mend_blocks(value + (run.keys - value), &run);
}
