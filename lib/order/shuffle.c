/* SPDX-License-Identifier: BSD-2-Clause */
#include "order/shuffle.h"

/* ---- permutations -------------------------------------------------------------------- */

/* With fewer bits the halves would be too small for the rounds to mix. */
#define LEAST_BITS 6

void
lc__permutation_init(struct lc__permutation *out, uint64_t n, uint64_t key)
{
	unsigned bits = n == 1 ? 0 : 64 - (unsigned)__builtin_clzll(n - 1);

	if (bits < LEAST_BITS)
		bits = LEAST_BITS;
	out->n = n;
	out->low_bits = bits / 2;
	out->low_mask = (UINT64_C(1) << out->low_bits) - 1;
	out->high_mask = (UINT64_C(1) << (bits - out->low_bits)) - 1;
	for (unsigned i = 0; i < LC__PERMUTE_ROUNDS; i++)
		out->keys[i] = lc__mix(key + (i + 1) * LC__GOLDEN);
}

/* One pass through the network is a bijection of the numbers of that many bits. Its cycle
 * leads back to i < n at the latest, so the walk ends. As there are less than 2n such
 * numbers, it takes two steps on average at most, unless n is below 32. */
uint64_t
lc__permute(const struct lc__permutation *p, uint64_t i)
{
	do {
		uint64_t high = i >> p->low_bits, low = i & p->low_mask;

		for (unsigned r = 0; r < LC__PERMUTE_ROUNDS; r += 2) {
			high ^= lc__mix(low ^ p->keys[r]) & p->high_mask;
			low ^= lc__mix(high ^ p->keys[r + 1]) & p->low_mask;
		}
		i = high << p->low_bits | low;
	} while (i >= p->n);
	return i;
}

/* ---- shuffles ------------------------------------------------------------------------ */

/* Consecutive examples whose blocks are shuffled among themselves: an era, or all. */
struct span {
	uint64_t first; /* position, and example */
	uint64_t n;
	uint64_t seed;
};

/* The order of the full blocks of a span. */
static void
init_blocks(const struct lc__shuffle *shuffle, const struct span *span,
    struct lc__permutation *out)
{
	const uint64_t words[] = { span->seed, shuffle->epoch, LC__TAG_WHOLE };
	const uint64_t blocks = span->n / shuffle->rule.block;

	lc__permutation_init(out, blocks > 0 ? blocks : 1, lc__key(words, 3));
}

void
lc__shuffle_init(struct lc__shuffle *out, const struct lc__shuffle_rule *rule, uint64_t n,
    uint64_t epoch)
{
	const uint64_t words[] = { rule->seed, epoch, LC__TAG_WHOLE, 0 };

	*out = (struct lc__shuffle){ .rule = *rule, .n = n, .epoch = epoch };
	if (rule->kind == LC_SHUFFLE_FULL)
		lc__permutation_init(&out->whole, n, lc__key(words, 4));
	else if (rule->kind == LC_SHUFFLE_BLOCK)
		init_blocks(out, &(struct span){ 0, n, rule->seed }, &out->whole);
}

/* The first position of the era of position i, and its full size. */
static uint64_t
era_of(const struct lc__shuffle_rule *rule, uint64_t i, uint64_t *size)
{
	uint64_t first = 0, era = rule->era_first;

	while (era < rule->era_max && i - first >= era) {
		first += era;
		era = era > rule->era_max / 2 ? rule->era_max : 2 * era;
	}
	*size = era;
	return first + (i - first) / era * era;
}

/* The window of a span that contains position i of the span, and its ends. The last
 * window includes the short block at the tail. */
static uint64_t
window_of(const struct lc__shuffle_rule *rule, const struct span *span, uint64_t i,
    uint64_t *first, uint64_t *end)
{
	const uint64_t blocks = span->n / rule->block;
	const uint64_t last = blocks == 0 ? 0 : (blocks - 1) / rule->spread;
	uint64_t size, window;

	*first = 0;
	*end = span->n;
	if (last == 0)
		return 0;
	size = rule->spread * rule->block; /* below n, as there are more windows */
	window = i / size < last ? i / size : last;
	*first = window * size;
	if (window < last)
		*end = *first + size;
	return window;
}

