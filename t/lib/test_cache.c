/* SPDX-License-Identifier: BSD-2-Clause */
/* What each call on an open module means. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "by_name.h"
#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

START_TEST(discard_loses_and_close_keeps)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);

	put(cache, "flushed", 1);
	assert_ok(lc_flush(cache));
	put(cache, "pending", 1);
	put(cache, "flushed", 2);
	lc_discard(cache);
	cache = sample_open(root, "m", &options);
	expect_missing(cache, "pending");
	expect(cache, "flushed", 1);
	put(cache, "pending", 1);
	assert_ok(lc_delete(cache, "flushed", 7));
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", &options);
	expect(cache, "pending", 1);
	expect_missing(cache, "flushed");
	assert_ok(lc_close(cache));
}
END_TEST

/* All sequences of up to five puts, deletes and flushes of one key: number
 * _i in base 3. After each step every way of reading agrees with the model. There are
 * two handles: the steps go through each by turns, and so does the reading. */
struct sequence {
	lc_cache *cache, *other;
	char id[16];
	uint64_t version; /* 0: not stored */
};

static void
agree(const struct sequence *s)
{
	const lc_status want = s->version != 0 ? LC_OK : LC_NOT_FOUND;
	const size_t size = strlen(s->id);
	const lc_id ids[3] = { { "absent", 6 }, { s->id, size }, { s->id, size } };
	lc_view views[3];
	const lc_tensor bytes = { .dtype = LC_U8, .ndim = 0 };
	lc_tensor copy, into, row;
	unsigned char room[500], rows[3 * 500];
	size_t missing[3], n_missing;
	lc_status statuses[3];

	assert_status(lc_contains(s->cache, s->id, size), want);
	assert_ok(lc_contains_batch(s->cache, 3, ids, missing, &n_missing));
	ck_assert_uint_eq(n_missing, want == LC_OK ? 1 : 3);
	for (size_t i = 0; i < n_missing; i++)
		ck_assert_uint_eq(missing[i], i);
	assert_status(lc_gather_row(s->cache, 3, ids, NULL, &row), want);
	assert_ok(lc_gather(s->cache, 3, ids, NULL, want == LC_OK ? &row : &bytes, rows,
	    sizeof(rows), 1, statuses, &n_missing));
	ck_assert_uint_eq(n_missing, want == LC_OK ? 1 : 3);
	ck_assert_int_eq(statuses[0], LC_NOT_FOUND);
	ck_assert_int_eq(statuses[1], want);
	ck_assert_int_eq(statuses[2], want);
	assert_status(lc_get_copy(s->cache, s->id, size, &copy), want);
	assert_status(lc_get_into(s->cache, s->id, size, room, sizeof(room), &into),
	    want);
	assert_ok(lc_get_batch(s->cache, 3, ids, views, missing, &n_missing));
	ck_assert_uint_eq(n_missing, want == LC_OK ? 1 : 3);
	for (size_t i = 0; i < n_missing; i++)
		ck_assert_uint_eq(missing[i], i);
	ck_assert_int_eq(views[0].status, LC_NOT_FOUND);
	ck_assert_int_eq(views[1].status, want);
	ck_assert_int_eq(views[2].status, want);
	if (want == LC_OK) {
		expect(s->cache, s->id, s->version);
		ck_assert(sample_is(&copy, s->id, size, s->version, SAMPLE_SMALL));
		ck_assert(sample_same(&into, &copy));
		ck_assert(sample_same(&views[1].tensor, &copy));
		ck_assert(sample_same(&views[2].tensor, &copy));
		for (size_t i = 0; i < copy.nbytes; i++)
			ck_assert_uint_eq(rows[i], 0);
		ck_assert_mem_eq(rows + copy.nbytes, copy.data, copy.nbytes);
		ck_assert_mem_eq(rows + 2 * copy.nbytes, copy.data, copy.nbytes);
		lc_tensor_free(&copy);
	}
	lc_views_release(views, 3);
}

