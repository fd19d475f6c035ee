/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks and the LRU: what it keeps, what leaves, and that it counts every byte. */
#include "run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "need.h"
#include "sample.h"
#include "store/lru.h"

#define KEYS 120
#define ID_ROOM 300

/* ---- keys and blocks ------------------------------------------------------- */

static char ids[KEYS][ID_ROOM];

/* A third are ids, of which some differ in nothing else; the others differ in one
 * of location, checksum and part. */
static struct lc__lru_key
key_of(unsigned i)
{
	struct lc__lru_key key = {
		.location = i / 9, .checksum = i / 3 % 3, .part = i % 3
	};

	if (key.part < 2)
		return key;
	key.part = LC__LRU_RECORD;
	key.checksum = 0;
	key.id.data = ids[i];
	key.id.size = i % 2 == 0 ? strlen(ids[i]) : ID_ROOM;
	return key;
}

static void
make_ids(void)
{
	for (unsigned i = 0; i < KEYS; i++) {
		memset(ids[i], 'x', ID_ROOM);
		snprintf(ids[i], ID_ROOM, "%u", i);
	}
}

static struct lc__block *
block_of(unsigned i, size_t size)
{
	struct lc__block *block = lc__block_new(size);

	need(block != NULL);
	sample_fill(block->data, size, i);
	return block;
}

/* Does the block hold what block_of() put there? */
static bool
is_block_of(const struct lc__block *block, unsigned i)
{
	unsigned char want[4096];

	need(block->size <= sizeof(want));
	sample_fill(want, block->size, i);
	return memcmp(block->data, want, block->size) == 0;
}

static void
put_sized(struct lc__lru *lru, unsigned i, size_t size)
{
	const struct lc__lru_key key = key_of(i);
	struct lc__block *block = block_of(i, size);

	lc__lru_put(lru, &key, block, NULL);
	lc__block_drop(block);
}

/* Is the key there, with its own bytes? */
static bool
has(struct lc__lru *lru, unsigned i)
{
	const struct lc__lru_key key = key_of(i);
	struct lc__block *block = lc__lru_get(lru, &key);
	const bool found = block != NULL;

	if (found)
		need(is_block_of(block, i));
	lc__block_drop(block);
	return found;
}

static lc_counters
counters_of(struct lc__lru *lru)
{
	lc_counters counters;

	lc__lru_count(lru, &counters);
	return counters;
}

/* ---- blocks ---------------------------------------------------------------- */

static const struct {
	size_t size, cost;
} block_costs[] = {
	{ 0, 64 }, { 1, 128 }, { 64, 128 }, { 65, 192 }, { 1000, 1088 },
	{ SIZE_MAX - 128, SIZE_MAX - 63 }, { SIZE_MAX - 127, SIZE_MAX },
	{ SIZE_MAX, SIZE_MAX }
};

START_TEST(a_block_costs_its_bytes)
{
	ck_assert_uint_eq(lc__block_cost(block_costs[_i].size),
	    block_costs[_i].cost);
}
END_TEST

START_TEST(a_block_lives_until_its_last_holder)
{
	struct lc__block *block = lc__block_new(100);

	ck_assert_ptr_nonnull(block);
	ck_assert_uint_eq((uintptr_t)block->data % 64, 0);
	ck_assert_uint_eq(block->size, 100);
	memset(block->data, 7, 100);
	ck_assert_ptr_eq(lc__block_hold(block), block);
	lc__block_drop(block);
	ck_assert_uint_eq(block->data[99], 7);
	lc__block_drop(block);
	lc__block_drop(NULL);
	ck_assert_ptr_null(lc__block_new(SIZE_MAX));
	ck_assert_ptr_null(lc__block_new(SIZE_MAX - 127));
}
END_TEST

/* ---- what an entry costs ---------------------------------------------------- */

/* A key without an id and a block without bytes. */
static uint64_t
base_cost(void)
{
	const struct lc__lru_key key = { .part = 0 };

	return lc__lru_cost(&key, 0);
}