static void
window_init(struct lc__shuffle_window *out, const struct lc__shuffle *shuffle, uint64_t i)
{
	const struct lc__shuffle_rule *rule = &shuffle->rule;
	struct span span = { 0, shuffle->n, rule->seed };
	uint64_t window, size;

	if (rule->kind == LC_SHUFFLE_ERA) {
		span.first = era_of(rule, i, &size);
		span.n = shuffle->n - span.first;
		if (span.n > size)
			span.n = size;
		span.seed = lc__key((uint64_t[]){ span.seed, span.first }, 2);
	}
	window = window_of(rule, &span, i - span.first, &out->first, &out->end);
	lc__permutation_init(&out->inside, out->end - out->first,
	    lc__key((uint64_t[]){ span.seed, shuffle->epoch, LC__TAG_WINDOW, window },
		4));
	out->first += span.first;
	out->end += span.first;
	out->blocks = span.n / rule->block;
	if (rule->kind != LC_SHUFFLE_ERA)
		out->order = shuffle->whole;
	else if (out->era != span.first || out->order.n == 0)
		init_blocks(shuffle, &span, &out->order);
	out->era = span.first;
}

uint64_t
lc__shuffle_near(const struct lc__shuffle *shuffle, struct lc__shuffle_window *near,
    uint64_t i)
{
	const uint64_t block = shuffle->rule.block;
	uint64_t place, number;

	if (shuffle->rule.kind == LC_SHUFFLE_NONE)
		return i;
	if (shuffle->rule.kind == LC_SHUFFLE_FULL)
		return lc__permute(&shuffle->whole, i);
	if (i < near->first || i >= near->end)
		window_init(near, shuffle, i);
	place = near->first - near->era + lc__permute(&near->inside, i - near->first);
	number = place / block;
	if (number >= near->blocks)
		return near->era + place; /* the tail stays at the end */
	return near->era + lc__permute(&near->order, number) * block + place % block;
}

uint64_t
lc__shuffle_at(const struct lc__shuffle *shuffle, uint64_t i)
{
	struct lc__shuffle_window near = { 0 };

	return lc__shuffle_near(shuffle, &near, i);
}

uint64_t
lc__shuffle_runs(const struct lc__shuffle *shuffle, struct lc__shuffle_window *near,
    uint64_t i)
{
	const uint64_t block = shuffle->rule.block;

	if (shuffle->rule.kind == LC_SHUFFLE_FULL) {
		*near = (struct lc__shuffle_window){ .end = shuffle->n };
		return 1;
	}
	if (i < near->first || i >= near->end)
		window_init(near, shuffle, i);
	return (near->end - near->first - 1) / block + 1;
}

void
lc__shuffle_run(const struct lc__shuffle *shuffle, const struct lc__shuffle_window *near,
    uint64_t k, uint64_t *first, uint64_t *end)
{
	const uint64_t block = shuffle->rule.block;
	const uint64_t place = near->first - near->era + k * block;
	const uint64_t number = place / block;

	if (shuffle->rule.kind == LC_SHUFFLE_FULL) {
		*first = 0;
		*end = shuffle->n;
	} else if (number < near->blocks) {
		*first = near->era + lc__permute(&near->order, number) * block;
		*end = *first + block;
	} else {
		*first = near->era + place; /* the tail stays at the end */
		*end = near->end;
	}
}

uint64_t
lc__shuffle_settled(const struct lc__shuffle_rule *rule, uint64_t known)
{
	uint64_t size;

	if (rule->kind == LC_SHUFFLE_NONE)
		return known;
	if (rule->kind != LC_SHUFFLE_ERA)
		return 0;
	return era_of(rule, known, &size);
}

uint64_t
lc__shuffle_last_of(const struct lc__shuffle_rule *rule, uint64_t i)
{
	uint64_t first, size;

	if (rule->kind != LC_SHUFFLE_ERA)
		return i;
	first = era_of(rule, i, &size);
	return first > UINT64_MAX - size ? UINT64_MAX : first + (size - 1);
}
