/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limit: a file that records are appended to, and a hash table in memory that is made
 * when the file is opened. Nothing is checked, nothing can be replaced.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "contender.h"

/* Records that one pwritev() takes: two parts each. */
#define AT_ONCE 512
/* How many records of a batch are fetched ahead of the one that is copied. */
#define AHEAD 8
#define LINE 64
#define FETCHED 4096 /* bytes of a record at most */

struct record {
	char key[KEY_SIZE];
	uint64_t size;
	unsigned char value[];
};

struct store {
	const struct load *load;
	int fd;
	uint64_t end;                /* of the file */
	const unsigned char *map;    /* of all that the file may come to */
	size_t mapped;
	uint64_t *table;             /* offsets of records, plus 1; 0: empty */
	uint64_t mask;               /* of the table's places */
	struct record *heads;        /* of the records that are written at once */
	unsigned char *copy;         /* room for the values of a batch */
};

static uint64_t
keys_of(const struct load *load)
{
	return load->samples + load->more * load->commit;
}

static uint64_t
hash_of(const char *key)
{
	const uint64_t mixed = (head_of(key) ^ head_of(key + 8) * 0x9E3779B97F4A7C15u) *
	    0xBF58476D1CE4E5B9u;

	return mixed ^ mixed >> 32;
}

static inline const struct record *
record_at(const struct store *store, uint64_t place)
{
	return (const struct record *)(store->map + place - 1);
}

static void
add(struct store *store, const char *key, uint64_t offset)
{
	uint64_t slot = hash_of(key) & store->mask;

	while (store->table[slot] != 0)
		slot = (slot + 1) & store->mask;
	store->table[slot] = offset + 1;
}

static void
read_table(struct store *store)
{
	for (uint64_t at = 0; at < store->end;) {
		const struct record *record = record_at(store, at + 1);
		add(store, record->key, at);
		at += sizeof(*record) + record->size;
	}
}

static void *
flat_open(const struct load *load, const char *dir, enum check check)
{
	struct store *store = calloc(1, sizeof(*store));
	uint64_t places = 16;
	struct stat st;
	char *path;

	(void)check; /* has no checksums */
	while (places < 2 * keys_of(load))
		places *= 2;
	if (store == NULL || asprintf(&path, "%s/flat", dir) < 0 ||
	    (store->table = calloc(places, sizeof(*store->table))) == NULL ||
	    (store->heads = calloc(AT_ONCE, sizeof(*store->heads))) == NULL ||
	    (store->copy = malloc(BATCH_SIZE * load->size)) == NULL)
		err(1, NULL);
	store->load = load;
	store->mask = places - 1;
	store->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (store->fd < 0 || fstat(store->fd, &st) != 0)
		err(1, "%s", path);
	store->end = (uint64_t)st.st_size;
	store->mapped = keys_of(load) * (sizeof(struct record) + load->size);
	store->map = mmap(NULL, store->mapped, PROT_READ, MAP_SHARED, store->fd, 0);
	if (store->map == MAP_FAILED)
		err(1, "%s", path);
	free(path);
	read_table(store);
	return store;
}

static void
flat_close(void *handle)
{
	struct store *store = handle;

	munmap((void *)store->map, store->mapped);
	close(store->fd);
	free(store->table);
	free(store->heads);
	free(store->copy);
	free(store);
}

static void
write_all(struct store *store, struct iovec *parts, int n)
{
	while (n > 0) {
		ssize_t done = pwritev(store->fd, parts, n, (off_t)store->end);
		if (done < 0)
			err(1, "flat: write");
		store->end += (uint64_t)done;
		for (; n > 0 && (size_t)done >= parts->iov_len; parts++, n--)
			done -= (ssize_t)parts->iov_len;
		if (n > 0) {
			parts->iov_base = (char *)parts->iov_base + done;
			parts->iov_len -= (size_t)done;
		}
	}
}

/* Append samples from..to-1, AT_ONCE of them at most. */
static void
append(struct store *store, uint64_t from, uint64_t to)
{
	const struct load *load = store->load;
	const uint64_t step = sizeof(struct record) + load->size;
	struct iovec parts[2 * AT_ONCE];
	int n = 0;

	for (uint64_t i = from; i < to; i++) {
		struct record *head = &store->heads[i - from];
		memcpy(head->key, load->keys[i], KEY_SIZE);
		head->size = load->size;
		add(store, head->key, store->end + (i - from) * step);
		parts[n++] = (struct iovec){ head, sizeof(*head) };
		parts[n++] = (struct iovec){ (void *)load_value(load, i), load->size };
	}
	write_all(store, parts, n);
}

