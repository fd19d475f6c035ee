/* SPDX-License-Identifier: BSD-2-Clause */
/* Verifying once: what was verified is known, and nothing else is. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "index/run_build.h"
#include "lmdbcache.h"
#include "run.h"
#include "store/cache.h"
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

/* Flip a byte in every place of the file that has these 64 bytes. */
static void
flip_bytes(const char *module, const unsigned char *wanted, size_t byte)
{
	char path[4200];
	struct stat st;
	unsigned char *file, *at;
	unsigned found = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/%s/data.mdb", root, module);
	fd = open(path, O_RDWR);
	ck_assert_int_eq(fstat(fd, &st), 0);
	file = malloc((size_t)st.st_size);
	ck_assert_int_eq(pread(fd, file, (size_t)st.st_size, 0), st.st_size);
	for (at = file; (at = memmem(at, (size_t)(file + st.st_size - at), wanted, 64)) != NULL;
	     at += 64, found++) {
		const unsigned char other = at[byte] ^ 1;

		ck_assert_int_eq(pwrite(fd, &other, 1, at + byte - file), 1);
	}
	ck_assert_uint_gt(found, 0);
	close(fd);
	free(file);
}

/* The same with those of a record. */
static void
flip(const char *module, size_t size, unsigned i, size_t byte)
{
	fill(size, i);
	flip_bytes(module, bytes, byte);
}

/* Flip a bit of the check of the bucket of a cache_id in the oldest run of the index, and say
 * where its table is. */
