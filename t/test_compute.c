/* SPDX-License-Identifier: BSD-2-Clause */
/* Computing what is missing: who is asked for what, once, and who gets it. */
#include "run.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

#define KEYS 64

static char names[KEYS][16];

static lc_id
key_of(unsigned i)
{
	return lc_id_of(names[i]);
}

static void
make_names(void)
{
	for (unsigned i = 0; i < KEYS; i++)
		snprintf(names[i], sizeof(names[i]), "key-%u", i);
}

/* Which key an id is. */
static unsigned
key_number(const lc_id *id)
{
	for (unsigned i = 0; i < KEYS; i++)
		if (id->size == strlen(names[i]) &&
		    memcmp(id->data, names[i], id->size) == 0)
			return i;
	need(!"a key of the test");
	return 0;
}

/* Does a view hold the sample of a key? */
static bool
is_sample(const lc_view *view, unsigned key)
{
	const lc_id id = key_of(key);

	return view->status == LC_OK && view->kind == LC_TENSOR &&
	    (uintptr_t)view->tensor.data % 64 == 0 &&
	    sample_is(&view->tensor, id.data, id.size, 1, SAMPLE_SMALL);
}

static void
set_sample(lc_results *results, size_t j, const lc_id *id)
{
	lc_tensor tensor;

	sample_make(&tensor, id->data, id->size, 1, SAMPLE_SMALL);
	need_ok(lc_result_tensor(results, j, &tensor));
	/* What was given may change now. */
	memset((void *)(uintptr_t)tensor.data, 0xee, tensor.nbytes);
	sample_free(&tensor);
}

/* What a function was asked for, and what it shall do. */
struct job {
	unsigned calls;
	size_t n, missing[KEYS]; /* of the last call */
	lc_cache *cache;
	lc_status result;
};

static void
note(struct job *job, const size_t *missing, size_t n)
{
	job->calls++;
	job->n = n;
	need(n > 0 && n <= KEYS);
	memcpy(job->missing, missing, n * sizeof(*missing));
}

static lc_status
compute_samples(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	struct job *job = ctx;

	note(job, missing, n);
	for (size_t j = 0; j < n; j++)
		set_sample(results, j, &keys[missing[j]]);
	return job->result;
}

static lc_counters
counters_of(lc_cache *cache)
{
	lc_counters counters = { .struct_size = sizeof(counters) };

	need_ok(lc_counters_get(cache, &counters));
	return counters;
}

static void
list_keys(lc_id *ids, const unsigned *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ids[i] = key_of(keys[i]);
}

/* Ask for these keys and expect their samples; the function's positions are in
 * the job. */
static void
expect_samples(lc_cache *cache, const unsigned *keys, size_t n, struct job *job)
{
	lc_id ids[KEYS] = { { NULL, 0 } };
	lc_view views[KEYS];

	list_keys(ids, keys, n);
	job->calls = 0;
	need_ok(lc_get_or_compute(cache, ids, n, compute_samples, job, views));
	for (size_t i = 0; i < n; i++)
		need(is_sample(&views[i], keys[i]));
	lc_views_release(views, n);
}

static void
expect_asked(const struct job *job, const size_t *missing, size_t n)
{
	ck_assert_uint_eq(job->calls, 1);
	ck_assert_uint_eq(job->n, n);
	for (size_t i = 0; i < n; i++)
		ck_assert_uint_eq(job->missing[i], missing[i]);
}

/* ---- one thread ------------------------------------------------------------- */

