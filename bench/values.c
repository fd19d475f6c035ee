/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A value of four tensors beside the same four tensors under keys of their own:
 * durable puts, reads of everything and of one tensor, space.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "choice.h"
#include "harness.h"
#include "load.h"
#include "module.h"
#include "scratch.h"

#define FIELDS 4
#define ONE 1      /* the field that is read alone */
#define PASSES 3   /* of every way of reading, a round */
#define BATCH 100 
#define ROUNDS 5

static const char *const names[FIELDS] = { "boxes", "features", "mask", "scores" };

/* A sample of a load is one tensor, a value those of FIELDS in a row; the commits are
 * of values. */
static struct load loads[] = {
	{ .name = "4 x f32[128] x 10k", .samples = 40000, .size = 512,
	  .commit = 1000 },
	{ .name = "4 x f32[128] x 100k", .samples = 400000, .size = 512,
	  .commit = 1000 },
	{ .name = "4 x 32 KiB x 5k", .samples = 20000, .size = 32768,
	  .commit = 100 },
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))

enum layout { VALUE, KEYS, LAYOUTS };

struct stand {
	const struct load *load;
	uint32_t *order; /* a random permutation of the values */
	lc_cache *cache[LAYOUTS][2]; /* [verified] */
};

static uint64_t
values_of(const struct load *load)
{
	return load->samples / FIELDS;
}

static uint64_t
value_at(const struct stand *stand, uint64_t i)
{
	return stand->order[i % values_of(stand->load)];
}

static lc_id
key_of(const struct stand *stand, uint64_t value, unsigned field)
{
	return (lc_id){ stand->load->keys[value * FIELDS + field], KEY_SIZE };
}

/* ---- puts -------------------------------------------------------------------- */

static lc_tensor
tensor_of(const struct load *load, uint64_t value, unsigned field)
{
	return module_row(load_value(load, value * FIELDS + field), load->size);
}

static void
put_value(const struct stand *stand, lc_cache *cache, uint64_t i)
{
	const lc_id id = key_of(stand, i, 0);
	lc_value *value = lc_value_map();

	for (unsigned f = 0; f < FIELDS; f++) {
		const lc_tensor tensor = tensor_of(stand->load, i, f);
		lc_value_set(value, names[f], lc_value_tensor(&tensor));
	}
	module_must(lc_put_value(cache, id.data, id.size, value));
	lc_value_free(value);
}

static void
put_keys(const struct stand *stand, lc_cache *cache, uint64_t i)
{
	for (unsigned f = 0; f < FIELDS; f++) {
		const lc_id id = key_of(stand, i, f);
		const lc_tensor tensor = tensor_of(stand->load, i, f);
		module_must(lc_put(cache, id.data, id.size, &tensor));
	}
}

/* ---- reads: they return the sum of the first bytes of what was read ------------ */

typedef uint64_t read_fn(const struct stand *stand, lc_cache *cache, uint64_t n);

static uint64_t
first_byte(const lc_tensor *tensor)
{
	return *(const unsigned char *)tensor->data;
}

static uint64_t
sum_of_value(lc_view *view)
{
	const lc_value *value;
	lc_tensor tensor;
	uint64_t sum = 0;

	module_must(lc_view_value(view, NULL, &value));
	for (unsigned f = 0; f < FIELDS; f++) {
		module_must(lc_value_as_tensor(lc_value_at(value, f), &tensor));
		sum += first_byte(&tensor);
	}
	return sum;
}

static uint64_t
value_all(const struct stand *stand, lc_cache *cache, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		const lc_id id = key_of(stand, value_at(stand, i), 0);
		lc_view view;
		module_must(lc_get(cache, id.data, id.size, &view));
		sum += sum_of_value(&view);
		lc_view_release(&view);
	}
	return sum;
}

static uint64_t
value_one(const struct stand *stand, lc_cache *cache, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		const lc_id id = key_of(stand, value_at(stand, i), 0);
		const lc_value *field;
		lc_tensor tensor;
		lc_view view;
		module_must(lc_get(cache, id.data, id.size, &view));
		module_must(lc_view_value(&view, names[ONE], &field));
		module_must(lc_value_as_tensor(field, &tensor));
		sum += first_byte(&tensor);
		lc_view_release(&view);
	}
	return sum;
}

static uint64_t
value_batches(const struct stand *stand, lc_cache *cache, uint64_t n)
{
	lc_id ids[BATCH];
	lc_view views[BATCH];
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i += BATCH) {
		for (uint64_t k = 0; k < BATCH; k++)
			ids[k] = key_of(stand, value_at(stand, i + k), 0);
		module_must(lc_get_batch(cache, BATCH, ids, views, NULL, NULL));
		for (uint64_t k = 0; k < BATCH; k++)
			sum += sum_of_value(&views[k]);
		lc_views_release(views, BATCH);
	}
	return sum;
}

