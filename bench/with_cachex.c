/* SPDX-License-Identifier: BSD-2-Clause */
/* This engine, through its public header. */
#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "contender.h"
#include "lmdbcache.h"
#include "memory.h"

#define MODULE "bench"

struct store {
	const struct load *load;
	lc_cache *cache;
	unsigned char *copy; /* room for the values of a batch */
};

static void
must(lc_status status)
{
	if (status != LC_OK)
		errx(1, "cachex: %s", lc_last_error()->text);
}

static lc_cache *
open_module(const char *dir, enum check check, uint64_t every)
{
	static const int verify[CHECKS] = {
		[CHECK_NONE] = LC_VERIFY_NEVER,
		[CHECK_ALL] = LC_VERIFY_ALWAYS,
		[CHECK_ONCE] = LC_VERIFY_ONCE,
	};
	lc_options options;
	lc_cache *cache;

	lc_options_init(&options);
	options.verify = verify[check];
	options.flush_every = every;
	options.chunk_bytes = 64 << 20; /* beyond any commit here: they go by count */
	options.flush_interval_ms = 0;
	must(lc_open(dir, MODULE, &options, &cache));
	return cache;
}

static void *
cachex_open(const struct load *load, const char *dir, enum check check)
{
	struct store *store = calloc(1, sizeof(*store));

	if (store == NULL || (store->copy = malloc(BATCH_SIZE * load->size)) == NULL)
		err(1, NULL);
	store->load = load;
	/* Threads share commits only where one may have more puts than one of them makes. */
	store->cache = open_module(dir, check,
	    load->threads > 1 ? load->threads * load->commit : load->commit);
	return store;
}

static void
cachex_close(void *handle)
{
	struct store *store = handle;

	must(lc_close(store->cache));
	free(store->copy);
	free(store);
}

/* lc_put() or lc_put_durable() */
typedef lc_status put_fn(lc_cache *cache, const void *id, size_t id_size,
    const lc_tensor *tensor);

static void
put_one(lc_cache *cache, put_fn *put, const struct load *load, uint64_t i)
{
	const uint64_t shape[1] = { load->size / sizeof(float) };
	lc_tensor tensor;

	must(lc_tensor_init(&tensor, LC_F32, 1, shape, load_value(load, i)));
	must(put(cache, load->keys[i], KEY_SIZE, &tensor));
}

static void
cachex_fill(void *handle, uint64_t from, uint64_t to)
{
	struct store *store = handle;

	for (; from < to; from++)
		put_one(store->cache, lc_put, store->load, from);
	must(lc_flush(store->cache));
}

/* The same, each commit waited for as the others wait for theirs. */
static void
cachex_fill_waiting(void *handle, uint64_t from, uint64_t to)
{
	struct store *store = handle;

	if (store->load->commit == 1) {
		for (; from < to; from++)
			put_one(store->cache, lc_put_durable, store->load, from);
		return;
	}
	while (from < to) {
		for (uint64_t n = 0; n < store->load->commit && from < to; n++)
			put_one(store->cache, lc_put, store->load, from++);
		must(lc_flush(store->cache));
	}
}

static inline void
get_one(struct store *store, uint64_t i, lc_view *view)
{
	must(lc_get(store->cache, key_in_order(store->load, i), KEY_SIZE, view));
}

static uint64_t
get_pointer(void *handle, uint64_t n)
{
	lc_view view;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		get_one(handle, i, &view);
		sum += view.tensor.nbytes;
		lc_view_release(&view);
	}
	return sum;
}

static uint64_t
get(void *handle, uint64_t n)
{
	lc_view view;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		get_one(handle, i, &view);
		sum += head_of(view.tensor.data);
		lc_view_release(&view);
	}
	return sum;
}

static uint64_t
copy(void *handle, uint64_t n)
{
	struct store *store = handle;
	const struct load *load = store->load;
	lc_tensor tensor;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		must(lc_get_into(store->cache, key_in_order(load, i), KEY_SIZE,
		    store->copy, load->size, &tensor));
		sum += head_of(store->copy);
	}
	return sum;
}

static uint64_t
batch(void *handle, uint64_t n)
{
	struct store *store = handle;
	lc_id ids[BATCH_SIZE];
	lc_view views[BATCH_SIZE];
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i += BATCH_SIZE) {
		const size_t count = n - i < BATCH_SIZE ? n - i : BATCH_SIZE;
		for (size_t k = 0; k < count; k++)
			ids[k] = (lc_id){ key_in_order(store->load, i + k), KEY_SIZE };
		must(lc_get_batch(store->cache, count, ids, views, NULL, NULL));
		for (size_t k = 0; k < count; k++)
			sum += head_of(views[k].tensor.data);
		lc_views_release(views, count);
	}
	return sum;
}

