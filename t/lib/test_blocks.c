/* SPDX-License-Identifier: BSD-2-Clause */
/* Checksums of blocks: each flipped bit is found by all that read its block, and by
 * nothing else. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "lmdbcache.h"
#include "run.h"

/* Five blocks, the last of them short; rows of 8 bytes. */
#define BLOCK 65536u
#define BLOCKS 5u
#define ROWS (4 * BLOCK / 8 + 1000)
#define ROW_BLOCK(r) ((r) * 8 / BLOCK)
#define WINDOW 100u

static const char *root;
static uint64_t words[ROWS];

/* A record as a tensor alone, or as two fields of a value, the first of them short. */
static void
put_all(bool value)
{
	const uint64_t shape[] = { ROWS }, one[] = { 1 };
	lc_settings settings = { .struct_size = sizeof(settings) };
	uint64_t state = 7;
	lc_options options;
	lc_tensor rows, few;
	lc_value *map;
	lc_cache *cache;

	root = run_scratch();
	for (unsigned i = 0; i < ROWS; i++)
		words[i] = run_random(&state);
	lc_options_init(&options);
	ck_assert_int_eq(lc_open(root, "m", &options, &cache), LC_OK);
	ck_assert_int_eq(lc_settings_get(cache, &settings), LC_OK);
	strcpy(settings.length_field, value ? "rows" : ".");
	ck_assert_int_eq(lc_settings_set(cache, &settings), LC_OK);
	ck_assert_int_eq(lc_tensor_init(&rows, LC_I64, 1, shape, words), LC_OK);
	ck_assert_int_eq(lc_tensor_init(&few, LC_I64, 1, one, words + 5), LC_OK);
	if (value) {
		map = lc_value_map();
		lc_value_set(map, "few", lc_value_tensor(&few));
		lc_value_set(map, "rows", lc_value_tensor(&rows));
		ck_assert_int_eq(lc_put_value(cache, "k", 1, map), LC_OK);
		lc_value_free(map);
	} else {
		ck_assert_int_eq(lc_put(cache, "k", 1, &rows), LC_OK);
	}
	ck_assert_int_eq(lc_close(cache), LC_OK);
}

/* Flip a bit of the only place in the file that has these bytes. */
static void
flip(const void *bytes, size_t size, unsigned bit)
{
	char path[4200];
	struct stat st;
	unsigned char *file, *at;
	int fd;

	snprintf(path, sizeof(path), "%s/m/data.mdb", root);
	fd = open(path, O_RDWR);
	ck_assert_int_eq(fstat(fd, &st), 0);
	file = malloc((size_t)st.st_size);
	ck_assert_int_eq(pread(fd, file, (size_t)st.st_size, 0), st.st_size);
	at = memmem(file, (size_t)st.st_size, bytes, size);
	ck_assert_ptr_nonnull(at);
	at[bit / 8] ^= (unsigned char)(1u << bit % 8);
	ck_assert_int_eq(pwrite(fd, at + bit / 8, 1, at + bit / 8 - file), 1);
	close(fd);
	free(file);
}

static lc_cache *
open_again(void)
{
	lc_options options;
	lc_cache *cache;

	lc_options_init(&options);
	ck_assert_int_eq(lc_open(root, "m", &options, &cache), LC_OK);
	return cache;
}

/* What reading all windows that begin in a block says, one by one. */
static void
expect_windows(lc_cache *cache, const bool bad[BLOCKS])
{
	lc_stream_options how;
	lc_reader_options reading;
	lc_source *source;
	lc_stream *stream;
	lc_reader *reader;
	const lc_batch *batch;

	ck_assert_int_eq(lc_source_open_module(cache, NULL, &source), LC_OK);
	lc_stream_options_init(&how);
	how.batch = 1;
	how.window = WINDOW;
	ck_assert_int_eq(lc_stream_open(&source, 1, &how, &stream), LC_OK);
	lc_reader_options_init(&reading);
	reading.threads = 0;
	ck_assert_int_eq(lc_reader_open(stream, &reading, &reader), LC_OK);
	for (unsigned first = 0; first < ROWS; first += WINDOW) {
		const unsigned left = ROWS - first, n = left < WINDOW ? left : WINDOW;
		const bool damaged = bad[ROW_BLOCK(first)] ||
		    bad[ROW_BLOCK(first + n - 1)];
		const lc_status status = lc_reader_read(reader, first / WINDOW, &batch);

		ck_assert_int_eq(status, damaged ? LC_CORRUPT : LC_OK);
		if (status != LC_OK)
			continue;
		ck_assert_mem_eq(batch->fields[0].data, words + first, n * 8);
		lc_batch_release(batch);
	}
	lc_reader_close(reader);
	lc_stream_close(stream);
	lc_source_close(source);
}