START_TEST(an_entry_costs_block_struct_id_and_slots)
{
	struct lc__lru_key key = { .part = LC__LRU_RECORD, .id = { "abc", 3 } };

	/* More than the block and the two slots, less than a surprise. */
	ck_assert_uint_gt(base_cost(), 64 + 2 * sizeof(void *));
	ck_assert_uint_lt(base_cost(), 64 + 2 * sizeof(void *) + 200);
	ck_assert_uint_eq(lc__lru_cost(&key, 1000), base_cost() + 1024 + 3);
	ck_assert_uint_eq(lc__lru_cost(&key, SIZE_MAX), UINT64_MAX);
}
END_TEST

START_TEST(room_is_made_to_the_byte)
{
	const uint64_t each = base_cost() + 128;
	struct lc__lru *lru = lc__lru_new(3 * each);

	for (unsigned i = 0; i < 9; i += 3)
		put_sized(lru, i, 128);
	ck_assert_uint_eq(counters_of(lru).lru_bytes, 3 * each);
	ck_assert_uint_eq(counters_of(lru).lru_evictions, 0);
	lc__lru_free(lru);

	/* A byte less, and the first one must leave. */
	lru = lc__lru_new(3 * each - 1);
	for (unsigned i = 0; i < 9; i += 3)
		put_sized(lru, i, 128);
	ck_assert_uint_eq(counters_of(lru).lru_bytes, 2 * each);
	ck_assert_uint_eq(counters_of(lru).lru_evictions, 1);
	ck_assert(!has(lru, 0));
	ck_assert(has(lru, 3));
	lc__lru_free(lru);
}
END_TEST

/* The table grows and shrinks many times over. */
#define MANY 5000

START_TEST(many_come_and_leave)
{
	const uint64_t each = base_cost() + 64;
	struct lc__lru *lru = lc__lru_new(MANY * each);
	struct lc__block *small = block_of(0, 64);
	struct lc__block *large = block_of(0, 4000);
	struct lc__lru_key key = { .checksum = 1 };

	for (key.location = 0; key.location < MANY; key.location++)
		lc__lru_put(lru, &key, small, NULL);
	ck_assert_uint_eq(counters_of(lru).lru_bytes, MANY * each);
	for (key.location = 0; key.location < MANY; key.location++) {
		ck_assert_ptr_eq(lc__lru_get(lru, &key), small);
		lc__block_drop(small);
	}
	/* Those before 4,900 leave by name, the others to make room. */
	for (key.location = 0; key.location < MANY - 100; key.location++)
		lc__lru_remove(lru, &key);
	ck_assert_uint_eq(counters_of(lru).lru_records, 100);
	for (key.location = MANY; key.location < 2 * MANY; key.location++)
		lc__lru_put(lru, &key, large, NULL);
	ck_assert_uint_eq(counters_of(lru).lru_records,
	    MANY * each / (base_cost() + 4032));
	lc__lru_free(lru);
	ck_assert_uint_eq(atomic_load(&small->refs), 1);
	ck_assert_uint_eq(atomic_load(&large->refs), 1);
	lc__block_drop(small);
	lc__block_drop(large);
}
END_TEST

START_TEST(too_large_is_not_kept)
{
	const uint64_t limit = base_cost() + 512;
	struct lc__lru *lru = lc__lru_new(limit);

	put_sized(lru, 0, 512);
	ck_assert(has(lru, 0));
	put_sized(lru, 1, 513);
	ck_assert(!has(lru, 1));
	ck_assert(has(lru, 0));
	/* What was there under the same key is not what was put last. */
	put_sized(lru, 0, 513);
	ck_assert(!has(lru, 0));
	ck_assert_uint_eq(counters_of(lru).lru_bytes, 0);
	ck_assert_uint_eq(counters_of(lru).lru_evictions, 0);
	lc__lru_free(lru);
}
END_TEST

START_TEST(a_held_block_outlives_its_eviction)
{
	const struct lc__lru_key key = key_of(0);
	struct lc__lru *lru = lc__lru_new(base_cost() + 512);
	struct lc__block *held;

	put_sized(lru, 0, 512);
	held = lc__lru_get(lru, &key);
	ck_assert_ptr_nonnull(held);
	put_sized(lru, 1, 64);
	ck_assert(!has(lru, 0));
	ck_assert_uint_eq(counters_of(lru).lru_evictions, 1);
	ck_assert_uint_eq(counters_of(lru).lru_bytes, base_cost() + 64);
	ck_assert(is_block_of(held, 0));
	lc__lru_free(lru);
	ck_assert(is_block_of(held, 0));
	lc__block_drop(held);
}
END_TEST

