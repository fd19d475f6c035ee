/* SPDX-License-Identifier: BSD-2-Clause */
/* One TWH1 shard to a file. */
#ifndef LC_SHARD_WRITER_H
#define LC_SHARD_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "format/twh1_row.h"
#include "lmdbcache.h"
#include "shard/digest.h"

/** Where samples come from. Called from several threads at once. */
struct lc__shard_source {
	void *ctx;
	/** What the metadata says of sample @p i; valid until the next call of the same
	 *  thread. */
	lc_status (*row)(void *ctx, uint64_t i, struct lc__twh1_row *out);
	/** Its image, checked; valid until the next call with the same @p room, where
	 *  one image fits that has to be made first. */
	lc_status (*image)(void *ctx, uint64_t i, void *room, const void **out);
	/** Its boxes and mask, the same; NULL if there are none. */
	lc_status (*boxes)(void *ctx, uint64_t i, const void **boxes, const void **mask);
	/** A hash of all that sample @p i's bytes are made of, or NULL. The shard's
	 *  samples_hash in the manifest is made of them, in order. */
	lc_status (*hash)(void *ctx, uint64_t i, uint64_t hash[2]);
};

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
 * Write a shard beside its path under the name PATH.tmp, sync it and rename it.
 * The directory is not synced. On failure no temporary file is left, and what
 * was at the path is unchanged.
 * @param out  gets the checksum of the file
 */
LC_CHECKED lc_status lc__shard_write(const struct lc__shard_job *job,
    struct lc__digest_text *out);

/** What lc__shard_write() appends to the path while it writes. */
#define LC__SHARD_TMP ".tmp"

#endif
