/* SPDX-License-Identifier: BSD-2-Clause */
#include "model_order.h"

#include <stdlib.h>

#include "model_shares.h"
#include "model_shuffle.h"

static void *
must(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

/* ---- lists ------------------------------------------------------------------ */

static void
add_unit(struct model_units *list, struct model_unit unit)
{
	if (list->n == list->room) {
		list->room = 2 * list->room + 8;
		list->units = must(realloc(list->units,
		    list->room * sizeof(*list->units)));
	}
	list->units[list->n++] = unit;
}

static void
add_example(struct model_stream *stream, struct model_units example)
{
	if (stream->n == stream->room) {
		stream->room = 2 * stream->room + 8;
		stream->examples = must(realloc(stream->examples,
		    stream->room * sizeof(*stream->examples)));
	}
	stream->examples[stream->n++] = example;
}

static struct model_units
copy_units(const struct model_units *from, size_t first, size_t end)
{
	struct model_units out = { 0 };

	for (size_t i = first; i < end; i++)
		add_unit(&out, from->units[i]);
	return out;
}

void
model_units_free(struct model_units *units)
{
	free(units->units);
	*units = (struct model_units) { 0 };
}

void
model_stream_free(struct model_stream *stream)
{
	for (size_t i = 0; i < stream->n; i++)
		model_units_free(&stream->examples[i]);
	free(stream->examples);
	*stream = (struct model_stream) { 0 };
}

/* ---- sources ---------------------------------------------------------------- */

static uint64_t
size_of(const struct model_chunk *chunk, bool windows)
{
	return windows ? chunk->units : chunk->records;
}

/* The units of a source, from its first chunk to its last. */
static struct model_units
all_units(const struct model_source *source, bool windows)
{
	struct model_units out = { 0 };

	for (size_t c = 0; c < source->n; c++)
		for (uint64_t u = 0; u < size_of(&source->chunks[c], windows); u++)
			add_unit(&out, (struct model_unit) { .chunk = c, .unit = u });
	return out;
}

struct model_units
model_rstar(const struct model_source *source, uint32_t readers, uint32_t r,
    bool repeat, bool windows, size_t want)
{
	struct model_units out = { 0 };
	size_t empty = 0; /* chunks in a row */

	for (uint64_t at = r; out.n < want && source->n > 0; at += readers) {
		const size_t c = (size_t)(at % source->n);
		const uint64_t size = size_of(&source->chunks[c], windows);

		if (at >= source->n && !repeat)
			break;
		for (uint64_t u = 0; u < size && out.n < want; u++)
			add_unit(&out, (struct model_unit) {
			    .epoch = at / source->n, .chunk = c, .unit = u });
		empty = size > 0 ? 0 : empty + 1;
		if (empty > source->n)
			break;
	}
	return out;
}

/* Examples of consecutive units: full windows, and a last one for what is left unless
 * it is dropped. */
static struct model_stream
cut(const struct model_units *units, const lc_stream_options *options,
    bool drop_short)
{
	const size_t size = options->window ? (size_t)options->window : 1;
	const size_t stride = options->stride ? (size_t)options->stride : size;
	struct model_stream out = { 0 };
	size_t first = 0, covered = 0; /* units before this are in a window, or in a gap */

	for (; first + size <= units->n; first += stride) {
		add_example(&out, copy_units(units, first, first + size));
		covered = first + size;
	}
	if (first < units->n && covered < units->n && !drop_short)
		add_example(&out, copy_units(units, first, units->n));
	return out;
}

/* ---- streams ---------------------------------------------------------------- */

/* Examples that a growing source cannot change any more. */
static uint64_t
settled(const lc_stream_options *options, uint64_t known)
{
	uint64_t end = 0, era = options->era_first;

	if (options->shuffle != LC_SHUFFLE_ERA)
		return options->shuffle == LC_SHUFFLE_NONE ? known : 0;
	while (end + era <= known) {
		end += era;
		era = 2 * era < options->era_max ? 2 * era : options->era_max;
	}
	return end;
}

/* One source in the flat order, for @p epochs epochs or, with 0, for ever. */
static struct model_stream
flat_stream(const struct model_source *source, uint32_t number,
    const lc_stream_options *options, uint64_t epochs, bool growing, size_t want)
{
	struct model_units units = all_units(source, options->window > 0);
	struct model_stream one = cut(&units, options,
	    options->drop_short || growing), out = { 0 };

	for (uint64_t e = 0; one.n > 0 && out.n < want && (epochs == 0 || e < epochs);
	    e++) {
		uint64_t *order = model_shuffle(options, one.n, e);
		const uint64_t n = growing ? settled(options, one.n) : one.n;

		for (uint64_t i = 0; i < n && out.n < want; i++) {
			const struct model_units *from = &one.examples[order[i]];
			struct model_units example = copy_units(from, 0, from->n);

			for (size_t u = 0; u < example.n; u++) {
				example.units[u].source = number;
				example.units[u].epoch = e;
			}
			add_example(&out, example);
		}
		free(order);
		if (growing)
			break;
	}
	model_stream_free(&one);
	model_units_free(&units);
	return out;
}

/* Examples of each chunk by itself: no window goes over its end. An epoch that is followed
 * by another one has those twice that fill its last round. */
static struct model_stream
shares_stream(const struct model_source *source, const lc_stream_options *options,
    size_t want)
{
	struct model_stream *of = must(calloc(source->n + 1, sizeof(*of))), out = { 0 };
	uint64_t *sizes = must(calloc(source->n + 1, sizeof(*sizes))), n = 0;
	const struct model_shares shares = { options->shares, options->spread,
	    options->seed, sizes, source->n };

	for (size_t c = 0; c < source->n; c++) {
		const struct model_source alone = { &source->chunks[c], 1 };
		struct model_units units = all_units(&alone, options->window > 0);

		of[c] = cut(&units, options, options->drop_short);
		n += sizes[c] = of[c].n;
		model_units_free(&units);
	}
	for (uint64_t e = 0; n >= options->shares && out.n < want &&
	    (options->epochs == 0 || e < options->epochs); e++) {
		uint64_t numbers, end;
		struct model_place *places = model_shares(&shares, e, &numbers);

		end = e + 1 == options->epochs ? n : numbers;
		for (uint64_t i = 0; i < end && out.n < want; i++) {
			const struct model_units *from =
			    &of[places[i].chunk].examples[places[i].offset];
			struct model_units example = copy_units(from, 0, from->n);

			for (size_t u = 0; u < example.n; u++) {
				example.units[u].epoch = e;
				example.units[u].chunk = places[i].chunk;
			}
			add_example(&out, example);
		}
		free(places);
	}
	for (size_t c = 0; c < source->n; c++)
		model_stream_free(&of[c]);
	free(of);
	free(sizes);
	return out;
}

static struct model_stream
rstar_stream(const struct model_source *source, const lc_stream_options *options,
    bool growing, size_t want)
{
	const uint32_t readers = options->idealised;
	const size_t each = want / readers + 1;
	const size_t size = options->window ? (size_t)options->window : 1;
	const size_t stride = options->stride ? (size_t)options->stride : size;
	struct model_stream *of = must(calloc(readers, sizeof(*of))), out = { 0 };

	for (uint32_t r = 0; r < readers; r++) {
		struct model_units units = model_rstar(source, readers, r, !growing,
		    options->window > 0, (each - 1) * stride + size);

		of[r] = cut(&units, options, true);
		model_units_free(&units);
	}
	for (size_t i = 0; i < want && i / readers < of[i % readers].n; i++) {
		const struct model_units *from = &of[i % readers].examples[i / readers];

		add_example(&out, copy_units(from, 0, from->n));
	}
	for (uint32_t r = 0; r < readers; r++)
		model_stream_free(&of[r]);
	free(of);
	return out;
}

/* Hamilton's shares: whole ones, then one more to whom most is missing, the first of
 * equals, until nothing is left. */
static uint64_t *
shares_of(const uint64_t *weights, size_t n, uint64_t block)
{
	uint64_t *counts = must(calloc(n, sizeof(*counts)));
	uint64_t *missing = must(calloc(n, sizeof(*missing)));
	uint64_t sum = 0, left = block;

	for (size_t s = 0; s < n; s++)
		sum += weights ? weights[s] : 1;
	for (size_t s = 0; s < n; s++) {
		counts[s] = (weights ? weights[s] : 1) * block / sum;
		missing[s] = (weights ? weights[s] : 1) * block % sum + 1;
		left -= counts[s];
	}
	for (; left > 0; left--) {
		size_t most = 0;

		for (size_t s = 1; s < n; s++)
			if (missing[s] > missing[most])
				most = s;
		counts[most]++;
		missing[most] = 0;
	}
	free(missing);
	return counts;
}

static struct model_stream
mixture_stream(const struct model_source *sources, size_t n,
    const lc_stream_options *options, size_t want)
{
	const uint64_t block = options->mixture_block;
	uint64_t *counts = shares_of(options->weights, n, block);
	struct model_stream *of = must(calloc(n, sizeof(*of))), out = { 0 };

	for (size_t s = 0; s < n; s++) {
		lc_stream_options its = *options;

		its.seed = model_key((uint64_t[]) { options->seed, 0, 4, s }, 4);
		of[s] = flat_stream(&sources[s], (uint32_t)s, &its, 0, false,
		    want + block);
	}
	for (size_t i = 0; i < want; i++) {
		const uint64_t key = model_key(
		    (uint64_t[]) { options->seed, 0, 3, i / block }, 4);
		uint64_t slot = model_permute(block, key, MODEL_ROUNDS, i % block);
		size_t s = 0, number;

		for (; slot >= counts[s]; s++)
			slot -= counts[s];
		number = (size_t)(i / block * counts[s] + slot);
		add_example(&out, copy_units(&of[s].examples[number], 0,
		    of[s].examples[number].n));
	}
	for (size_t s = 0; s < n; s++)
		model_stream_free(&of[s]);
	free(of);
	free(counts);
	return out;
}

struct model_stream
model_stream(const struct model_source *sources, size_t n,
    const lc_stream_options *options, bool growing, size_t want)
{
	if (n > 1)
		return mixture_stream(sources, n, options, want);
	if (options->shares > 0)
		return shares_stream(&sources[0], options, want);
	if (options->idealised > 0)
		return rstar_stream(&sources[0], options, growing, want);
	return flat_stream(&sources[0], 0, options, options->epochs, growing, want);
}

uint64_t *
model_share(lc_split split, uint32_t readers, uint32_t r, uint64_t batch, size_t *n)
{
	uint64_t *out = must(calloc((size_t)batch + 1, sizeof(*out)));
	uint64_t at = 0;

	*n = 0;
	for (uint64_t x = r; split == LC_SPLIT_STRIDED && x < batch; x += readers)
		out[(*n)++] = x;
	for (uint32_t other = 0; split == LC_SPLIT_CONTIGUOUS && other <= r; other++) {
		const uint64_t rows = batch / readers + (other < batch % readers);

		for (uint64_t i = 0; i < rows; i++, at++)
			if (other == r)
				out[(*n)++] = at;
	}
	return out;
}
