/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RocksDB, values in blob files: a batch a commit, written with sync; no compression, a
 * Bloom filter.
 */
#include "config.h"

#include "contender.h"

#ifdef HAVE_ROCKSDB
#include <err.h>
#include <rocksdb/c.h>
#include <stdlib.h>

#define BLOB_FROM 1024 /* bytes of a value */

struct store {
	const struct load *load;
	rocksdb_options_t *options;
	rocksdb_writeoptions_t *write;
	rocksdb_readoptions_t *read;
	rocksdb_t *db;
};

static void
must(const char *error)
{
	if (error != NULL)
		errx(1, "rocksdb: %s", error);
}

static rocksdb_options_t *
make_options(void)
{
	rocksdb_options_t *options = rocksdb_options_create();
	rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();

	rocksdb_options_set_create_if_missing(options, 1);
	rocksdb_options_set_compression(options, rocksdb_no_compression);
	rocksdb_options_set_enable_blob_files(options, 1);
	rocksdb_options_set_min_blob_size(options, BLOB_FROM);
	rocksdb_block_based_options_set_filter_policy(table,
	    rocksdb_filterpolicy_create_bloom(10));
	rocksdb_options_set_block_based_table_factory(options, table);
	rocksdb_block_based_options_destroy(table);
	return options;
}

static void *
rocks_open(const struct load *load, const char *dir, enum check check)
{
	struct store *store = calloc(1, sizeof(*store));
	char *error = NULL;

	if (store == NULL)
		err(1, NULL);
	store->load = load;
	store->options = make_options();
	store->write = rocksdb_writeoptions_create();
	store->read = rocksdb_readoptions_create();
	rocksdb_writeoptions_set_sync(store->write, 1);
	(void)check; /* its checksums are those of blocks and stay off */
	rocksdb_readoptions_set_verify_checksums(store->read, 0);
	store->db = rocksdb_open(store->options, dir, &error);
	must(error);
	return store;
}

static void
rocks_close(void *handle)
{
	struct store *store = handle;

	rocksdb_close(store->db);
	rocksdb_readoptions_destroy(store->read);
	rocksdb_writeoptions_destroy(store->write);
	rocksdb_options_destroy(store->options);
	free(store);
}

static void
rocks_fill(void *handle, uint64_t from, uint64_t to)
{
	struct store *store = handle;
	const struct load *load = store->load;
	rocksdb_writebatch_t *commit = rocksdb_writebatch_create();
	char *error = NULL;

	while (from < to) {
		for (uint64_t n = 0; n < load->commit && from < to; n++, from++)
			rocksdb_writebatch_put(commit, load->keys[from], KEY_SIZE,
			    (const char *)load_value(load, from), load->size);
		rocksdb_write(store->db, store->write, commit, &error);
		must(error);
		rocksdb_writebatch_clear(commit);
	}
	rocksdb_writebatch_destroy(commit);
}

/* Add up a value that the library allocated, and free it. */
static uint64_t
taken(const struct store *store, char *value, size_t size)
{
	uint64_t head;

	if (value == NULL || size != store->load->size)
		errx(1, "rocksdb: a value of %zu bytes", size);
	head = head_of(value);
	rocksdb_free(value);
	return head;
}

static uint64_t
copy(void *handle, uint64_t n)
{
	struct store *store = handle;
	char *error = NULL;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		size_t size = 0;
		char *value = rocksdb_get(store->db, store->read,
		    key_in_order(store->load, i), KEY_SIZE, &size, &error);
		must(error);
		sum += taken(store, value, size);
	}
	return sum;
}

static uint64_t
batch_copy(void *handle, uint64_t n)
{
	struct store *store = handle;
	const char *keys[BATCH_SIZE];
	char *values[BATCH_SIZE], *errors[BATCH_SIZE];
	size_t key_sizes[BATCH_SIZE], sizes[BATCH_SIZE];
	uint64_t sum = 0;

	for (unsigned k = 0; k < BATCH_SIZE; k++)
		key_sizes[k] = KEY_SIZE;
	for (uint64_t i = 0; i < n; i += BATCH_SIZE) {
		const unsigned count = n - i < BATCH_SIZE ? (unsigned)(n - i) : BATCH_SIZE;
		for (unsigned k = 0; k < count; k++)
			keys[k] = key_in_order(store->load, i + k);
		rocksdb_multi_get(store->db, store->read, count, keys, key_sizes, values,
		    sizes, errors);
		for (unsigned k = 0; k < count; k++) {
			must(errors[k]);
			sum += taken(store, values[k], sizes[k]);
		}
	}
	return sum;
}

static uint64_t
scan(struct store *store, uint64_t n, enum use use)
{
	rocksdb_iterator_t *iter = rocksdb_create_iterator(store->db, store->read);
	char *error = NULL;
	uint64_t sum = 0, seen = 0;

	for (rocksdb_iter_seek_to_first(iter); rocksdb_iter_valid(iter);
	    rocksdb_iter_next(iter), seen++) {
		size_t size;
		const char *value = rocksdb_iter_value(iter, &size);
		sum += used(use, NULL, value, size);
	}
	rocksdb_iter_get_error(iter, &error);
	must(error);
	rocksdb_iter_destroy(iter);
	if (seen != n)
		errx(1, "rocksdb: a scan saw %ju of %ju", (uintmax_t)seen, (uintmax_t)n);
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

const struct contender contender_rocksdb = {
	.name = "rocksdb",
	.threads = true,
	.open = rocks_open,
	.close = rocks_close,
	.fill = rocks_fill,
	.read = {
		[COPY] = copy, /* to memory that RocksDB allocates */
		[BATCH_COPY] = batch_copy,
		[SCAN_KEYS] = scan_keys,
		[SCAN_KEYS_SUM] = scan_keys_sum,
	},
};
#else
const struct contender contender_rocksdb = { .name = "rocksdb" };
#endif
