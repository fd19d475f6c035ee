/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A workload: keys, values and a reading order, the same for every contender.
 * They lie in memory that parent and children share, so that they count as
 * nobody's private memory.
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEY_SIZE 16

struct load {
	const char *name;    /* of the case */
	uint64_t samples;    /* how many the store is filled with */
	size_t size;         /* bytes of a value */
	uint64_t commit;     /* samples a commit */
	unsigned threads;    /* that put at once, each its own commits; 0 is 1 */
	uint64_t more;       /* commits that are measured one by one after the filling */
	unsigned rounds;     /* fillings */
	bool pending;        /* memory of pending puts is measured here */
	unsigned more_rounds; /* so many rounds, the first, end with those commits */

	char (*keys)[KEY_SIZE]; /* of samples + more * commit samples, all different */
	uint32_t *order;        /* a random permutation of the first samples */
	unsigned char *pool;    /* random bytes that the values are cut from */
};

/** Make keys, order and pool from a fixed seed. */
void load_make(struct load *load);
/** Turn the values' bytes into f32 that are exactly k/255, in no order. */
void load_pixels(struct load *load);
void load_free(struct load *load);

/** The bytes of sample @p i, 64-byte aligned. */
const unsigned char *load_value(const struct load *load, uint64_t i);

/** The sum of the 64-bit words of a value, whose size is a multiple of 32. */
uint64_t load_sum(const void *value, size_t size);

#endif