START_TEST(an_lru_that_is_off_takes_everything_and_keeps_nothing)
{
	struct lc__lru *lru = lc__lru_new(0);
	const struct lc__lru_key key = key_of(0);
	lc_counters counters;

	ck_assert_ptr_null(lru);
	put_sized(lru, 0, 10);
	ck_assert(!has(lru, 0));
	lc__lru_remove(lru, &key);
	lc__lru_clear(lru);
	memset(&counters, 0xff, sizeof(counters));
	lc__lru_count(lru, &counters);
	ck_assert_uint_eq(counters.lru_hits, 0);
	ck_assert_uint_eq(counters.lru_misses, 0);
	ck_assert_uint_eq(counters.lru_evictions, 0);
	ck_assert_uint_eq(counters.lru_records, 0);
	ck_assert_uint_eq(counters.lru_bytes, 0);
	lc__lru_before_fork(lru);
	lc__lru_after_fork_parent(lru);
	lc__lru_after_fork_child(lru);
	lc__lru_free(lru);
}
END_TEST

START_TEST(an_id_is_copied)
{
	char name[] = "image";
	struct lc__lru_key key = {
		.part = LC__LRU_RECORD, .id = { name, 5 }
	};
	struct lc__lru *lru = lc__lru_new(10000);
	struct lc__block *block = block_of(1, 10);
	const void *note = NULL;

	lc__lru_put(lru, &key, block, name);
	name[0] = 'z';
	ck_assert_ptr_null(lc__lru_get(lru, &key));
	name[0] = 'i';
	ck_assert_ptr_eq(lc__lru_get_noted(lru, &key, &note), block);
	ck_assert_ptr_eq(note, name);
	lc__block_drop(block);
	lc__block_drop(block);
	lc__lru_free(lru);
}
END_TEST

/* ---- against a list that is obviously right --------------------------------- */

struct model {
	struct item {
		unsigned key;
		struct lc__block *block; /* held */
	} items[KEYS]; /* the oldest first */
	unsigned count;
	uint64_t limit;
	uint64_t hits, misses, evictions;
};

static uint64_t
model_bytes(const struct model *model)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < model->count; i++)
		bytes += base_cost() + key_of(model->items[i].key).id.size +
		    (model->items[i].block->size + 63) / 64 * 64;
	return bytes;
}

/* Where a key is, or count. */
static unsigned
model_find(const struct model *model, unsigned key)
{
	unsigned i = 0;

	while (i < model->count && model->items[i].key != key)
		i++;
	return i;
}

static void
model_remove(struct model *model, unsigned at)
{
	lc__block_drop(model->items[at].block);
	model->count--;
	memmove(&model->items[at], &model->items[at + 1],
	    (model->count - at) * sizeof(model->items[0]));
}

static void
model_put(struct model *model, unsigned key, struct lc__block *block)
{
	const unsigned at = model_find(model, key);

	if (at < model->count)
		model_remove(model, at);
	model->items[model->count++] = (struct item){ key, lc__block_hold(block) };
	if (base_cost() + key_of(key).id.size + (block->size + 63) / 64 * 64 >
	    model->limit)
		model_remove(model, model->count - 1);
	while (model_bytes(model) > model->limit) {
		model_remove(model, 0);
		model->evictions++;
	}
}

static struct lc__block *
model_get(struct model *model, unsigned key)
{
	const unsigned at = model_find(model, key);
	struct item item;

	if (at == model->count) {
		model->misses++;
		return NULL;
	}
	model->hits++;
	item = model->items[at];
	memmove(&model->items[at], &model->items[at + 1],
	    (model->count - at - 1) * sizeof(item));
	model->items[model->count - 1] = item;
	return item.block;
}

static void
model_clear(struct model *model)
{
	while (model->count > 0)
		model_remove(model, model->count - 1);
}