static uint64_t
get_first_byte(lc_cache *cache, lc_id id)
{
	lc_view view;
	uint64_t byte;

	module_must(lc_get(cache, id.data, id.size, &view));
	byte = first_byte(&view.tensor);
	lc_view_release(&view);
	return byte;
}

static uint64_t
keys_all(const struct stand *stand, lc_cache *cache, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		for (unsigned f = 0; f < FIELDS; f++)
			sum += get_first_byte(cache,
			    key_of(stand, value_at(stand, i), f));
	return sum;
}

static uint64_t
keys_one(const struct stand *stand, lc_cache *cache, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += get_first_byte(cache, key_of(stand, value_at(stand, i), ONE));
	return sum;
}

/* All tensors of @p each values by one lc_get_batch(). */
static uint64_t
keys_together(const struct stand *stand, lc_cache *cache, uint64_t n, uint64_t each)
{
	lc_id ids[BATCH * FIELDS];
	lc_view views[BATCH * FIELDS];
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i += each) {
		for (uint64_t k = 0; k < each * FIELDS; k++)
			ids[k] = key_of(stand, value_at(stand, i + k / FIELDS),
			    k % FIELDS);
		module_must(lc_get_batch(cache, each * FIELDS, ids, views, NULL, NULL));
		for (uint64_t k = 0; k < each * FIELDS; k++)
			sum += first_byte(&views[k].tensor);
		lc_views_release(views, each * FIELDS);
	}
	return sum;
}

static uint64_t
keys_four(const struct stand *stand, lc_cache *cache, uint64_t n)
{
	return keys_together(stand, cache, n, 1);
}

static uint64_t
keys_batches(const struct stand *stand, lc_cache *cache, uint64_t n)
{
	return keys_together(stand, cache, n, BATCH);
}

static const struct {
	const char *module;
	void (*put)(const struct stand *stand, lc_cache *cache, uint64_t i);
} layouts[] = { { "value", put_value }, { "keys", put_keys } };

/* ---- what is measured ----------------------------------------------------------- */

/* The first ones are the layouts. */
static const char *const contenders[] = { "a value", "4 keys", "4 keys, batch of 4" };
#define CONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

