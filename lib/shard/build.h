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
#include "shard/writer.h"

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
};

/** Build it. @return as lc_export(), and LC_BUSY while another build runs there. */
LC_CHECKED lc_status lc__build_run(const struct lc__build *build, lc_export_result *out);

#endif
