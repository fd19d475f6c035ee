/* SPDX-License-Identifier: BSD-2-Clause */
/* What lc_get_or_compute() costs a key beside lc_get_batch() when all are there. */
#include <err.h>
#include <stdio.h>

#include "choice.h"
#include "harness.h"
#include "load.h"
#include "module.h"
#include "scratch.h"

#define BATCH 100
#define ROUNDS 7
#define PASSES 5 /* of each contender, a round */
#define READS 200000
#define MODULE "module"

static struct load loads[] = {
	{ .name = "f32[512] x 10k", .samples = 10000, .size = 2048, .commit = 1000 },
	{ .name = "f32[512] x 100k", .samples = 100000, .size = 2048, .commit = 1000 },
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))

static const char *const metrics[2] = { "keys", "keys, verified" };

static void
fill(const struct load *load, const char *root)
{
	const lc_options options = module_options(load->commit);
	lc_cache *cache = module_open(root, MODULE, &options);

	for (uint64_t i = 0; i < load->samples; i++) {
		const lc_tensor tensor = module_row(load_value(load, i), load->size);
		module_must(lc_put(cache, load->keys[i], KEY_SIZE, &tensor));
	}
	module_must(lc_close(cache));
}

/* ---- the contenders ----------------------------------------------------------------- */

static void
get_batch(lc_cache *cache, const lc_id *ids, lc_view *views)
{
	module_must(lc_get_batch(cache, BATCH, ids, views, NULL, NULL));
}

static lc_status
never(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	(void)ctx;
	(void)keys;
	(void)results;
	errx(1, "%zu keys are missing, the first at %zu", n, missing[0]);
}

static void
get_or_compute(lc_cache *cache, const lc_id *ids, lc_view *views)
{
	module_must(lc_get_or_compute(cache, ids, BATCH, never, NULL, views));
}

static const struct {
	const char *name;
	void (*get)(lc_cache *cache, const lc_id *ids, lc_view *views);
} contenders[] = {
	{ "lc_get_batch", get_batch },
	{ "lc_get_or_compute", get_or_compute },
};
#define CONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

/* ---- what is measured ---------------------------------------------------------------- */

static uint64_t
sample_at(const struct load *load, uint64_t i)
{
	return load->order[i % load->samples];
}

/* Random keys in batches; returns the sum of the values' first bytes. */
static uint64_t
read_some(const struct load *load, lc_cache *cache, unsigned contender)
{
	lc_id ids[BATCH];
	lc_view views[BATCH];
	uint64_t sum = 0;

	for (uint64_t i = 0; i < READS; i += BATCH) {
		for (uint64_t k = 0; k < BATCH; k++)
			ids[k] = (lc_id){ load->keys[sample_at(load, i + k)], KEY_SIZE };
		contenders[contender].get(cache, ids, views);
		for (uint64_t k = 0; k < BATCH; k++)
			sum += *(const unsigned char *)views[k].tensor.data;
		lc_views_release(views, BATCH);
	}
	return sum;
}

static uint64_t
expected(const struct load *load)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < READS; i++)
		sum += load_value(load, sample_at(load, i))[0];
	return sum;
}

static void
measure_reads(struct bench *bench, const struct load *load, lc_cache *cache,
    const char *metric)
{
	const uint64_t sum = expected(load);

	(void)read_some(load, cache, 0); /* maps all pages */
	for (unsigned pass = 0; pass < PASSES; pass++)
		for (unsigned c = 0; c < CONTENDERS; c++) {
			const double start = bench_seconds();
			if (read_some(load, cache, c) != sum)
				errx(1, "%s: wrong data", contenders[c].name);
			bench_run(bench, load->name, contenders[c].name, metric, "1/s",
			    READS / (bench_seconds() - start));
		}
}

static void
measure_load(struct bench *bench, struct load *load, unsigned rounds,
    const char *root)
{
	const lc_options verifying = module_options(1);
	char dir[4096];

	load_make(load);
	snprintf(dir, sizeof(dir), "%s/%s", root, MODULE);
	fill(load, root);
	for (unsigned round = 0; round < rounds; round++)
		for (unsigned verified = 0; verified < 2; verified++) {
			lc_cache *cache = verified ? module_open(root, MODULE,
			    &verifying) : module_trusting(root, MODULE);
			measure_reads(bench, load, cache, metrics[verified]);
			module_must(lc_close(cache));
		}
	scratch_remove(dir);
	load_free(load);
	bench_print(bench, load->name);
}

/* Time a key over time a key. */
static void
state_ratios(struct bench *bench, const char *name)
{
	for (unsigned m = 0; m < 2; m++)
		bench_ratio(bench, bench_median(bench, name, contenders[0].name,
		    metrics[m]) / bench_median(bench, name, contenders[1].name,
		    metrics[m]), "<=", 1.3, "%s: %s: time of %s over %s", name,
		    metrics[m], contenders[1].name, contenders[0].name);
}

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse(argc, argv, ROUNDS);
	struct bench *bench = bench_start("compute", choice.results);
	const char *root = scratch_make((uint64_t)1 << 30);

	printf("data on %s; batches of %d, all there\n", scratch_filesystem(), BATCH);
	for (unsigned i = 0; i < LOADS; i++)
		if (choice_has(&choice, loads[i].name, i == 0))
			measure_load(bench, &loads[i], choice.rounds, root);
	for (unsigned i = 0; i < LOADS; i++)
		state_ratios(bench, loads[i].name);
	bench_finish(bench);
	scratch_end();
	return 0;
}
