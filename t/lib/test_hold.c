/* SPDX-License-Identifier: BSD-2-Clause */
/* Views and iterators that are used and released after their handle was closed. */
#include "run.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

#define RECORDS 40
#define FLOATS 1000

/* ---- what is held ---------------------------------------------------------- */

enum kind {
	MAPPED,        /* a tensor in the map */
	PENDING,       /* a tensor that no commit holds yet */
	DECODED,       /* a coded tensor */
	BATCH,         /* three tensors in the map */
	MAP,           /* a structured value in the map */
	MAP_CODED,     /* one whose tensors are coded */
	MAP_PENDING,   /* one that no commit holds yet */
	MAP_COMPUTED,  /* one that a function of ours has just made */
	PLAIN,         /* a text */
	BY_KEY,        /* iterators */
	BY_COMMIT,
	KINDS
};

/* Does it need the environment? A copy in memory does not. */
static bool
needs_environment(enum kind kind)
{
	return kind != PENDING && kind != DECODED;
}

struct held {
	enum kind kind;
	size_t n; /* of views */
	lc_view views[3];
	lc_iter *iter;
	unsigned seen; /* records that the iterator gave */
};

static float floats[FLOATS];

static lc_tensor
a_tensor(void)
{
	const uint64_t shape[1] = { FLOATS };
	lc_tensor tensor;

	need_ok(lc_tensor_init(&tensor, LC_F32, 1, shape, floats));
	return tensor;
}

/* Free it with lc_value_free(). */
static lc_value *
a_map(void)
{
	const lc_tensor tensor = a_tensor();
	lc_value *map = lc_value_map();

	lc_value_set(map, "features", lc_value_tensor(&tensor));
	lc_value_set(map, "again", lc_value_tensor(&tensor));
	lc_value_set(map, "label", lc_value_integer(7));
	lc_value_set(map, "name", lc_value_str("a name"));
	need_ok(lc_value_check(map));
	return map;
}

static lc_options
options_of_all(void)
{
	lc_options options = sample_options();

	options.durability = LC_DURABLE_RELAXED;
	return options;
}

static lc_cache *
open_module(const char *root)
{
	const lc_options options = options_of_all();

	return sample_open(root, "m", &options);
}

/* A module with a record of each kind and some more. */
static lc_cache *
make(const char *root)
{
	lc_cache *cache = open_module(root);
	const lc_tensor tensor = a_tensor();
	lc_value *map, *text = lc_value_str("a text"), *coded = lc_value_tensor(&tensor);

	for (size_t i = 0; i < FLOATS; i++)
		floats[i] = (float)(i % 50);
	map = a_map();
	for (uint64_t i = 0; i < RECORDS; i++) {
		char id[SAMPLE_ID_ROOM];
		const size_t size = sample_id(id, i);

		need_ok(sample_put(cache, id, size, 1, SAMPLE_SMALL));
	}
	need_ok(lc_put_coded(cache, "decoded", 7, coded, LC_CODEC_LZ4, 0));
	need_ok(lc_put_value(cache, "map", 3, map));
	need_ok(lc_put_coded(cache, "map coded", 9, map, LC_CODEC_LZ4, 0));
	need_ok(lc_put_value(cache, "plain", 5, text));
	need_ok(lc_flush(cache));
	lc_value_free(coded);
	lc_value_free(map);
	lc_value_free(text);
	return cache;
}

static lc_status
compute_map(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	lc_value *map = a_map();

	(void)ctx;
	(void)keys;
	(void)missing;
	need(n == 1);
	need_ok(lc_result_value(results, 0, map));
	lc_value_free(map);
	return LC_OK;
}

static void
get(lc_cache *cache, const char *id, struct held *out)
{
	out->n = 1;
	need_ok(lc_get(cache, id, strlen(id), &out->views[0]));
}