START_TEST(asks_for_what_is_missing_in_order)
{
	static const unsigned some[] = { 3, 1 }, mixed[] = { 7, 3, 2, 7, 1, 9, 3 };
	static const size_t all[] = { 0, 1 }, of_mixed[] = { 0, 2, 5 };
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);
	struct job job = { .calls = 0 };

	expect_samples(cache, some, 2, &job);
	expect_asked(&job, all, 2);
	expect_samples(cache, some, 2, &job);
	ck_assert_uint_eq(job.calls, 0);
	expect_samples(cache, mixed, 7, &job);
	expect_asked(&job, of_mixed, 3);
	expect_samples(cache, mixed, 0, &job);
	ck_assert_uint_eq(job.calls, 0);
	ck_assert_uint_eq(counters_of(cache).computed, 5);
	ck_assert_uint_eq(counters_of(cache).compute_failures, 0);
	ck_assert_uint_eq(counters_of(cache).awaited, 0);
	assert_ok(lc_close(cache));

	cache = sample_open(root, "m", &options);
	expect_samples(cache, mixed, 7, &job);
	ck_assert_uint_eq(job.calls, 0);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(repeats_are_computed_once_and_share)
{
	static const unsigned keys[] = { 4, 4, 5, 4, 5 };
	static const size_t missing[] = { 0, 2 };
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	struct job job = { .calls = 0 };
	lc_id ids[5];
	lc_view views[5];

	list_keys(ids, keys, 5);
	assert_ok(lc_get_or_compute(cache, ids, 5, compute_samples, &job, views));
	expect_asked(&job, missing, 2);
	ck_assert_ptr_eq(views[0].tensor.data, views[1].tensor.data);
	ck_assert_ptr_eq(views[0].tensor.data, views[3].tensor.data);
	ck_assert_ptr_eq(views[2].tensor.data, views[4].tensor.data);
	/* Each holds it for itself. */
	for (int i = 0; i < 5; i++) {
		ck_assert(is_sample(&views[i], keys[i]));
		lc_view_release(&views[i]);
	}
	ck_assert_uint_eq(counters_of(cache).computed, 2);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(many_at_once)
{
	enum { n = 20000 };
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	lc_id *ids = calloc(n, sizeof(*ids));
	lc_view *views = calloc(n, sizeof(*views));
	struct job job = { .calls = 0 };

	for (unsigned i = 0; i < n; i++)
		ids[i] = key_of(i % (KEYS / 2) * 2);
	assert_ok(lc_get_or_compute(cache, ids, n, compute_samples, &job, views));
	ck_assert_uint_eq(job.calls, 1);
	ck_assert_uint_eq(job.n, KEYS / 2);
	for (unsigned i = 0; i < n; i++)
		ck_assert(is_sample(&views[i], i % (KEYS / 2) * 2));
	lc_views_release(views, n);
	free(views);
	free(ids);
	assert_ok(lc_close(cache));
}
END_TEST

/* Key 0 is set, 1 failed, 2 forgotten, 3 a bad tensor, 4 set twice, 5 set. */
static lc_status
compute_badly(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	struct job *job = ctx;
	lc_tensor bad = { .dtype = (lc_dtype)99 };

	note(job, missing, n);
	for (size_t j = 0; j < n; j++) {
		switch (key_number(&keys[missing[j]])) {
		case 1:
			lc_result_fail(results, j, "the camera was off");
			lc_result_fail(results, j, "a later reason");
			break;
		case 2:
			break;
		case 3:
			need_status(lc_result_tensor(results, j, &bad), LC_INVALID);
			break;
		case 4:
			set_sample(results, j, &keys[missing[j]]);
			need_status(lc_result_value(results, j, NULL), LC_INVALID);
			break;
		default:
			set_sample(results, j, &keys[missing[j]]);
		}
	}
	need_status(lc_result_tensor(results, n, &bad), LC_INVALID);
	lc_result_fail(results, n, "no such result");
	lc_result_fail(results, SIZE_MAX, NULL);
	return job->result;
}

static void
expect_stored(lc_cache *cache, const bool *stored, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_status(lc_contains(cache, names[i], strlen(names[i])),
		    stored[i] ? LC_OK : LC_NOT_FOUND);
}

static const lc_status returned[] = { LC_OK, LC_IO, LC_FAILED };

START_TEST(what_fails_is_not_stored_and_told)
{
	static const unsigned keys[] = { 0, 1, 2, 3, 4, 5, 1 };
	static const bool good[] = { true, false, false, false, false, true };
	static const size_t rest[] = { 1, 2, 3, 4 };
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	struct job job = { .result = returned[_i] };
	lc_id ids[7];
	lc_view views[7];
	const char *text = lc_last_error()->text;

	list_keys(ids, keys, 7);
	assert_status(lc_get_or_compute(cache, ids, 7, compute_badly, &job, views),
	    LC_FAILED);
	ck_assert_msg(strstr(text, "'key-1'") != NULL, "%s", text);
	ck_assert_msg(strstr(text, "5 of 7") != NULL, "%s", text);
	ck_assert_msg(strstr(text, "the camera was off") != NULL, "%s", text);
	for (int i = 0; i < 7; i++) {
		if (good[keys[i]])
			ck_assert(is_sample(&views[i], keys[i]));
		else
			ck_assert_int_eq(views[i].status, LC_FAILED);
	}
	lc_views_release(views, 7);
	expect_stored(cache, good, 6);
	ck_assert_uint_eq(counters_of(cache).computed, 2);
	ck_assert_uint_eq(counters_of(cache).compute_failures, 4);

	/* The next call asks for those that failed. */
	job.result = LC_OK;
	expect_samples(cache, keys, 7, &job);
	expect_asked(&job, rest, 4);
	assert_ok(lc_close(cache));
}
END_TEST

/* What is said of each kind of failure, when it is the only one. */
static const struct {
	unsigned key;
	lc_status result;
	const char *text;
} reasons[] = {
	{ 1, LC_OK, "the camera was off" },
	{ 2, LC_OK, "the function set no result" },
	{ 2, LC_NO_SPACE, "the function returned 'no space'" },
	{ 3, LC_OK, "dtype" },
	{ 4, LC_OK, "set twice" }
};

START_TEST(the_reason_is_told)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	struct job job = { .result = reasons[_i].result };
	const lc_id id = key_of(reasons[_i].key);
	const char *text = lc_last_error()->text;
	lc_view view;

	assert_status(lc_get_or_compute(cache, &id, 1, compute_badly, &job, &view),
	    LC_FAILED);
	ck_assert_msg(strstr(text, reasons[_i].text) != NULL, "%s", text);
	ck_assert_msg(strstr(text, id.data) != NULL, "%s", text);
	ck_assert_msg(strstr(text, "1 of 1") != NULL, "%s", text);
	assert_ok(lc_close(cache));
}
END_TEST

