/* SPDX-License-Identifier: BSD-2-Clause */
/* Random operations against a model in memory: after each, both say the same. They go
 * through three handles of one process by turns; one of these only reads. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

#define KEYS 1500
#define BATCH 40
#define WRITERS 2
#define HANDLES 3

struct key {
	char id[SAMPLE_ID_ROOM];
	size_t size;
	uint64_t version; /* 0: not stored */
	struct sample_range range; /* of the version */
};

struct model {
	struct key keys[KEYS]; /* in byte order of their ids */
	uint64_t version;      /* the last one given out */
	uint64_t live;         /* keys that are stored */
	uint64_t random;
	const char *root;
	lc_options options;
	lc_cache *caches[HANDLES]; /* those that write come first */
};

static int
compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	const size_t size = x->size < y->size ? x->size : y->size;
	const int order = memcmp(x->id, y->id, size);

	return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

static uint64_t
below(struct model *model, uint64_t n)
{
	return run_random(&model->random) % n;
}

static struct key *
pick(struct model *model)
{
	return &model->keys[below(model, KEYS)];
}

static lc_cache *
writer(struct model *model)
{
	return model->caches[below(model, WRITERS)];
}

static lc_cache *
reader(struct model *model)
{
	return model->caches[below(model, HANDLES)];
}

/* Small ones most of the time, some empty, up to 20 KB. */
static struct sample_range
pick_range(struct model *model)
{
	const size_t most[] = { 0, 8, 100, 100, 700, 700, 4096, 20000 };
	const size_t size = most[below(model, 8)];

	return (struct sample_range){ size / 2, size };
}

static void
next_version(struct model *model, struct key *key)
{
	model->live += key->version == 0;
	key->version = ++model->version;
	key->range = pick_range(model);
}

static void
expect_key(const struct key *key, const lc_tensor *got)
{
	ck_assert_msg(sample_is(got, key->id, key->size, key->version, key->range),
	    "%s has not the value of version %llu", lc__quote_id(key->id, key->size),
	    (unsigned long long)key->version);
}

static void
do_put(struct model *model)
{
	struct key *key = pick(model);

	next_version(model, key);
	assert_ok(sample_put(writer(model), key->id, key->size, key->version,
	    key->range));
}

/* A key may be twice in a batch: the last one counts. */
static void
do_put_batch(struct model *model)
{
	const size_t n = below(model, BATCH);
	lc_tensor tensors[BATCH];
	lc_id ids[BATCH];
	lc_status statuses[BATCH];

	for (size_t i = 0; i < n; i++) {
		struct key *key = pick(model);

		next_version(model, key);
		sample_make(&tensors[i], key->id, key->size, key->version,
		    key->range);
		ids[i] = (lc_id){ key->id, key->size };
		statuses[i] = LC_IO;
	}
	assert_ok(lc_put_batch(writer(model), n, ids, tensors, statuses));
	for (size_t i = 0; i < n; i++) {
		ck_assert_int_eq(statuses[i], LC_OK);
		sample_free(&tensors[i]);
	}
}

static void
do_delete(struct model *model)
{
	struct key *key = pick(model);

	assert_status(lc_delete(writer(model), key->id, key->size),
	    key->version != 0 ? LC_OK : LC_NOT_FOUND);
	model->live -= key->version != 0;
	key->version = 0;
}

static void
do_get(struct model *model)
{
	const struct key *key = pick(model);
	const lc_status want = key->version != 0 ? LC_OK : LC_NOT_FOUND;
	lc_tensor copy;
	lc_view view;

	if (below(model, 2) == 0) {
		assert_status(lc_get(reader(model), key->id, key->size, &view), want);
		if (want != LC_OK)
			return;
		expect_key(key, &view.tensor);
		lc_view_release(&view);
	} else {
		assert_status(lc_get_copy(reader(model), key->id, key->size, &copy),
		    want);
		if (want != LC_OK)
			return;
		expect_key(key, &copy);
		lc_tensor_free(&copy);
	}
}

static void
do_get_batch(struct model *model)
{
	const size_t n = below(model, BATCH);
	const struct key *keys[BATCH];
	lc_id ids[BATCH];
	lc_view views[BATCH];
	size_t missing[BATCH], n_missing = 99, seen = 0;

	for (size_t i = 0; i < n; i++) {
		keys[i] = pick(model);
		ids[i] = (lc_id){ keys[i]->id, keys[i]->size };
	}
	assert_ok(lc_get_batch(reader(model), n, ids, views, missing, &n_missing));
	for (size_t i = 0; i < n; i++) {
		if (keys[i]->version != 0) {
			ck_assert_int_eq(views[i].status, LC_OK);
			expect_key(keys[i], &views[i].tensor);
			continue;
		}
		ck_assert_int_eq(views[i].status, LC_NOT_FOUND);
		ck_assert_uint_lt(seen, n_missing);
		ck_assert_uint_eq(missing[seen++], i);
	}
	ck_assert_uint_eq(n_missing, seen);
	lc_views_release(views, n);
}

