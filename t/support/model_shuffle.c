/* SPDX-License-Identifier: BSD-2-Clause */
#include "model_shuffle.h"

#include <stdlib.h>

/* 2^64 divided by the golden ratio. */
static const uint64_t G = 11400714819323198485u;

static void *
must(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

static uint64_t
smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t
model_mix(uint64_t z)
{
	z ^= z >> 30;
	z *= 13787848793156543929u;
	z ^= z >> 27;
	z *= 10723151780598845931u;
	z ^= z >> 31;
	return z;
}

uint64_t
model_key(const uint64_t *words, size_t n)
{
	uint64_t h = G;

	for (size_t i = 0; i < n; i++)
		h = model_mix(h + G + model_mix(words[i] + G));
	return h;
}

uint64_t
model_permute(uint64_t n, uint64_t key, unsigned rounds, uint64_t i)
{
	unsigned bits = 6, low;
	uint64_t left, right;

	while (bits < 63 && UINT64_C(1) << bits < n)
		bits++;
	low = bits / 2;
	do {
		left = i / (UINT64_C(1) << low);
		right = i % (UINT64_C(1) << low);
		for (unsigned round = 0; round < rounds; round++) {
			const uint64_t round_key = model_mix(key + (round + 1) * G);

			if (round % 2 == 0)
				left ^= model_mix(right ^ round_key) %
				    (UINT64_C(1) << (bits - low));
			else
				right ^= model_mix(left ^ round_key) %
				    (UINT64_C(1) << low);
		}
		i = left * (UINT64_C(1) << low) + right;
	} while (i >= n);
	return i;
}

/* Blocks in their new order, then windows of them. */
static void
block_shuffle(const lc_stream_options *options, uint64_t seed, uint64_t n,
    uint64_t epoch, uint64_t *out)
{
	const uint64_t size = options->block, blocks = n / size;
	const uint64_t blocks_key = model_key((uint64_t[]) { seed, epoch, 1 }, 3);
	uint64_t *laid = must(malloc((n + 1) * sizeof(*laid))), at = 0;

	for (uint64_t b = 0; b < blocks; b++)
		for (uint64_t i = 0; i < size; i++)
			laid[at++] = model_permute(blocks, blocks_key, MODEL_ROUNDS, b) *
			    size + i;
	while (at < n) {
		laid[at] = at;
		at++;
	}
	for (uint64_t window = 0, first = 0; first < n; window++) {
		const uint64_t key = model_key((uint64_t[]) { seed, epoch, 2, window }, 4);
		uint64_t end = n;

		if ((window + 1) * options->spread < blocks)
			end = first + options->spread * size;
		for (uint64_t i = first; i < end; i++)
			out[i] = laid[first +
			    model_permute(end - first, key, MODEL_ROUNDS, i - first)];
		first = end;
	}
	free(laid);
}

static void
era_shuffle(const lc_stream_options *options, uint64_t n, uint64_t epoch,
    uint64_t *out)
{
	uint64_t era = options->era_first;

	for (uint64_t first = 0; first < n;) {
		const uint64_t size = smaller(era, n - first);

		block_shuffle(options,
		    model_key((uint64_t[]) { options->seed, first }, 2), size, epoch,
		    out + first);
		for (uint64_t i = 0; i < size; i++)
			out[first + i] += first;
		first += size;
		era = smaller(2 * era, options->era_max);
	}
}

uint64_t *
model_shuffle(const lc_stream_options *options, uint64_t n, uint64_t epoch)
{
	const uint64_t key = model_key((uint64_t[]) { options->seed, epoch, 1, 0 }, 4);
	uint64_t *out = must(malloc((n + 1) * sizeof(*out)));

	for (uint64_t i = 0; i < n; i++)
		out[i] = options->shuffle == LC_SHUFFLE_FULL ?
		    model_permute(n, key, MODEL_ROUNDS, i) : i;
	if (options->shuffle == LC_SHUFFLE_BLOCK)
		block_shuffle(options, options->seed, n, epoch, out);
	else if (options->shuffle == LC_SHUFFLE_ERA)
		era_shuffle(options, n, epoch, out);
	return out;
}
