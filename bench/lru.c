/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Coded tensors that are read again and again: out of the LRU, beside the same
 * tensors stored as they are, and beside decoding each time.
 */
#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "harness.h"
#include "module.h"
#include "scratch.h"

#define TENSORS 64 /* 37 MiB: less than the LRU holds by default */
#define SIDE 224
#define ELEMENTS ((size_t)3 * SIDE * SIDE)
#define NBYTES (ELEMENTS * sizeof(float))
#define ROUNDS 7
#define PASSES 100 /* over all tensors, for what reads one byte of each */
#define FEW_PASSES 3 /* for what reads all bytes, or decodes them */

static const struct {
	const char *name; /* of the case */
	lc_codec codec;
} cases[] = {
	{ "f32[3,224,224], u8pack", LC_CODEC_U8PACK },
	{ "f32[3,224,224], lz4", LC_CODEC_LZ4 },
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* ---- images ------------------------------------------------------------------- */

/* Waves and a little noise, exactly k/255. */
static void
make_image(float *out, unsigned n)
{
	uint32_t noise = n * 2654435761u + 1;

	for (size_t i = 0; i < ELEMENTS; i++) {
		const double x = (double)(i % SIDE), y = (double)(i / SIDE);
		noise = noise * 1664525u + 1013904223u;
		out[i] = (float)(int)(120 + 60 * sin(x / (20 + n)) +
		    60 * cos(y / (30 + n)) + (double)(noise >> 30)) / 255;
	}
}

static float *
make_images(void)
{
	float *images = malloc(TENSORS * NBYTES);

	if (images == NULL)
		err(1, NULL);
	for (unsigned n = 0; n < TENSORS; n++)
		make_image(images + n * ELEMENTS, n);
	return images;
}

/* Each image once, far from its neighbour. */
static unsigned
in_order(unsigned i)
{
	return i * 27 % TENSORS;
}

/* ---- the modules ---------------------------------------------------------------- */

enum contender { RAW, HIT, DECODED, CONTENDERS };

static const char *const contenders[CONTENDERS] = {
	"raw, in place", "coded, LRU hit", "coded, LRU off"
};

struct stand {
	const char *name; /* of the case */
	const float *images;
	lc_cache *cache[CONTENDERS][2]; /* [verified] */
};

static void
fill(const char *root, const char *module, const float *images, lc_codec codec)
{
	const uint64_t shape[3] = { 3, SIDE, SIDE };
	const lc_options options = module_options(16);
	lc_cache *cache = module_open(root, module, &options);

	for (unsigned n = 0; n < TENSORS; n++) {
		lc_tensor tensor;
		lc_value *value;
		module_must(lc_tensor_init(&tensor, LC_F32, 3, shape,
		    images + n * ELEMENTS));
		value = lc_value_tensor(&tensor);
		module_must(lc_put_coded(cache, &n, sizeof(n), value, codec, 0));
		lc_value_free(value);
	}
	module_must(lc_close(cache));
}

static void
open_modules(struct stand *stand, const char *root)
{
	for (unsigned c = 0; c < CONTENDERS; c++)
		for (int verified = 0; verified < 2; verified++) {
			lc_options options = module_options(16);
			options.verify = verified;
			if (c == DECODED)
				options.lru_bytes = 0;
			stand->cache[c][verified] = module_open(root,
			    c == RAW ? "raw" : "coded", &options);
		}
}

static void
close_modules(struct stand *stand)
{
	for (unsigned c = 0; c < CONTENDERS; c++)
		for (unsigned verified = 0; verified < 2; verified++)
			module_must(lc_close(stand->cache[c][verified]));
}

/* ---- reads ------------------------------------------------------------------------ */

static uint64_t
words(const void *data)
{
	const uint64_t *word = data;
	uint64_t sum = 0;

	for (size_t i = 0; i < NBYTES / sizeof(*word); i++)
		sum += word[i];
	return sum;
}

/* The sum of all words, or of the first ones. */
static uint64_t
read_all(lc_cache *cache, unsigned passes, bool whole)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < passes * TENSORS; i++) {
		const unsigned n = in_order(i);
		lc_view view;
		module_must(lc_get(cache, &n, sizeof(n), &view));
		sum += whole ? words(view.tensor.data) :
		    *(const uint64_t *)view.tensor.data;
		lc_view_release(&view);
	}
	return sum;
}