static void
do_contains(struct model *model)
{
	const struct key *key = pick(model);

	assert_status(lc_contains(reader(model), key->id, key->size),
	    key->version != 0 ? LC_OK : LC_NOT_FOUND);
}

static void
do_count(struct model *model)
{
	uint64_t count = UINT64_MAX;

	assert_ok(lc_count(reader(model), &count));
	ck_assert_uint_eq(count, model->live);
}

static void
do_flush(struct model *model)
{
	assert_ok(lc_flush(reader(model)));
}

/* Open a handle. Other flush sizes each time, so that runs of many sizes merge. */
static void
open_handle(struct model *model, size_t i)
{
	const uint64_t every[] = { 17, 40, 100, 1000 };

	model->options.flags = i < WRITERS ? LC_CREATE : LC_RDONLY;
	model->options.flush_every = every[below(model, 4)];
	model->options.chunk_bytes = (uint64_t)65536 << below(model, 5);
	model->options.flush_interval_ms = below(model, 2);
	model->caches[i] = sample_open(model->root, "m", &model->options);
}

/* What a handle that is discarded has not committed stays pending with the other. */
static void
do_reopen(struct model *model)
{
	const size_t i = below(model, HANDLES);

	if (below(model, 2) == 0)
		assert_ok(lc_close(model->caches[i]));
	else
		lc_discard(model->caches[i]);
	open_handle(model, i);
}

static void
do_reopen_all(struct model *model)
{
	for (size_t i = 0; i < HANDLES; i++)
		assert_ok(lc_close(model->caches[i]));
	for (size_t i = 0; i < HANDLES; i++)
		open_handle(model, i);
}

static void
do_iterate(struct model *model)
{
	lc_iter *iter;
	lc_item item;

	assert_ok(lc_iter_open(reader(model), LC_BY_KEY, NULL, 0, &iter));
	for (size_t i = 0; i < KEYS; i++) {
		const struct key *key = &model->keys[i];

		if (key->version == 0)
			continue;
		assert_ok(lc_iter_next(iter, &item));
		ck_assert_uint_eq(item.id.size, key->size);
		ck_assert_mem_eq(item.id.data, key->id, key->size);
		expect_key(key, &item.tensor);
	}
	assert_status(lc_iter_next(iter, &item), LC_END);
	lc_iter_close(iter);
}

static void
do_verify(struct model *model)
{
	lc_verify_result result;

	assert_ok(lc_flush(reader(model)));
	assert_ok(lc_verify(reader(model), NULL, &result));
	ck_assert_uint_eq(result.live, model->live);
	ck_assert_uint_eq(result.damaged, 0);
}

/* How often out of 10,000 operations. */
static const struct {
	void (*run)(struct model *model);
	unsigned share;
} operations[] = {
	{ do_put, 4200 }, { do_put_batch, 200 }, { do_delete, 1200 },
	{ do_get, 2500 }, { do_get_batch, 600 }, { do_contains, 1230 },
	{ do_count, 5 }, { do_flush, 20 }, { do_reopen, 10 }, { do_reopen_all, 5 },
	{ do_iterate, 20 }, { do_verify, 10 },
};

static void
step(struct model *model)
{
	uint64_t n = below(model, 10000);

	for (size_t i = 0;; i++) {
		if (n < operations[i].share) {
			operations[i].run(model);
			return;
		}
		n -= operations[i].share;
	}
}

START_TEST(random_operations)
{
	struct model *model = calloc(1, sizeof(*model));
	const unsigned times = sample_times(50000);

	model->random = run_seed() + (uint64_t)_i;
	model->root = run_scratch();
	model->options = sample_options();
	model->options.durability = _i % 2 ? LC_DURABLE_RELAXED : LC_DURABLE_FULL;
	for (size_t i = 0; i < KEYS; i++)
		model->keys[i].size = sample_id(model->keys[i].id,
		    run_random(&model->random));
	qsort(model->keys, KEYS, sizeof(model->keys[0]), compare_keys);
	for (size_t i = 0; i < HANDLES; i++)
		open_handle(model, i);
	for (unsigned i = 0; i < times; i++)
		step(model);
	do_reopen_all(model);
	do_iterate(model);
	do_verify(model);
	for (size_t i = 0; i < HANDLES; i++)
		assert_ok(lc_close(model->caches[i]));
	free(model);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("model");
	TCase *tc = tcase_create("random operations");

	run_seed();
	tcase_set_timeout(tc, 3600);
	tcase_add_loop_test(tc, random_operations, 0, 4);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
