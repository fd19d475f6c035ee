/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A directory of shards with its manifest, from any source of samples. The order of steps
 * makes it safe to kill: first the old manifest is removed, then shards appear whole by
 * rename and are added to the state file, and the new manifest comes last. So a
 * manifest never names an incomplete shard, and a later run of the same build continues
 * from the state file.
 */
#ifndef LC_SHARD_BUILD_H
#define LC_SHARD_BUILD_H

#include <stdbool.h>

#include "format/manifest.h"
#include "format/twh1_row.h"
#include "lmdbcache.h"

/** The source of the samples. Its functions are called from several threads at once. */
struct lc__shard_source {
	void *ctx;
	/** The metadata of sample @p i; valid until the next call of the same thread. */
	lc_status (*row)(void *ctx, uint64_t i, struct lc__twh1_row *out);
	/** The image of a sample, checked; valid until the next call with the same @p
	 *  room, which is memory for one image if it has to be computed. */
	lc_status (*image)(void *ctx, uint64_t i, void *room, const void **out);
	/** NULL, or image() returns u8 elements: convert @p n of them to the shard's
	 *  dtype. */
	lc_status (*convert)(void *ctx, const uint8_t *from, size_t n, void *to);
	/** The boxes and mask of a sample, likewise; NULL if there are none. */
	lc_status (*boxes)(void *ctx, uint64_t i, const void **boxes, const void **mask);
	/** A hash of everything that determines the bytes of sample @p i, or NULL. The
	 *  manifest's samples_hash of a shard is computed from these, in order. */
	lc_status (*hash)(void *ctx, uint64_t i, uint64_t hash[2]);
};

/** Samples of one form, which get shards of their own. */
struct lc__shard_series {
	const char *path; /* name of the series' directory in dir; "" is dir itself */
	const lc_shard_info *form; /* version, dtype and dimensions */
	const struct lc__shard_source *source;
	uint64_t samples; /* of the source, at least 1 */
};

/** The parameters of a build. */
struct lc__build {
	const char *dir;                       /* target directory */
	const struct lc__shard_series *series; /* in the manifest's order */
	size_t n_series;                       /* at least 1 */
	bool metadata;               /* with metadata rows and block checksums */
	bool no_sha256;              /* leave SHA-256 out: the manifest says null */
	uint64_t shard_bytes;        /* target size of a shard */
	unsigned threads;            /* shards written at the same time, at least 1 */
	bool dry_run;                /* compute the plan only */
	const lc_progress *progress; /* bytes written, or NULL */
	/** Its dataset_root, transform, code_version, thresholds, summary and
	 *  warehouse are taken, and must live as long; version and version_recipe too
	 *  if they are not NULL; the rest is filled in. */
	const struct lc__manifest *about;
	const char *recipe; /* JSON text of all options; not the content */
	const char *state;  /* equal only for builds with the same result */
	/**
	 * An earlier build whose shards may be taken over: a directory with a manifest,
	 * or NULL. A shard there with the same samples_hash, form and size is linked (or
	 * copied) instead of written; its block checksums and SHA-256 come from the old
	 * manifest. Needs source->hash.
	 */
	const char *reuse;
	/**
	 * A directory of packed shards (shard/packed.h), or NULL. A shard of the same
	 * samples there is taken over in the same way. Needs source->hash and SHA-256.
	 */
	const char *packed;
	bool reread; /* compare all bytes of a packed shard with its SHA-256 */
};

/** Run the build.
 *  @return as lc_export(), and LC_BUSY while another build runs there. */
LC_CHECKED lc_status lc__build_run(const struct lc__build *build, lc_export_result *out);

/**
 * Write the shards of one of several tasks to build->packed: those whose number in the
 * plan modulo @p tasks is @p task, except shards that are there or in build->reuse.
 * build->dir is not used, and nothing is locked: any number of processes may pack, also
 * for the same task.
 * @param out  about the shards of this task, as for lc__build_run()
 * @return as lc__build_run(), and LC_CORRUPT as lc__packed_open()
 */
LC_CHECKED lc_status lc__build_pack(const struct lc__build *build, uint32_t task,
    uint32_t tasks, lc_export_result *out);

#endif
