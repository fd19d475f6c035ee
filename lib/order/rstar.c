/* SPDX-License-Identifier: BSD-2-Clause */
#include "order/rstar.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"

/* Products of two positions stay below 2^64. */
#define CHUNKS_MAX (UINT64_C(1) << 32)

/*
 * Readers take every R*'th chunk. When the order is final, chunks repeat. With g =
 * gcd(R*, N), the chunks of reader r are one cycle through all chunks that equal r modulo
 * g: there are g different cycles of N / g chunks. Before that nothing repeats, and each
 * of the first N readers has a run of its own. In both cases each chunk is in one cycle
 * or run, so that all sums take N entries.
 */
struct lc__rstar {
	uint32_t readers;
	bool final;
	uint64_t chunks;  /* N */
	uint64_t stride;  /* R* modulo N */
	uint64_t cycles;  /* g if final, else the smaller of R* and N */
	uint64_t inverse; /* of R* / g modulo N / g, if final */
	uint64_t sums[];  /* one cycle after another: units up to each chunk, included */
};

/* A cycle or run, and where in it a reader begins. */
struct cycle {
	uint64_t first;       /* chunk at its position 0, below the number of cycles */
	uint64_t length;      /* number of chunks; 0 for a reader without chunks */
	const uint64_t *sums; /* units up to each of its chunks, included */
	uint64_t start;       /* position of the reader's first chunk */
};

/* x with a * x = 1 modulo m, for a and m below 2^33 without a common factor, by Euclid's
 * algorithm. */
static uint64_t
inverse_of(uint64_t a, uint64_t m)
{
	int64_t x = 1, y = 0;

	for (uint64_t b = m, rest; b != 0; a = b, b = rest) {
		const int64_t next = x - (int64_t)(a / b) * y;

		rest = a % b;
		x = y;
		y = next;
	}
	return (uint64_t)(x < 0 ? x + (int64_t)m : x) % m;
}

/* The chunk at a position of its cycle or run. */
static uint64_t
place_of(const struct lc__rstar *rstar, uint64_t chunk)
{
	if (!rstar->final)
		return chunk / rstar->readers;
	return chunk / rstar->cycles * rstar->inverse % (rstar->chunks / rstar->cycles);
}

static uint64_t
chunk_at(const struct lc__rstar *rstar, uint64_t first, uint64_t place)
{
	return (first + place * rstar->stride) % rstar->chunks;
}

/* Cycle or run @p number. */
static struct cycle
cycle_get(const struct lc__rstar *rstar, uint64_t number)
{
	const uint64_t each = rstar->chunks / rstar->cycles;
	const uint64_t longer = rstar->chunks % rstar->cycles; /* 0 of cycles */

	return (struct cycle){
		.first = number,
		.length = each + (number < longer),
		.sums = rstar->sums + number * each + (number < longer ? number : longer),
	};
}

static struct cycle
cycle_of(const struct lc__rstar *rstar, uint32_t r)
{
	struct cycle cycle = { 0 };

	if (rstar->final) {
		cycle = cycle_get(rstar, r % rstar->cycles);
		cycle.start = place_of(rstar, r % rstar->chunks);
	} else if (r < rstar->cycles) {
		cycle = cycle_get(rstar, r);
	}
	return cycle;
}

static uint64_t
sum_before(const struct cycle *cycle, uint64_t place)
{
	return place == 0 ? 0 : cycle->sums[place - 1];
}

static uint64_t
total_of(const struct cycle *cycle)
{
	return sum_before(cycle, cycle->length);
}

static void
add_up(struct lc__rstar *rstar, const uint64_t *ends)
{
	uint64_t *out = rstar->sums;

	for (uint64_t c = 0; c < rstar->cycles; c++) {
		const uint64_t length = cycle_get(rstar, c).length;
		uint64_t chunk = c, sum = 0;

		for (uint64_t place = 0; place < length; place++) {
			sum += ends[chunk] - (chunk == 0 ? 0 : ends[chunk - 1]);
			*out++ = sum;
			chunk = (chunk + rstar->stride) % rstar->chunks;
		}
	}
}

lc_status
lc__rstar_new(uint32_t readers, const uint64_t *ends, uint64_t chunks, bool final,
    struct lc__rstar **out)
{
	struct lc__rstar *rstar;

