/* SPDX-License-Identifier: BSD-2-Clause */
/* Verifying once: what was verified is known, and nothing else is. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "run.h"
#include "store/once.h"

/* A record with one checksum, and one with a table of parts and of blocks. */
static const size_t sizes[] = { 2048, 200000 };
#define LONGEST 200000

static const char *root;
static unsigned char bytes[LONGEST], copy[LONGEST];

static lc_cache *
open_with(int verify)
{
	lc_options options;
	lc_cache *cache;

	lc_options_init(&options);
	options.verify = verify;
	options.durability = LC_DURABLE_RELAXED;
	ck_assert_int_eq(lc_open(root, "m", &options, &cache), LC_OK);
	return cache;
}

/* The bytes of record @p i. */
static void
fill(size_t size, unsigned i)
{
	uint64_t state = 1000 + i;

	for (size_t at = 0; at < size; at++)
		bytes[at] = (unsigned char)run_random(&state);
}

static void
put(lc_cache *cache, const char *id, size_t size, unsigned i)
{
	const uint64_t shape[] = { size };
	lc_tensor tensor;

	fill(size, i);
	ck_assert_int_eq(lc_tensor_init(&tensor, LC_U8, 1, shape, bytes), LC_OK);
	ck_assert_int_eq(lc_put(cache, id, strlen(id), &tensor), LC_OK);
}

/* Flip a byte of every place in the file that has the bytes of a record. */
static void
flip(size_t size, unsigned i, size_t byte)
{
	char path[4200];
	struct stat st;
	unsigned char *file, *at;
	unsigned found = 0;
	int fd;

	fill(size, i);
	snprintf(path, sizeof(path), "%s/m/data.mdb", root);
	fd = open(path, O_RDWR);
	ck_assert_int_eq(fstat(fd, &st), 0);
	file = malloc((size_t)st.st_size);
	ck_assert_int_eq(pread(fd, file, (size_t)st.st_size, 0), st.st_size);
	for (at = file; (at = memmem(at, (size_t)(file + st.st_size - at), bytes, 64)) != NULL;
	     at += 64, found++) {
		const unsigned char other = at[byte] ^ 1;

		ck_assert_int_eq(pwrite(fd, &other, 1, at + byte - file), 1);
	}
	ck_assert_uint_gt(found, 0);
	close(fd);
	free(file);
}

/* What a view of record @p i says, and the ways to copy it. */
static void
expect_read(lc_cache *cache, const char *id, lc_status want)
{
	const lc_id one = { id, strlen(id) };
	lc_status status;
	lc_tensor out;
	lc_view view;

	ck_assert_int_eq(lc_get(cache, id, strlen(id), &view), want);
	lc_view_release(&view);
	ck_assert_int_eq(lc_get_batch(cache, 1, &one, &view, NULL, NULL), want);
	if (want == LC_OK) {
		out = view.tensor;
		ck_assert_int_eq(lc_gather(cache, 1, &one, NULL, &out, copy, sizeof(copy), 1,
				     &status, NULL), LC_OK);
	}
	lc_view_release(&view);
	ck_assert_int_eq(lc_get_into(cache, id, strlen(id), copy, sizeof(copy), &out), want);
}

