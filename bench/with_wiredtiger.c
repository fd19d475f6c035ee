/* SPDX-License-Identifier: BSD-2-Clause */
/* WiredTiger: a table of a B-tree, a transaction a commit, its log synchronized. */
#include "config.h"

#include "contender.h"

#ifdef HAVE_WIREDTIGER
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <wiredtiger.h>

struct store {
	const struct load *load;
	WT_CONNECTION *connection;
	WT_SESSION *session;
	WT_CURSOR *cursor;
	unsigned char *copy; /* room for one value */
};

static void
must(int rc, const char *what)
{
	if (rc != 0)
		errx(1, "wiredtiger: %s: %s", what, wiredtiger_strerror(rc));
}

static void *
wired_open(const struct load *load, const char *dir, enum check check)
{
	struct store *store = calloc(1, sizeof(*store));
	/* All data fit its cache. */
	const uint64_t cache = 2 * load->samples * load->size + ((uint64_t)256 << 20);
	char *config;

	if (store == NULL || (store->copy = malloc(load->size)) == NULL ||
	    asprintf(&config, "create,cache_size=%ju,log=(enabled,prealloc=false),"
	    "transaction_sync=(enabled,method=fsync)", (uintmax_t)cache) < 0)
		err(1, NULL);
	(void)check; /* its checksums are those of blocks that are read from the file */
	store->load = load;
	must(wiredtiger_open(dir, NULL, config, &store->connection), dir);
	free(config);
	must(store->connection->open_session(store->connection, NULL, NULL,
	    &store->session), "session");
	must(store->session->create(store->session, "table:sample",
	    "key_format=u,value_format=u"), "create");
	must(store->session->open_cursor(store->session, "table:sample", NULL, NULL,
	    &store->cursor), "cursor");
	return store;
}

static void
wired_close(void *handle)
{
	struct store *store = handle;

	must(store->connection->close(store->connection, NULL), "close");
	free(store->copy);
	free(store);
}

static inline void
set_key(WT_CURSOR *cursor, const char *key)
{
	const WT_ITEM item = { .data = key, .size = KEY_SIZE };

	cursor->set_key(cursor, &item);
}

static void
wired_fill(void *handle, uint64_t from, uint64_t to)
{
	struct store *store = handle;
	const struct load *load = store->load;
	WT_SESSION *session = store->session;
	WT_CURSOR *cursor = store->cursor;

	while (from < to) {
		must(session->begin_transaction(session, NULL), "begin");
		for (uint64_t n = 0; n < load->commit && from < to; n++, from++) {
			const WT_ITEM value = { .data = load_value(load, from),
				.size = load->size };
			set_key(cursor, load->keys[from]);
			cursor->set_value(cursor, &value);
			must(cursor->insert(cursor), "insert");
		}
		must(session->commit_transaction(session, NULL), "commit");
	}
}

/* The value that the cursor is on, in WiredTiger's memory until the cursor moves. */
static WT_ITEM
value_of(const struct store *store)
{
	WT_ITEM value;

	must(store->cursor->get_value(store->cursor, &value), "value");
	if (value.size != store->load->size)
		errx(1, "wiredtiger: a value of %zu bytes", value.size);
	return value;
}

static uint64_t
read_keys(struct store *store, uint64_t n, enum use use)
{
	WT_CURSOR *cursor = store->cursor;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		WT_ITEM value;
		set_key(cursor, key_in_order(store->load, i));
		must(cursor->search(cursor), "search");
		value = value_of(store);
		sum += used(use, store->copy, value.data, value.size);
	}
	must(cursor->reset(cursor), "reset");
	return sum;
}

static uint64_t
get(void *handle, uint64_t n)
{
	return read_keys(handle, n, TOUCH);
}

static uint64_t
copy(void *handle, uint64_t n)
{
	return read_keys(handle, n, COPY_OUT);
}

static uint64_t
scan(struct store *store, uint64_t n, enum use use)
{
	WT_CURSOR *cursor = store->cursor;
	uint64_t sum = 0, seen = 0;
	int rc;

	must(cursor->reset(cursor), "reset");
	for (; (rc = cursor->next(cursor)) == 0; seen++) {
		const WT_ITEM value = value_of(store);
		sum += used(use, store->copy, value.data, value.size);
	}
	if (rc != WT_NOTFOUND)
		must(rc, "next");
	if (seen != n)
		errx(1, "wiredtiger: a scan saw %ju of %ju", (uintmax_t)seen,
		    (uintmax_t)n);
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

const struct contender contender_wiredtiger = {
	.name = "wiredtiger",
	.open = wired_open,
	.close = wired_close,
	.fill = wired_fill,
	.read = {
		[GET] = get,
		[COPY] = copy,
		[BATCH] = get,
		[BATCH_COPY] = copy,
		[SCAN_KEYS] = scan_keys,
		[SCAN_KEYS_SUM] = scan_keys_sum,
	},
};
#else
const struct contender contender_wiredtiger = { .name = "wiredtiger" };
#endif
