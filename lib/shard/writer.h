/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes one TWH1 shard to a file. */
#ifndef LC_SHARD_WRITER_H
#define LC_SHARD_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/newfile.h"
#include "lmdbcache.h"
#include "shard/build.h"
#include "shard/digest.h"

/** One shard to write. */
struct lc__shard_job {
	const char *path;   /* of the file */
	lc_shard_info info; /* laid out by lc__twh1_layout() */
	uint64_t first;     /* the source's sample that becomes sample 0 */
	uint64_t row_bytes; /* as passed to lc__twh1_layout() */
	const struct lc__shard_source *source;
	bool no_sha256; /* XXH3 of 128 bits instead */
	/** Called with the bytes written; a status other than LC_OK stops. */
	lc_status (*step)(void *ctx, uint64_t bytes);
	void *step_ctx; /* its first argument */
};

/**
 * Write a shard as a new file of lib/base/newfile: whole and durable at its path, or the
 * old file stays on failure.
 * @param out  gets the checksum of the file
 */
LC_CHECKED lc_status lc__shard_write(const struct lc__shard_job *job,
    struct lc__digest_text *out);

/** The same to an open new file, which the caller then moves to its path. */
LC_CHECKED lc_status lc__shard_write_to(const struct lc__shard_job *job,
    const struct lc__newfile *file, struct lc__digest_text *out);

#endif
