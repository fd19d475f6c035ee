/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kyoto Cabinet's hash database: the file is synchronized with the device after each commit
 * (a transaction that is synchronized does so several times a record).
 */
#include "config.h"

#include "contender.h"

#ifdef HAVE_KYOTO
#include <err.h>
#include <kclangc.h>
#include <stdio.h>
#include <stdlib.h>

struct store {
	const struct load *load;
	KCDB *db;
	unsigned char *copy; /* room for one value */
};

static void
must(const struct store *store, bool done)
{
	if (!done)
		errx(1, "kyoto: %s", kcdbemsg(store->db));
}

static void *
kyoto_open(const struct load *load, const char *dir, enum check check)
{
	struct store *store = calloc(1, sizeof(*store));
	const uint64_t payload = load->samples * load->size;
	char *path;

	/* The map is of all data: what is beyond it would be read by system calls. */
	if (store == NULL || (store->copy = malloc(load->size)) == NULL ||
	    asprintf(&path, "%s/data.kch#opts=l#bnum=%ju#msiz=%ju", dir,
	    (uintmax_t)(2 * load->samples), (uintmax_t)(payload + payload / 8)) < 0)
		err(1, NULL);
	(void)check; /* has no checksums */
	store->load = load;
	store->db = kcdbnew();
	must(store, kcdbopen(store->db, path, KCOWRITER | KCOCREATE));
	free(path);
	return store;
}

static void
kyoto_close(void *handle)
{
	struct store *store = handle;

	must(store, kcdbclose(store->db));
	kcdbdel(store->db);
	free(store->copy);
	free(store);
}

static void
kyoto_fill(void *handle, uint64_t from, uint64_t to)
{
	struct store *store = handle;
	const struct load *load = store->load;

	while (from < to) {
		for (uint64_t n = 0; n < load->commit && from < to; n++, from++)
			must(store, kcdbset(store->db, load->keys[from], KEY_SIZE,
			    (const char *)load_value(load, from), load->size));
		must(store, kcdbsync(store->db, true, NULL, NULL));
	}
}

static uint64_t
copy(void *handle, uint64_t n)
{
	struct store *store = handle;
	const size_t size = store->load->size;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		const int32_t got = kcdbgetbuf(store->db, key_in_order(store->load, i),
		    KEY_SIZE, (char *)store->copy, size);
		if (got < 0 || (size_t)got != size)
			errx(1, "kyoto: a value of %d bytes", (int)got);
		sum += head_of(store->copy);
	}
	return sum;
}

static uint64_t
scan(struct store *store, uint64_t n, enum use use)
{
	KCCUR *cursor = kcdbcursor(store->db);
	uint64_t sum = 0, seen = 0;
	size_t key_size, size;
	const char *value;
	char *key;

	must(store, kccurjump(cursor));
	while ((key = kccurget(cursor, &key_size, &value, &size, true)) != NULL) {
		sum += used(use, store->copy, value, size);
		seen++;
		kcfree(key);
	}
	kccurdel(cursor);
	if (seen != n)
		errx(1, "kyoto: a scan saw %ju of %ju", (uintmax_t)seen, (uintmax_t)n);
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

const struct contender contender_kyoto = {
	.name = "kyoto",
	.threads = true,
	.open = kyoto_open,
	.close = kyoto_close,
	.fill = kyoto_fill,
	.read = {
		[COPY] = copy,
		[BATCH_COPY] = copy,
		[SCAN_COMMITS] = scan_commits, /* in the order of the file */
		[SCAN_COMMITS_SUM] = scan_commits_sum,
	},
};
#else
const struct contender contender_kyoto = { .name = "kyoto" };
#endif
