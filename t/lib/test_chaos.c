/* SPDX-License-Identifier: BSD-2-Clause */
/* Each allocation fails once: the call says so, and everything else goes on. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail_malloc.h"
#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

#define KEYS 14

/* One pass over the interface, with what it needs made before anything may fail. */
struct pass {
	const char *root;
	lc_options options;
	lc_cache *cache;
	char ids[KEYS][SAMPLE_ID_ROOM];
	lc_id id[KEYS];
	lc_tensor tensors[2][KEYS]; /* two versions of each key */
	unsigned done;              /* of the present step */
	bool failed;                /* some call has */
};

static const struct sample_range sizes = { 8, 9000 };

/* A step returns its first failure and goes on behind what it had done. */
typedef lc_status step_fn(struct pass *p);

static lc_status
do_open(struct pass *p)
{
	return lc_open(p->root, "m", &p->options, &p->cache);
}

static lc_status
put_version(struct pass *p, int version, unsigned n)
{
	lc_status status = LC_OK;

	for (; p->done < n; p->done++) {
		status = lc_put(p->cache, p->id[p->done].data, p->id[p->done].size,
		    &p->tensors[version][p->done]);
		if (status != LC_OK)
			break;
	}
	return status;
}

static lc_status
do_put(struct pass *p)
{
	return put_version(p, 0, KEYS - 4);
}

/* Those among the first three keys that it is asked for. */
static lc_status
compute_first(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	struct pass *p = ctx;

	(void)keys;
	for (size_t j = 0; j < n; j++)
		(void)lc_result_tensor(results, j, &p->tensors[0][missing[j] % 3]);
	return LC_OK;
}

/* Each key twice, of which puts come later once more. */
static lc_status
do_compute(struct pass *p)
{
	const lc_id ids[6] = {
		p->id[0], p->id[1], p->id[2], p->id[0], p->id[1], p->id[2]
	};
	lc_view views[6];
	const lc_status status =
	    lc_get_or_compute(p->cache, ids, 6, compute_first, p, views);

	for (int i = 0; i < 6; i++) {
		need(views[i].status == LC_OK || status != LC_OK);
		need(views[i].status != LC_OK ||
		    sample_same(&views[i].tensor, &p->tensors[0][i % 3]));
	}
	lc_views_release(views, 6);
	return status;
}

static lc_status
do_put_batch(struct pass *p)
{
	return lc_put_batch(p->cache, 4, p->id + KEYS - 4,
	    p->tensors[0] + KEYS - 4, NULL);
}

static lc_status
do_overwrite(struct pass *p)
{
	return put_version(p, 1, KEYS / 2);
}

static lc_status
do_delete(struct pass *p)
{
	return lc_delete(p->cache, p->id[0].data, p->id[0].size);
}

static lc_status
do_flush(struct pass *p)
{
	return lc_flush(p->cache);
}

static lc_status
do_get(struct pass *p)
{
	lc_status status = LC_OK;
	lc_view view;

	for (; p->done < KEYS; p->done++) {
		status = lc_get(p->cache, p->id[p->done].data, p->id[p->done].size,
		    &view);
		if (status != LC_OK)
			break;
		need(sample_same(&view.tensor, &p->tensors[0][p->done]));
		lc_view_release(&view);
	}
	return status;
}

static lc_status
do_get_copy(struct pass *p)
{
	lc_tensor copy;
	const lc_status status = lc_get_copy(p->cache, p->id[1].data, p->id[1].size,
	    &copy);

	if (status == LC_OK) {
		need(sample_same(&copy, &p->tensors[0][1]));
		lc_tensor_free(&copy);
	}
	return status;
}

static lc_status
do_get_into(struct pass *p)
{
	static char room[10000];
	lc_tensor into;
	const lc_status status = lc_get_into(p->cache, p->id[1].data, p->id[1].size,
	    room, sizeof(room), &into);

	need(status != LC_OK || sample_same(&into, &p->tensors[0][1]));
	return status;
}

static lc_status
do_get_batch(struct pass *p)
{
	lc_view views[KEYS];
	size_t n_missing;
	const lc_status status = lc_get_batch(p->cache, KEYS, p->id, views, NULL,
	    &n_missing);

	for (int i = 0; i < KEYS; i++) {
		need(views[i].status == LC_OK || status != LC_OK);
		need(views[i].status != LC_OK ||
		    sample_same(&views[i].tensor, &p->tensors[0][i]));
	}
	lc_views_release(views, KEYS);
	return status;
}

static lc_status
do_contains(struct pass *p)
{
	return lc_contains(p->cache, p->id[2].data, p->id[2].size);
}

static lc_status
do_prefetch(struct pass *p)
{
	return lc_prefetch(p->cache, KEYS, p->id);
}

static lc_status
do_count(struct pass *p)
{
	uint64_t count;
	const lc_status status = lc_count(p->cache, &count);

	need(status != LC_OK || count == KEYS);
	return status;
}

static lc_status
walk(struct pass *p, unsigned flags)
{
	unsigned n = 0;
	lc_iter *iter;
	lc_item item;
	lc_status status = lc_iter_open(p->cache, flags, NULL, 0, &iter);

	if (status != LC_OK)
		return status;
	while ((status = lc_iter_next(iter, &item)) == LC_OK)
		n++;
	lc_iter_close(iter);
	need(status != LC_END || n == KEYS);
	return status == LC_END ? LC_OK : status;
}

static lc_status
do_walk_by_key(struct pass *p)
{
	return walk(p, LC_BY_KEY);
}

static lc_status
do_walk_by_commit(struct pass *p)
{
	return walk(p, LC_BY_COMMIT);
}

static lc_status
do_stat(struct pass *p)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	return lc_stat(p->cache, &stats);
}

