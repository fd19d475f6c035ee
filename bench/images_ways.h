/* SPDX-License-Identifier: BSD-2-Clause */
/* Ways from a file to f16 planes, one image at a time; what a thread does. */
#ifndef BENCH_IMAGES_WAYS_H
#define BENCH_IMAGES_WAYS_H

#include <stdint.h>

#include "images_set.h"

#define IMAGES_SIDE 640
#define IMAGES_PLANE ((size_t)IMAGES_SIDE * IMAGES_SIDE)

struct images_way {
	const char *name;
	/** A thread's state, and its end. */
	void *(*begin)(void);
	void (*end)(void *state);
	/** One image; the result is good until the next. */
	const uint16_t *(*image)(void *state, const char *path);
};

/** The limit: libjpeg's calls and nothing else around the resampling. */
extern const struct images_way images_plain;
/** What a build's threads call, and the same with shrinking by the decoder. */
extern const struct images_way images_transform, images_transform_scaled;

/** Images a second of all files of a set in so many threads. */
double images_rate(const struct image_set *set, const struct images_way *way,
    unsigned threads);
/** End the program unless both come to the same bytes for all files. */
void images_compare(const struct image_set *set, const struct images_way *one,
    const struct images_way *other);

#endif
