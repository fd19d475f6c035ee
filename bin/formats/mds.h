/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MDS, version 2: a directory of shards whose samples have the same columns, and
 * index.json, which lists the columns and the shards. Bytes in, bytes out; the caller
 * reads the files. Errors do not name a file.
 *
 * A shard has the number of its samples, the offset of each and of the end of the last,
 * 32 bits each; the columns once more, as JSON; and the samples. A sample has the sizes
 * of those columns that have no fixed size, 32 bits each, and then all columns one after
 * another.
 */
#ifndef CACHEX_FORMATS_MDS_H
#define CACHEX_FORMATS_MDS_H

#include "formats/mds_column.h"

#define LC__MDS_INDEX "index.json"

/** One column. */
struct lc__mds_column {
	char *name;
	struct lc__mds_encoding encoding;
	uint64_t size; /* bytes in each sample; 0 if each sample has its own size */
};

/** Columns, in the order of a sample. */
struct lc__mds_columns {
	struct lc__mds_column *column;
	size_t count;
	size_t sizes; /* columns whose size differs by sample */
};

/** The column of a name, or false. */
bool lc__mds_find(const struct lc__mds_columns *columns, const char *name, size_t *out);
void lc__mds_columns_free(struct lc__mds_columns *columns);

/* ---- shards on their way in ---------------------------------------------------- */

/** Bytes of a shard's head, as far as the places go. */
static inline uint64_t
lc__mds_head_size(uint32_t samples)
{
	return ((uint64_t)samples + 2) * 4;
}

/**
 * Check a head of lc__mds_head_size(samples) bytes: places in order, within the file
 * and after the head, and the last at the end of the file. LC_CORRUPT.
 */
LC_CHECKED lc_status lc__mds_check_head(const void *head, uint32_t samples,
    uint64_t file_size);
/** Where a sample lies, by a checked head. */
void lc__mds_place(const void *head, uint32_t sample, uint64_t *begin, uint64_t *end);

/** Where a column's bytes lie in a sample. */
struct lc__mds_piece {
	size_t at, size;
};

/**
 * Split a sample of @p size bytes by the sizes at its beginning.
 * @param sizes columns->sizes times 4 bytes, which the caller has checked to be there
 * @param out has room for all columns
 * @return LC_OK; LC_CORRUPT if the columns do not exactly fill the sample.
 */
LC_CHECKED lc_status lc__mds_split(const struct lc__mds_columns *columns,
    const void *sizes, size_t size, struct lc__mds_piece *out);

/* ---- texts on their way out ----------------------------------------------------- */

/** A shard's JSON, as Python's json.dumps() writes it. */
void lc__mds_config(const struct lc__mds_columns *columns, uint64_t size_limit,
    struct lc__buf *out);
/** The same in the index, with what the shard's file is. */
void lc__mds_index_entry(const struct lc__mds_columns *columns, uint64_t size_limit,
    const char *basename, uint64_t bytes, uint32_t samples, struct lc__buf *out);

/* ---- index.json: which shards a directory has ------------------------------------ */

/** A checksum of a file, by its name there: "sha256", "xxh3_64" … */
struct lc__mds_hash {
	char *algorithm;
	char *hex; /* as in the index */
};

/** A file of a shard. */
struct lc__mds_file {
	char *name;     /* path below the directory; NULL if there is no such file */
	uint64_t bytes; /* its size */
	struct lc__mds_hash *hash;
	size_t hashes;
};

struct lc__mds_shard {
	size_t columns; /* which of lc__mds_index.columns */
	uint32_t samples;
	struct lc__mds_file raw; /* as it is */
	struct lc__mds_file zip; /* compressed */
	char *compression;       /* "zstd", "gz:9"; NULL for none */
};

struct lc__mds_index {
	struct lc__mds_columns *columns; /* those that shards have, mostly one set */
	size_t column_sets, columns_room;
	struct lc__mds_shard *shard;
	size_t shards, shards_room;
	uint64_t samples; /* in all */
};

/** Does it look like an index? */
bool lc__mds_index_is(const void *text, size_t size);

/**
 * Read index.json. Paths of files that lead out of the directory are refused.
 * @param out all zero; to be freed with lc__mds_index_free(), also on failure
 * @return LC_OK; LC_CORRUPT, with the shard and the reason; LC_VERSION for a version
 * other than 2; LC_UNSUPPORTED for shards of another format, pickled columns and unknown
 * encodings; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__mds_index_read(const void *text, size_t size,
    struct lc__mds_index *out);

void lc__mds_index_free(struct lc__mds_index *index);

#endif
