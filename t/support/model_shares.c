/* SPDX-License-Identifier: BSD-2-Clause */
#include "model_shares.h"

#include <stdlib.h>

#include "model_shuffle.h"

static void *
must(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

static uint64_t
count(const struct model_shares *of)
{
	uint64_t n = 0;

	for (uint64_t c = 0; c < of->chunks; c++)
		n += of->sizes[c];
	return n;
}

uint64_t
model_shares_first(const struct model_shares *of, uint64_t share)
{
	const uint64_t n = count(of);
	uint64_t first = 0;

	for (uint64_t c = 0; c < share; c++)
		first += n / of->shares + (c < n % of->shares ? 1 : 0);
	return first;
}

/* The chunks in the order in which they are dealt. */
static uint64_t *
dealt(const struct model_shares *of)
{
	const uint64_t key = model_key((uint64_t[]) { of->seed, 0, 5 }, 3);
	uint64_t *out = must(malloc((of->chunks + 1) * sizeof(*out)));

	for (uint64_t j = 0; j < of->chunks; j++)
		out[j] = model_permute(of->chunks, key, MODEL_ROUNDS, j);
	return out;
}

struct model_place *
model_shares_line(const struct model_shares *of, uint64_t *n)
{
	struct model_place *line = must(malloc((count(of) + 1) * sizeof(*line)));
	uint64_t *chunks = dealt(of);

	*n = 0;
	for (uint64_t j = 0; j < of->chunks; j++)
		for (uint64_t i = 0; i < of->sizes[chunks[j]]; i++)
			line[(*n)++] = (struct model_place) { chunks[j], i };
	free(chunks);
	return line;
}

/* Where a chunk was dealt to. */
static uint64_t
place_of(const uint64_t *chunks, uint64_t chunk)
{
	uint64_t j = 0;

	while (chunks[j] != chunk)
		j++;
	return j;
}

/* A share's examples of an epoch: its pieces in their new order, then window by window.
 * A chunk without examples between two others is a piece of none. */
static void
shuffle_share(const struct model_shares *of, uint64_t share, uint64_t epoch,
    const struct model_place *line, uint64_t size, struct model_place *out)
{
	uint64_t *chunks = dealt(of);
	const uint64_t first = place_of(chunks, line[0].chunk);
	const uint64_t pieces = place_of(chunks, line[size - 1].chunk) - first + 1;
	const uint64_t key = model_key((uint64_t[]) { of->seed, epoch, 6, share }, 4);
	struct model_place *laid = must(malloc(size * sizeof(*laid)));
	uint64_t at = 0, begin = 0;

	for (uint64_t p = 0; p < pieces; p++) {
		const uint64_t chunk = chunks[first +
		    model_permute(pieces, key, MODEL_ROUNDS, p)];

		for (uint64_t i = 0; i < size; i++)
			if (line[i].chunk == chunk)
				laid[at++] = line[i];
		if ((p + 1) % of->spread != 0 && p + 1 < pieces)
			continue;
		/* A window is full. */
		for (uint64_t i = begin; i < at; i++)
			out[i] = laid[begin + model_permute(at - begin,
			    model_key((uint64_t[]) { of->seed, epoch, 7, share,
			    p / of->spread }, 5), MODEL_ROUNDS, i - begin)];
		begin = at;
	}
	free(laid);
	free(chunks);
}

struct model_place *
model_shares(const struct model_shares *of, uint64_t epoch, uint64_t *numbers)
{
	uint64_t n;
	struct model_place *line = model_shares_line(of, &n), *out;
	const uint64_t rounds = (n + of->shares - 1) / of->shares;
	struct model_place *own = must(malloc(rounds * sizeof(*own)));

	*numbers = rounds * of->shares;
	out = must(malloc(*numbers * sizeof(*out)));
	for (uint64_t c = 0; c < of->shares; c++) {
		const uint64_t first = model_shares_first(of, c);
		const uint64_t size = model_shares_first(of, c + 1) - first;

		shuffle_share(of, c, epoch, line + first, size, own);
		for (uint64_t i = 0; i < rounds; i++)
			out[i * of->shares + c] = own[i < size ? i : size - 1];
	}
	free(own);
	free(line);
	return out;
}
