/* SPDX-License-Identifier: BSD-2-Clause */
#include "order/permute.h"

#include "order/mix.h"

/* Fewer bits would leave the halves too small for the rounds to mix. */
#define LEAST_BITS 6

static unsigned
bit_length(uint64_t v)
{
	return v == 0 ? 0 : 64 - (unsigned)__builtin_clzll(v);
}

void
lc__permutation_init(struct lc__permutation *out, uint64_t n, uint64_t key)
{
	unsigned bits = bit_length(n - 1);

	if (bits < LEAST_BITS)
		bits = LEAST_BITS;
	out->n = n;
	out->low_bits = bits / 2;
	out->low_mask = (UINT64_C(1) << out->low_bits) - 1;
	out->high_mask = (UINT64_C(1) << (bits - out->low_bits)) - 1;
	for (unsigned i = 0; i < LC__PERMUTE_ROUNDS; i++)
		out->keys[i] = lc__mix(key + (i + 1) * LC__GOLDEN);
}

/* One pass through the network: a bijection of the numbers of that many bits. */
static inline uint64_t
feistel(const struct lc__permutation *p, uint64_t x)
{
	uint64_t high = x >> p->low_bits, low = x & p->low_mask;

	for (unsigned i = 0; i < LC__PERMUTE_ROUNDS; i += 2) {
		high ^= lc__mix(low ^ p->keys[i]) & p->high_mask;
		low ^= lc__mix(high ^ p->keys[i + 1]) & p->low_mask;
	}
	return high << p->low_bits | low;
}

uint64_t
lc__permute(const struct lc__permutation *permutation, uint64_t i)
{
	/* Its cycle leads back to i < n at the latest, so the walk ends; and as there are
	 * less than 2n numbers of so many bits, after two steps on average at most, unless
	 * n is below 32. */
	do
		i = feistel(permutation, i);
	while (i >= permutation->n);
	return i;
}