static lc_status
do_verify(struct pass *p)
{
	lc_verify_result result;

	return lc_verify(p->cache, NULL, &result);
}

static int
take_no_name(void *ctx, const char *name)
{
	(void)ctx, (void)name;
	return 0;
}

static lc_status
do_modules(struct pass *p)
{
	return lc_modules(p->root, take_no_name, NULL);
}

static lc_status
do_compact(struct pass *p)
{
	lc_compact_options options;

	lc_compact_options_init(&options);
	options.live_ratio = 1;
	options.recode = LC_CODEC_LZ4;
	return lc_compact(p->cache, &options, NULL);
}

static lc_status
do_copy(struct pass *p)
{
	lc_copy_options options;
	lc_cache *other = NULL;
	lc_status status = lc_open(p->root, "other", &p->options, &other);

	if (status != LC_OK)
		return status;
	lc_copy_options_init(&options);
	options.conflict = p->done++ == 0 ? LC_SAME : LC_REPLACE;
	status = lc_copy(p->cache, other, &options, NULL);
	lc_discard(other);
	return status;
}

static lc_status
do_recover(struct pass *p)
{
	lc_recover_result result = { 0 };
	const lc_status status = lc_recover(p->root, "m", 1, NULL, &result);

	need(status != LC_OK || result.records == KEYS - 1);
	return status;
}

static const struct {
	const char *name;
	step_fn *run;
} steps[] = {
	{ "open", do_open }, { "get_or_compute", do_compute }, { "put", do_put },
	{ "put_batch", do_put_batch },
	{ "get of pending", do_get }, { "get_copy of pending", do_get_copy },
	{ "get_batch of pending", do_get_batch }, { "flush", do_flush },
	{ "get", do_get }, { "get_copy", do_get_copy }, { "get_into", do_get_into },
	{ "get_batch", do_get_batch }, { "contains", do_contains },
	{ "prefetch", do_prefetch }, { "count", do_count },
	{ "walk by key", do_walk_by_key }, { "walk by commit", do_walk_by_commit },
	{ "stat", do_stat }, { "verify", do_verify }, { "modules", do_modules },
	{ "overwrite", do_overwrite }, { "delete", do_delete }, { "flush", do_flush },
	{ "compact", do_compact }, { "copy", do_copy }, { "recover", do_recover },
};

/* A step that failed is tried again: with memory it must come to its end. */
static void
run_step(struct pass *p, size_t i, bool and_on)
{
	lc_status status = LC_NO_MEMORY;

	p->done = 0;
	/* check allocates too: none of it while allocations fail. */
	for (int tries = 0; tries < 6 && status == LC_NO_MEMORY; tries++) {
		status = steps[i].run(p);
		if (status == LC_OK)
			return;
		p->failed |= fail_malloc_hits() > 0;
		if (and_on || !p->failed)
			fail_malloc(0, false);
		if (!p->failed || lc_last_error()->status != status)
			break;
	}
	fail_malloc(0, false);
	ck_abort_msg("%s: '%s' (%s)", steps[i].name, lc_status_name(status),
	    lc_last_error()->text);
}

static void
make_pass(struct pass *p)
{
	*p = (struct pass){ .root = run_scratch(), .options = sample_options() };
	p->options.flush_every = 5;
	p->options.durability = LC_DURABLE_RELAXED;
	for (uint64_t i = 0; i < KEYS; i++) {
		p->id[i] = (lc_id){ p->ids[i], sample_id(p->ids[i], i) };
		for (uint64_t v = 0; v < 2; v++)
			sample_make(&p->tensors[v][i], p->ids[i], p->id[i].size, v,
			    sizes);
	}
}

/* What the passes agreed on in the end. */
static void
check_and_free(struct pass *p)
{
	lc_verify_result result;
	lc_tensor got;

	p->cache = sample_open(p->root, "m", &p->options);
	assert_status(lc_contains(p->cache, p->id[0].data, p->id[0].size),
	    LC_NOT_FOUND);
	for (int i = 1; i < KEYS; i++) {
		assert_ok(lc_get_copy(p->cache, p->id[i].data, p->id[i].size, &got));
		ck_assert(sample_same(&got, &p->tensors[i < KEYS / 2][i]));
		lc_tensor_free(&got);
	}
	assert_ok(lc_verify(p->cache, NULL, &result));
	ck_assert_uint_eq(result.live, KEYS - 1);
	assert_ok(lc_close(p->cache));
	for (int i = 0; i < KEYS; i++) {
		sample_free(&p->tensors[0][i]);
		sample_free(&p->tensors[1][i]);
	}
}

/* True if an allocation has failed in this pass. */
static bool
pass_with_failure(long n, bool and_on)
{
	struct pass pass;
	lc_status status;
	bool hit;

	make_pass(&pass);
	fail_malloc(n, and_on);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		run_step(&pass, i, and_on);
	status = lc_close(pass.cache);
	hit = pass.failed || fail_malloc_hits() > 0;
	fail_malloc(0, false);
	ck_assert_msg(status == LC_OK || status == LC_NO_MEMORY, "%s",
	    lc_last_error()->text);
	check_and_free(&pass);
	return hit;
}

START_TEST(each_allocation_fails)
{
	const long step = getenv("T_SLOW") != NULL ? 7 : 1;
	long n = 1;

	for (; pass_with_failure(n, _i == 1); n += step)
		ck_assert_int_lt(n, 100000);
	printf("# %ld allocations\n", n);
	ck_assert_int_gt(n, 20);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("chaos");
	TCase *tc = tcase_create("chaos");

	tcase_set_timeout(tc, 1200);
	tcase_add_loop_test(tc, each_allocation_fails, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