static void
hold(lc_cache *cache, enum kind kind, struct held *out)
{
	static const char *const names[KINDS] = { [DECODED] = "decoded",
		[MAP] = "map", [MAP_CODED] = "map coded", [PLAIN] = "plain" };
	const lc_tensor tensor = a_tensor();
	const lc_id computed = { "computed", 8 };
	char ids[3][SAMPLE_ID_ROOM];
	lc_id batch[3];
	lc_value *map;

	*out = (struct held){ .kind = kind };
	switch (kind) {
	case PENDING:
		need_ok(lc_put(cache, "pending", 7, &tensor));
		get(cache, "pending", out);
		return;
	case MAP_PENDING:
		map = a_map();
		need_ok(lc_put_value(cache, "map pending", 11, map));
		lc_value_free(map);
		get(cache, "map pending", out);
		return;
	case MAP_COMPUTED:
		need(lc_delete(cache, "computed", 8) <= LC_NOT_FOUND);
		out->n = 1;
		need_ok(lc_get_or_compute(cache, &computed, 1, compute_map, NULL,
		    out->views));
		return;
	case MAPPED:
	case BATCH:
		out->n = kind == BATCH ? 3 : 1;
		for (size_t i = 0; i < out->n; i++)
			batch[i] = (lc_id){ ids[i], sample_id(ids[i], i) };
		need_ok(lc_get_batch(cache, out->n, batch, out->views, NULL, NULL));
		return;
	case BY_KEY:
	case BY_COMMIT:
		need_ok(lc_iter_open(cache, kind == BY_KEY ? LC_BY_KEY : LC_BY_COMMIT,
		    NULL, 0, &out->iter));
		return;
	default: get(cache, names[kind], out);
	}
}

static void
is_a_tensor(const lc_tensor *tensor)
{
	need(tensor->dtype == LC_F32 && tensor->nbytes == sizeof(floats));
	need(memcmp(tensor->data, floats, sizeof(floats)) == 0);
}

static void
read_map(lc_view *view)
{
	const lc_value *part;
	lc_tensor tensor;
	lc_value *map;
	int64_t label;

	need_ok(lc_view_value(view, "features", &part));
	need_ok(lc_value_as_tensor(part, &tensor));
	is_a_tensor(&tensor);
	need_ok(lc_view_value(view, "label", &part));
	need_ok(lc_value_as_integer(part, &label));
	need(label == 7);
	need_status(lc_view_value(view, "missing", &part), LC_NOT_FOUND);
	need_ok(lc_view_value(view, NULL, &part));
	map = a_map();
	need(lc_value_equal(part, map));
	lc_value_free(map);
}

static void
read_sample(lc_view *view, uint64_t i)
{
	char id[SAMPLE_ID_ROOM];
	const size_t size = sample_id(id, i);
	const lc_value *value;
	lc_tensor tensor;

	need(sample_is(&view->tensor, id, size, 1, SAMPLE_SMALL));
	need_ok(lc_view_value(view, NULL, &value));
	need_ok(lc_value_as_tensor(value, &tensor));
	need(sample_same(&tensor, &view->tensor));
}

/* Step a few records on, and read each. */
static void
walk(struct held *held, unsigned steps)
{
	lc_item item;
	const lc_value *value;
	lc_status status = LC_OK;

	for (unsigned i = 0; i < steps; i++) {
		status = lc_iter_next(held->iter, &item);
		if (status == LC_END)
			break;
		need_ok(status);
		held->seen++;
		need_ok(lc_iter_value(held->iter, NULL, &value));
		if (item.id.size == 9 && memcmp(item.id.data, "map coded", 9) == 0)
			need(lc_value_count(value) == 4);
		if (item.id.size == 7 && memcmp(item.id.data, "decoded", 7) == 0)
			is_a_tensor(&item.tensor);
	}
	if (status == LC_END)
		need(held->seen >= RECORDS + 4);
}

/* Read all that is held, as after a garbage collector closed the handle. */
static void
use(struct held *held)
{
	const lc_value *value;
	const char *text;
	size_t size;

	switch (held->kind) {
	case MAPPED:
	case BATCH:
		for (size_t i = 0; i < held->n; i++)
			read_sample(&held->views[i], i);
		return;
	case PENDING:
	case DECODED: is_a_tensor(&held->views[0].tensor); return;
	case PLAIN:
		need_ok(lc_view_value(&held->views[0], NULL, &value));
		need_ok(lc_value_as_str(value, &text, &size));
		need(size == 6 && memcmp(text, "a text", 6) == 0);
		return;
	case BY_KEY:
	case BY_COMMIT: walk(held, 9); return;
	default: read_map(&held->views[0]);
	}
}

