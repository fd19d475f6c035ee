/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks by key and by commit, whole and by prefix, over one snapshot. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

#define KEYS 900

struct entry {
	char id[SAMPLE_ID_ROOM];
	size_t size;
	uint64_t version; /* 0: not stored; also its place in the order of puts */
};

struct fixture {
	struct entry entries[KEYS];
	lc_cache *cache;
	const char *root;
	lc_options options;
};

static int
by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	const size_t size = x->size < y->size ? x->size : y->size;
	const int order = memcmp(x->id, y->id, size);

	return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

static int
by_version(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->version > y->version) - (x->version < y->version);
}

/* Many commits with overwrites and deletes, so that runs merge on several levels. */
static struct fixture *
make(uint64_t flush_every)
{
	struct fixture *f = calloc(1, sizeof(*f));
	uint64_t random = run_seed(), version = 0;

	f->root = run_scratch();
	f->options = sample_options();
	f->options.flush_every = flush_every;
	f->options.durability = LC_DURABLE_RELAXED;
	f->cache = sample_open(f->root, "m", &f->options);
	for (size_t i = 0; i < KEYS; i++)
		f->entries[i].size = sample_id(f->entries[i].id, i);
	for (size_t i = 0; i < 3 * KEYS; i++) {
		struct entry *e = &f->entries[run_random(&random) % KEYS];

		if (e->version != 0 && run_random(&random) % 3 == 0) {
			assert_ok(lc_delete(f->cache, e->id, e->size));
			e->version = 0;
			continue;
		}
		e->version = ++version;
		assert_ok(sample_put(f->cache, e->id, e->size, version, SAMPLE_SMALL));
	}
	return f;
}

static void
destroy(struct fixture *f)
{
	assert_ok(lc_close(f->cache));
	free(f);
}

static void
expect_item(const struct entry *want, const lc_item *item)
{
	ck_assert_uint_eq(item->id.size, want->size);
	ck_assert_mem_eq(item->id.data, want->id, want->size);
	ck_assert_uint_eq((uintptr_t)item->tensor.data % 64, 0);
	ck_assert_uint_eq(item->stored_size % 64, 0);
	ck_assert_uint_gt(item->stored_size, item->tensor.nbytes + item->id.size);
	ck_assert(sample_is(&item->tensor, want->id, want->size, want->version,
	    SAMPLE_SMALL));
}

static bool
starts(const struct entry *e, const void *prefix, size_t size)
{
	return e->size >= size && (size == 0 || memcmp(e->id, prefix, size) == 0);
}

/* The walk gives the stored entries in their present order, and nothing else. */
static void
expect_walk(struct fixture *f, unsigned flags, const void *prefix, size_t size)
{
	uint64_t chunk = 0;
	lc_iter *iter;
	lc_item item;

	assert_ok(lc_iter_open(f->cache, flags, prefix, size, &iter));
	for (size_t i = 0; i < KEYS; i++) {
		if (f->entries[i].version == 0 || !starts(&f->entries[i], prefix, size))
			continue;
		assert_ok(lc_iter_next(iter, &item));
		expect_item(&f->entries[i], &item);
		if (flags & LC_BY_COMMIT)
			ck_assert_uint_ge(item.chunk, chunk);
		chunk = item.chunk;
	}
	/* The end stays the end. */
	assert_status(lc_iter_next(iter, &item), LC_END);
	assert_status(lc_iter_next(iter, &item), LC_END);
	lc_iter_close(iter);
}

static const uint64_t flush_every[] = { 3, 50, 100000 };

START_TEST(by_key_order)
{
	struct fixture *f = make(flush_every[_i]);

	qsort(f->entries, KEYS, sizeof(f->entries[0]), by_key);
	expect_walk(f, LC_BY_KEY, NULL, 0);
	expect_walk(f, LC_BY_KEY | LC_ITER_LISTED, NULL, 0);
	assert_ok(lc_close(f->cache));
	f->options.flags = LC_RDONLY;
	f->cache = sample_open(f->root, "m", &f->options);
	expect_walk(f, LC_BY_KEY, NULL, 0);
	destroy(f);
}
END_TEST

START_TEST(by_commit_order)
{
	struct fixture *f = make(flush_every[_i]);

	qsort(f->entries, KEYS, sizeof(f->entries[0]), by_version);
	expect_walk(f, LC_BY_COMMIT, NULL, 0);
	expect_walk(f, LC_BY_COMMIT | LC_ITER_LISTED, NULL, 0);
	expect_walk(f, LC_BY_COMMIT, "/", 1);
	destroy(f);
}
END_TEST