	if (readers == 0 || chunks > CHUNKS_MAX)
		return lc__error(LC_INVALID, 0, "%lu idealised readers of %llu chunks",
		    (unsigned long)readers, (unsigned long long)chunks);
	if (final && chunks == 0)
		return lc__error(LC_INVALID, 0,
		    "idealised reader 0 of %lu has no data: there are no chunks",
		    (unsigned long)readers);
	rstar = malloc(sizeof(*rstar) + chunks * sizeof(*rstar->sums));
	if (rstar == NULL)
		return lc__error(LC_NO_MEMORY, 0, "idealised readers of %llu chunks",
		    (unsigned long long)chunks);
	*rstar = (struct lc__rstar){
		.readers = readers,
		.final = final,
		.chunks = chunks,
		.stride = chunks == 0 ? 0 : readers % chunks,
		.cycles = final        ? lc__gcd(readers, chunks)
		    : readers < chunks ? readers
				       : chunks,
	};
	if (final)
		rstar->inverse = inverse_of(readers / rstar->cycles,
		    chunks / rstar->cycles);
	add_up(rstar, ends);

	/* Readers 0 to g - 1 are the first of each cycle. */
	for (uint64_t c = 0; final && c < rstar->cycles; c++) {
		const struct cycle cycle = cycle_get(rstar, c);

		if (total_of(&cycle) > 0)
			continue;
		free(rstar);
		return lc__error(LC_INVALID, 0,
		    "idealised reader %llu of %lu has no data in %llu chunks",
		    (unsigned long long)c, (unsigned long)readers,
		    (unsigned long long)chunks);
	}
	*out = rstar;
	return LC_OK;
}

void
lc__rstar_free(struct lc__rstar *rstar)
{
	free(rstar);
}

uint64_t
lc__rstar_known(const struct lc__rstar *rstar, uint32_t r)
{
	struct cycle run;

	if (rstar->final)
		return UINT64_MAX;
	run = cycle_of(rstar, r);
	return total_of(&run);
}

/* The first position with a sum above @p units; length if there is none. This skips
 * chunks without units: their sum equals that of the chunk before. */
static uint64_t
place_with(const struct cycle *cycle, uint64_t units)
{
	uint64_t low = 0, high = cycle->length;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (cycle->sums[middle] > units)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* laps * length + steps, or UINT64_MAX if that is more. */
static uint64_t
steps_of(uint64_t laps, uint64_t length, uint64_t steps)
{
	uint64_t out;

	if (__builtin_mul_overflow(laps, length, &out) ||
	    __builtin_add_overflow(out, steps, &out))
		return UINT64_MAX;
	return out;
}

void
lc__rstar_seek(const struct lc__rstar *rstar, uint32_t r, uint64_t q,
    struct lc__rstar_place *out)
{
	const struct cycle cycle = cycle_of(rstar, r);
	const uint64_t total = total_of(&cycle);
	const uint64_t before = sum_before(&cycle, cycle.start);
	const uint64_t rest = q % total;
	uint64_t unit, place;

	/* From the reader's start to the end of the cycle, then from its beginning. */
	unit = rest < total - before ? before + rest : rest - (total - before);
	place = place_with(&cycle, unit);
	out->step = steps_of(q / total, cycle.length,
	    (place + cycle.length - cycle.start) % cycle.length);
	out->chunk = chunk_at(rstar, cycle.first, place);
	out->offset = unit - sum_before(&cycle, place);
}

uint64_t
lc__rstar_epoch(const struct lc__rstar *rstar, uint32_t r,
    const struct lc__rstar_place *place)
{
	return (uint64_t)(((unsigned __int128)place->step * rstar->readers + r) /
	    rstar->chunks);
}

bool
lc__rstar_next(const struct lc__rstar *rstar, uint32_t r, struct lc__rstar_place *place)
{
	const struct cycle cycle = cycle_of(rstar, r);
	const uint64_t here = place_of(rstar, place->chunk);
	uint64_t next = here + 1, steps;

	if (next < cycle.length && cycle.sums[next] == cycle.sums[here])
		next = place_with(&cycle, cycle.sums[here]);
	steps = next - here;
	if (next == cycle.length) {
		if (!rstar->final)
			return false;
		steps = cycle.length - here;
		next = place_with(&cycle, 0);
		steps += next;
	}
	place->step = steps_of(place->step, 1, steps);
	place->chunk = chunk_at(rstar, cycle.first, next);
	place->offset = 0;
	return true;
}