static void
release(struct held *held)
{
	lc_views_release(held->views, held->n);
	lc_iter_close(held->iter);
	held->n = 0;
	held->iter = NULL;
}

/* Copy the structs and forget the old ones. */
static void
move(struct held *held)
{
	struct held *other = malloc(sizeof(*other));

	*other = *held;
	memset(held, 0xa5, sizeof(*held));
	*held = *other;
	free(other);
}

/* ---- one thing held -------------------------------------------------------- */

static lc_status
drop(const char *root)
{
	return lc_drop(root, "m");
}

/* Even numbers close, odd ones discard. */
START_TEST(used_after_close)
{
	const char *root = run_scratch();
	lc_cache *cache = make(root);
	const enum kind kind = (enum kind)(_i / 2);
	struct held held;

	hold(cache, kind, &held);
	if (_i % 2 == 0)
		assert_ok(lc_close(cache));
	else
		lc_discard(cache);
	use(&held);
	move(&held);
	use(&held);
	assert_status(drop(root), needs_environment(kind) ? LC_BUSY : LC_OK);
	use(&held);
	release(&held);
	release(&held);
	assert_status(drop(root), needs_environment(kind) ? LC_OK : LC_NO_FILE);
}
END_TEST

/* The first use of it is after the close. */
START_TEST(first_used_after_close)
{
	const char *root = run_scratch();
	lc_cache *cache = make(root);
	struct held held;

	hold(cache, (enum kind)_i, &held);
	assert_ok(lc_close(cache));
	use(&held);
	release(&held);
}
END_TEST

START_TEST(closing_commits)
{
	const char *root = run_scratch();
	lc_cache *cache = make(root);
	struct held held;

	hold(cache, MAPPED, &held);
	need_ok(sample_put(cache, "late", 4, 1, SAMPLE_SMALL));
	assert_ok(lc_close(cache));
	cache = open_module(root);
	assert_ok(lc_contains(cache, "late", 4));
	assert_ok(lc_close(cache));
	use(&held);
	assert_status(drop(root), LC_BUSY);
	release(&held);
	assert_ok(drop(root));
}
END_TEST

/* The module is opened again and grows while a view of the first handle is held. */
START_TEST(reopened)
{
	const char *root = run_scratch();
	lc_cache *cache = make(root), *other;
	struct held held, second;

	hold(cache, (enum kind)_i, &held);
	assert_ok(lc_close(cache));
	other = open_module(root);
	for (unsigned round = 0; round < 3; round++) {
		hold(other, MAP, &second);
		for (uint64_t i = 0; i < RECORDS; i++) {
			char id[SAMPLE_ID_ROOM];
			const size_t size = sample_id(id, i);

			need_ok(sample_put(other, id, size, 2 + round, SAMPLE_SMALL));
		}
		assert_ok(lc_flush(other));
		use(&held);
		use(&second);
		release(&second);
	}
	hold(other, MAP_PENDING, &second);
	if (_i % 2 == 0) {
		release(&held);
		assert_ok(lc_close(other));
	} else {
		assert_ok(lc_close(other));
		use(&held);
		release(&held);
	}
	use(&second);
	assert_status(drop(root), LC_BUSY);
	release(&second);
	assert_ok(drop(root));
}
END_TEST

/* ---- many, in any order ---------------------------------------------------- */

/* Release these in every order, with the close at every place. */
START_TEST(every_order)
{
	static const enum kind kinds[] = { MAPPED, MAP_CODED, MAP_PENDING, BY_KEY };
	enum { N = 4, CLOSE = N };
	const char *root = run_scratch();
	lc_cache *cache = make(root);

	for (unsigned code = 0; code < 5 * 4 * 3 * 2; code++) {
		unsigned left[N + 1] = { 0, 1, 2, 3, CLOSE }, rest = code;
		struct held held[N];

		for (unsigned i = 0; i < N; i++)
			hold(cache, kinds[i], &held[i]);
		for (unsigned n = N + 1; n > 0; n--) {
			const unsigned at = rest % n, chosen = left[at];

			rest /= n;
			memmove(&left[at], &left[at + 1], (n - at - 1) * sizeof(*left));
			if (chosen == CLOSE) {
				assert_ok(lc_close(cache));
			} else {
				use(&held[chosen]);
				release(&held[chosen]);
			}
		}
		cache = open_module(root);
	}
	assert_ok(lc_close(cache));
	assert_ok(drop(root));
}
END_TEST

