/* SPDX-License-Identifier: BSD-2-Clause */
/* What readers ask the system for before they read: only what is wanted of records. */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "made_stream.h"
#include "run.h"

/* Tokens and pairs of a record: 200,000 bytes each. */
#define LENGTH 50000u
#define RECORDS 24u
#define PAGE 4096u
#define BLOCK 65536u

static struct made_stream made;

/* Bytes that were asked for, in whole pages. */
static atomic_uint_fast64_t asked;

/* Instead of the system's, which go on being called. */
int
madvise(void *start, size_t size, int advice)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (advice == MADV_WILLNEED)
		asked += (size + page - 1) / page * page;
	return (int)syscall(SYS_madvise, start, size, advice);
}

/* Nothing is in memory, as far as this tells. */
int
mincore(void *start, size_t size, unsigned char *vec)
{
	(void)start;
	memset(vec, 0, (size + PAGE - 1) / PAGE);
	return 0;
}

static void
set_up(void)
{
	static const uint64_t lengths[] = { LENGTH, LENGTH, LENGTH, LENGTH, LENGTH,
		LENGTH };

	made_stream_new(&made, 1, false, true);
	for (unsigned i = 0; i < RECORDS / 6; i++)
		made_stream_chunk(&made, lengths, 6);
}

static void
tear_down(void)
{
	made_stream_close(&made);
}

static const char *const none[] = { NULL }, *const label[] = { "label" },
    *const pairs[] = { "pairs" };

/* What is read, and how many bytes of an example are asked for at least and at most. */
static const struct {
	const char *const *fields; /* NULL: all */
	size_t n;
	int verify;
	uint64_t window;
	lc_shuffle shuffle;
	uint64_t least, most;
} rows[] = {
	{ none, 0, 1, 0, LC_SHUFFLE_FULL, PAGE, 3 * PAGE },
	{ none, 0, 0, 0, LC_SHUFFLE_FULL, PAGE, 3 * PAGE },
	{ none, 0, 1, 0, LC_SHUFFLE_NONE, PAGE, 3 * PAGE },
	{ label, 1, 1, 0, LC_SHUFFLE_FULL, 2 * PAGE, 4 * PAGE },
	{ label, 1, 1, 0, LC_SHUFFLE_NONE, 2 * PAGE, 4 * PAGE },
	{ pairs, 1, 1, 0, LC_SHUFFLE_FULL, 4 * LENGTH, 4 * LENGTH + 5 * PAGE },
	{ NULL, 0, 1, 0, LC_SHUFFLE_FULL, 8 * LENGTH, 8 * LENGTH + 5 * PAGE },
	{ NULL, 0, 1, 0, LC_SHUFFLE_NONE, 8 * LENGTH, 16 * LENGTH },
	{ NULL, 0, 0, 500, LC_SHUFFLE_FULL, 2000, 5 * PAGE },
	{ NULL, 0, 1, 500, LC_SHUFFLE_FULL, 2000, 2 * BLOCK + 5 * PAGE },
};

static lc_source *
open_source(int verify)
{
	lc_source_options how;
	lc_source *source;

	lc_source_options_init(&how);
	how.verify = verify;
	ck_assert_int_eq(lc_source_open_module(made.cache, &how, &source), LC_OK);
	return source;
}

static lc_stream *
open_stream(lc_source *source, uint64_t window, lc_shuffle shuffle)
{
	lc_stream_options how;
	lc_stream *stream;

	lc_stream_options_init(&how);
	how.batch = 6;
	how.window = window;
	how.limit = RECORDS;
	how.shuffle = shuffle;
	how.seed = run_seed();
	ck_assert_int_eq(lc_stream_open(&source, 1, &how, &stream), LC_OK);
	return stream;
}

START_TEST(only_what_is_wanted)
{
	lc_source *source = open_source(rows[_i].verify);
	lc_stream *stream = open_stream(source, rows[_i].window, rows[_i].shuffle);
	lc_reader_stats stats = { .struct_size = sizeof(stats) };
	lc_reader_options how;
	const lc_batch *batch;
	lc_reader *reader;
	uint64_t examples = 0;

	lc_reader_options_init(&how);
	how.fields = rows[_i].fields;
	how.n_fields = rows[_i].n;
	how.threads = 0;
	ck_assert_int_eq(lc_reader_open(stream, &how, &reader), LC_OK);
	asked = 0;
	while (lc_reader_next(reader, &batch) == LC_OK) {
		examples += batch->filled;
		lc_batch_release(batch);
	}
	ck_assert_uint_eq(examples, RECORDS);
	ck_assert_uint_ge(asked, examples * rows[_i].least);
	ck_assert_uint_le(asked, examples * rows[_i].most);
	/* Nothing is read that was not asked for, but what follows in the page. */
	ck_assert_int_eq(lc_reader_stat(reader, &stats), LC_OK);
	ck_assert_uint_le(stats.stored_bytes, asked);
	lc_reader_close(reader);
	lc_stream_close(stream);
	lc_source_close(source);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("ahead");
	TCase *tc = tcase_create("asked");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, only_what_is_wanted, 0,
	    (int)(sizeof(rows) / sizeof(rows[0])));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
