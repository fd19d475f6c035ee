/* SPDX-License-Identifier: BSD-2-Clause */
/* index.json: which shards a directory of MDS has. */
#ifndef CACHEX_FORMATS_MDS_INDEX_H
#define CACHEX_FORMATS_MDS_INDEX_H

#include "formats/mds.h"

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

/** Is it an index by the looks of it? */
bool lc__mds_index_is(const void *text, size_t size);

/**
 * Read index.json. Paths of files lead nowhere but below the directory.
 * @param out  all zero; to be freed with lc__mds_index_free(), also on failure
 * @return LC_OK; LC_CORRUPT, with the shard and what is wrong; LC_VERSION for a version
 * other than 2; LC_UNSUPPORTED for shards of another format, columns that are pickled
 * and encodings that are not known; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__mds_index_read(const void *text, size_t size,
    struct lc__mds_index *out);

void lc__mds_index_free(struct lc__mds_index *index);

#endif
