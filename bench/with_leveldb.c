/* SPDX-License-Identifier: BSD-2-Clause */
/* LevelDB: a batch a commit, written with sync; no compression, a Bloom filter. */
#include "config.h"

#include "contender.h"

#ifdef HAVE_LEVELDB
#include <err.h>
#include <leveldb/c.h>
#include <stdlib.h>

struct store {
	const struct load *load;
	leveldb_options_t *options;
	leveldb_filterpolicy_t *filter;
	leveldb_writeoptions_t *write;
	leveldb_readoptions_t *read;
	leveldb_t *db;
};

static void
must(const char *error)
{
	if (error != NULL)
		errx(1, "leveldb: %s", error);
}

static void *
level_open(const struct load *load, const char *dir, enum check check)
{
	struct store *store = calloc(1, sizeof(*store));
	char *error = NULL;

	if (store == NULL)
		err(1, NULL);
	(void)check; /* its checksums stay off */
	store->load = load;
	store->options = leveldb_options_create();
	store->filter = leveldb_filterpolicy_create_bloom(10);
	store->write = leveldb_writeoptions_create();
	store->read = leveldb_readoptions_create();
	leveldb_options_set_create_if_missing(store->options, 1);
	leveldb_options_set_compression(store->options, leveldb_no_compression);
	leveldb_options_set_filter_policy(store->options, store->filter);
	leveldb_writeoptions_set_sync(store->write, 1);
	store->db = leveldb_open(store->options, dir, &error);
	must(error);
	return store;
}

static void
level_close(void *handle)
{
	struct store *store = handle;

	leveldb_close(store->db);
	leveldb_readoptions_destroy(store->read);
	leveldb_writeoptions_destroy(store->write);
	leveldb_options_destroy(store->options);
	leveldb_filterpolicy_destroy(store->filter);
	free(store);
}

static void
level_fill(void *handle, uint64_t from, uint64_t to)
{
	struct store *store = handle;
	const struct load *load = store->load;
	leveldb_writebatch_t *commit = leveldb_writebatch_create();
	char *error = NULL;

	while (from < to) {
		for (uint64_t n = 0; n < load->commit && from < to; n++, from++)
			leveldb_writebatch_put(commit, load->keys[from], KEY_SIZE,
			    (const char *)load_value(load, from), load->size);
		leveldb_write(store->db, store->write, commit, &error);
		must(error);
		leveldb_writebatch_clear(commit);
	}
	leveldb_writebatch_destroy(commit);
}

static uint64_t
copy(void *handle, uint64_t n)
{
	struct store *store = handle;
	char *error = NULL;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		size_t size = 0;
		char *value = leveldb_get(store->db, store->read,
		    key_in_order(store->load, i), KEY_SIZE, &size, &error);
		must(error);
		if (size != store->load->size)
			errx(1, "leveldb: a value of %zu bytes", size);
		sum += head_of(value);
		leveldb_free(value);
	}
	return sum;
}

static uint64_t
scan(struct store *store, uint64_t n, enum use use)
{
	leveldb_iterator_t *iter = leveldb_create_iterator(store->db, store->read);
	char *error = NULL;
	uint64_t sum = 0, seen = 0;

	for (leveldb_iter_seek_to_first(iter); leveldb_iter_valid(iter);
	    leveldb_iter_next(iter), seen++) {
		size_t size;
		const char *value = leveldb_iter_value(iter, &size);
		sum += used(use, NULL, value, size);
	}
	leveldb_iter_get_error(iter, &error);
	must(error);
	leveldb_iter_destroy(iter);
	if (seen != n)
		errx(1, "leveldb: a scan saw %ju of %ju", (uintmax_t)seen, (uintmax_t)n);
	return sum;
}

static uint64_t
scan_keys(void *handle, uint64_t n)
{
	return scan(handle, n, TOUCH);
}

static uint64_t
scan_keys_sum(void *handle, uint64_t n)
{
	return scan(handle, n, SUM);
}

const struct contender contender_leveldb = {
	.name = "leveldb",
	.threads = true,
	.open = level_open,
	.close = level_close,
	.fill = level_fill,
	.read = {
		[COPY] = copy, /* to memory that LevelDB allocates */
		[BATCH_COPY] = copy,
		[SCAN_KEYS] = scan_keys,
		[SCAN_KEYS_SUM] = scan_keys_sum,
	},
};
#else
const struct contender contender_leveldb = { .name = "leveldb" };
#endif