static uint64_t
expected(const float *images, unsigned passes, bool whole)
{
	uint64_t sum = 0, first;

	for (unsigned n = 0; n < TENSORS; n++) {
		memcpy(&first, images + n * ELEMENTS, sizeof(first));
		sum += whole ? words(images + n * ELEMENTS) : first;
	}
	return sum * passes;
}

/* Byte for byte; fills the LRU, and maps all pages. */
static void
compare(const struct stand *stand)
{
	for (unsigned c = 0; c < CONTENDERS * 2; c++)
		for (unsigned n = 0; n < TENSORS; n++) {
			lc_view view;
			module_must(lc_get(stand->cache[c / 2][c % 2], &n, sizeof(n),
			    &view));
			if (view.tensor.nbytes != NBYTES || memcmp(view.tensor.data,
			    stand->images + n * ELEMENTS, NBYTES) != 0)
				errx(1, "%s: other bytes", contenders[c / 2]);
			lc_view_release(&view);
		}
}

static const struct way {
	const char *metric;
	bool verified, whole;
} ways[] = {
	{ "get", false, false },
	{ "get, verified", true, false },
	{ "get, all bytes read", false, true },
	{ "get, verified, all bytes read", true, true },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void
measure_way(struct bench *bench, const struct stand *stand, const struct way *way)
{
	for (unsigned c = 0; c < CONTENDERS; c++) {
		const bool slow = way->whole || c == DECODED ||
		    (c == RAW && way->verified);
		const unsigned passes = slow ? FEW_PASSES : PASSES;
		const uint64_t sum = expected(stand->images, passes, way->whole);
		const double start = bench_seconds();
		if (read_all(stand->cache[c][way->verified], passes, way->whole) != sum)
			errx(1, "%s: wrong data", contenders[c]);
		bench_run(bench, stand->name, contenders[c], way->metric, "1/s",
		    passes * TENSORS / (bench_seconds() - start));
	}
}

/* Had the LRU whatever was asked for? Each tensor came into it once. */
static void
check_hits(lc_cache *cache)
{
	lc_counters counters = { .struct_size = sizeof(counters) };

	module_must(lc_counters_get(cache, &counters));
	if (counters.lru_misses != TENSORS || counters.lru_evictions != 0)
		errx(1, "the LRU does not hold all tensors");
}

static void
measure_case(struct bench *bench, unsigned which, const struct choice *choice,
    const float *images, const char *root)
{
	struct stand stand = { .name = cases[which].name, .images = images };
	char dir[4096];

	snprintf(dir, sizeof(dir), "%s/%u", root, which);
	fill(dir, "raw", images, LC_CODEC_NONE);
	fill(dir, "coded", images, cases[which].codec);
	open_modules(&stand, dir);
	compare(&stand);
	for (unsigned round = 0; round < choice->rounds; round++)
		for (unsigned w = 0; w < WAYS; w++)
			measure_way(bench, &stand, &ways[w]);
	check_hits(stand.cache[HIT][false]);
	check_hits(stand.cache[HIT][true]);
	close_modules(&stand);
	bench_print(bench, stand.name);
}

static void
state_ratios(struct bench *bench, const char *name)
{
	static const struct {
		enum contender over;
		const char *metric;
		double target;
	} wanted[] = {
		{ RAW, "get", 0.5 },
		{ RAW, "get, verified", 1 },
		{ RAW, "get, verified, all bytes read", 0.9 },
		{ DECODED, "get", 10 },
	};

	for (unsigned w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++)
		bench_ratio(bench, bench_median(bench, name, contenders[HIT],
		    wanted[w].metric) / bench_median(bench, name,
		    contenders[wanted[w].over], wanted[w].metric), ">=",
		    wanted[w].target, "%s: %s: LRU hit over %s", name,
		    wanted[w].metric, contenders[wanted[w].over]);
}

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse(argc, argv, ROUNDS);
	struct bench *bench = bench_start("lru", choice.results);
	const char *root = scratch_make((uint64_t)1 << 29);
	float *images = make_images();

	printf("data on %s; %d tensors of %zu bytes\n", scratch_filesystem(), TENSORS,
	    NBYTES);
	for (unsigned i = 0; i < CASES; i++)
		if (choice_has(&choice, cases[i].name, i == 0))
			measure_case(bench, i, &choice, images, root);
	for (unsigned i = 0; i < CASES; i++)
		state_ratios(bench, cases[i].name);
	free(images);
	bench_finish(bench);
	scratch_end();
	return 0;
}