static void
same_counts(struct lc__lru *lru, const struct model *model)
{
	const lc_counters counters = counters_of(lru);

	ck_assert_uint_eq(counters.lru_records, model->count);
	ck_assert_uint_eq(counters.lru_bytes, model_bytes(model));
	ck_assert_uint_le(counters.lru_bytes, model->limit);
	ck_assert_uint_eq(counters.lru_hits, model->hits);
	ck_assert_uint_eq(counters.lru_misses, model->misses);
	ck_assert_uint_eq(counters.lru_evictions, model->evictions);
}

static void
put_both(struct lc__lru *lru, struct model *model, unsigned i, size_t size)
{
	const struct lc__lru_key key = key_of(i);
	struct lc__block *block = block_of(i, size);

	lc__lru_put(lru, &key, block, &ids[i]);
	model_put(model, i, block);
	lc__block_drop(block);
}

static void
get_both(struct lc__lru *lru, struct model *model, unsigned i)
{
	const struct lc__lru_key key = key_of(i);
	const void *note = NULL;
	struct lc__block *block = lc__lru_get_noted(lru, &key, &note);

	ck_assert_ptr_eq(block, model_get(model, i));
	if (block != NULL) {
		ck_assert_ptr_eq(note, &ids[i]);
		ck_assert(is_block_of(block, i));
	}
	lc__block_drop(block);
}

/* Limits from a few entries to more than all keys take. */
static const uint64_t limits[] = { 300, 2000, 9000, 40000, 200000 };

START_TEST(does_what_a_simple_list_does)
{
	struct model model = { .limit = limits[_i] };
	struct lc__lru *lru = lc__lru_new(model.limit);
	uint64_t seed = run_seed() + (uint64_t)_i;

	for (unsigned step = sample_times(20000); step > 0; step--) {
		const unsigned i = (unsigned)(run_random(&seed) % KEYS);
		const unsigned what = (unsigned)(run_random(&seed) % 1000);
		const struct lc__lru_key key = key_of(i);

		if (what < 400) {
			put_both(lru, &model, i, run_random(&seed) % 700);
		} else if (what < 900) {
			get_both(lru, &model, i);
		} else if (what < 998) {
			lc__lru_remove(lru, &key);
			if (model_find(&model, i) < model.count)
				model_remove(&model, model_find(&model, i));
		} else {
			lc__lru_clear(lru);
			model_clear(&model);
		}
		same_counts(lru, &model);
	}
	model_clear(&model);
	lc__lru_free(lru);
}
END_TEST

/* ---- threads and forks ------------------------------------------------------ */

struct hammer {
	struct lc__lru *lru;
	uint64_t limit;
	unsigned steps;
	atomic_uint number; /* given to each thread */
	atomic_ullong gets; /* of all threads */
};

static void
hammer_once(struct hammer *hammer, uint64_t *seed)
{
	const unsigned i = (unsigned)(run_random(seed) % KEYS);
	const struct lc__lru_key key = key_of(i);
	struct lc__block *block;
	lc_counters counters;

	switch (run_random(seed) % 8) {
	case 0:
	case 1:
		put_sized(hammer->lru, i, run_random(seed) % 700);
		break;
	case 2:
		lc__lru_remove(hammer->lru, &key);
		break;
	case 3:
		lc__lru_count(hammer->lru, &counters);
		need(counters.lru_bytes <= hammer->limit);
		need(counters.lru_bytes >= counters.lru_records * base_cost());
		break;
	default:
		block = lc__lru_get(hammer->lru, &key);
		need(block == NULL || is_block_of(block, i));
		lc__block_drop(block);
		atomic_fetch_add(&hammer->gets, 1);
	}
}

static void *
hammer_thread(void *arg)
{
	struct hammer *hammer = arg;
	uint64_t seed = run_seed() + atomic_fetch_add(&hammer->number, 1);

	for (unsigned step = 0; step < hammer->steps; step++)
		hammer_once(hammer, &seed);
	return NULL;
}

#define THREADS 4

static void
start_hammers(struct hammer *hammer, pthread_t *threads)
{
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer_thread,
		    hammer), 0);
}

