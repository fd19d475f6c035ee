/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole builds of warehouses. */
#ifndef BENCH_IMAGES_BUILD_H
#define BENCH_IMAGES_BUILD_H

#include "images_set.h"
#include "ingest/ingest.h"

/** A warehouse of a set of images. */
struct images_build {
	const struct image_set *set;
	unsigned threads;
	char warehouse[4300];
};

/** None stands there. */
void images_build_begin(struct images_build *build, const struct image_set *set,
    unsigned threads);

/** Remove it. */
void images_build_end(struct images_build *build);

/** What a build is expected to be. */
enum images_build_kind { BUILD_NEW, BUILD_UNCHANGED, BUILD_CONVERTED };

/** Frames a second of one build; ends the program if it is of another kind. */
double images_build_rate(const struct images_build *build, lc_dtype dtype,
    enum images_build_kind kind);

#endif