/* A bad key is the caller's mistake, and no matter of the others. */
START_TEST(bad_keys_fail_alone)
{
	static char large[LC_MAX_ID + 1];
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	const lc_id ids[] = {
		key_of(1), { "", 0 }, key_of(2), { large, sizeof(large) }
	};
	static const size_t missing[] = { 0, 2 };
	struct job job = { .calls = 0 };
	lc_view views[4];

	assert_status(lc_get_or_compute(cache, ids, 4, compute_samples, &job,
	    views), LC_INVALID);
	expect_asked(&job, missing, 2);
	ck_assert(is_sample(&views[0], 1));
	ck_assert_int_eq(views[1].status, LC_INVALID);
	ck_assert(is_sample(&views[2], 2));
	ck_assert_int_eq(views[3].status, LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "2 of 4"));
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "empty"));
	lc_views_release(views, 4);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- values, codecs, policies ------------------------------------------------ */

static lc_value *
make_value(const lc_id *id)
{
	static const float features[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const uint64_t shape[] = { 8 };
	lc_value *map = lc_value_map();
	lc_tensor tensor;

	need_ok(lc_tensor_init(&tensor, LC_F32, 1, shape, features));
	lc_value_set(map, "features", lc_value_tensor(&tensor));
	lc_value_set(map, "name", lc_value_strn(id->data, id->size));
	return map;
}

/* Key 1 is a broken tree, key 2 NULL. */
static lc_status
compute_values(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	note(ctx, missing, n);
	for (size_t j = 0; j < n; j++) {
		const unsigned key = key_number(&keys[missing[j]]);
		lc_value *value = key == 2 ? NULL : make_value(&keys[missing[j]]);

		if (key == 1)
			lc_value_set(value, "name", lc_value_nil());
		need_status(lc_result_value(results, j, value), key == 1 ?
		    LC_INVALID : key == 2 ? LC_NO_MEMORY : LC_OK);
		lc_value_free(value);
	}
	return LC_OK;
}

static bool
is_value(lc_view *view, unsigned key)
{
	const lc_id id = key_of(key);
	lc_value *want = make_value(&id);
	const lc_value *got = NULL;
	bool same;

	need(view->status == LC_OK && view->kind == LC_MAP);
	need_ok(lc_view_value(view, NULL, &got));
	same = lc_value_equal(got, want);
	lc_value_free(want);
	return same;
}

static const lc_codec codecs[] = {
	LC_CODEC_NONE, LC_CODEC_LZ4, LC_CODEC_SHUFFLE_LZ4, LC_CODEC_U8PACK
};

START_TEST(values_are_computed)
{
	static const unsigned keys[] = { 0, 1, 2, 3, 0 };
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *cache;
	struct job job = { .calls = 0 };
	lc_id ids[5];
	lc_view views[5];

	options.codec = codecs[_i];
	cache = sample_open(root, "m", &options);
	list_keys(ids, keys, 5);
	assert_status(lc_get_or_compute(cache, ids, 5, compute_values, &job,
	    views), LC_FAILED);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "2 of 5"));
	ck_assert_int_eq(views[1].status, LC_FAILED);
	ck_assert_int_eq(views[2].status, LC_NO_MEMORY);
	for (int i = 0; i < 5; i++)
		ck_assert(keys[i] == 1 || keys[i] == 2 ||
		    is_value(&views[i], keys[i]));
	lc_views_release(views, 5);
	assert_ok(lc_close(cache));

	cache = sample_open(root, "m", &options);
	ids[1] = ids[0];
	assert_ok(lc_get_or_compute(cache, ids, 2, compute_values, &job, views));
	ck_assert_uint_eq(job.calls, 1);
	ck_assert(is_value(&views[0], 0) && is_value(&views[1], 0));
	lc_views_release(views, 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* What is computed is coded as what is put. */
static lc_status
compute_zeros(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	static const unsigned char zeros[100000];
	const lc_tensor tensor = sample_bytes(zeros, sizeof(zeros));

	(void)ctx;
	(void)keys;
	(void)missing;
	for (size_t j = 0; j < n; j++)
		need_ok(lc_result_tensor(results, j, &tensor));
	return LC_OK;
}

START_TEST(results_are_coded)
{
	lc_options options = sample_options();
	lc_stats stats = { .struct_size = sizeof(stats) };
	const lc_id id = key_of(0);
	lc_cache *cache;
	lc_view view;

	options.codec = LC_CODEC_LZ4;
	cache = sample_open(run_scratch(), "m", &options);
	assert_ok(lc_get_or_compute(cache, &id, 1, compute_zeros, NULL, &view));
	ck_assert_uint_eq(view.tensor.nbytes, 100000);
	ck_assert_uint_eq(((const unsigned char *)view.tensor.data)[99999], 0);
	lc_view_release(&view);
	assert_ok(lc_flush(cache));
	assert_ok(lc_stat(cache, &stats));
	ck_assert_uint_lt(stats.live_bytes, 10000);
	assert_ok(lc_close(cache));
}
END_TEST

static lc_status
compute_both(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	lc_value *value = make_value(&keys[missing[1]]);

	(void)ctx;
	need(n == 2);
	set_sample(results, 0, &keys[missing[0]]);
	need_status(lc_result_value(results, 1, value), LC_SCHEMA);
	lc_value_free(value);
	return LC_OK;
}

START_TEST(a_strict_module_refuses_other_structures)
{
	const lc_options options = sample_options();
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	lc_id ids[2] = { key_of(0), key_of(1) };
	lc_view views[2];

	assert_ok(lc_settings_get(cache, &settings));
	settings.policy = LC_STRICT;
	assert_ok(lc_settings_set(cache, &settings));
	assert_status(lc_get_or_compute(cache, ids, 2, compute_both, NULL, views),
	    LC_FAILED);
	ck_assert(is_sample(&views[0], 0));
	ck_assert_int_eq(views[1].status, LC_FAILED);
	ck_assert_msg(strstr(lc_last_error()->text, "features") != NULL, "%s",
	    lc_last_error()->text);
	lc_views_release(views, 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- handles that do not write ------------------------------------------------ */

START_TEST(a_read_only_handle_does_not_compute)
{
	static const unsigned there[] = { 0, 1 };
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_id ids[3] = { key_of(0), key_of(2), key_of(1) };
	struct job job = { .calls = 0 };
	lc_view views[3];

	expect_samples(cache, there, 2, &job);
	assert_ok(lc_close(cache));
	options.flags = LC_RDONLY;
	cache = sample_open(root, "m", &options);
	expect_samples(cache, there, 2, &job);
	ck_assert_uint_eq(job.calls, 0);
	assert_status(lc_get_or_compute(cache, ids, 3, compute_samples, &job,
	    views), LC_READONLY);
	ck_assert_uint_eq(job.calls, 0);
	ck_assert(is_sample(&views[0], 0));
	ck_assert_int_eq(views[1].status, LC_READONLY);
	ck_assert(is_sample(&views[2], 1));
	lc_views_release(views, 3);
	assert_ok(lc_close(cache));
}
END_TEST

static const uint64_t lru_limits[] = { 0, 1 << 20 };

START_TEST(another_rank_warms_its_lru_only)
{
	static const unsigned keys[] = { 3, 8 };
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *cache;
	struct job job = { .calls = 0 };

	options.rank = 1;
	options.writer_rank = 0;
	options.lru_bytes = lru_limits[_i];
	cache = sample_open(root, "m", &options);
	expect_samples(cache, keys, 2, &job);
	ck_assert_uint_eq(job.calls, 1);
	expect_samples(cache, keys, 2, &job);
	ck_assert_uint_eq(job.calls, options.lru_bytes > 0 ? 0 : 1);
	assert_ok(lc_close(cache));
	options.rank = 0;
	cache = sample_open(root, "m", &options);
	assert_status(lc_contains(cache, names[3], strlen(names[3])),
	    LC_NOT_FOUND);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- damage --------------------------------------------------------------------- */

/* Change a byte of the tensor of a key, wherever data.mdb holds it. */
static void
damage(const char *root, unsigned key)
{
	const lc_id id = key_of(key);
	lc_tensor tensor;
	struct stat st;
	char *path, *bytes, *found;
	int fd;

	sample_make(&tensor, id.data, id.size, 1, SAMPLE_SMALL);
	need(tensor.nbytes >= 32);
	need(asprintf(&path, "%s/m/data.mdb", root) > 0);
	fd = open(path, O_RDWR);
	need(fd >= 0 && fstat(fd, &st) == 0);
	bytes = malloc((size_t)st.st_size);
	need(bytes != NULL && read(fd, bytes, (size_t)st.st_size) == st.st_size);
	found = memmem(bytes, (size_t)st.st_size, tensor.data, tensor.nbytes);
	need(found != NULL);
	found[20] ^= 1;
	need(pwrite(fd, found + 20, 1, found + 20 - bytes) == 1);
	close(fd);
	free(bytes);
	free(path);
	sample_free(&tensor);
}

static void
count_line(void *ctx, const char *line)
{
	if (strstr(line, "'key-2'") != NULL && strstr(line, "checksum") != NULL)
		++*(unsigned *)ctx;
}

/* Keys 0 to 3 are stored, key 2 damaged. */
static const char *
make_damaged(const lc_options *options)
{
	static const unsigned keys[] = { 0, 1, 2, 3 };
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", options);
	struct job job = { .calls = 0 };

	expect_samples(cache, keys, 4, &job);
	assert_ok(lc_close(cache));
	damage(root, 2);
	return root;
}

START_TEST(damage_is_computed_again)
{
	static const unsigned keys[] = { 0, 1, 2, 3, 9 };
	static const size_t missing[] = { 2, 4 };
	lc_options options = sample_options();
	const char *root = make_damaged(&options);
	struct job job = { .calls = 0 };
	unsigned lines = 0;
	lc_cache *cache;
	lc_view view;

	options.log = count_line;
	options.log_ctx = &lines;
	cache = sample_open(root, "m", &options);
	assert_status(lc_get(cache, names[2], strlen(names[2]), &view), LC_CORRUPT);
	expect_samples(cache, keys, 5, &job);
	expect_asked(&job, missing, 2);
	ck_assert_uint_eq(lines, 1);
	expect_samples(cache, keys, 5, &job);
	ck_assert_uint_eq(job.calls, 0);
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", &options);
	expect_samples(cache, keys, 5, &job);
	ck_assert_uint_eq(job.calls, 0);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- steps that threads wait for ------------------------------------------------- */

/* A number that rises, and threads that wait until it has. */
struct stage {
	pthread_mutex_t lock;
	pthread_cond_t risen;
	unsigned value;
};

#define STAGE { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }

static void
stage_raise(struct stage *stage)
{
	pthread_mutex_lock(&stage->lock);
	stage->value++;
	pthread_cond_broadcast(&stage->risen);
	pthread_mutex_unlock(&stage->lock);
}

static void
stage_await(struct stage *stage, unsigned value)
{
	pthread_mutex_lock(&stage->lock);
	while (stage->value < value)
		pthread_cond_wait(&stage->risen, &stage->lock);
	pthread_mutex_unlock(&stage->lock);
}

/* Threads that ask for key 0 while the first one computes it, each with a key of its
 * own: when its function is called for that, it has claimed what it can. */
struct crowd {
	lc_cache *cache;
	struct stage claimed; /* threads whose function was called */
	struct stage first;   /* the first one's was */
	unsigned threads;     /* besides the first one */
	bool fails;           /* the first one */
	atomic_uint of_zero;  /* results of key 0 that were asked for */
};

struct member {
	struct crowd *crowd;
	unsigned number;
	unsigned calls;
};

static lc_status
compute_in_crowd(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	struct member *member = ctx;
	struct crowd *crowd = member->crowd;

	member->calls++;
	if (member->number == 0) {
		stage_raise(&crowd->first);
		stage_await(&crowd->claimed, crowd->threads);
	} else if (member->calls == 1) {
		need(n == 1 && missing[0] == 1);
		stage_raise(&crowd->claimed);
	} else {
		need(member->calls == 2 && n == 1 && missing[0] == 0);
	}
	for (size_t j = 0; j < n; j++) {
		const unsigned key = key_number(&keys[missing[j]]);

		if (key == 0)
			atomic_fetch_add(&crowd->of_zero, 1);
		if (crowd->fails && member->number == 0 && key == 0)
			lc_result_fail(results, j, "not by the first one");
		else
			set_sample(results, j, &keys[missing[j]]);
	}
	return LC_OK;
}

static void *
ask_in_crowd(void *arg)
{
	struct member *member = arg;
	struct crowd *crowd = member->crowd;
	const unsigned keys[] = { 0, member->number, 0 };
	const bool failed = crowd->fails && member->number == 0;
	lc_id ids[3];
	lc_view views[3];

	list_keys(ids, keys, 3);
	if (member->number > 0)
		stage_await(&crowd->first, 1);
	need_status(lc_get_or_compute(crowd->cache, ids, 3, compute_in_crowd,
	    member, views), failed ? LC_FAILED : LC_OK);
	for (int i = 0; i < 3; i++)
		need(failed ? views[i].status == LC_FAILED :
		    is_sample(&views[i], keys[i]));
	lc_views_release(views, 3);
	return NULL;
}

#define CROWD 5

/* With an LRU or without, on a rank that writes or not; the first one fails or not. */
START_TEST(what_another_computes_is_awaited)
{
	struct crowd crowd = {
		.claimed = STAGE, .first = STAGE, .threads = CROWD - 1,
		.fails = _i & 1
	};
	struct member members[CROWD];
	pthread_t threads[CROWD];
	lc_options options = sample_options();
	unsigned again = 0;

	options.lru_bytes = _i & 2 ? 1 << 20 : 0;
	options.writer_rank = _i & 4 ? 1 : LC_RANK_ANY;
	options.rank = 0;
	crowd.cache = sample_open(run_scratch(), "m", &options);
	for (unsigned i = 0; i < CROWD; i++) {
		members[i] = (struct member){ .crowd = &crowd, .number = i };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_in_crowd,
		    &members[i]), 0);
	}
	for (unsigned i = 0; i < CROWD; i++) {
		pthread_join(threads[i], NULL);
		again += members[i].calls - 1;
	}
	/* If the first one fails another one computes it, for all others if they can
	 * see it or come to wait in time. */
	if (!crowd.fails) {
		ck_assert_uint_eq(crowd.of_zero, 1);
		ck_assert_uint_eq(counters_of(crowd.cache).awaited, CROWD - 1);
	} else if (options.writer_rank == LC_RANK_ANY || options.lru_bytes > 0) {
		ck_assert_uint_eq(crowd.of_zero, 2);
	}
	ck_assert_uint_eq(again, crowd.of_zero - 1);
	assert_ok(lc_close(crowd.cache));
}
END_TEST

/* ---- a key that another computes between its miss and its claim ------------------- */

struct late {
	lc_cache *cache;
	struct stage asked, computed;
};

/* Told of the damage that the batch found, before any claim. */
static void
let_other_compute(void *ctx, const char *line)
{
	struct late *late = ctx;

	(void)line;
	stage_raise(&late->asked);
	stage_await(&late->computed, 1);
}

static void *
compute_meanwhile(void *arg)
{
	static const unsigned keys[] = { 9 };
	struct late *late = arg;
	struct job job = { .calls = 0 };

	stage_await(&late->asked, 1);
	expect_samples(late->cache, keys, 1, &job);
	need(job.calls == 1);
	stage_raise(&late->computed);
	return NULL;
}

START_TEST(what_was_computed_meanwhile_is_found)
{
	static const unsigned keys[] = { 9, 2, 9, 3 };
	static const size_t missing[] = { 1 };
	struct late late = { .asked = STAGE, .computed = STAGE };
	lc_options options = sample_options();
	const char *root = make_damaged(&options);
	struct job job = { .calls = 0 };
	pthread_t thread;

	options.log = let_other_compute;
	options.log_ctx = &late;
	late.cache = sample_open(root, "m", &options);
	ck_assert_int_eq(pthread_create(&thread, NULL, compute_meanwhile, &late), 0);
	expect_samples(late.cache, keys, 4, &job);
	expect_asked(&job, missing, 1);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(counters_of(late.cache).computed, 2);
	assert_ok(lc_close(late.cache));
}
END_TEST

/* ---- functions that use the handle ------------------------------------------------ */

static lc_status
compute_by_others(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	static const unsigned inner[] = { 10, 11 };
	const lc_id both[] = { key_of(12), keys[missing[0]] };
	struct job *job = ctx;
	struct job own = { .calls = 0 };
	lc_view views[2];

	note(job, missing, n);
	/* Other keys are computed as ever, and puts and flushes work. */
	expect_samples(job->cache, inner, 2, &own);
	need(own.calls == 1);
	need_ok(sample_put(job->cache, "aside", 5, 1, SAMPLE_SMALL));
	need_ok(lc_flush(job->cache));
	/* The key that is being computed is refused; the other one is not. */
	own.calls = 0;
	need_status(lc_get_or_compute(job->cache, both, 2, compute_samples, &own,
	    views), LC_INVALID);
	need(strstr(lc_last_error()->text, both[1].data) != NULL);
	need(own.calls == 1 && own.n == 1 && own.missing[0] == 0);
	need(is_sample(&views[0], 12) && views[1].status == LC_INVALID);
	lc_views_release(views, 2);
	for (size_t j = 0; j < n; j++)
		set_sample(results, j, &keys[missing[j]]);
	return LC_OK;
}

START_TEST(a_function_may_use_the_handle)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	struct job job = { .cache = cache };
	const lc_id ids[] = { key_of(1), key_of(2) };
	lc_view views[2];

	assert_ok(lc_get_or_compute(cache, ids, 2, compute_by_others, &job, views));
	ck_assert(is_sample(&views[0], 1) && is_sample(&views[1], 2));
	lc_views_release(views, 2);
	ck_assert_uint_eq(counters_of(cache).computed, 5);
	ck_assert_uint_eq(counters_of(cache).awaited, 0);
	assert_ok(lc_close(cache));
}
END_TEST

/* Two functions that each ask for what the other one computes. */
struct pair {
	lc_cache *cache;
	pthread_barrier_t both;
	atomic_uint refused;
};

struct half {
	struct pair *pair;
	unsigned key;
};

static lc_status
compute_half(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	struct half *half = ctx;
	const lc_id other = key_of(1 - half->key);
	struct job job = { .calls = 0 };
	lc_status status;
	lc_view view;

	need(n == 1);
	pthread_barrier_wait(&half->pair->both);
	status = lc_get_or_compute(half->pair->cache, &other, 1, compute_samples,
	    &job, &view);
	need(job.calls == 0);
	if (status == LC_OK)
		need(is_sample(&view, 1 - half->key));
	else
		need(status == LC_INVALID);
	atomic_fetch_add(&half->pair->refused, status != LC_OK);
	lc_view_release(&view);
	set_sample(results, 0, &keys[missing[0]]);
	return LC_OK;
}

static void *
ask_half(void *arg)
{
	struct half *half = arg;
	const lc_id own = key_of(half->key);
	lc_view view;

	need_ok(lc_get_or_compute(half->pair->cache, &own, 1, compute_half, half,
	    &view));
	need(is_sample(&view, half->key));
	lc_view_release(&view);
	return NULL;
}

START_TEST(functions_that_wait_for_each_other_do_not_hang)
{
	const lc_options options = sample_options();
	struct pair pair = { .cache = sample_open(run_scratch(), "m", &options) };
	struct half halves[] = { { &pair, 0 }, { &pair, 1 } };
	pthread_t threads[2];

	pthread_barrier_init(&pair.both, NULL, 2);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_half,
		    &halves[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(pair.refused, 1);
	pthread_barrier_destroy(&pair.both);
	assert_ok(lc_close(pair.cache));
}
END_TEST

/* ---- a fork while a key is computed ------------------------------------------------ */

static void
ask_in_child(void *ctx)
{
	static const unsigned keys[] = { 0, 5 };
	struct job job = { .calls = 0 };

	expect_samples(ctx, keys, 2, &job);
	need(job.calls == 1 && job.n == 2);
	/* The parent's handle is the parent's to close. */
	_exit(0);
}

START_TEST(a_child_computes_for_itself)
{
	const lc_options options = sample_options();
	struct crowd crowd = {
		.cache = sample_open(run_scratch(), "m", &options),
		.claimed = STAGE, .first = STAGE, .threads = 1
	};
	struct member member = { .crowd = &crowd };
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, ask_in_crowd, &member), 0);
	stage_await(&crowd.first, 1);
	ck_assert_int_eq(child_run(ask_in_child, crowd.cache), 0);
	stage_raise(&crowd.claimed);
	pthread_join(thread, NULL);
	assert_ok(lc_close(crowd.cache));
}
END_TEST

/* ---- random ------------------------------------------------------------------------ */

#define THREADS 8

/* Threads that ask for random keys; what each key's function did is counted. */
struct random {
	lc_cache *cache;
	unsigned fail_share;       /* of 16: how often a result fails */
	atomic_uint number;        /* given to each thread */
	atomic_uint done[KEYS];    /* results that were set */
	atomic_uint failed[KEYS];
	atomic_int at[KEYS];       /* threads that compute it now */
};

struct asker {
	struct random *random;
	uint64_t seed;
	bool failed[KEYS]; /* in the call under way, by this thread */
	unsigned calls;    /* of the function in it */
};

static lc_status
compute_random(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	struct asker *asker = ctx;
	struct random *random = asker->random;

	asker->calls++;
	for (size_t j = 0; j < n; j++) {
		const unsigned key = key_number(&keys[missing[j]]);

		need(j == 0 || missing[j] > missing[j - 1]);
		need(!asker->failed[key]);
		need(atomic_fetch_add(&random->at[key], 1) == 0);
		if (run_random(&asker->seed) % 16 < random->fail_share) {
			asker->failed[key] = true;
			atomic_fetch_add(&random->failed[key], 1);
			lc_result_fail(results, j, "by chance");
		} else {
			atomic_fetch_add(&random->done[key], 1);
			set_sample(results, j, &keys[missing[j]]);
		}
		atomic_fetch_sub(&random->at[key], 1);
	}
	return run_random(&asker->seed) % 4 == 0 ? LC_IO : LC_OK;
}

static void
ask_random(struct asker *asker)
{
	const size_t n = 1 + run_random(&asker->seed) % 12;
	unsigned keys[12];
	lc_id ids[12];
	lc_view views[12];
	lc_status status, want = LC_OK;

	for (size_t i = 0; i < n; i++)
		keys[i] = (unsigned)(run_random(&asker->seed) % KEYS);
	list_keys(ids, keys, n);
	memset(asker->failed, 0, sizeof(asker->failed));
	asker->calls = 0;
	status = lc_get_or_compute(asker->random->cache, ids, n, compute_random,
	    asker, views);
	for (size_t i = 0; i < n; i++) {
		/* Only what this thread's own function failed is failed. */
		if (asker->failed[keys[i]]) {
			want = LC_FAILED;
			need(views[i].status == LC_FAILED);
		} else {
			need(is_sample(&views[i], keys[i]));
		}
	}
	need(status == want);
	if (asker->random->fail_share == 0)
		need(asker->calls <= 1);
	lc_views_release(views, n);
}

static void *
random_thread(void *arg)
{
	struct random *random = arg;
	struct asker asker = {
		.random = random,
		.seed = run_seed() + atomic_fetch_add(&random->number, 1) * 977
	};

	for (int i = 0; i < 40; i++)
		ask_random(&asker);
	return NULL;
}

static void
run_random_threads(unsigned fail_share)
{
	const lc_options options = sample_options();
	struct random random = {
		.cache = sample_open(run_scratch(), "m", &options),
		.fail_share = fail_share
	};
	uint64_t done = 0, failed = 0;
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, random_thread,
		    &random), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < KEYS; i++) {
		/* 320 calls for 6.5 keys on average: each was asked for. */
		ck_assert_uint_eq(random.done[i], 1);
		done += random.done[i];
		failed += random.failed[i];
	}
	ck_assert_uint_eq(counters_of(random.cache).computed, done);
	ck_assert_uint_eq(counters_of(random.cache).compute_failures, failed);
	ck_assert_int_eq(failed > 0, fail_share > 0);
	assert_ok(lc_close(random.cache));
}

