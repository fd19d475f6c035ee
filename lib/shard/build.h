/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A directory of shards with its manifest, from any source of samples.
 *
 * The order of events is what makes it safe to kill: the old manifest goes
 * first, shards appear whole by rename, each is noted in the state file, and
 * the new manifest comes last. So a manifest never names a shard that is not
 * whole, and a later run that builds the same thing goes on from the state file.
 */
#ifndef LC_SHARD_BUILD_H
#define LC_SHARD_BUILD_H

#include <stdbool.h>

#include "format/manifest.h"
#include "format/twh1_row.h"
#include "lmdbcache.h"

/** Where samples come from. Called from several threads at once. */
struct lc__shard_source {
	void *ctx;
	/** What the metadata says of sample @p i; valid until the next call of the same
	 *  thread. */
	lc_status (*row)(void *ctx, uint64_t i, struct lc__twh1_row *out);
	/** Its image, checked; valid until the next call with the same @p room, where
	 *  one image fits that has to be made first. */
	lc_status (*image)(void *ctx, uint64_t i, void *room, const void **out);
	/** NULL, or image() gives u8 elements: make @p n of the shard's dtype of these. */
	lc_status (*convert)(void *ctx, const uint8_t *from, size_t n, void *to);
	/** Its boxes and mask, the same; NULL if there are none. */
	lc_status (*boxes)(void *ctx, uint64_t i, const void **boxes, const void **mask);
	/** A hash of all that sample @p i's bytes are made of, or NULL. The shard's
	 *  samples_hash in the manifest is made of them, in order. */
	lc_status (*hash)(void *ctx, uint64_t i, uint64_t hash[2]);
};

/** Samples of one form, in shards of their own. */
struct lc__shard_series {
	const char *path; /* of its directory in dir, one name; "" is dir itself */
	const lc_shard_info *form; /* version, dtype and dimensions */
	const struct lc__shard_source *source;
	uint64_t samples; /* of the source, 1 at least */
};

/** What to build. */
struct lc__build {
	const char *dir;                       /* where */
	const struct lc__shard_series *series; /* in the manifest's order */
	size_t n_series;                       /* 1 at least */
	bool metadata;               /* with metadata rows and block checksums */
	bool no_sha256;              /* leave SHA-256 out: the manifest says null */
	uint64_t shard_bytes;        /* target size of a shard */
	unsigned threads;            /* shards at once, 1 at least */
	bool dry_run;                /* plan only */
	const lc_progress *progress; /* bytes written, or NULL */
	/** Its dataset_root, transform, code_version, thresholds, summary and
	 *  warehouse are taken, and must live as long; version and version_recipe too
	 *  if they are not NULL; the rest is filled in. */
	const struct lc__manifest *about;
	const char *recipe; /* JSON text of everything chosen; not the content */
	const char *state;  /* equal only if the same build would be made again */
	/**
	 * A build whose shards may be taken over: a directory with a manifest, or
	 * NULL. A shard there with the same samples_hash, form and size is linked (or
	 * copied) instead of written; its block checksums and SHA-256 go by the old
	 * manifest. Needs source->hash.
	 */
	const char *reuse;
	/**
	 * A directory of packed shards (shard/packed.h), or NULL. A shard there of the same
	 * samples is taken over in the same way. Needs source->hash and SHA-256.
	 */
	const char *packed;
	bool reread; /* compare all bytes of a packed shard with its SHA-256 */
};

/** Build it. @return as lc_export(), and LC_BUSY while another build runs there. */
LC_CHECKED lc_status lc__build_run(const struct lc__build *build, lc_export_result *out);

/**
 * Write the shards of one task of many to build->packed: those whose place in the plan modulo
 * @p tasks is @p task, but none that is there or that build->reuse has. build->dir is not
 * used, and nothing is locked: any number of processes may pack, also for the same task.
 * @param out  of the shards of this task, as lc__build_run()
 * @return as lc__build_run(), and LC_CORRUPT as lc__packed_open()
 */
LC_CHECKED lc_status lc__build_pack(const struct lc__build *build, uint32_t task,
    uint32_t tasks, lc_export_result *out);

#endif