static const struct way {
	const char *metric[2]; /* [verified] */
	bool one;              /* field only */
	read_fn *read[CONTENDERS];
} ways[] = {
	{ { "all tensors", "all tensors, verified" }, false,
	  { value_all, keys_all, keys_four } },
	{ { "one tensor", "one tensor, verified" }, true,
	  { value_one, keys_one, NULL } },
	{ { "all, batches of 100", "all, batches of 100, verified" }, false,
	  { value_batches, keys_batches, NULL } },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static uint64_t
expected(const struct stand *stand, const struct way *way, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		for (unsigned f = 0; f < FIELDS; f++)
			if (!way->one || f == ONE)
				sum += load_value(stand->load,
				    value_at(stand, i) * FIELDS + f)[0];
	return sum;
}

/* Enough to be timed; what is verified is read as a whole. */
static uint64_t
reads_of(const struct load *load, bool verified)
{
	const uint64_t most = ((uint64_t)1 << 30) / (load->size * FIELDS);

	return verified && most < 100000 ? most / BATCH * BATCH : 100000;
}

static void
measure_way(struct bench *bench, const struct stand *stand, const struct way *way,
    bool verified)
{
	const uint64_t n = reads_of(stand->load, verified);
	const uint64_t sum = expected(stand, way, n);

	for (unsigned pass = 0; pass < PASSES; pass++)
		for (unsigned c = 0; c < CONTENDERS; c++) {
			lc_cache *cache = stand->cache[c == 0 ? VALUE : KEYS][verified];
			const double start = bench_seconds();
			if (way->read[c] == NULL)
				continue;
			if (way->read[c](stand, cache, n) != sum)
				errx(1, "%s: %s: wrong data", contenders[c],
				    way->metric[verified]);
			bench_run(bench, stand->load->name, contenders[c],
			    way->metric[verified], "1/s",
			    (double)n / (bench_seconds() - start));
		}
}

static void
fill(struct bench *bench, const struct stand *stand, enum layout layout,
    const char *root)
{
	const uint64_t n = values_of(stand->load);
	const lc_options options = module_options(stand->load->commit *
	    (layout == KEYS ? FIELDS : 1));
	const double start = bench_seconds();
	lc_cache *cache = module_open(root, layouts[layout].module, &options);

	for (uint64_t i = 0; i < n; i++)
		layouts[layout].put(stand, cache, i);
	module_must(lc_flush(cache));
	bench_run(bench, stand->load->name, contenders[layout], "durable puts", "1/s",
	    (double)n / (bench_seconds() - start));
	module_must(lc_close(cache));
}

static void
measure_space(struct bench *bench, const struct stand *stand, enum layout layout,
    const char *dir)
{
	bench_run(bench, stand->load->name, contenders[layout], "disk a value", "B",
	    scratch_allocated(dir) / (double)values_of(stand->load));
}

/* Once, so that all pages are mapped. */
static void
warm(const struct stand *stand)
{
	for (unsigned verified = 0; verified < 2; verified++) {
		value_all(stand, stand->cache[VALUE][verified], values_of(stand->load));
		keys_all(stand, stand->cache[KEYS][verified], values_of(stand->load));
	}
}

static void
measure_round(struct bench *bench, struct stand *stand, unsigned round,
    const char *root)
{
	const lc_options verifying = module_options(1000);
	char dir[LAYOUTS][4096];

	for (unsigned i = 0; i < LAYOUTS; i++) {
		const enum layout layout = (round + i) % LAYOUTS;
		const char *module = layouts[layout].module;
		snprintf(dir[layout], sizeof(dir[layout]), "%s/%s", root, module);
		fill(bench, stand, layout, root);
		measure_space(bench, stand, layout, dir[layout]);
		stand->cache[layout][false] = module_trusting(root, module);
		stand->cache[layout][true] = module_open(root, module, &verifying);
	}
	warm(stand);
	for (unsigned w = 0; w < WAYS; w++)
		for (unsigned verified = 0; verified < 2; verified++)
			measure_way(bench, stand, &ways[w], verified);
	for (unsigned i = 0; i < LAYOUTS; i++) {
		module_must(lc_close(stand->cache[i][false]));
		module_must(lc_close(stand->cache[i][true]));
		scratch_remove(dir[i]);
	}
}

/* The load's order is one of tensors: take the first of each value. */
static void
make_order(struct stand *stand)
{
	const struct load *load = stand->load;
	uint64_t n = 0;

	stand->order = calloc(values_of(load), sizeof(*stand->order));
	if (stand->order == NULL)
		err(1, NULL);
	for (uint64_t i = 0; i < load->samples; i++)
		if (load->order[i] % FIELDS == 0)
			stand->order[n++] = load->order[i] / FIELDS;
}

static void
measure_load(struct bench *bench, struct load *load, unsigned rounds,
    const char *root)
{
	struct stand stand = { .load = load };

	load_make(load);
	make_order(&stand);
	for (unsigned round = 0; round < rounds; round++)
		measure_round(bench, &stand, round, root);
	free(stand.order);
	load_free(load);
	bench_print(bench, load->name);
}

/* ---- ratios ------------------------------------------------------------------ */

static void
state_ratios(struct bench *bench, const struct load *load)
{
	static const struct {
		const char *metric, *other;
		double target;
	} wanted[] = {
		{ "durable puts", "4 keys", 1 },
		{ "all tensors", "4 keys", 1 },
		{ "all tensors", "4 keys, batch of 4", 1 },
		{ "all tensors, verified", "4 keys", 1 },
		{ "one tensor", "4 keys", 0.5 },
		{ "one tensor, verified", "4 keys", 0.5 },
		{ "all, batches of 100", "4 keys", 1 },
		{ "all, batches of 100, verified", "4 keys", 1 },
	};

	for (unsigned w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++)
		bench_ratio(bench, bench_median(bench, load->name, "a value",
		    wanted[w].metric) / bench_median(bench, load->name, wanted[w].other,
		    wanted[w].metric), ">=", wanted[w].target, "%s: %s of a value over %s",
		    load->name, wanted[w].metric, wanted[w].other);
}

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse(argc, argv, ROUNDS);
	struct bench *bench = bench_start("values", choice.results);
	const char *root = scratch_make((uint64_t)2 << 30);

	printf("data on %s; commits of 1,000 values (4 x 32 KiB: 100), all durable\n",
	    scratch_filesystem());
	for (unsigned i = 0; i < LOADS; i++)
		if (choice_has(&choice, loads[i].name, i == 0))
			measure_load(bench, &loads[i], choice.rounds, root);
	for (unsigned i = 0; i < LOADS; i++)
		state_ratios(bench, &loads[i]);
	bench_finish(bench);
	scratch_end();
	return 0;
}