static void
swap_handles(struct sequence *s)
{
	lc_cache *cache = s->cache;

	s->cache = s->other;
	s->other = cache;
}

static void
sequence_step(struct sequence *s, int op)
{
	const lc_status want = s->version != 0 ? LC_OK : LC_NOT_FOUND;

	if (op == 0) {
		put(s->cache, s->id, ++s->version);
	} else if (op == 1) {
		assert_status(lc_delete(s->cache, s->id, strlen(s->id)), want);
		s->version = 0;
	} else {
		assert_ok(lc_flush(s->cache));
	}
	agree(s);
	swap_handles(s);
	agree(s);
}

static void
expect_walk(lc_cache *cache, const struct sequence *all, size_t n)
{
	size_t live = 0, seen = 0;
	lc_iter *iter;
	lc_item item;

	for (size_t i = 0; i < n; i++)
		live += all[i].version != 0;
	ck_assert_uint_eq(count_of(cache), live);
	assert_ok(lc_iter_open(cache, LC_BY_KEY, "s", 1, &iter));
	for (size_t i = 0; i < n; i++) {
		if (all[i].version == 0)
			continue;
		assert_ok(lc_iter_next(iter, &item));
		ck_assert_uint_eq(item.id.size, strlen(all[i].id));
		ck_assert_mem_eq(item.id.data, all[i].id, item.id.size);
		ck_assert(sample_is(&item.tensor, item.id.data, item.id.size,
		    all[i].version, SAMPLE_SMALL));
		seen++;
	}
	assert_status(lc_iter_next(iter, &item), LC_END);
	ck_assert_uint_eq(seen, live);
	lc_iter_close(iter);
}

START_TEST(every_short_sequence)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	struct sequence all[243];
	lc_cache *cache, *other;
	int left;

	options.durability = LC_DURABLE_RELAXED;
	options.flush_every = _i == 0 ? 2048 : 1;
	cache = sample_open(root, "m", &options);
	options.flush_every = _i == 2 ? 2048 : options.flush_every;
	other = sample_open(root, "m", &options);
	for (int i = 0; i < 243; i++) {
		snprintf(all[i].id, sizeof(all[i].id), "s%03d", i);
		all[i].cache = cache;
		all[i].other = other;
		all[i].version = 0;
		left = i;
		for (int step = 0; step < 5; step++, left /= 3)
			sequence_step(&all[i], left % 3);
	}
	expect_walk(cache, all, 243);
	expect_walk(other, all, 243);
	assert_ok(lc_close(cache));
	assert_ok(lc_close(other));
	cache = sample_open(root, "m", &options);
	for (int i = 0; i < 243; i++) {
		all[i].cache = cache;
		agree(&all[i]);
	}
	expect_walk(cache, all, 243);
	assert_ok(lc_close(cache));
}
END_TEST

/* Wait until so many puts and deletes are pending; the limit is no part of the contract. */
static bool
leaves_pending(lc_cache *cache, uint64_t n)
{
	const struct timespec pause = { 0, 1000000 };
	const time_t end = time(NULL) + 60;

	while (stats_of(cache).pending_records != n) {
		if (time(NULL) > end)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

START_TEST(commits_by_number_of_records)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *cache;
	lc_stats stats;
	char id[20];

	options.flush_every = 10;
	cache = sample_open(root, "m", &options);
	for (int i = 0; i < 25; i++) {
		snprintf(id, sizeof(id), "k%02d", i);
		put(cache, id, 1);
	}
	ck_assert(leaves_pending(cache, 5));
	stats = stats_of(cache);
	ck_assert_uint_eq(stats.records, 20);
	ck_assert_uint_eq(stats.generation, 2);
	expect(cache, "k00", 1);
	expect(cache, "k20", 1);
	lc_discard(cache);
	cache = sample_open(root, "m", &options);
	expect(cache, "k19", 1);
	expect_missing(cache, "k20");
	assert_ok(lc_close(cache));
}
END_TEST

/* Whatever is full is committed, also when it became so during a commit. */
START_TEST(commits_without_a_next_put)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *cache;
	char id[24];

	options.flush_every = 2;
	cache = sample_open(root, "m", &options);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 6; i++) {
			snprintf(id, sizeof(id), "%d/%d", round, i);
			put(cache, id, 1);
		}
		ck_assert(leaves_pending(cache, 0));
	}
	lc_discard(cache);
	cache = sample_open(root, "m", &options);
	ck_assert_uint_eq(count_of(cache), 20 * 6);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(commits_by_bytes)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	unsigned char *data = calloc(1, 40000);
	const lc_tensor tensor = sample_bytes(data, 40000);
	lc_cache *cache;

	options.chunk_bytes = 65536;
	cache = sample_open(root, "m", &options);
	assert_ok(lc_put(cache, "a", 1, &tensor));
	assert_ok(lc_put(cache, "b", 1, &tensor));
	assert_ok(lc_put(cache, "c", 1, &tensor));
	ck_assert(leaves_pending(cache, 1));
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", &options);
	ck_assert_uint_eq(count_of(cache), 3);
	assert_ok(lc_close(cache));
	free(data);
}
END_TEST

