/* SPDX-License-Identifier: BSD-2-Clause */
#include "order_set.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "module.h"
#include "order/shuffle.h"
#include "order_lmdb.h"
#include "scratch.h"

#define COMMIT 2048 /* records */

lc_shuffle
order_shuffle(enum order_kind kind)
{
	static const lc_shuffle shuffles[ORDER_KINDS] = {
		LC_SHUFFLE_NONE, LC_SHUFFLE_BLOCK, LC_SHUFFLE_FULL
	};

	return shuffles[kind];
}

static uint32_t *
make_order(enum order_kind kind, uint64_t n)
{
	struct lc__shuffle_rule rule = { .kind = order_shuffle(kind),
		.seed = ORDER_SEED };
	uint32_t *order = calloc(n, sizeof(*order));
	struct lc__shuffle shuffle;
	lc_stream_options defaults;

	if (order == NULL)
		err(1, NULL);
	lc_stream_options_init(&defaults);
	rule.block = defaults.block;
	rule.spread = defaults.spread;
	rule.era_first = defaults.era_first;
	rule.era_max = defaults.era_max;
	lc__shuffle_init(&shuffle, &rule, n, 0);
	for (uint64_t i = 0; i < n; i++)
		order[i] = (uint32_t)lc__shuffle_at(&shuffle, i);
	return order;
}

static void
fill_module(const struct order_set *set)
{
	const lc_options options = module_options(COMMIT);
	lc_cache *cache = module_open(set->root, ORDER_MODULE, &options);

	for (uint64_t i = 0; i < set->load.samples; i++) {
		const lc_tensor tensor = module_row(load_value(&set->load, i),
		    ORDER_RECORD);
		module_must(lc_put(cache, set->load.keys[i], KEY_SIZE, &tensor));
	}
	module_must(lc_close(cache));
}

static void
fill_flat(const struct order_set *set)
{
	FILE *file = fopen(set->flat, "w");

	if (file == NULL)
		err(1, "%s", set->flat);
	for (uint64_t i = 0; i < set->load.samples; i++)
		if (fwrite(load_value(&set->load, i), ORDER_RECORD, 1, file) != 1)
			err(1, "%s", set->flat);
	if (fflush(file) != 0 || fsync(fileno(file)) != 0 || fclose(file) != 0)
		err(1, "%s", set->flat);
}

void
order_set_make(struct order_set *set, const char *root, uint64_t n)
{
	*set = (struct order_set){ .root = root,
		.load = { .samples = n, .size = ORDER_RECORD, .commit = COMMIT } };
	snprintf(set->module, sizeof(set->module), "%s/" ORDER_MODULE "/data.mdb",
	    root);
	snprintf(set->flat, sizeof(set->flat), "%s/flat", root);
	snprintf(set->lmdb, sizeof(set->lmdb), "%s/lmdb", root);
	snprintf(set->lmdb_file, sizeof(set->lmdb_file), "%s/lmdb/data.mdb", root);
	load_make(&set->load);
	set->sums = calloc(n, sizeof(*set->sums));
	if (set->sums == NULL)
		err(1, NULL);
	for (uint64_t i = 0; i < n; i++)
		set->sums[i] = order_sum(load_value(&set->load, i));
	for (unsigned kind = 0; kind < ORDER_KINDS; kind++)
		set->order[kind] = make_order(kind, n);
	fill_module(set);
	fill_flat(set);
	order_lmdb_fill(set);
}

void
order_set_free(struct order_set *set)
{
	char dir[4200];

	snprintf(dir, sizeof(dir), "%s/" ORDER_MODULE, set->root);
	scratch_remove(dir);
	scratch_remove(set->flat);
	scratch_remove(set->lmdb);
	for (unsigned kind = 0; kind < ORDER_KINDS; kind++)
		free(set->order[kind]);
	free(set->sums);
	load_free(&set->load);
}

uint64_t
order_expected(const struct order_set *set, enum order_kind kind, uint64_t examples)
{
	uint64_t total = 0;

	for (uint64_t x = 0; x < examples; x++)
		total += order_weighed(x, set->sums[set->order[kind][x]]);
	return total;
}