static const void *
flip_bucket(lc_cache *cache, const char *id)
{
	const uint64_t hash = lc__run_hash(lc__env_seed(cache->env), id, strlen(id));
	unsigned char bucket[LC__RUN_BUCKET];
	struct lc__snapshot *s;
	const void *table;

	ck_assert_int_eq(lc__snapshot_take(cache->env, &s), LC_OK);
	memcpy(bucket, lc__run_bucket(&s->runs[0], hash), sizeof(bucket));
	table = s->runs[0].table;
	lc__snapshot_give(s, 0);
	flip_bytes("m", bucket, LC__RUN_BUCKET - 4);
	return table;
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
	flip("m", size, 1, byte);
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
	flip("m", size, 1, 100);
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
	flip("m", size, 0, 30000);
	expect_read(cache, "a", LC_CORRUPT);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* ---- the index ------------------------------------------------------------ */

/* What the ways to look a cache_id up say, by its bucket of the index. */
static void
expect_found(lc_cache *cache, const char *id, lc_status want)
{
	const lc_id one = { id, strlen(id) };
	size_t missing;

	expect_read(cache, id, want);
	ck_assert_int_eq(lc_contains(cache, id, strlen(id)), want);
	ck_assert_int_eq(lc_contains_batch(cache, 1, &one, NULL, &missing), want);
	if (want == LC_OK)
		ck_assert_uint_eq(missing, 0);
}

static void
put_many(lc_cache *cache, unsigned n)
{
	char id[16];

	for (unsigned i = 0; i < n; i++) {
		snprintf(id, sizeof(id), "k%u", i);
		put(cache, id, 64, i);
	}
	ck_assert_int_eq(lc_flush(cache), LC_OK);
}

/* A damaged bucket is found by a handle that has not read it before. */
START_TEST(bucket_damaged_before)
{
	lc_cache *cache = open_with(LC_VERIFY_ONCE);

	put_many(cache, 2000);
	(void)flip_bucket(cache, "k7");
	expect_found(cache, "k8", LC_OK);
	expect_found(cache, "k7", LC_CORRUPT);
	expect_found(cache, "k7", LC_CORRUPT);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* One that has does not see it, also after commits that leave the bucket alone; a handle
 * that always verifies does, and one of a process that opens the module anew. */
START_TEST(bucket_damaged_after)
{
	lc_cache *cache = open_with(LC_VERIFY_ONCE), *strict;

	put_many(cache, 2000);
	expect_found(cache, "k7", LC_OK);
	(void)flip_bucket(cache, "k7");
	expect_found(cache, "k7", LC_OK);
	put(cache, "new", 64, 1);
	ck_assert_int_eq(lc_flush(cache), LC_OK);
	expect_found(cache, "k7", LC_OK);
	expect_found(cache, "new", LC_OK);
	strict = open_with(LC_VERIFY_ALWAYS);
	expect_found(strict, "k7", LC_CORRUPT);
	expect_found(cache, "k7", LC_OK);
	ck_assert_int_eq(lc_close(strict), LC_OK);
	ck_assert_int_eq(lc_close(cache), LC_OK);
	cache = open_with(LC_VERIFY_ONCE);
	expect_found(cache, "k7", LC_CORRUPT);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* Commits that write a bucket again, because they merge its run or share its page, are not
 * trusted, even where it comes back to the place that it had when it was verified. */
START_TEST(bucket_rewritten)
{
	enum { rounds = 60 };
	lc_cache *cache = open_with(LC_VERIFY_ONCE);
	const void *before = NULL, *now;
	unsigned same = 0, commits = 0;
	char id[16];

	put(cache, "a", 64, 0);
	ck_assert_int_eq(lc_flush(cache), LC_OK);
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned n = 0; n < 1 + i % 4; n++) {
			snprintf(id, sizeof(id), "b%u", commits++);
			put(cache, id, 64, 1);
			ck_assert_int_eq(lc_flush(cache), LC_OK);
		}
		now = flip_bucket(cache, "a");
		same += now == before;
		expect_found(cache, "a", LC_CORRUPT);
		before = flip_bucket(cache, "a");
		expect_found(cache, "a", LC_OK);
	}
	ck_assert_uint_gt(same, 0);
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

/* ---- sources and their readers ------------------------------------------- */

/* What a source reads: module "m" alone, windows of it, and its records with those of "p". */
enum { ALONE, WINDOWS, JOINED, SOURCES };

/* The unit of windows is a byte; a window of the long records has one of several blocks. */
static uint64_t
window_of(size_t size)
{
	return size / 4;
}

static lc_source *
open_source(int kind, lc_cache *cache, lc_cache *partner, lc_verify_mode verify)
{
	const lc_join both[] = { { "m", cache }, { "p", partner } };
	lc_source_options options;
	lc_source *source;

	lc_source_options_init(&options);
	ck_assert_int_eq(options.verify, LC_VERIFY_ONCE);
	options.verify = verify;
	if (kind == WINDOWS)
		options.length_field = ".";
	ck_assert_int_eq(kind == JOINED ? lc_source_open_join(both, 2, LC_MISSING_REFUSE,
						&options, &source)
					: lc_source_open_module(cache, &options, &source),
	    LC_OK);
	return source;
}

/* Read the one record of a source by a reader; copy gets what the field has. */
static lc_status
read_stream(lc_source *source, int kind, const char *field, int views, size_t size)
{
	lc_stream_options how;
	lc_reader_options options;
	const lc_batch *batch;
	lc_stream *stream;
	lc_reader *reader;
	lc_status status;
	size_t at = 0;

	lc_stream_options_init(&how);
	how.epochs = 1;
	how.batch = 1;
	if (kind == WINDOWS)
		how.window = window_of(size);
	ck_assert_int_eq(lc_stream_open(&source, 1, &how, &stream), LC_OK);
	lc_reader_options_init(&options);
	options.fields = &field;
	options.n_fields = 1;
	options.threads = 0;
	options.views = views;
	ck_assert_int_eq(lc_reader_open(stream, &options, &reader), LC_OK);
	while ((status = lc_reader_next(reader, &batch)) == LC_OK) {
		const lc_batch_field *f = &batch->fields[0];
		const size_t n = kind == WINDOWS ? (size_t)f->nbytes : size;

		memcpy(copy + at, views ? f->rows[0] : f->data, n);
		at += n;
		lc_batch_release(batch);
	}
	if (status == LC_END)
		ck_assert_uint_eq(at, size);
	lc_reader_close(reader);
	lc_stream_close(stream);
	return status == LC_END ? LC_OK : status;
}

/* What each way to read the record says; the bytes are those that are in the file. */
static void
expect_source(lc_source *source, int kind, size_t size, lc_status want)
{
	const char *field = kind == JOINED ? "p" : ".";
	const uint64_t shape[] = { size }, ordinal = 0;
	lc_tensor row;

	memset(copy, 0, size);
	ck_assert_int_eq(read_stream(source, kind, field, 0, size), want);
	if (want == LC_OK)
		ck_assert_mem_eq(copy, bytes, size);
	memset(copy, 0, size);
	ck_assert_int_eq(lc_tensor_init(&row, LC_U8, 1, shape, NULL), LC_OK);
	ck_assert_int_eq(lc_source_gather(source, 1, &ordinal, field, &row, copy,
			     sizeof(copy), 1, NULL), want);
	if (want == LC_OK)
		ck_assert_mem_eq(copy, bytes, size);
	if (kind == WINDOWS)
		return;
	memset(copy, 0, size);
	ck_assert_int_eq(read_stream(source, kind, field, 1, size), want);
	if (want == LC_OK)
		ck_assert_mem_eq(copy, bytes, size);
}

static lc_cache *
open_partner(size_t size)
{
	lc_options options;
	lc_cache *partner;

	lc_options_init(&options);
	ck_assert_int_eq(lc_open(root, "p", &options, &partner), LC_OK);
	put(partner, "a", size, 1);
	ck_assert_int_eq(lc_flush(partner), LC_OK);
	return partner;
}

static void
flip_in(int kind, size_t size, size_t byte)
{
	flip(kind == JOINED ? "p" : "m", size, 1, byte);
	fill(size, 1);
	bytes[byte] ^= 1;
}

/* Damage before the first read is found each time, unless the source never verifies. */
START_TEST(source_damaged_before)
{
	const int kind = _i % SOURCES;
	const size_t size = sizes[_i / SOURCES % 2];
	lc_cache *cache = open_with(LC_VERIFY_ONCE), *partner = open_partner(size);
	lc_source *source[3];

	put(cache, "a", size, 1);
	ck_assert_int_eq(lc_flush(cache), LC_OK);
	flip_in(kind, size, size - 1 - (size_t)(_i / SOURCES / 2) * 70);
	for (int verify = 0; verify < 3; verify++)
		source[verify] = open_source(kind, cache, partner, (lc_verify_mode)verify);
	for (int round = 0; round < 2; round++) {
		expect_source(source[LC_VERIFY_ONCE], kind, size, LC_CORRUPT);
		expect_source(source[LC_VERIFY_ALWAYS], kind, size, LC_CORRUPT);
		expect_source(source[LC_VERIFY_NEVER], kind, size, LC_OK);
	}
	for (int verify = 0; verify < 3; verify++)
		lc_source_close(source[verify]);
	ck_assert_int_eq(lc_close(partner), LC_OK);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* Damage after the first read of a source that verifies once is not found by any such
 * source or handle of the process; one that verifies always finds it. */
START_TEST(source_damaged_after)
{
	const int kind = _i % SOURCES;
	const size_t size = sizes[_i / SOURCES % 2];
	lc_cache *cache = open_with(LC_VERIFY_ONCE), *partner = open_partner(size);
	lc_source *first, *later, *always;

	put(cache, "a", size, 1);
	ck_assert_int_eq(lc_flush(cache), LC_OK);
	first = open_source(kind, cache, partner, LC_VERIFY_ONCE);
	expect_source(first, kind, size, LC_OK);
	flip_in(kind, size, size / 2);
	expect_source(first, kind, size, LC_OK);
	later = open_source(kind, cache, partner, LC_VERIFY_ONCE);
	expect_source(later, kind, size, LC_OK);
	expect_read(cache, "a", LC_OK);
	always = open_source(kind, cache, partner, LC_VERIFY_ALWAYS);
	expect_source(always, kind, size, LC_CORRUPT);
	expect_source(later, kind, size, LC_OK);
	lc_source_close(always);
	lc_source_close(later);
	lc_source_close(first);
	ck_assert_int_eq(lc_close(partner), LC_OK);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* Records that are copied together to more than 1 MiB, to any address, verified or not, have
 * their bytes, and damage in one is found. */
START_TEST(many_copies)
{
	enum { n = 8 };
	const uint64_t shape[] = { LONGEST };
	lc_cache *cache = open_with(_i / 2 % 2 ? LC_VERIFY_ONCE : LC_VERIFY_ALWAYS);
	unsigned char *room = malloc((size_t)n * LONGEST + 1), *to = room + _i % 2;
	char ids[n][8];
	uint64_t ordinals[n];
	lc_id keys[n];
	lc_source *source;
	lc_tensor row;

	for (unsigned i = 0; i < n; i++) {
		snprintf(ids[i], sizeof(ids[i]), "k%u", i);
		keys[i] = (lc_id){ ids[i], strlen(ids[i]) };
		ordinals[i] = i;
		put(cache, ids[i], LONGEST, i);
	}
	ck_assert_int_eq(lc_flush(cache), LC_OK);
	source = open_source(ALONE, cache, NULL, LC_VERIFY_ALWAYS);
	ck_assert_int_eq(lc_tensor_init(&row, LC_U8, 1, shape, NULL), LC_OK);
	for (unsigned round = 0; round < 3; round++) {
		memset(room, 0, (size_t)n * LONGEST + 1);
		ck_assert_int_eq(round == 0 ? lc_source_gather(source, n, ordinals, ".", &row,
						  to, (size_t)n * LONGEST, 1, NULL)
					    : lc_gather(cache, n, keys, NULL, &row, to,
						  (size_t)n * LONGEST, 1, NULL, NULL),
		    LC_OK);
		for (unsigned i = 0; i < n; i++) {
			fill(LONGEST, i);
			ck_assert_mem_eq(to + (size_t)i * LONGEST, bytes, LONGEST);
		}
	}
	flip("m", LONGEST, 5, LONGEST - 1);
	ck_assert_int_eq(lc_source_gather(source, n, ordinals, ".", &row, to,
			     (size_t)n * LONGEST, 1, NULL), LC_CORRUPT);
	lc_source_close(source);
	ck_assert_int_eq(lc_close(cache), LC_OK);
	free(room);
}
END_TEST

START_TEST(source_of_unknown_mode)
{
	lc_cache *cache = open_with(LC_VERIFY_ONCE);
	lc_source_options options;
	lc_source *source;

	lc_source_options_init(&options);
	options.verify = (lc_verify_mode)3;
	ck_assert_int_eq(lc_source_open_module(cache, &options, &source), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "source: no verify 3");
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

START_TEST(modes_have_words)
{
	static const char *const words[] = { "never", "always", "once" };
	lc_verify_mode mode;

	for (unsigned i = 0; i < 3; i++) {
		ck_assert_str_eq(lc_verify_mode_name((lc_verify_mode)i), words[i]);
		ck_assert_int_eq(lc_verify_mode_parse(words[i], &mode), LC_OK);
		ck_assert_uint_eq(mode, i);
	}
	ck_assert_ptr_null(lc_verify_mode_name((lc_verify_mode)3));
	ck_assert_int_eq(lc_verify_mode_parse("twice", &mode), LC_INVALID);
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

/* Without threads nothing is lost, however full the table is. */
START_TEST(keeps_all)
{
	struct lc__once *once = lc__once_new();
	struct lc__snapshot *s = calloc(1, sizeof(*s));
	const struct lc__mapped_chunk chunk = { .id = 1 };
	struct lc__once_seen seen = lc__seen_of(once, s, &chunk);

	for (uint64_t n = 0; n < KEYS * 10; n++) {
		lc__seen_note(&seen, record(n), n);
		if (n % KEYS != 0)
			continue;
		for (uint64_t i = 0; i <= n; i++)
			ck_assert(lc__seen_before(&seen, record(i), i));
		ck_assert(!lc__seen_before(&seen, record(n + 1), n + 1));
	}
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
	tcase_add_test(tc, bucket_damaged_before);
	tcase_add_test(tc, bucket_damaged_after);
	tcase_add_test(tc, bucket_rewritten);
	tcase_add_loop_test(tc, source_damaged_before, 0, 4 * SOURCES);
	tcase_add_loop_test(tc, source_damaged_after, 0, 2 * SOURCES);
	tcase_add_loop_test(tc, many_copies, 0, 4);
	tcase_add_test(tc, source_of_unknown_mode);
	tcase_add_test(tc, modes_have_words);
	tcase_add_loop_test(tc, unknown_mode, 0, 2);
	tcase_add_test(tc, other_chunks);
	tcase_add_test(tc, threads);
	tcase_add_test(tc, keeps_all);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
