/* SPDX-License-Identifier: BSD-2-Clause */
/* tkrzw's hash database: the file is synchronized with the device after each commit. */
#include "config.h"

#include "contender.h"

#ifdef HAVE_TKRZW
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <tkrzw_langc.h>

struct store {
	const struct load *load;
	TkrzwDBM *db;
};

static void
must(bool done)
{
	if (!done)
		errx(1, "tkrzw: %s", tkrzw_get_last_status_message());
}

static void *
tkrzw_open(const struct load *load, const char *dir, enum check check)
{
	struct store *store = calloc(1, sizeof(*store));
	char *path, *options;

	if (store == NULL || asprintf(&path, "%s/data.tkh", dir) < 0 ||
	    asprintf(&options, "dbm=HashDBM,offset_width=5,num_buckets=%ju",
	    (uintmax_t)(2 * load->samples)) < 0)
		err(1, NULL);
	(void)check; /* has none of its own by default */
	store->load = load;
	store->db = tkrzw_dbm_open(path, true, options);
	must(store->db != NULL);
	free(path);
	free(options);
	return store;
}

static void
tkrzw_close(void *handle)
{
	struct store *store = handle;

	must(tkrzw_dbm_close(store->db));
	free(store);
}

static void
tkrzw_fill(void *handle, uint64_t from, uint64_t to)
{
	struct store *store = handle;
	const struct load *load = store->load;

	while (from < to) {
		for (uint64_t n = 0; n < load->commit && from < to; n++, from++)
			must(tkrzw_dbm_set(store->db, load->keys[from], KEY_SIZE,
			    (const char *)load_value(load, from), (int32_t)load->size,
			    false));
		must(tkrzw_dbm_synchronize(store->db, true, NULL, NULL, ""));
	}
}

static uint64_t
copy(void *handle, uint64_t n)
{
	struct store *store = handle;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		int32_t size;
		char *value = tkrzw_dbm_get(store->db, key_in_order(store->load, i),
		    KEY_SIZE, &size);
		must(value != NULL);
		if ((size_t)size != store->load->size)
			errx(1, "tkrzw: a value of %d bytes", (int)size);
		sum += head_of(value);
		free(value);
	}
	return sum;
}

static uint64_t
scan(struct store *store, uint64_t n, enum use use)
{
	TkrzwDBMIter *iter = tkrzw_dbm_make_iterator(store->db);
	uint64_t sum = 0, seen = 0;
	int32_t key_size, size;
	char *key, *value;

	must(tkrzw_dbm_iter_first(iter));
	while (tkrzw_dbm_iter_step(iter, &key, &key_size, &value, &size)) {
		sum += used(use, NULL, value, (size_t)size);
		seen++;
		free(key);
		free(value);
	}
	tkrzw_dbm_iter_free(iter);
	if (seen != n)
		errx(1, "tkrzw: a scan saw %ju of %ju", (uintmax_t)seen, (uintmax_t)n);
	return sum;
}

static uint64_t
scan_commits(void *handle, uint64_t n)
{
	return scan(handle, n, TOUCH);
}

static uint64_t
scan_commits_sum(void *handle, uint64_t n)
{
	return scan(handle, n, SUM);
}

const struct contender contender_tkrzw = {
	.name = "tkrzw",
	.threads = true,
	.open = tkrzw_open,
	.close = tkrzw_close,
	.fill = tkrzw_fill,
	.read = {
		[COPY] = copy, /* to memory that tkrzw allocates */
		[BATCH_COPY] = copy,
		[SCAN_COMMITS] = scan_commits, /* in the order of the file */
		[SCAN_COMMITS_SUM] = scan_commits_sum,
	},
};
#else
const struct contender contender_tkrzw = { .name = "tkrzw" };
#endif
