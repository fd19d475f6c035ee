/* SPDX-License-Identifier: BSD-2-Clause */
/* One TWH1 shard to a file. */
#ifndef LC_SHARD_WRITER_H
#define LC_SHARD_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/newfile.h"
#include "lmdbcache.h"
#include "shard/build.h"
#include "shard/digest.h"

/** One shard to be written. */
struct lc__shard_job {
	const char *path;   /* of the file */
	lc_shard_info info; /* laid out by lc__twh1_layout() */
	uint64_t first;     /* the source's sample that becomes sample 0 */
	uint64_t row_bytes; /* that the layout was made with */
	const struct lc__shard_source *source;
	bool no_sha256; /* XXH3 of 128 bits instead */
	/** Told of bytes written; another status than LC_OK stops. */
	lc_status (*step)(void *ctx, uint64_t bytes);
	void *step_ctx; /* its first argument */
};

/**
 * Write a shard as lib/base/newfile writes files: whole and durable at its path, or on failure
 * what was there before.
 * @param out  gets the checksum of the file
 */
LC_CHECKED lc_status lc__shard_write(const struct lc__shard_job *job,
    struct lc__digest_text *out);

/** The same to a new file, which the caller puts in its place. */
LC_CHECKED lc_status lc__shard_write_to(const struct lc__shard_job *job,
    const struct lc__newfile *file, struct lc__digest_text *out);

#endif