struct all {
	struct held held[2 * KINDS];
	size_t n;
	lc_cache *cache;
};

static void
use_all(struct all *all)
{
	for (size_t i = 0; i < all->n; i++)
		use(&all->held[i]);
}

static void
release_all(void *all)
{
	for (size_t i = 0; i < ((struct all *)all)->n; i++)
		release(&((struct all *)all)->held[i]);
}

/* Does anything that is held need the environment? */
static bool
is_busy(const struct all *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (needs_environment(all->held[i].kind))
			return true;
	return false;
}

static void
release_one(struct all *all, size_t at)
{
	use(&all->held[at]);
	release(&all->held[at]);
	all->held[at] = all->held[--all->n];
	for (size_t i = 0; i < all->n; i++)
		move(&all->held[i]);
}

START_TEST(any_order)
{
	const char *root = run_scratch();
	uint64_t seed = run_seed();

	for (unsigned round = 0; round < sample_times(60); round++) {
		lc_cache *handles[2] = { make(root), open_module(root) };
		struct all all = { .n = 0 };

		while (all.n < 2 * KINDS) {
			hold(handles[run_random(&seed) % 2],
			    (enum kind)(run_random(&seed) % KINDS), &all.held[all.n]);
			all.n++;
		}
		while (handles[0] != NULL || handles[1] != NULL || all.n > 0) {
			const uint64_t what = run_random(&seed);
			lc_cache **handle = &handles[what / 8 % 2];

			if (what % 8 == 0) {
				assert_ok(lc_close(*handle));
				*handle = NULL;
			} else if (what % 8 == 1) {
				assert_status(drop(root),
				    handles[0] != NULL || handles[1] != NULL ||
					    is_busy(&all)
					? LC_BUSY
					: LC_OK);
				if (handles[0] == NULL && handles[1] == NULL &&
				    !is_busy(&all))
					lc_discard(make(root));
			} else if (what % 64 == 2 && !RUN_THREAD_SANITIZER) {
				ck_assert_int_eq(child_run(release_all, &all), 0);
			} else if (all.n > 0) {
				release_one(&all, what / 16 % all.n);
			}
		}
		assert_ok(drop(root));
	}
}
END_TEST

/* ---- threads --------------------------------------------------------------- */

struct share {
	struct all all;
	pthread_barrier_t *start;
};

static void *
use_and_release(void *arg)
{
	struct share *share = arg;

	pthread_barrier_wait(share->start);
	while (share->all.n > 0)
		release_one(&share->all, 0);
	return NULL;
}

#define THREADS 4

/* They read and release while the handle is closed and another one is opened. */
START_TEST(threads_release)
{
	const char *root = run_scratch();

	for (unsigned round = 0; round < sample_times(40); round++) {
		lc_cache *cache = make(root);
		struct share shares[THREADS] = { 0 };
		pthread_t threads[THREADS];
		pthread_barrier_t start;

		pthread_barrier_init(&start, NULL, THREADS + 1);
		for (unsigned i = 0; i < THREADS; i++) {
			shares[i].start = &start;
			for (unsigned k = 0; k < KINDS; k++)
				hold(cache, (enum kind)((k + i) % KINDS),
				    &shares[i].all.held[shares[i].all.n++]);
			ck_assert_int_eq(pthread_create(&threads[i], NULL,
			    use_and_release, &shares[i]), 0);
		}
		pthread_barrier_wait(&start);
		assert_ok(lc_close(cache));
		if (round % 2 == 0) {
			cache = open_module(root);
			assert_ok(lc_contains(cache, "map", 3));
			assert_ok(lc_close(cache));
		}
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		pthread_barrier_destroy(&start);
		assert_ok(drop(root));
	}
}
END_TEST

/* ---- fork ------------------------------------------------------------------ */

static void
hold_all(lc_cache *cache, struct all *all)
{
	*all = (struct all){ .n = KINDS, .cache = cache };
	for (unsigned kind = 0; kind < KINDS; kind++)
		hold(cache, (enum kind)kind, &all->held[kind]);
}

