/* SPDX-License-Identifier: BSD-2-Clause */
/* Directories of shards built from samples that are made up. */
#ifndef T_FAKE_BUILD_H
#define T_FAKE_BUILD_H

#include "shard/build.h"

#define FAKE_IMAGE 3000u                      /* bytes a sample */
#define FAKE_SHARD_BYTES ((uint64_t)64 << 10) /* 20 samples */

/** What may vary of a build; zeros are the defaults. */
struct fake_variant {
	uint64_t samples;  /* default 100: five shards */
	unsigned threads;  /* default 1 */
	const char *state; /* default "same" */
	uint64_t *damaged; /* a sample that cannot be read */
	lc_progress progress;
	bool dry_run;
};

lc_status fake_build(const char *dir, const struct fake_variant *v,
    lc_export_result *out);
/** A finished build to compare with, in a directory of its own. */
const char *fake_reference(uint64_t samples);

/* The source's own functions. */
lc_status fake_row(void *ctx, uint64_t i, struct lc__twh1_row *out);
lc_status fake_image(void *ctx, uint64_t i, void *room, const void **out);

/** A progress step that stops at step *(int *)ctx, counted from 0; never if below. */
int fake_stop_at(void *ctx, uint64_t done, uint64_t total);

#endif