/* Damage before the first read is found, by each read. */
START_TEST(damaged_before)
{
	const size_t size = sizes[_i / 3], byte = (size_t)(_i % 3) * (size - 1) / 2;
	lc_cache *cache = open_with(LC_VERIFY_ONCE);

	put(cache, "a", size, 1);
	put(cache, "b", size, 2);
	ck_assert_int_eq(lc_flush(cache), LC_OK);
	flip(size, 1, byte);
	expect_read(cache, "b", LC_OK);
	expect_read(cache, "a", LC_CORRUPT);
	expect_read(cache, "a", LC_CORRUPT);
	expect_read(cache, "b", LC_OK);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* Damage after it is not, until the module is opened anew; a handle that verifies always
 * finds it, and so does a walk. */
START_TEST(damaged_after)
{
	const size_t size = sizes[_i];
	lc_cache *cache = open_with(LC_VERIFY_ONCE), *strict;
	lc_iter *iter;
	lc_item item;

	put(cache, "a", size, 1);
	ck_assert_int_eq(lc_flush(cache), LC_OK);
	expect_read(cache, "a", LC_OK);
	flip(size, 1, 100);
	expect_read(cache, "a", LC_OK);
	fill(size, 1);
	bytes[100] ^= 1;
	ck_assert_mem_eq(copy, bytes, size);
	strict = open_with(LC_VERIFY_ALWAYS);
	expect_read(strict, "a", LC_CORRUPT);
	ck_assert_int_eq(lc_iter_open(cache, LC_BY_KEY, NULL, 0, &iter), LC_OK);
	ck_assert_int_eq(lc_iter_next(iter, &item), LC_CORRUPT);
	lc_iter_close(iter);
	expect_read(cache, "a", LC_OK);
	ck_assert_int_eq(lc_close(strict), LC_OK);
	ck_assert_int_eq(lc_close(cache), LC_OK);
	cache = open_with(LC_VERIFY_ONCE);
	expect_read(cache, "a", LC_CORRUPT);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

static uint64_t
chunk_of(lc_cache *cache, const char *id)
{
	lc_iter *iter;
	lc_item item;

	ck_assert_int_eq(lc_iter_open(cache, LC_BY_KEY | LC_ITER_LISTED, id, strlen(id), &iter),
	    LC_OK);
	ck_assert_int_eq(lc_iter_next(iter, &item), LC_OK);
	lc_iter_close(iter);
	return item.chunk;
}

/* A chunk is rewritten in its place: its first record has the same id of a chunk, the same
 * offset and the same checksum as before, but it was written again, and is verified again. */
START_TEST(rewritten)
{
	enum { n = 40 };
	const size_t size = 65000;
	lc_cache *cache = open_with(LC_VERIFY_ONCE);
	uint64_t chunk;
	char id[16];

	put(cache, "a", size, 0);
	for (unsigned i = 1; i < n; i++) {
		snprintf(id, sizeof(id), "b%u", i);
		put(cache, id, size, i);
	}
	ck_assert_int_eq(lc_flush(cache), LC_OK);
	chunk = chunk_of(cache, "a");
	expect_read(cache, "a", LC_OK);
	for (unsigned i = 1; i < n; i++) {
		snprintf(id, sizeof(id), "b%u", i);
		put(cache, id, 64, i);
	}
	ck_assert_int_eq(lc_flush(cache), LC_OK);
	/* A commit that finds the chunk sparse rewrites it. */
	put(cache, "c", 64, 1);
	ck_assert_int_eq(lc_flush(cache), LC_OK);
	ck_assert_uint_eq(chunk_of(cache, "a"), chunk);
	flip(size, 0, 30000);
	expect_read(cache, "a", LC_CORRUPT);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

START_TEST(unknown_mode)
{
	lc_options options;
	lc_cache *cache;

	lc_options_init(&options);
	ck_assert_int_eq(options.verify, LC_VERIFY_ALWAYS);
	options.verify = _i == 0 ? -1 : LC_VERIFY_ONCE + 1;
	ck_assert_int_eq(lc_open(root, "m", &options, &cache), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "open: option verify: unknown mode");
}
END_TEST

/* ---- the set -------------------------------------------------------------- */

static const unsigned char page[8];

START_TEST(other_chunks)
{
	struct lc__once *once = lc__once_new();
	struct lc__snapshot *s = calloc(1, sizeof(*s));
	struct lc__mapped_chunk chunk = { .id = 5, .records = 7 };
	struct lc__once_seen seen = lc__seen_of(once, s, &chunk), other;

	ck_assert(!lc__seen_before(&seen, page, 1));
	lc__seen_note(&seen, page, 1);
	ck_assert(lc__seen_before(&seen, page, 1));
	ck_assert(!lc__seen_before(&seen, page, 2));
	ck_assert(!lc__seen_before(&seen, page + 1, 1));
	chunk.records = 6;
	other = lc__seen_of(once, s, &chunk);
	ck_assert(!lc__seen_before(&other, page, 1));
	chunk = (struct lc__mapped_chunk){ .id = 6, .records = 7 };
	other = lc__seen_of(once, s, &chunk);
	ck_assert(!lc__seen_before(&other, page, 1));
	chunk.id = 5;
	s->map_version = 1;
	other = lc__seen_of(once, s, &chunk);
	ck_assert(!lc__seen_before(&other, page, 1));
	s->map_version = 0;
	other = lc__seen_of(once, s, &chunk);
	ck_assert(lc__seen_before(&other, page, 1));
	lc__once_forget(once);
	other = lc__seen_of(once, s, &chunk);
	ck_assert(!lc__seen_before(&other, page, 1));
	other.once = NULL;
	lc__seen_note(&other, page, 1);
	ck_assert(!lc__seen_before(&other, page, 1));
	lc__once_free(once);
	free(s);
}
END_TEST

#define KEYS 20000u

/* An address that is not read. */
static const void *
record(uint64_t i)
{
	return (const void *)(uintptr_t)(4096 + 64 * i);
}

static void *
note_all(void *ctx)
{
	const struct lc__once_seen *seen = ctx;

	for (uint64_t i = 0; i < KEYS; i++) {
		lc__seen_note(seen, record(i), i);
		ck_assert(!lc__seen_before(seen, record(i), KEYS + i));
		ck_assert(!lc__seen_before(seen, record(KEYS + i), i));
	}
	return NULL;
}

/* The table grows while threads use it: nothing shows up that was not noted, and little is
 * lost. */
START_TEST(threads)
{
	struct lc__once *once = lc__once_new();
	struct lc__snapshot *s = calloc(1, sizeof(*s));
	const struct lc__mapped_chunk chunk = { .id = 1 };
	struct lc__once_seen seen = lc__seen_of(once, s, &chunk);
	pthread_t thread[4];
	unsigned known = 0;

	for (unsigned t = 0; t < 4; t++)
		ck_assert_int_eq(pthread_create(&thread[t], NULL, note_all, &seen), 0);
	for (unsigned t = 0; t < 4; t++)
		ck_assert_int_eq(pthread_join(thread[t], NULL), 0);
	(void)note_all(&seen);
	for (uint64_t i = 0; i < KEYS; i++)
		known += lc__seen_before(&seen, record(i), i);
	ck_assert_uint_ge(known, KEYS * 9 / 10);
	lc__once_free(once);
	free(s);
}
END_TEST

static void
begin(void)
{
	root = run_scratch();
}

int
main(void)
{
	Suite *suite = suite_create("once");
	TCase *tc = tcase_create("once");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_add_loop_test(tc, damaged_before, 0, 6);
	tcase_add_loop_test(tc, damaged_after, 0, 2);
	tcase_add_test(tc, rewritten);
	tcase_add_loop_test(tc, unknown_mode, 0, 2);
	tcase_add_test(tc, other_chunks);
	tcase_add_test(tc, threads);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
