/* SPDX-License-Identifier: BSD-2-Clause */
/* Directories of shards built from samples that are made up. */
#ifndef T_FAKE_BUILD_H
#define T_FAKE_BUILD_H

#include "shard/build.h"

#define FAKE_IMAGE 3000u                      /* bytes a sample */
#define FAKE_SHARD_BYTES ((uint64_t)64 << 10) /* 20 samples */
#define FAKE_SERIES 3                         /* the most there can be */

/** What may vary of a build; zeros are the defaults. */
struct fake_variant {
	uint64_t samples;  /* default 100: five shards; of each series */
	unsigned threads;  /* default 1 */
	const char *state; /* default "same" */
	const uint64_t *damaged; /* a sample that cannot be read */
	lc_progress progress;
	bool dry_run;
	size_t series;     /* default one without a directory; else in "a", "10x300"
	                      and "c", with boxes of f32 */
	const uint64_t *numbers; /* that the samples are made of; default their own */
	bool hashed;       /* the source tells hashes */
	bool no_sha256;
	const char *reuse; /* directory of an older build */
	const char *packed; /* directory of packed shards */
	bool reread;
	uint32_t task, tasks; /* tasks above 0: only pack the shards of this one */
	const struct lc__manifest *about; /* default: nothing of note */
};

lc_status fake_build(const char *dir, const struct fake_variant *v,
    lc_export_result *out);
/** A finished build to compare with, in a directory of its own. */
const char *fake_reference(uint64_t samples);

/* The source's own functions; ctx is a variant or NULL. */
lc_status fake_row(void *ctx, uint64_t i, struct lc__twh1_row *out);
lc_status fake_image(void *ctx, uint64_t i, void *room, const void **out);

/** Directories of the series, in their order. */
extern const char *const fake_paths[FAKE_SERIES];

/** A progress step that stops at step *(int *)ctx, counted from 0; never if below. */
int fake_stop_at(void *ctx, uint64_t done, uint64_t total);

#endif