START_TEST(commits_by_time)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *cache;

	options.flush_interval_ms = 5;
	cache = sample_open(root, "m", &options);
	put(cache, "a", 1);
	ck_assert(leaves_pending(cache, 0));
	/* And again, when the thread has already slept. */
	put(cache, "b", 1);
	ck_assert(leaves_pending(cache, 0));
	assert_ok(lc_delete(cache, "a", 1));
	put(cache, "c", 1);
	ck_assert(leaves_pending(cache, 0));
	lc_discard(cache);
	cache = sample_open(root, "m", NULL);
	expect_missing(cache, "a");
	expect(cache, "c", 1);
	assert_ok(lc_close(cache));
}
END_TEST

/* Any interval is one, and so long a one is none. */
START_TEST(commits_never_by_time)
{
	static const uint64_t intervals[] = { 0, UINT64_MAX, UINT64_MAX / 1000000 };
	lc_options options = sample_options();
	lc_cache *cache;
	lc_stats stats = { .struct_size = sizeof(stats) };
	char id[20];

	options.flush_interval_ms = intervals[_i];
	cache = sample_open(run_scratch(), "m", &options);
	for (int i = 0; i < 1000; i++) {
		snprintf(id, sizeof(id), "%d", i);
		put(cache, id, 1);
	}
	assert_ok(lc_flush(cache));
	assert_ok(lc_stat(cache, &stats));
	ck_assert_uint_eq(stats.generation, 1);
	assert_ok(lc_close(cache));
}
END_TEST

