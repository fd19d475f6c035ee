/* SPDX-License-Identifier: BSD-2-Clause */
/* Shards: format/twh1*.c, which read a whole file that is mapped. Input: a file, its
 * checksums put right unless its first byte, which is dropped, is odd. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "format/twh1.h"
#include "format/twh1_row.h"

enum { ROWS = 100, BOXES = 64 };

/* Put the checksums of the blocks and of their section right, as far as the header
 * says where they are. */
static void
put_right(unsigned char *file, size_t size)
{
	struct lc__twh1 shard;

	if (lc__twh1_parse(file, size, "f", &shard) != LC_OK || shard.table == NULL)
		return;
	for (uint64_t b = 0; b < shard.blocks; b++) {
		const uint64_t at = b * shard.block;
		const uint64_t end = shard.info.checksum_offset;
		const uint64_t n = end - at < shard.block ? end - at : shard.block;

		lc__set64(file + (shard.table - file) + b * 8, lc__hash64(file + at, n));
	}
}

static void
read_row(const struct lc__twh1 *shard, uint64_t i)
{
	int64_t classes[BOXES];
	struct lc__twh1_row row;
	lc_sample_origin origin;
	bool has_total;
	lc_id bytes;

	if (!lc__twh1_row_at(shard, i, &bytes))
		return;
	fuzz_touch(bytes.data, bytes.size);
	if (lc__twh1_row_decode(bytes, &row))
		fuzz_touch(row.cache_id.data, row.cache_id.size);
	(void)lc__twh1_row_origin(bytes, &origin, &has_total, classes, BOXES);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	const bool right = fuzz_u8(&in) % 2 == 0;
	const size_t left = fuzz_left(&in);
	unsigned char *file = fuzz_copy(in.at, left);
	struct lc__twh1 shard;
	char hex[17];

	if (right)
		put_right(file, left);
	if (lc__twh1_parse(file, left, "f", &shard) != LC_OK) {
		free(file);
		return 0;
	}
	lc__twh1_section_xxh3(&shard, hex);
	for (uint64_t b = 0; b < shard.blocks; b++)
		(void)lc__twh1_block_good(&shard, b);
	for (uint64_t i = 0; i < shard.info.samples && i < ROWS; i++) {
		lc_sample sample;

		if (shard.rows != NULL)
			read_row(&shard, i);
		if (lc__twh1_sample(&shard, "f", i, &sample) != LC_OK)
			continue;
		fuzz_touch_tensor(&sample.image);
		fuzz_touch_tensor(&sample.boxes);
		fuzz_touch_tensor(&sample.mask);
		fuzz_touch(sample.id.data, sample.id.size);
	}
	free(file);
	return 0;
}
