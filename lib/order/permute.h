/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bijection of 0..n-1 without state: an alternating Feistel network of 8 rounds
 * over as many bits as n - 1 has, walked until it ends below n.
 */
#ifndef LC_ORDER_PERMUTE_H
#define LC_ORDER_PERMUTE_H

#include <stdint.h>

#define LC__PERMUTE_ROUNDS 8

struct lc__permutation {
	uint64_t n;                   /* 1 to 2^63 */
	unsigned low_bits;            /* of the right half; the left one has the rest */
	uint64_t low_mask, high_mask; /* of the halves */
	uint64_t keys[LC__PERMUTE_ROUNDS]; /* of the rounds */
};

/** Make the permutation of 0..n-1 that belongs to a key. */
void lc__permutation_init(struct lc__permutation *out, uint64_t n, uint64_t key);

/** Where @p i < n goes. */
uint64_t lc__permute(const struct lc__permutation *permutation, uint64_t i);

#endif