/* A bad item is refused alone; a good one after it is stored. */
START_TEST(bad_items_in_a_batch)
{
	lc_cache *cache = sample_open(run_scratch(), "m", NULL);
	const lc_id ids[6] = { { "a", 1 }, { "", 0 }, { "c", 1 }, { "d", 1 },
		{ "e", 1 }, { "f", 1 } };
	const lc_status want[6] = { LC_OK, LC_INVALID, LC_INVALID, LC_INVALID,
		LC_INVALID, LC_OK };
	lc_tensor tensors[6];
	lc_status statuses[6];

	for (int i = 0; i < 6; i++)
		tensors[i] = sample_bytes("data", 4);
	tensors[2].dtype = (lc_dtype)99;
	tensors[3].ndim = 17;
	tensors[4].nbytes = 3;
	assert_status(lc_put_batch(cache, 6, ids, tensors, statuses), LC_INVALID);
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(statuses[i], want[i]);
	assert_status(lc_put_batch(cache, 6, ids, tensors, NULL), LC_INVALID);
	assert_status(lc_put(cache, "c", 1, &tensors[2]), LC_INVALID);
	tensors[5].data = NULL;
	assert_status(lc_put(cache, "f", 1, &tensors[5]), LC_INVALID);
	assert_ok(lc_put_batch(cache, 0, NULL, NULL, NULL));
	ck_assert_uint_eq(count_of(cache), 2);
	assert_ok(lc_contains(cache, "a", 1));
	assert_ok(lc_contains(cache, "f", 1));
	expect_missing(cache, "c");
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(last_of_a_batch_counts)
{
	lc_cache *cache = sample_open(run_scratch(), "m", NULL);
	const lc_id ids[3] = { { "a", 1 }, { "b", 1 }, { "a", 1 } };
	const lc_tensor tensors[3] = { sample_bytes("1", 1), sample_bytes("2", 1),
		sample_bytes("3", 1) };
	lc_tensor got;

	assert_ok(lc_put_batch(cache, 3, ids, tensors, NULL));
	for (int flushed = 0; flushed < 2; flushed++) {
		assert_ok(lc_get_copy(cache, "a", 1, &got));
		ck_assert(sample_same(&got, &tensors[2]));
		lc_tensor_free(&got);
		ck_assert_uint_eq(count_of(cache), 2);
		assert_ok(lc_flush(cache));
	}
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- reading ------------------------------------------------------------ */

START_TEST(errors_leave_results_alone)
{
	lc_cache *cache = sample_open(run_scratch(), "m", NULL);
	const size_t sizes[] = { 3, 0, LC_MAX_ID + 1, 3 };
	const lc_status want[] = { LC_NOT_FOUND, LC_INVALID, LC_INVALID, LC_NOT_FOUND };
	char *id = calloc(1, LC_MAX_ID + 1), room[10];
	union {
		lc_tensor tensor;
		lc_view view;
		lc_stats stats;
		unsigned char bytes[1024];
	} out, before;

	put(cache, "present", 1);
	if (_i == 3)
		assert_ok(lc_flush(cache));
	memset(&out, 0xa5, sizeof(out));
	before = out;
	/* A view says its status, and may be released. */
	assert_status(lc_get(cache, id, sizes[_i], &out.view), want[_i]);
	ck_assert_int_eq(out.view.status, want[_i]);
	ck_assert_mem_eq(&out.view.tensor, &before.view.tensor, sizeof(lc_tensor));
	lc_view_release(&out.view);
	memset(&out, 0xa5, sizeof(out));
	assert_status(lc_get_copy(cache, id, sizes[_i], &out.tensor), want[_i]);
	ck_assert_mem_eq(&out, &before, sizeof(out));
	memset(room, 0x5a, sizeof(room));
	assert_status(lc_get_into(cache, id, sizes[_i], room, 10, &out.tensor), want[_i]);
	ck_assert_mem_eq(&out, &before, sizeof(out));
	assert_status(lc_get_into(cache, "present", 7, room, 7, &out.tensor), LC_INVALID);
	ck_assert_mem_eq(&out, &before, sizeof(out));
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(room[i], 0x5a);
	out.stats.struct_size = 3;
	before = out;
	assert_status(lc_stat(cache, &out.stats), LC_INVALID);
	ck_assert_mem_eq(&out, &before, sizeof(out));
	free(id);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(batches_report_what_is_missing)
{
	lc_cache *cache = sample_open(run_scratch(), "m", NULL);
	char text[500][8];
	lc_id ids[500];
	lc_view views[500];
	size_t missing[500], n_missing = 0, expected = 0;

	for (int i = 0; i < 500; i++) {
		snprintf(text[i], sizeof(text[i]), "k%d", i);
		ids[i] = lc_id_of(text[i]);
		if (i % 3 != 0)
			put(cache, text[i], 5);
		if (i == 300)
			assert_ok(lc_flush(cache));
	}
	assert_ok(lc_get_batch(cache, 500, ids, views, missing, &n_missing));
	for (size_t i = 0; i < 500; i++) {
		if (i % 3 == 0) {
			ck_assert_int_eq(views[i].status, LC_NOT_FOUND);
			ck_assert_uint_eq(missing[expected++], i);
			continue;
		}
		ck_assert_int_eq(views[i].status, LC_OK);
		ck_assert(sample_is(&views[i].tensor, ids[i].data, ids[i].size, 5,
		    SAMPLE_SMALL));
	}
	ck_assert_uint_eq(n_missing, expected);
	lc_views_release(views, 500);
	/* Releasing twice is harmless, and so is not asking for positions. */
	lc_views_release(views, 500);
	assert_ok(lc_get_batch(cache, 500, ids, views, NULL, NULL));
	lc_views_release(views, 500);
	n_missing = 7;
	assert_ok(lc_get_batch(cache, 0, NULL, NULL, NULL, &n_missing));
	ck_assert_uint_eq(n_missing, 0);
	assert_ok(lc_prefetch(cache, 500, ids));
	assert_ok(lc_prefetch(cache, 0, NULL));
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(errors_name_key_and_module)
{
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", NULL);
	const lc_tensor good = sample_bytes("x", 1);
	lc_tensor bad = good;
	char room[1];
	lc_tensor out;

	assert_ok(lc_put(cache, "twobytes", 8, &good));
	assert_status(lc_get_into(cache, "twobytes", 8, room, 0, &out), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "twobytes"));
	ck_assert_int_eq(lc_last_error()->status, LC_INVALID);
	bad.dtype = (lc_dtype)77;
	assert_status(lc_put(cache, "line\n", 5, &bad), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "line\\x0a"));
	ck_assert_ptr_null(strchr(lc_last_error()->text, '\n'));
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- facts -------------------------------------------------------------- */

START_TEST(stat_counts)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_stats first = stats_of(cache), s;
	struct stat st;
	char *file = join(root, "m/data.mdb");

	ck_assert_uint_eq(first.format, 1);
	ck_assert_uint_eq(first.records, 0);
	ck_assert_uint_eq(first.chunks, 0);
	put(cache, "a", 1);
	put(cache, "b", 1);
	s = stats_of(cache);
	ck_assert_uint_eq(s.pending_records, 2);
	ck_assert_uint_gt(s.pending_bytes, 2 * 64);
	ck_assert_uint_eq(s.records, 0);
	assert_ok(lc_flush(cache));
	s = stats_of(cache);
	ck_assert_uint_eq(s.pending_records, 0);
	ck_assert_uint_eq(s.pending_bytes, 0);
	ck_assert_uint_eq(s.records, 2);
	ck_assert_uint_eq(s.dead_records, 0);
	ck_assert_uint_eq(s.dead_bytes, 0);
	ck_assert_uint_eq(s.generation, first.generation + 1);
	ck_assert_uint_eq(s.chunks, 1);
	ck_assert_uint_eq(s.index_runs, 1);
	put(cache, "a", 2);
	assert_ok(lc_delete(cache, "b", 1));
	assert_ok(lc_flush(cache));
	s = stats_of(cache);
	/* The first chunk is gone with its last record. */
	ck_assert_uint_eq(s.records, 1);
	ck_assert_uint_eq(s.chunks, 1);
	ck_assert_uint_eq(s.dead_records, 0);
	put(cache, "c", 3);
	put(cache, "d", 4);
	assert_ok(lc_flush(cache));
	assert_ok(lc_delete(cache, "c", 1));
	assert_ok(lc_flush(cache));
	s = stats_of(cache);
	ck_assert_uint_eq(s.records, 2);
	ck_assert_uint_eq(s.dead_records, 1);
	ck_assert_uint_gt(s.dead_bytes, 0);
	ck_assert_uint_eq(s.generation, first.generation + 4);
	ck_assert_mem_eq(s.uuid, first.uuid, 16);
	ck_assert_uint_eq(s.created_ms, first.created_ms);
	ck_assert_uint_ge(s.max_readers, 1024);
	ck_assert_int_eq(stat(file, &st), 0);
	ck_assert_uint_eq(s.file_bytes, (uint64_t)st.st_size);
	ck_assert_uint_le(s.live_bytes + s.dead_bytes, s.file_bytes);
	ck_assert_uint_ge(s.map_bytes, s.file_bytes);
	/* A flush of nothing is no commit. */
	assert_ok(lc_flush(cache));
	ck_assert_uint_eq(stats_of(cache).generation, s.generation);
	assert_ok(lc_close(cache));
	free(file);
}
END_TEST

START_TEST(modules_have_their_own_identity)
{
	const char *root = run_scratch();
	lc_cache *a = sample_open(root, "a", NULL), *b = sample_open(root, "b", NULL);
	const lc_stats sa = stats_of(a), sb = stats_of(b);

	ck_assert_mem_ne(sa.uuid, sb.uuid, 16);
	put(a, "k", 1);
	expect_missing(b, "k");
	assert_ok(lc_close(a));
	assert_ok(lc_close(b));
}
END_TEST

START_TEST(schemas_are_shared)
{
	lc_cache *cache = sample_open(run_scratch(), "m", NULL);
	char id[20], data[4];

	for (uint64_t i = 0; i < 300; i++) {
		const uint64_t shape[2] = { 1, i % 5 };
		lc_tensor tensor;

		snprintf(id, sizeof(id), "%d", (int)i);
		assert_ok(lc_tensor_init(&tensor, i % 2 ? LC_U8 : LC_I8,
		    1 + (i / 2) % 2, i / 2 % 2 ? shape : shape + 1, data));
		memset(data, 0, sizeof(data));
		assert_ok(lc_put(cache, id, strlen(id), &tensor));
		if (i % 100 == 99)
			assert_ok(lc_flush(cache));
	}
	ck_assert_uint_eq(stats_of(cache).schemas, 4);
	ck_assert_uint_eq(count_of(cache), 300);
	assert_ok(lc_close(cache));
}
END_TEST

static int
step_counts(void *ctx, uint64_t done, uint64_t total)
{
	ck_assert_uint_le(done, total);
	++*(int *)ctx;
	return 0;
}

static int
step_stops(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx, (void)done, (void)total;
	return 1;
}

START_TEST(verify_counts_everything)
{
	lc_options options = sample_options();
	lc_progress progress = { 0 };
	lc_verify_result result;
	lc_cache *cache;
	char id[20];
	int steps = 0;

	options.flush_every = 10;
	cache = sample_open(run_scratch(), "m", &options);
	for (int i = 0; i < 400; i++) {
		snprintf(id, sizeof(id), "%d", i * 7 % 150);
		put(cache, id, (uint64_t)i);
	}
	assert_ok(lc_delete(cache, "0", 1));
	assert_ok(lc_flush(cache));
	progress.step = step_counts;
	progress.ctx = &steps;
	assert_ok(lc_verify(cache, &progress, &result));
	ck_assert_int_gt(steps, 0);
	ck_assert_uint_eq(result.live, 149);
	ck_assert_uint_eq(result.damaged, 0);
	ck_assert_uint_eq(result.records, 149 + stats_of(cache).dead_records);
	ck_assert_uint_eq(result.chunks, stats_of(cache).chunks);
	progress.step = step_stops;
	assert_status(lc_verify(cache, &progress, &result), LC_CANCELLED);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cache");
	TCase *tc = tcase_create("cache");

	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, discard_loses_and_close_keeps);
	tcase_add_loop_test(tc, every_short_sequence, 0, 3);
	tcase_add_test(tc, commits_by_number_of_records);
	tcase_add_test(tc, commits_without_a_next_put);
	tcase_add_test(tc, commits_by_bytes);
	tcase_add_test(tc, commits_by_time);
	tcase_add_loop_test(tc, commits_never_by_time, 0, 3);
	tcase_add_test(tc, bad_items_in_a_batch);
	tcase_add_test(tc, last_of_a_batch_counts);
	tcase_add_loop_test(tc, errors_leave_results_alone, 0, 4);
	tcase_add_test(tc, batches_report_what_is_missing);
	tcase_add_test(tc, errors_name_key_and_module);
	tcase_add_test(tc, stat_counts);
	tcase_add_test(tc, modules_have_their_own_identity);
	tcase_add_test(tc, schemas_are_shared);
	tcase_add_test(tc, verify_counts_everything);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
