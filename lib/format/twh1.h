/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of a TWH1 shard, twh1(5): header, layout, metadata section and block
 * checksums. Works on bytes only; reader and writer handle the files. */
#ifndef LC_FORMAT_TWH1_H
#define LC_FORMAT_TWH1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

#define LC__TWH1_HEADER 80       /* size of the header as written */
#define LC__TWH1_META_HEADER 32  /* bytes before the row offsets */
#define LC__TWH1_TABLE_HEADER 32 /* bytes before the block checksums */
#define LC__TWH1_BLOCK 65536u    /* size of a checksum block, as written */

/** Bytes of one sample in each of the three payload regions. */
struct lc__twh1_sizes {
	uint64_t image; /* channels x height x width elements */
	uint64_t boxes; /* max_boxes x 4 elements of boxes_dtype */
	uint64_t mask;  /* max_boxes elements of boxes_dtype */
};

/** A whole shard in memory, checked. Pointers point into the file's bytes. */
struct lc__twh1 {
	lc_shard_info info;           /* the content of the header */
	struct lc__twh1_sizes sizes;  /* of one sample */
	const unsigned char *file;    /* info.file_size bytes */
	const unsigned char *offsets; /* samples + 1 row offsets, or NULL */
	const unsigned char *rows;    /* the metadata rows, or NULL */
	uint64_t row_bytes;           /* of all rows */
	const unsigned char *table;   /* the block checksums, or NULL */
	uint64_t blocks;              /* how many */
	uint64_t block;               /* bytes a block */
};

/** The number that the header stores for a dtype, which must not be opaque. */
uint32_t lc__twh1_dtype_code(lc_dtype dtype);

/**
 * The channels x height x width of a tensor: a low rank gets leading dimensions of 1, a
 * high one has its leading dimensions joined.
 * @return LC_OK, or LC_UNSUPPORTED if one of them needs more than 32 bits.
 */
LC_CHECKED lc_status lc__twh1_chw(const lc_tensor *tensor, uint32_t chw[3]);

/**
 * Place the regions of a new shard: from version, dtypes, dimensions and samples in @p
 * info, compute its offsets and file_size. Without boxes, boxes_dtype becomes dtype.
 * @param metadata   with metadata rows and block checksums (version 2)
 * @param row_bytes  of all metadata rows
 * @return LC_OK; LC_UNSUPPORTED for dtypes that the version does not have; LC_INVALID if
 * the size overflows.
 */
LC_CHECKED lc_status lc__twh1_layout(lc_shard_info *info, bool metadata,
    uint64_t row_bytes);

/** Sizes of one sample; false if the dimensions overflow. */
bool lc__twh1_sizes_of(const lc_shard_info *info, struct lc__twh1_sizes *out);

void lc__twh1_put_header(const lc_shard_info *info, unsigned char out[LC__TWH1_HEADER]);
void lc__twh1_put_meta_header(uint64_t samples, uint64_t row_bytes,
    unsigned char out[LC__TWH1_META_HEADER]);
/** The number of blocks that cover a shard up to its checksum section. */
uint64_t lc__twh1_blocks(uint64_t checksum_offset, uint64_t block);
/** The size of a checksum section for this many blocks, its own checksum included. */
uint64_t lc__twh1_table_size(uint64_t blocks);
/**
 * Finish the checksum section at @p out, whose block checksums are filled in: write its
 * header, which contains the checksum of the file's header, and its own checksum.
 */
void lc__twh1_seal_table(const unsigned char header[LC__TWH1_HEADER], uint64_t blocks,
    unsigned char *out);

/**
 * Check a whole shard of @p size bytes: its header, that every region lies in the file,
 * and the headers of the metadata and checksum sections. Payload, rows and block
 * checksums are not read.
 * @param name  for messages
 * @return as lc_shard_open().
 */
LC_CHECKED lc_status lc__twh1_parse(const void *file, uint64_t size, const char *name,
    struct lc__twh1 *out);

/**
 * The checksum at the end of the checksum section as 16 hex digits, "" without one. The
 * section contains the checksums of the header and of every block, so this checksum
 * identifies a whole shard.
 */
void lc__twh1_section_xxh3(const struct lc__twh1 *shard, char out[17]);

/** Metadata row @p i; false if its offsets are damaged. The shard must have metadata. */
bool lc__twh1_row_at(const struct lc__twh1 *shard, uint64_t i, lc_id *out);

/** Does block @p b match its checksum? */
bool lc__twh1_block_good(const struct lc__twh1 *shard, uint64_t b);

/* ---- samples, whose bytes stay in place ------------------------------------- */

/** The form of a sample: dtypes, shapes and sizes without addresses, the same for all. */
LC_CHECKED lc_status lc__twh1_form(const struct lc__twh1 *shard, lc_sample *out);

/** Set the addresses in a form to those of sample @p i in the shard's bytes. */
void lc__twh1_place(const struct lc__twh1 *shard, uint64_t i, lc_sample *sample);

/**
 * Copy id and the image's shape from the metadata row @p row into a sample; false if the
 * row is damaged.
 */
bool lc__twh1_read_row(const lc_shard_info *info, lc_id row, lc_sample *sample);

/**
 * Get sample @p i, which must exist.
 * @param name  for messages
 * @return LC_OK; LC_CORRUPT for a bad metadata row.
 */
LC_CHECKED lc_status lc__twh1_sample(const struct lc__twh1 *shard, const char *name,
    uint64_t i, lc_sample *out);

#endif
