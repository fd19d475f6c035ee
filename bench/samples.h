/* SPDX-License-Identifier: BSD-2-Clause */
/* Tensors as a data loader makes them of photographs, and of random numbers. */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#include "lmdbcache.h"

/** Photographs at most, and the shape that each is cut or resized to: CHW. */
#define SAMPLES_MAX 8
#define SAMPLE_SIDE 640
#define SAMPLE_ELEMENTS ((size_t)3 * SAMPLE_SIDE * SAMPLE_SIDE)

struct samples {
	unsigned n;
	lc_tensor tensor[SAMPLES_MAX]; /* their data is malloc'ed */
};

/** What they are. */
enum sample_kind {
	PIXELS_U8,        /* the middle of the photograph, as it is */
	PIXELS_F32,       /* the same, exactly k/255 */
	NORMALISED_F32,   /* the same, less mean over deviation, channel by channel */
	PIXELS_F16,       /* k/255 */
	RESIZED_F32,      /* all of the photograph, bilinear, 0 to 1 */
	RESIZED_F16,
	PIXELS_I64,       /* k */
	TOKENS_I64,       /* log-uniform below 50,000: no photographs */
	NORMAL_F32,       /* random normal numbers: no photographs */
	NORMAL_F16,
	SAMPLE_KINDS
};

/** "f32 photographs, k/255". */
const char *samples_name(enum sample_kind kind);

/**
 * Decode the photographs of a directory, *.jpg in order of their names.
 * @return how many; 0 if there are none.
 */
unsigned samples_photographs(const char *dir);

/** Make them; without photographs n is 0 for a kind that needs them. */
void samples_make(enum sample_kind kind, struct samples *samples);
void samples_free(struct samples *samples);

#endif
