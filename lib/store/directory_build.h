/* SPDX-License-Identifier: BSD-2-Clause */
/* The directory of a chunk that is being laid out. */
#ifndef LC_STORE_DIRECTORY_BUILD_H
#define LC_STORE_DIRECTORY_BUILD_H

#include "base/buf.h"
#include "lmdbcache.h"
#include "store/chunk.h"

/** What is known of the records so far. Zero-initialised but for has_lengths. */
struct lc__directory_build {
	bool has_lengths;       /* the module has a length field */
	uint64_t records, bytes; /* added */
	uint64_t stride, length; /* of the first record */
	struct lc__buf offsets; /* the table; empty while all sizes are equal */
	struct lc__buf lengths; /* the same of lengths */
};

/** Add the next record. Without memory lc__directory_done() fails. */
void lc__directory_add(struct lc__directory_build *build, uint64_t size,
    uint64_t length);

/** Say in a chunk's header where its records are; no more are added.
 *  @return LC_OK; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__directory_done(const struct lc__directory_build *build,
    struct lc__chunk *chunk);

/** Write the tables, lc__chunk_tables() bytes, behind the records. */
void lc__directory_write(const struct lc__directory_build *build,
    const struct lc__chunk *chunk, unsigned char *out);

void lc__directory_free(struct lc__directory_build *build);

#endif