START_TEST(by_prefix)
{
	static const struct {
		const char *bytes;
		size_t size;
	} rows[] = { { "", 0 }, { "/", 1 }, { "k", 1 }, { "1", 1 }, { "a", 1 },
		{ "\0", 1 }, { "\0\0\0\0", 4 }, { "\0\0\0\0\1", 5 }, { "\xff", 1 },
		{ "\xff\xff", 2 }, { "zzz", 3 } };
	struct fixture *f = make(20);

	qsort(f->entries, KEYS, sizeof(f->entries[0]), by_key);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_walk(f, LC_BY_KEY, rows[i].bytes, rows[i].size);
	/* Every whole id is a prefix of itself at least. */
	for (size_t i = 0; i < KEYS; i += 7)
		expect_walk(f, LC_BY_KEY, f->entries[i].id, f->entries[i].size);
	destroy(f);
}
END_TEST

/* Ids of 0xff bytes: nothing sorts behind them. */
START_TEST(prefix_at_the_end)
{
	lc_cache *cache = sample_open(run_scratch(), "m", NULL);
	char id[600];
	lc_iter *iter;
	lc_item item;

	memset(id, 0xff, sizeof(id));
	for (size_t size = 1; size <= sizeof(id); size += 13)
		assert_ok(sample_put(cache, id, size, size, SAMPLE_SMALL));
	assert_ok(sample_put(cache, "\xfe", 1, 1, SAMPLE_SMALL));
	for (size_t from = 1; from <= sizeof(id); from += 100) {
		assert_ok(lc_iter_open(cache, LC_BY_KEY, id, from, &iter));
		for (size_t size = 1; size <= sizeof(id); size += 13) {
			if (size < from)
				continue;
			assert_ok(lc_iter_next(iter, &item));
			ck_assert_uint_eq(item.id.size, size);
			ck_assert_mem_eq(item.id.data, id, size);
		}
		assert_status(lc_iter_next(iter, &item), LC_END);
		lc_iter_close(iter);
	}
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(empty_module)
{
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", NULL);
	lc_iter *iter;
	lc_item item, before;

	memset(&item, 0xa5, sizeof(item));
	before = item;
	for (int deleted = 0; deleted < 2; deleted++) {
		assert_ok(lc_iter_open(cache, _i == 0 ? LC_BY_KEY : LC_BY_COMMIT, NULL,
		    0, &iter));
		assert_status(lc_iter_next(iter, &item), LC_END);
		ck_assert_mem_eq(&item, &before, sizeof(item));
		lc_iter_close(iter);
		assert_ok(sample_put(cache, "k", 1, 1, SAMPLE_SMALL));
		assert_ok(lc_flush(cache));
		assert_ok(lc_delete(cache, "k", 1));
	}
	assert_ok(lc_close(cache));
}
END_TEST

/* What is committed while a walk goes on is not part of it. */
START_TEST(one_snapshot)
{
	struct fixture *f = make(10);
	const unsigned order = _i == 0 ? LC_BY_KEY : LC_BY_COMMIT;
	lc_iter *iter;
	lc_item item;

	qsort(f->entries, KEYS, sizeof(f->entries[0]),
	    _i == 0 ? by_key : by_version);
	assert_ok(lc_iter_open(f->cache, order, NULL, 0, &iter));
	for (size_t i = 0; i < KEYS; i++) {
		if (f->entries[i].version == 0)
			continue;
		assert_ok(lc_iter_next(iter, &item));
		expect_item(&f->entries[i], &item);
		/* Change what was seen and what is still to come. */
		assert_ok(sample_put(f->cache, f->entries[KEYS - 1 - i].id,
		    f->entries[KEYS - 1 - i].size, 100000 + i, SAMPLE_SMALL));
		if (i % 5 == 0)
			assert_ok(lc_delete(f->cache, f->entries[i].id,
			    f->entries[i].size));
		/* What the last call lent is still as it was. */
		if (i % 50 == 0) {
			assert_ok(lc_flush(f->cache));
			expect_item(&f->entries[i], &item);
		}
	}
	assert_status(lc_iter_next(iter, &item), LC_END);
	lc_iter_close(iter);
	destroy(f);
}
END_TEST

/* Records that are shorter and longer than what a walk fetches ahead, in more chunks than a
 * snapshot remembers: with and without checks a walk gives the same, whether its caller
 * reads the data or leaves them for some hundred records. */
START_TEST(records_of_all_sizes)
{
	enum { n = 1500, longest = 9000 };
	unsigned char *data = malloc(longest);
	const char *root = run_scratch();
	lc_options options = sample_options();
	uint64_t shape[1];
	lc_cache *cache;
	lc_tensor tensor;
	lc_iter *iter;
	lc_item item;
	char id[16];

	options.flush_every = 1;
	options.durability = LC_DURABLE_RELAXED;
	options.verify = _i;
	cache = sample_open(root, "m", &options);
	for (unsigned i = 0; i < n; i++) {
		shape[0] = (uint64_t)i * 7919 % longest;
		memset(data, (int)(i % 251), longest);
		snprintf(id, sizeof(id), "%06u", i * 7 % n);
		assert_ok(lc_tensor_init(&tensor, LC_U8, 1, shape, data));
		assert_ok(lc_put(cache, id, 6, &tensor));
	}
	assert_ok(lc_iter_open(cache, LC_BY_KEY, NULL, 0, &iter));
	for (unsigned k = 0; k < n; k++) {
		unsigned i = 0;

		while (i * 7 % n != k)
			i++;
		assert_ok(lc_iter_next(iter, &item));
		snprintf(id, sizeof(id), "%06u", k);
		ck_assert_uint_eq(item.id.size, 6);
		ck_assert_mem_eq(item.id.data, id, 6);
		ck_assert_uint_eq(item.tensor.nbytes, (uint64_t)i * 7919 % longest);
		if (k / 300 % 2 == 1)
			continue;
		memset(data, (int)(i % 251), longest);
		ck_assert_mem_eq(item.tensor.data, data, item.tensor.nbytes);
	}
	assert_status(lc_iter_next(iter, &item), LC_END);
	lc_iter_close(iter);
	assert_ok(lc_close(cache));
	free(data);
}
END_TEST

START_TEST(closed_early)
{
	struct fixture *f = make(100);
	lc_iter *iter;
	lc_item item;

	for (int steps = 0; steps < 5; steps++) {
		assert_ok(lc_iter_open(f->cache, _i == 0 ? LC_BY_KEY : LC_BY_COMMIT,
		    NULL, 0, &iter));
		for (int i = 0; i < steps; i++)
			assert_ok(lc_iter_next(iter, &item));
		lc_iter_close(iter);
	}
	assert_status(lc_iter_open(f->cache, 0x40, NULL, 0, &iter), LC_INVALID);
	destroy(f);
}
END_TEST

/* What a snapshot remembers of chunks is bounded: so many later commits that a
 * record's successor stands where the walk's own chunk was remembered. */
START_TEST(many_commits_later)
{
	static const char *const kept[] = { "b", "c", "d" };
	lc_options options = sample_options();
	lc_cache *cache;
	lc_iter *iter;
	lc_item item;

	options.durability = LC_DURABLE_RELAXED;
	cache = sample_open(run_scratch(), "m", &options);
	assert_ok(sample_put(cache, "a", 1, 1, SAMPLE_SMALL));
	for (int i = 0; i < 3; i++)
		assert_ok(sample_put(cache, kept[i], 1, 2, SAMPLE_SMALL));
	for (uint64_t version = 2; version < 1028; version++) {
		assert_ok(lc_flush(cache));
		assert_ok(sample_put(cache, version < 1024 ? "filler" : "a",
		    version < 1024 ? 6 : 1, version, SAMPLE_SMALL));
		if (version < 1024)
			continue;
		assert_ok(lc_iter_open(cache, LC_BY_COMMIT, NULL, 0, &iter));
		for (int i = 0; i < 3; i++) {
			assert_ok(lc_iter_next(iter, &item));
			ck_assert_uint_eq(item.chunk, 1);
			ck_assert(sample_is(&item.tensor, kept[i], 1, 2, SAMPLE_SMALL));
		}
		assert_ok(lc_iter_next(iter, &item));
		ck_assert(sample_is(&item.tensor, "filler", 6, 1023, SAMPLE_SMALL));
		assert_ok(lc_iter_next(iter, &item));
		ck_assert(sample_is(&item.tensor, "a", 1, version, SAMPLE_SMALL));
		assert_status(lc_iter_next(iter, &item), LC_END);
		lc_iter_close(iter);
	}
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("iterate");
	TCase *tc = tcase_create("iterate");

	run_seed();
	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, by_key_order, 0, 3);
	tcase_add_loop_test(tc, by_commit_order, 0, 3);
	tcase_add_test(tc, by_prefix);
	tcase_add_test(tc, prefix_at_the_end);
	tcase_add_loop_test(tc, empty_module, 0, 2);
	tcase_add_loop_test(tc, one_snapshot, 0, 2);
	tcase_add_loop_test(tc, records_of_all_sizes, 0, 3);
	tcase_add_loop_test(tc, closed_early, 0, 2);
	tcase_add_test(tc, many_commits_later);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