static void
close_then_release(void *arg)
{
	struct all *all = arg;

	need_ok(lc_close(all->cache));
	release_all(all);
}

static void
release_then_close(void *arg)
{
	struct all *all = arg;

	release_all(all);
	need_ok(lc_close(all->cache));
}

/* The views and the iterators are the parent's; what the child opened is its own. */
static void
hold_own(void *arg)
{
	struct all *all = arg, own;

	hold_all(all->cache, &own);
	need_ok(lc_close(all->cache));
	use_all(&own);
	release_all(all);
	use_all(&own);
	release_all(&own);
}

static void
exit_now(void *arg)
{
	(void)arg;
	exit(0);
}

static void (*const children[])(void *) = { close_then_release, release_then_close,
	hold_own, exit_now };

START_TEST(child_of_an_open_handle)
{
	const char *root = run_scratch();
	struct all all;

	hold_all(make(root), &all);
	ck_assert_int_eq(child_run(children[_i], &all), 0);
	use_all(&all);
	assert_ok(lc_close(all.cache));
	use_all(&all);
	release_all(&all);
	assert_ok(drop(root));
}
END_TEST

static void
reopen(void *root)
{
	lc_cache *cache = open_module(root);
	struct all own;

	hold_all(cache, &own);
	need_ok(lc_close(cache));
	use_all(&own);
	release_all(&own);
}

/* Views of the parent are forgotten: they keep nothing open in the child. */
struct leaving {
	const char *root;
	int told[2];
	bool reopens;
};

static void
drop_when_told(void *arg)
{
	struct leaving *leaving = arg;
	char byte;

	if (leaving->reopens)
		reopen((void *)leaving->root);
	close(leaving->told[1]);
	need(read(leaving->told[0], &byte, 1) == 0);
	need_ok(drop(leaving->root));
}

START_TEST(child_of_a_closed_handle)
{
	struct leaving leaving = { .root = run_scratch(), .reopens = _i == 1 };
	struct all all;
	pid_t child;

	hold_all(make(leaving.root), &all);
	assert_ok(lc_close(all.cache));
	ck_assert_int_eq(child_run(release_all, &all), 0);
	ck_assert_int_eq(child_run(reopen, (void *)leaving.root), 0);
	ck_assert_int_eq(child_run(exit_now, NULL), 0);
	ck_assert_int_eq(pipe(leaving.told), 0);
	child = child_start(drop_when_told, &leaving);
	use_all(&all);
	release_all(&all);
	close(leaving.told[1]);
	ck_assert_int_eq(child_wait(child), 0);
	assert_status(drop(leaving.root), LC_NO_FILE);
}
END_TEST

/* A child that reads what its parent held, after it has closed the handle itself. */
static void
close_then_read(void *arg)
{
	struct all *all = arg;

	need_ok(lc_close(all->cache));
	for (unsigned kind = 0; kind < BY_KEY; kind++)
		use(&all->held[kind]);
	release_all(all);
}

START_TEST(child_reads)
{
	struct all all;

	hold_all(make(run_scratch()), &all);
	ck_assert_int_eq(child_run(close_then_read, &all), 0);
	release_all(&all);
	assert_ok(lc_close(all.cache));
}
END_TEST

/* ---- the end of the process ------------------------------------------------ */

static void
exit_holding(void *root)
{
	struct all *all = malloc(sizeof(*all));

	hold_all(make(root), all);
	need_ok(lc_close(all->cache));
	exit(0);
}

START_TEST(exits)
{
	ck_assert_int_eq(child_run(exit_holding, (void *)run_scratch()), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("hold");
	TCase *tc = tcase_create("hold");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, used_after_close, 0, 2 * KINDS);
	tcase_add_loop_test(tc, first_used_after_close, 0, KINDS);
	tcase_add_test(tc, closing_commits);
	tcase_add_loop_test(tc, reopened, 0, KINDS);
	tcase_add_test(tc, every_order);
	tcase_add_test(tc, any_order);
	tcase_add_test(tc, threads_release);
	if (!RUN_THREAD_SANITIZER) {
		tcase_add_loop_test(tc, child_of_an_open_handle, 0, 4);
		tcase_add_loop_test(tc, child_of_a_closed_handle, 0, 2);
		tcase_add_test(tc, child_reads);
		tcase_add_test(tc, exits);
	}
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
