/* SPDX-License-Identifier: BSD-2-Clause */
/* One shard of MDS, open for reading: checked against the index, and inflated if it is
 * there compressed only. */
#ifndef CACHEX_FORMATS_MDS_SHARD_H
#define CACHEX_FORMATS_MDS_SHARD_H

#include "formats/mds_index.h"

/** LC__MDS_FILE_NONE is closed. */
struct lc__mds_shard_file {
	int fd;              /* of its bytes as they are; -1 if it is closed */
	char *path;          /* for messages */
	uint32_t samples;    /* in it */
	unsigned char *head; /* where they are */
};

#define LC__MDS_FILE_NONE \
	{ \
		.fd = -1 \
	}

/** LC_CORRUPT, also if it is missing, LC_IO … with the file; LC_UNSUPPORTED for a
 *  compression that is not read here. */
LC_CHECKED lc_status lc__mds_shard_open(const char *dir,
    const struct lc__mds_shard *shard, struct lc__mds_shard_file *out);
/** Bytes of a sample. */
uint64_t lc__mds_shard_size(const struct lc__mds_shard_file *file, uint32_t sample);
/** Read some of a sample's bytes, which are there. */
LC_CHECKED lc_status lc__mds_shard_read(const struct lc__mds_shard_file *file,
    uint32_t sample, uint64_t at, void *out, size_t size);
/** Harmless on a closed one. */
void lc__mds_shard_close(struct lc__mds_shard_file *file);

#endif
