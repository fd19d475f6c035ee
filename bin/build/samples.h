/* SPDX-License-Identifier: BSD-2-Clause */
/* The samples in the module, as the source of shards. */
#ifndef CACHEX_BUILD_SAMPLES_H
#define CACHEX_BUILD_SAMPLES_H

#include <pthread.h>

#include "build/recipe.h"
#include "build/store.h"
#include "labels/dataset.h"
#include "shard/build.h"

/** A sample to be exported: everything kept of it in memory. */
struct lc__row {
	uint64_t frame; /* its number in the dataset */
	uint64_t content[2];
	uint32_t boxes;  /* number of stored boxes */
	uint32_t series; /* index of the bucket */
};

/** Samples of one size. */
struct lc__samples_series {
	struct lc__samples *samples;
	const uint64_t *rows;    /* its samples, numbers of rows */
	uint64_t source_samples; /* how many */
	lc_shard_info form;
	struct lc__shard_source source;
	char path[24]; /* "" or "832x1216" */
};

/** All of them. All zero is empty. */
struct lc__samples {
	const struct lc__recipe *recipe;
	const struct lc__dataset *dataset;
	const struct lc__store *store;
	struct lc__row *rows; /* malloc'ed, in the order of the frames */
	uint64_t n;
	size_t room;

	uint64_t *order; /* rows by series, in order */
	struct lc__samples_series *groups;
	struct lc__shard_series *series; /* for the build: those with samples */
	size_t n_series;
	pthread_key_t scratch; /* what each thread read last */
	bool has_scratch;
};

/** Add the next sample. */
LC_CHECKED lc_status lc__samples_add(struct lc__samples *samples, uint64_t frame,
    const struct lc__sample *sample);

/** Build the series. Call lc__samples_free() afterwards in the same thread. */
LC_CHECKED lc_status lc__samples_group(struct lc__samples *samples);

void lc__samples_free(struct lc__samples *samples);

/** The size of one sample in a shard, without its row of metadata. */
uint64_t lc__samples_bytes(const struct lc__recipe *recipe, uint32_t width,
    uint32_t height);

#endif