static uint64_t
batch_copy(void *handle, uint64_t n)
{
	struct store *store = handle;
	const struct load *load = store->load;
	const uint64_t shape[1] = { load->size / sizeof(float) };
	lc_id ids[BATCH_SIZE];
	lc_tensor row;
	uint64_t sum = 0;

	must(lc_tensor_init(&row, LC_F32, 1, shape, NULL));
	for (uint64_t i = 0; i < n; i += BATCH_SIZE) {
		const size_t count = n - i < BATCH_SIZE ? n - i : BATCH_SIZE;
		for (size_t k = 0; k < count; k++)
			ids[k] = (lc_id){ key_in_order(load, i + k), KEY_SIZE };
		must(lc_gather(store->cache, count, ids, NULL, &row, store->copy,
		    count * load->size, 0, NULL, NULL));
		for (size_t k = 0; k < count; k++)
			sum += head_of(store->copy + k * load->size);
	}
	return sum;
}

static uint64_t
scan(struct store *store, uint64_t n, unsigned flags, enum use use)
{
	lc_iter *iter;
	lc_item item;
	lc_status status;
	uint64_t sum = 0, seen = 0;

	must(lc_iter_open(store->cache, flags, NULL, 0, &iter));
	while ((status = lc_iter_next(iter, &item)) == LC_OK) {
		sum += flags & LC_ITER_LISTED ? item.tensor.nbytes :
		    used(use, store->copy, item.tensor.data, item.tensor.nbytes);
		seen++;
	}
	if (status != LC_END)
		must(status);
	lc_iter_close(iter);
	if (seen != n)
		errx(1, "cachex: a scan saw %ju of %ju", (uintmax_t)seen, (uintmax_t)n);
	return sum;
}

static uint64_t
scan_keys(void *handle, uint64_t n)
{
	return scan(handle, n, LC_BY_KEY, TOUCH);
}

static uint64_t
scan_keys_copy(void *handle, uint64_t n)
{
	return scan(handle, n, LC_BY_KEY, COPY_OUT);
}

static uint64_t
scan_commits(void *handle, uint64_t n)
{
	return scan(handle, n, LC_BY_COMMIT, TOUCH);
}

static uint64_t
scan_commits_listed(void *handle, uint64_t n)
{
	return scan(handle, n, LC_BY_COMMIT | LC_ITER_LISTED, TOUCH);
}

static uint64_t
scan_commits_copy(void *handle, uint64_t n)
{
	return scan(handle, n, LC_BY_COMMIT, COPY_OUT);
}

static uint64_t
scan_keys_sum(void *handle, uint64_t n)
{
	return scan(handle, n, LC_BY_KEY, SUM);
}

static uint64_t
scan_commits_sum(void *handle, uint64_t n)
{
	return scan(handle, n, LC_BY_COMMIT, SUM);
}

static double
cachex_pending(const struct load *load, const char *dir, uint64_t bytes)
{
	lc_cache *cache = open_module(dir, CHECK_ALL, UINT64_MAX);
	const double before = memory_private();
	double grown;

	for (uint64_t i = 0; i < bytes / load->size; i++)
		put_one(cache, lc_put, load, i);
	grown = memory_private() - before;
	lc_discard(cache);
	return grown;
}

const struct contender contender_cachex = {
	.name = "cachex",
	.steps = true,
	.verifies = true,
	.open = cachex_open,
	.close = cachex_close,
	.fill = cachex_fill,
	.read = {
		[GET_POINTER] = get_pointer,
		[GET] = get, /* always of the newest snapshot */
		[COPY] = copy,
		[BATCH] = batch,
		[BATCH_COPY] = batch_copy,
		[SCAN_KEYS] = scan_keys,
		[SCAN_COMMITS] = scan_commits,
		[SCAN_COMMITS_LISTED] = scan_commits_listed,
		[SCAN_KEYS_COPY] = scan_keys_copy,
		[SCAN_KEYS_SUM] = scan_keys_sum,
		[SCAN_COMMITS_COPY] = scan_commits_copy,
		[SCAN_COMMITS_SUM] = scan_commits_sum,
	},
	.pending = cachex_pending,
};

const struct contender contender_cachex_waiting = {
	.name = "cachex-w",
	.verifies = true,
	.threads = true,
	.open = cachex_open,
	.close = cachex_close,
	.fill = cachex_fill_waiting,
};