static void
flat_fill(void *handle, uint64_t from, uint64_t to)
{
	struct store *store = handle;

	while (from < to) {
		uint64_t end = from + store->load->commit;
		for (end = end < to ? end : to; from < end;) {
			const uint64_t next = end - from < AT_ONCE ? end : from + AT_ONCE;
			append(store, from, next);
			from = next;
		}
		if (fdatasync(store->fd) != 0)
			err(1, "flat: sync");
	}
}

/* The record of a key, looked for from a place of the table on. */
static const struct record *
find(const struct store *store, const char *key, uint64_t slot)
{
	for (; store->table[slot] != 0; slot = (slot + 1) & store->mask) {
		const struct record *record = record_at(store, store->table[slot]);
		if (memcmp(record->key, key, KEY_SIZE) == 0)
			return record;
	}
	errx(1, "flat: a key is not there");
}

static const struct record *
get_one(const struct store *store, uint64_t i)
{
	const char *key = key_in_order(store->load, i);

	return find(store, key, hash_of(key) & store->mask);
}

static uint64_t
get(void *handle, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += head_of(get_one(handle, i)->value);
	return sum;
}

static uint64_t
copy(void *handle, uint64_t n)
{
	struct store *store = handle;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		const struct record *record = get_one(store, i);
		sum += head_of(memcpy(store->copy, record->value, record->size));
	}
	return sum;
}

/* The record that most likely is the one of a place, on its way to the caches. */
static void
fetch(const struct store *store, uint64_t slot, size_t size)
{
	const unsigned char *record;

	if (store->table[slot] == 0)
		return;
	record = (const unsigned char *)record_at(store, store->table[slot]);
	for (size_t at = 0; at < size; at += LINE)
		__builtin_prefetch(record + at);
}

static uint64_t
batch_of(struct store *store, uint64_t n, bool copied)
{
	const size_t size = store->load->size;
	const size_t fetched = !copied ? LINE : size < FETCHED ? size : FETCHED;
	uint64_t slots[BATCH_SIZE], sum = 0;

	for (uint64_t i = 0; i < n; i += BATCH_SIZE) {
		const unsigned count = n - i < BATCH_SIZE ? (unsigned)(n - i) : BATCH_SIZE;
		for (unsigned k = 0; k < count; k++) {
			slots[k] = hash_of(key_in_order(store->load, i + k)) & store->mask;
			__builtin_prefetch(&store->table[slots[k]]);
		}
		for (unsigned k = 0; k < AHEAD && k < count; k++)
			fetch(store, slots[k], fetched);
		for (unsigned k = 0; k < count; k++) {
			const char *key = key_in_order(store->load, i + k);
			const void *value;
			if (k + AHEAD < count)
				fetch(store, slots[k + AHEAD], fetched);
			value = find(store, key, slots[k])->value;
			if (copied)
				value = memcpy(store->copy + k * size, value, size);
			sum += head_of(value);
		}
	}
	return sum;
}

static uint64_t
batch(void *handle, uint64_t n)
{
	return batch_of(handle, n, false);
}

static uint64_t
batch_copy(void *handle, uint64_t n)
{
	return batch_of(handle, n, true);
}

static uint64_t
scan(struct store *store, uint64_t n, enum use use)
{
	uint64_t sum = 0, seen = 0;

	for (uint64_t at = 0; at < store->end; seen++) {
		const struct record *record = record_at(store, at + 1);
		sum += used(use, store->copy, record->value, record->size);
		at += sizeof(*record) + record->size;
	}
	if (seen != n)
		errx(1, "flat: a scan saw %ju of %ju", (uintmax_t)seen, (uintmax_t)n);
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

const struct contender contender_flat = {
	.name = "flat",
	.open = flat_open,
	.close = flat_close,
	.fill = flat_fill,
	.read = {
		[GET] = get,
		[COPY] = copy,
		[BATCH] = batch,
		[BATCH_COPY] = batch_copy,
		[SCAN_COMMITS] = scan_commits,
		[SCAN_COMMITS_SUM] = scan_commits_sum,
	},
};
