/* SPDX-License-Identifier: BSD-2-Clause */
/* The mixing function of all shuffles; lmdbcache_stream(3) has the formulas. */
#ifndef LC_ORDER_MIX_H
#define LC_ORDER_MIX_H

#include <stddef.h>
#include <stdint.h>

/** The increment of splitmix64: 2^64 divided by the golden ratio, odd. */
#define LC__GOLDEN UINT64_C(0x9E3779B97F4A7C15)

/** The finaliser of splitmix64: a bijection of 64 bits. */
static inline uint64_t
lc__mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

/** A key made of @p n words; their number is part of it. */
static inline uint64_t
lc__key(const uint64_t *words, size_t n)
{
	uint64_t h = LC__GOLDEN;

	for (size_t i = 0; i < n; i++)
		h = lc__mix(h + LC__GOLDEN + lc__mix(words[i] + LC__GOLDEN));
	return h;
}

/* The third word of a key says what it is for. */
enum {
	LC__TAG_WHOLE = 1,   /* (seed, epoch, 1, 0): all examples of an epoch;
	                        (seed, epoch, 1): the order of blocks */
	LC__TAG_WINDOW = 2,  /* (seed, epoch, 2, window): examples in it */
	LC__TAG_MIXTURE = 3, /* (seed, 0, 3, block): slots of a mixture */
	LC__TAG_SOURCE = 4   /* (seed, 0, 4, source): the seed of a mixture's source */
};

#endif
