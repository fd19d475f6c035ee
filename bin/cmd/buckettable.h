/* SPDX-License-Identifier: BSD-2-Clause */
/* How many images fall into each bucket, and how well they fit. */
#ifndef CACHEX_CMD_BUCKETTABLE_H
#define CACHEX_CMD_BUCKETTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** Ratios that are neither warned of nor counted as outside: 0.4 to 2.5. */
bool buckettable_usual(uint32_t width, uint32_t height);

struct buckettable_row {
	uint64_t images;
	double cut; /* sum over them */
};

struct buckettable {
	const lc_bucket *buckets; /* borrowed */
	size_t n;
	struct buckettable_row rows[LC_BUCKETS_MAX];
	uint64_t images, outside, bad, unreadable;
	double cut;
	bool learned;
};

void buckettable_init(struct buckettable *table, const lc_bucket *buckets, size_t n);
/** Count an image; its bucket. */
const lc_bucket *buckettable_add(struct buckettable *table, uint32_t width,
    uint32_t height);
/** All of it on standard output, in ascending order of width / height. */
void buckettable_print(const struct buckettable *table);

#endif