static void
expect_damage(lc_cache *cache, bool value)
{
	lc_verify_result result = { 0 };
	const lc_value *part;
	lc_tensor copy;
	lc_view view;

	if (value) {
		ck_assert_int_eq(lc_get(cache, "k", 1, &view), LC_OK);
		ck_assert_int_eq(lc_view_value(&view, "few", &part), LC_OK);
		ck_assert_int_eq(lc_view_value(&view, "rows", &part), LC_CORRUPT);
		lc_view_release(&view);
	} else {
		ck_assert_int_eq(lc_get_copy(cache, "k", 1, &copy), LC_CORRUPT);
	}
	ck_assert_int_eq(lc_verify(cache, NULL, &result), LC_CORRUPT);
}

/* A bit anywhere in a block; block _i of a tensor alone, then of a field. */
START_TEST(a_block)
{
	const bool value = _i >= (int)BLOCKS;
	const unsigned block = (unsigned)_i % BLOCKS;
	const size_t from = (size_t)block * BLOCK;
	const size_t size = sizeof(words) - from < BLOCK ? sizeof(words) - from : BLOCK;
	uint64_t seed = run_seed();
	bool bad[BLOCKS] = { false };
	lc_cache *cache;

	put_all(value);
	cache = open_again();
	expect_windows(cache, bad);
	ck_assert_int_eq(lc_close(cache), LC_OK);
	flip((unsigned char *)words + from, size, (unsigned)(run_random(&seed) % (size * 8)));
	bad[block] = true;
	cache = open_again();
	expect_windows(cache, bad);
	expect_damage(cache, value);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* A bit of a block's checksum: no read believes any of them. */
START_TEST(a_checksum)
{
	const bool bad[BLOCKS] = { true, true, true, true, true };
	lc_verify_result result = { 0 };
	unsigned char sum[8];
	lc_tensor copy;
	lc_cache *cache;

	put_all(false);
	lc__set64(sum, lc__hash64((unsigned char *)words + (size_t)(_i / 64) * BLOCK, BLOCK));
	flip(sum, 8, (unsigned)_i % 64);
	cache = open_again();
	expect_windows(cache, bad);
	ck_assert_int_eq(lc_get_copy(cache, "k", 1, &copy), LC_CORRUPT);
	ck_assert_int_eq(lc_verify(cache, NULL, &result), LC_CORRUPT);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* All ways to copy the rows say the same. */
static void
expect_copies(lc_cache *cache, bool value, lc_status want)
{
	static uint64_t rows[ROWS];
	const uint64_t shape[] = { ROWS };
	const lc_id id = { "k", 1 };
	lc_status status;
	lc_tensor row, copy;

	memset(rows, 0xee, sizeof(rows));
	ck_assert_int_eq(lc_tensor_init(&row, LC_I64, 1, shape, NULL), LC_OK);
	ck_assert_int_eq(lc_gather(cache, 1, &id, value ? "rows" : NULL, &row, rows,
			     sizeof(rows), 1, &status, NULL), want);
	ck_assert_int_eq(status, want);
	for (unsigned i = 0; i < ROWS; i++)
		ck_assert_uint_eq(rows[i], want == LC_OK ? words[i] : 0);
	if (value)
		return;
	ck_assert_int_eq(lc_get_into(cache, "k", 1, rows, sizeof(rows), &copy), want);
	if (want == LC_OK)
		ck_assert_mem_eq(rows, words, sizeof(words));
	ck_assert_int_eq(lc_get_copy(cache, "k", 1, &copy), want);
	if (want == LC_OK) {
		ck_assert_mem_eq(copy.data, words, sizeof(words));
		lc_tensor_free(&copy);
	}
}

/* Copies are verified as they are made, a piece at a time: a bit in each piece. */
START_TEST(a_piece)
{
	const size_t piece = 2048;
	const bool value = _i % 2;
	uint64_t seed = run_seed();
	lc_cache *cache;

	put_all(value);
	cache = open_again();
	expect_copies(cache, value, LC_OK);
	for (size_t at = 0; at < sizeof(words); at += piece) {
		const size_t size = sizeof(words) - at < piece ? sizeof(words) - at : piece;
		const unsigned bit = (unsigned)(run_random(&seed) % (size * 8));
		unsigned char bytes[2048];

		memcpy(bytes, (unsigned char *)words + at, size);
		flip(bytes, size, bit);
		expect_copies(cache, value, LC_CORRUPT);
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		flip(bytes, size, bit);
	}
	expect_copies(cache, value, LC_OK);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("blocks");
	TCase *tc = tcase_create("blocks");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_block, 0, 2 * (int)BLOCKS);
	tcase_add_loop_test(tc, a_checksum, 0, 128);
	tcase_add_loop_test(tc, a_piece, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
