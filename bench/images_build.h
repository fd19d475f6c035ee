/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole builds of warehouses. */
#ifndef BENCH_IMAGES_BUILD_H
#define BENCH_IMAGES_BUILD_H

#include "images_set.h"
#include "build/ingest.h"

/** A warehouse of a set of images. */
struct images_build {
	const struct image_set *set;
	unsigned threads;
	char warehouse[4300];
};

/**
 * None stands there any more. The memory that the one before had in the page cache
 * is free only now: a virtual machine's host takes it back within seconds, and what
 * is touched after that is written at a tenth of the speed.
 */
void images_build_begin(struct images_build *build, const struct image_set *set,
    unsigned threads);

/** Build one that is not measured. */
void images_build_first(const struct image_set *set);

/** What a build is expected to be. */
enum images_build_kind { BUILD_NEW, BUILD_UNCHANGED, BUILD_CONVERTED };

/** Frames a second of one build; ends the program if it is of another kind. */
double images_build_rate(const struct images_build *build, lc_dtype dtype,
    enum images_build_kind kind);

#endif