static void
join_hammers(const struct hammer *hammer, pthread_t *threads)
{
	lc_counters counters;

	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	counters = counters_of(hammer->lru);
	ck_assert_uint_eq(counters.lru_hits + counters.lru_misses, hammer->gets);
}

START_TEST(threads_share_it)
{
	struct hammer hammer = { .limit = 20000, .steps = sample_times(20000) };
	pthread_t threads[THREADS];

	hammer.lru = lc__lru_new(hammer.limit);
	start_hammers(&hammer, threads);
	join_hammers(&hammer, threads);
	lc__lru_free(hammer.lru);
}
END_TEST

START_TEST(a_child_goes_on_with_what_is_there)
{
	const struct lc__lru_key key = key_of(0);
	struct lc__lru *lru = lc__lru_new(2 * (base_cost() + 512));
	pid_t pid;

	put_sized(lru, 0, 512);
	lc__lru_before_fork(lru);
	pid = fork();
	if (pid == 0) {
		lc__lru_after_fork_child(lru);
		need(has(lru, 0));
		put_sized(lru, 1, 512);
		put_sized(lru, 3, 512);
		need(!has(lru, 0) && has(lru, 1) && has(lru, 3));
		lc__lru_remove(lru, &key);
		lc__lru_clear(lru);
		need(counters_of(lru).lru_bytes == 0);
		_exit(0);
	}
	lc__lru_after_fork_parent(lru);
	ck_assert_int_eq(child_wait(pid), 0);
	ck_assert(has(lru, 0));
	ck_assert_uint_eq(counters_of(lru).lru_evictions, 0);
	lc__lru_free(lru);
}
END_TEST

/* Allocates nothing: of threads that did at the time of the fork, a sanitizer's
 * allocator keeps its locks for ever. */
static void
read_all(struct lc__lru *lru)
{
	uint64_t bytes = 0, records = 0;

	for (unsigned i = 0; i < KEYS; i++) {
		const struct lc__lru_key key = key_of(i);
		struct lc__block *block = lc__lru_get(lru, &key);

		if (block == NULL)
			continue;
		need(is_block_of(block, i));
		records++;
		bytes += lc__lru_cost(&key, block->size);
		lc__block_drop(block);
	}
	need(counters_of(lru).lru_records == records);
	need(counters_of(lru).lru_bytes == bytes);
}

START_TEST(a_fork_finds_it_whole)
{
	struct hammer hammer = { .limit = 20000, .steps = sample_times(20000) };
	pthread_t threads[THREADS];

	hammer.lru = lc__lru_new(hammer.limit);
	start_hammers(&hammer, threads);
	for (int i = 0; i < 20; i++) {
		pid_t pid;

		lc__lru_before_fork(hammer.lru);
		pid = fork();
		if (pid == 0) {
			lc__lru_after_fork_child(hammer.lru);
			read_all(hammer.lru);
			_exit(0);
		}
		lc__lru_after_fork_parent(hammer.lru);
		ck_assert_int_gt(pid, 0);
		ck_assert_int_eq(child_wait(pid), 0);
	}
	join_hammers(&hammer, threads);
	lc__lru_free(hammer.lru);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("lru");
	TCase *tc = tcase_create("lru");

	run_seed();
	make_ids();
	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, a_block_costs_its_bytes, 0,
	    sizeof(block_costs) / sizeof(block_costs[0]));
	tcase_add_test(tc, a_block_lives_until_its_last_holder);
	tcase_add_test(tc, an_entry_costs_block_struct_id_and_slots);
	tcase_add_test(tc, room_is_made_to_the_byte);
	tcase_add_test(tc, too_large_is_not_kept);
	tcase_add_test(tc, many_come_and_leave);
	tcase_add_test(tc, a_held_block_outlives_its_eviction);
	tcase_add_test(tc, an_lru_that_is_off_takes_everything_and_keeps_nothing);
	tcase_add_test(tc, an_id_is_copied);
	tcase_add_loop_test(tc, does_what_a_simple_list_does, 0,
	    sizeof(limits) / sizeof(limits[0]));
	tcase_add_test(tc, threads_share_it);
	tcase_add_test(tc, a_child_goes_on_with_what_is_there);
	tcase_add_test(tc, a_fork_finds_it_whole);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