static const unsigned fail_shares[] = { 0, 6 };

START_TEST(every_key_is_computed_once)
{
	for (unsigned i = sample_times(40); i > 0; i--)
		run_random_threads(fail_shares[_i]);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("compute");
	TCase *tc = tcase_create("compute");

	run_seed();
	make_names();
	tcase_set_timeout(tc, 600);
	tcase_add_test(tc, asks_for_what_is_missing_in_order);
	tcase_add_test(tc, repeats_are_computed_once_and_share);
	tcase_add_test(tc, many_at_once);
	tcase_add_loop_test(tc, what_fails_is_not_stored_and_told, 0,
	    sizeof(returned) / sizeof(returned[0]));
	tcase_add_loop_test(tc, the_reason_is_told, 0,
	    sizeof(reasons) / sizeof(reasons[0]));
	tcase_add_test(tc, bad_keys_fail_alone);
	tcase_add_loop_test(tc, values_are_computed, 0,
	    sizeof(codecs) / sizeof(codecs[0]));
	tcase_add_test(tc, results_are_coded);
	tcase_add_test(tc, a_strict_module_refuses_other_structures);
	tcase_add_test(tc, a_read_only_handle_does_not_compute);
	tcase_add_loop_test(tc, another_rank_warms_its_lru_only, 0, 2);
	tcase_add_test(tc, damage_is_computed_again);
	tcase_add_loop_test(tc, what_another_computes_is_awaited, 0, 8);
	tcase_add_test(tc, what_was_computed_meanwhile_is_found);
	tcase_add_test(tc, a_function_may_use_the_handle);
	tcase_add_test(tc, functions_that_wait_for_each_other_do_not_hang);
	tcase_add_test(tc, a_child_computes_for_itself);
	tcase_add_loop_test(tc, every_key_is_computed_once, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
