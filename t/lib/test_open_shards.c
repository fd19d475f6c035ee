/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of more shards than may be open at a time. */
#include "run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fileio.h"
#include "fake_build.h"
#include "need.h"
#include "outdir_files.h"

#define SHARDS 50u
#define PER_SHARD 20u
#define SAMPLES (SHARDS * PER_SHARD)
#define LIMIT 3u
#define THREADS 4

static char *dir;   /* a set of SHARDS shards */
static char *joined; /* the union of two sets of as many samples together */
static char *parts[2];

static char *
make_set(const char *name, uint64_t samples, uint64_t first)
{
	static uint64_t numbers[SAMPLES];
	const struct fake_variant v = { .samples = samples, .numbers = numbers };
	char *path = outdir_join(run_scratch(), name);
	lc_export_result result;

	for (uint64_t i = 0; i < samples; i++)
		numbers[i] = first + i;
	assert_ok(fake_build(path, &v, &result));
	return path;
}

static void
setup(void)
{
	lc_union_result result;

	dir = make_set("whole", SAMPLES, 0);
	parts[0] = make_set("a", 30 * PER_SHARD, 0);
	parts[1] = make_set("b", 20 * PER_SHARD, 30 * PER_SHARD);
	joined = outdir_join(run_scratch(), "union");
	assert_ok(lc_shard_union(joined, (const char *const *)parts, 2, &result));
	ck_assert_uint_eq(result.shards, SHARDS);
}

static void
teardown(void)
{
	free(dir);
	free(joined);
	free(parts[0]);
	free(parts[1]);
}

/* Shards that this process has mapped. */
static unsigned
mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[5000];
	unsigned n = 0;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps) != NULL)
		n += strstr(line, ".twh1") != NULL;
	fclose(maps);
	return n;
}

static lc_warehouse *
open_set(const char *path, uint32_t limit, lc_warehouse_mode mode)
{
	lc_warehouse_options options;
	lc_warehouse *w;

	lc_warehouse_options_init(&options);
	options.open_shards = limit;
	options.mode = mode;
	assert_ok(lc_warehouse_open(path, &options, &w));
	return w;
}

static lc_source *
open_source(const char *path, uint32_t limit)
{
	lc_source_options options;
	lc_source *source;

	lc_source_options_init(&options);
	options.open_shards = limit;
	assert_ok(lc_source_open_shards(path, &options, &source));
	return source;
}

static bool
same(const lc_sample *a, const lc_sample *b)
{
	return a->image.nbytes == b->image.nbytes && a->id.size == b->id.size &&
	    a->image.nbytes == FAKE_IMAGE &&
	    memcmp(a->image.data, b->image.data, a->image.nbytes) == 0 &&
	    memcmp(a->id.data, b->id.data, a->id.size) == 0;
}

/* All samples, as those of the set that is open as a whole. */
static void
compare(lc_warehouse *w, uint64_t step)
{
	lc_warehouse *whole = open_set(dir, 0, LC_WAREHOUSE_MAP);
	uint64_t at = 0;

	ck_assert_uint_eq(lc_warehouse_info_of(w)->samples, SAMPLES);
	ck_assert_uint_eq(lc_warehouse_info_of(w)->shards, SHARDS);
	ck_assert_uint_eq(lc_warehouse_info_of(w)->bytes,
	    lc_warehouse_info_of(whole)->bytes);
	for (uint64_t i = 0; i < SAMPLES; i++, at = (at + step) % SAMPLES) {
		lc_sample one, other;

		assert_ok(lc_warehouse_sample(w, at, &one));
		assert_ok(lc_warehouse_sample(whole, at, &other));
		ck_assert(same(&one, &other));
		lc_warehouse_release(w, &one);
		lc_warehouse_release(whole, &other);
	}
	lc_warehouse_close(whole);
}

static const struct {
	bool joined;
	uint32_t limit;
	lc_warehouse_mode mode;
	uint64_t step;
} read_rows[] = {
	{ false, LIMIT, LC_WAREHOUSE_MAP, 1 }, { false, LIMIT, LC_WAREHOUSE_MAP, 21 },
	{ false, 1, LC_WAREHOUSE_MAP, 7 }, { true, LIMIT, LC_WAREHOUSE_MAP, 1 },
	{ true, 0, LC_WAREHOUSE_MAP, 1 }, { true, LIMIT, LC_WAREHOUSE_STREAM, 21 },
	{ true, 1, LC_WAREHOUSE_MEMORY, 1 }, { false, SHARDS - 1, LC_WAREHOUSE_MAP, 333 },
};

START_TEST(reads)
{
	lc_warehouse *w = open_set(read_rows[_i].joined ? joined : dir,
	    read_rows[_i].limit, read_rows[_i].mode);
	const bool large = read_rows[_i].limit != 0 &&
	    read_rows[_i].mode != LC_WAREHOUSE_MEMORY;
	lc_warehouse_stats stats = { .struct_size = sizeof(stats) };

	ck_assert_uint_eq(mapped(),
	    read_rows[_i].mode == LC_WAREHOUSE_MAP && !large ? SHARDS : 0);
	compare(w, read_rows[_i].step);
	assert_ok(lc_warehouse_stat(w, &stats));
	ck_assert_uint_eq(stats.shards_open, large ? read_rows[_i].limit : SHARDS);
	if (read_rows[_i].mode == LC_WAREHOUSE_MAP)
		ck_assert_uint_eq(mapped(), stats.shards_open);
	else
		ck_assert_uint_eq(stats.bytes_mapped, 0);
	lc_warehouse_close(w);
	ck_assert_uint_eq(mapped(), 0);
}
END_TEST

/* The shard that was used least recently goes first; one that is used again stays. */
START_TEST(least_recent)
{
	lc_warehouse *w = open_set(dir, LIMIT, LC_WAREHOUSE_MAP);
	unsigned char image[FAKE_IMAGE];
	char *path = outdir_join(dir, "shard-000000.twh1"), *gone = outdir_join(dir, "x");

	assert_ok(lc_warehouse_copy(w, 0, image, NULL, NULL));
	ck_assert_int_eq(rename(path, gone), 0);
	for (uint64_t shard = 1; shard < 10; shard++) {
		assert_ok(lc_warehouse_copy(w, shard * PER_SHARD, image, NULL, NULL));
		/* It is open, so it is read though its file has gone. */
		assert_ok(lc_warehouse_copy(w, 1, image, NULL, NULL));
	}
	for (uint64_t shard = 1; shard <= LIMIT; shard++)
		assert_ok(lc_warehouse_copy(w, shard * PER_SHARD, image, NULL, NULL));
	ck_assert_int_eq(lc_warehouse_copy(w, 1, image, NULL, NULL), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    "whole/shard-000000.twh1: open: No such file or directory"));
	/* Put back, it is read again. */
	ck_assert_int_eq(rename(gone, path), 0);
	assert_ok(lc_warehouse_copy(w, 1, image, NULL, NULL));
	lc_warehouse_close(w);
	free(path);
	free(gone);
}
END_TEST

/* ---- damage is of the rows that it is in ---------------------------------------------- */

static void
lose(void)
{
	outdir_remove_file(dir, "shard-000007.twh1");
}

static void
flip_header(void)
{
	outdir_flip(dir, "shard-000007.twh1", 33);
}

static void
flip_payload(void)
{
	outdir_flip(dir, "shard-000007.twh1", 5000);
}

static void
take_another(void)
{
	struct lc__buf other = outdir_get_file(dir, "shard-000008.twh1");
	char *path = outdir_join(dir, "shard-000007.twh1");

	assert_ok(lc__write_file_atomic(path, other.data, other.size));
	lc__buf_free(&other);
	free(path);
}

static const struct {
	void (*damage)(void);
	const char *text;
} damage_rows[] = {
	{ lose, "whole/shard-000007.twh1: open: No such file" },
	{ flip_header, "whole/shard-000007.twh1: " },
	{ flip_payload, "whole/shard-000007.twh1: sample " },
	{ take_another, "whole/shard-000007.twh1: its checksum section ends in " },
};

START_TEST(damaged)
{
	lc_source *source;
	lc_warehouse *w;
	unsigned good = 0, bad = 0;

	damage_rows[_i].damage();
	w = open_set(dir, LIMIT, LC_WAREHOUSE_MAP);
	source = open_source(dir, LIMIT);
	for (uint64_t i = 0; i < SAMPLES; i++) {
		unsigned char image[FAKE_IMAGE];
		lc_view view;
		const lc_status status = lc_warehouse_copy(w, i, image, NULL, NULL);

		if (status == LC_CORRUPT) {
			bad++;
			ck_assert_uint_eq(i / PER_SHARD, 7);
			ck_assert_msg(strstr(lc_last_error()->text, damage_rows[_i].text) !=
			    NULL, "%s", lc_last_error()->text);
		} else {
			assert_status(status, LC_OK);
			good++;
		}
		ck_assert_int_eq(lc_source_get(source, i, &view), status);
		lc_view_release(&view);
	}
	ck_assert_uint_eq(good, SAMPLES - bad);
	ck_assert(bad > 0 && bad <= PER_SHARD);
	ck_assert_uint_le(mapped(), 2 * LIMIT);
	lc_source_close(source);
	lc_warehouse_close(w);
}
END_TEST

static void
count_line(void *ctx, const char *line)
{
	(void)line;
	++*(unsigned *)ctx;
}

/* verify_files has all of them looked at when the set is opened, and none kept. */
START_TEST(full)
{
	lc_warehouse_options options;
	lc_warehouse *w;
	unsigned lines = 0;

	lc_warehouse_options_init(&options);
	options.open_shards = LIMIT;
	options.verify_files = 1;
	options.progress = (lc_progress){ .damage = count_line, .ctx = &lines };
	assert_ok(lc_warehouse_open(dir, &options, &w));
	ck_assert_uint_le(mapped(), LIMIT);
	lc_warehouse_close(w);
	outdir_flip(dir, "shard-000033.twh1", 5000);
	outdir_remove_file(dir, "shard-000011.twh1");
	ck_assert_int_eq(lc_warehouse_open(dir, &options, &w), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "shard-000011.twh1: open"));
	ck_assert_uint_eq(lines, 2);
	ck_assert_uint_eq(mapped(), 0);
}
END_TEST

/* A part whose manifest is gone or changed is an error of its own rows. */
START_TEST(lost_part)
{
	lc_warehouse *w = open_set(joined, LIMIT, LC_WAREHOUSE_MAP);
	unsigned char image[FAKE_IMAGE];

	outdir_flip(parts[1], "manifest.json", 300);
	assert_ok(lc_warehouse_copy(w, 0, image, NULL, NULL));
	assert_ok(lc_warehouse_copy(w, 30 * PER_SHARD - 1, image, NULL, NULL));
	ck_assert_int_eq(lc_warehouse_copy(w, 30 * PER_SHARD, image, NULL, NULL), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    "/b/manifest.json: SHA-256 differs from the manifest that names it"));
	outdir_remove_file(parts[1], "manifest.json");
	ck_assert_int_eq(lc_warehouse_copy(w, SAMPLES - 1, image, NULL, NULL), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "/b/manifest.json: "));
	assert_ok(lc_warehouse_copy(w, PER_SHARD, image, NULL, NULL));
	lc_warehouse_close(w);
}
END_TEST

/* ---- what is held stays ------------------------------------------------------------- */

START_TEST(held)
{
	lc_source *source = open_source(dir, LIMIT);
	lc_warehouse *w = open_set(dir, LIMIT, LC_WAREHOUSE_MAP);
	lc_view views[10], again;
	lc_sample samples[10];

	/* Shards of samples and views that are held are open, more than the limit. */
	for (uint64_t i = 0; i < 10; i++)
		assert_ok(lc_source_get(source, i * PER_SHARD, &views[i]));
	ck_assert_uint_eq(mapped(), 10);
	for (uint64_t i = 0; i < 10; i++)
		assert_ok(lc_warehouse_sample(w, i * PER_SHARD, &samples[i]));
	ck_assert_uint_eq(mapped(), 20);
	for (uint64_t i = 10; i < SHARDS; i++) {
		assert_ok(lc_source_get(source, i * PER_SHARD, &again));
		lc_view_release(&again);
	}
	for (int i = 0; i < 10; i++) {
		ck_assert_uint_eq(views[i].tensor.nbytes, FAKE_IMAGE);
		ck_assert_mem_eq(views[i].tensor.data, samples[i].image.data, FAKE_IMAGE);
		lc_warehouse_release(w, &samples[i]);
		lc_warehouse_release(w, &samples[i]); /* harmless */
	}
	ck_assert_uint_eq(mapped(), 10 + LIMIT);
	/* A view outlives its source. */
	lc_source_close(source);
	for (int i = 0; i < 10; i++) {
		ck_assert_uint_ne(((const unsigned char *)views[i].tensor.data)[1] +
		    (unsigned)views[i].tensor.nbytes, 0);
		lc_view_release(&views[i]);
	}
	ck_assert_uint_eq(mapped(), LIMIT);
	lc_warehouse_close(w);
	ck_assert_uint_eq(mapped(), 0);
}
END_TEST

/* ---- streams ------------------------------------------------------------------------- */

static lc_reader *
read_from(lc_source *source, lc_shuffle shuffle, int in_place, lc_stream **stream)
{
	lc_stream_options order;
	lc_reader_options how;
	lc_reader *reader;

	lc_stream_options_init(&order);
	order.batch = 32;
	order.shuffle = shuffle;
	order.seed = 7;
	assert_ok(lc_stream_open(&source, 1, &order, stream));
	lc_reader_options_init(&how);
	how.views = in_place;
	assert_ok(lc_reader_open(*stream, &how, &reader));
	return reader;
}

static const unsigned char *
row_of(const lc_batch *batch, size_t row)
{
	const lc_batch_field *field = &batch->fields[0];

	return field->rows != NULL ? field->rows[row]
				   : (const unsigned char *)field->data + row * FAKE_IMAGE;
}

/* The same batches and tokens as of the set that is open as a whole. */
START_TEST(streams)
{
	const lc_shuffle shuffle = _i & 1 ? LC_SHUFFLE_FULL : LC_SHUFFLE_NONE;
	const char *path = _i & 2 ? joined : dir;
	lc_source *few = open_source(path, LIMIT), *all = open_source(path, 0);
	lc_source_info a = { .struct_size = sizeof(a) }, b = a;
	lc_stream *orders[2];
	lc_reader *reader = read_from(few, shuffle, _i >> 2, &orders[0]);
	lc_reader *whole = read_from(all, shuffle, 0, &orders[1]);
	unsigned batches = 0;

	assert_ok(lc_source_info_get(few, &a));
	assert_ok(lc_source_info_get(all, &b));
	ck_assert_mem_eq(a.uuid, b.uuid, sizeof(a.uuid));
	ck_assert_uint_eq(a.prefix_hash, b.prefix_hash);
	ck_assert_uint_eq(a.records, SAMPLES);
	for (;;) {
		const lc_batch *one, *other;
		const lc_status status = lc_reader_next(reader, &one);

		ck_assert_int_eq(lc_reader_next(whole, &other), status);
		if (status == LC_END)
			break;
		assert_ok(status);
		ck_assert_uint_eq(one->rows, other->rows);
		for (size_t row = 0; row < one->filled; row++) {
			ck_assert_uint_eq(one->examples[row], other->examples[row]);
			ck_assert_mem_eq(row_of(one, row), row_of(other, row), FAKE_IMAGE);
		}
		lc_batch_release(one);
		lc_batch_release(other);
		batches++;
	}
	ck_assert_uint_eq(batches, (SAMPLES + 31) / 32);
	lc_reader_close(reader);
	lc_reader_close(whole);
	lc_stream_close(orders[0]);
	lc_stream_close(orders[1]);
	lc_source_close(all);
	ck_assert_uint_le(mapped(), LIMIT);
	lc_source_close(few);
	ck_assert_uint_eq(mapped(), 0);
}
END_TEST

/* Reading by ordinals does not hold the shards of all of them. */
START_TEST(gathers)
{
	lc_source *source = open_source(dir, LIMIT);
	lc_warehouse *whole = open_set(dir, 0, LC_WAREHOUSE_MAP);
	unsigned char *rows = malloc((size_t)SAMPLES * FAKE_IMAGE), image[FAKE_IMAGE];
	uint64_t ordinals[SAMPLES];
	lc_tensor row;

	for (uint64_t i = 0; i < SAMPLES; i++)
		ordinals[i] = (i * 37) % SAMPLES;
	assert_ok(lc_source_gather_row(source, 0, NULL, &row));
	assert_ok(lc_source_gather(source, SAMPLES, ordinals, NULL, &row, rows,
	    (size_t)SAMPLES * FAKE_IMAGE, 2, NULL));
	for (uint64_t i = 0; i < SAMPLES; i++) {
		assert_ok(lc_warehouse_copy(whole, ordinals[i], image, NULL, NULL));
		ck_assert_mem_eq(rows + i * FAKE_IMAGE, image, FAKE_IMAGE);
	}
	ck_assert_uint_le(mapped(), SHARDS + LIMIT);
	free(rows);
	lc_source_close(source);
	lc_warehouse_close(whole);
}
END_TEST

/* ---- threads ---------------------------------------------------------------------------- */

struct reading {
	lc_warehouse *few, *whole;
	lc_source *source;
	uint64_t seed;
	_Atomic bool *wrong;
};

static void *
read_random(void *ctx)
{
	struct reading *r = ctx;

	for (unsigned k = 0; k < 600; k++) {
		const uint64_t i = run_random(&r->seed) % SAMPLES;
		lc_sample one, other;
		lc_view view;
		bool good;

		good = lc_warehouse_sample(r->few, i, &one) == LC_OK &&
		    lc_warehouse_sample(r->whole, i, &other) == LC_OK &&
		    lc_source_get(r->source, i, &view) == LC_OK && same(&one, &other) &&
		    memcmp(view.tensor.data, other.image.data, FAKE_IMAGE) == 0;
		if (k % 5 == 0)
			lc_warehouse_prefetch(r->few, i, 30);
		if (!good) {
			atomic_store(r->wrong, true);
			return NULL;
		}
		lc_warehouse_release(r->few, &one);
		lc_view_release(&view);
	}
	return NULL;
}

START_TEST(threads)
{
	lc_warehouse *whole = open_set(dir, 0, LC_WAREHOUSE_MAP);
	lc_warehouse *few = open_set(joined, _i == 0 ? 1 : 2, LC_WAREHOUSE_MAP);
	lc_source *source = open_source(joined, LIMIT);
	lc_warehouse_stats stats = { .struct_size = sizeof(stats) };
	struct reading readings[THREADS];
	pthread_t started[THREADS];
	_Atomic bool wrong = false;
	uint64_t seed = run_seed();

	for (int i = 0; i < THREADS; i++) {
		readings[i] = (struct reading){ few, whole, source, run_random(&seed),
			&wrong };
		ck_assert_int_eq(pthread_create(&started[i], NULL, read_random,
		    &readings[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(started[i], NULL);
	ck_assert(!atomic_load(&wrong));
	assert_ok(lc_warehouse_stat(few, &stats));
	ck_assert_uint_le(stats.shards_open, _i == 0 ? 1 : 2);
	lc_source_close(source);
	lc_warehouse_close(few);
	lc_warehouse_close(whole);
	ck_assert_uint_eq(mapped(), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("open_shards");
	TCase *tc = tcase_create("open_shards");

	tcase_set_timeout(tc, 300);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, reads, 0, sizeof(read_rows) / sizeof(read_rows[0]));
	tcase_add_test(tc, least_recent);
	tcase_add_loop_test(tc, damaged, 0, sizeof(damage_rows) / sizeof(damage_rows[0]));
	tcase_add_test(tc, full);
	tcase_add_test(tc, lost_part);
	tcase_add_test(tc, held);
	tcase_add_loop_test(tc, streams, 0, 8);
	tcase_add_test(tc, gathers);
	suite_add_tcase(suite, tc);
	tc = tcase_create("threads");
	tcase_set_timeout(tc, 600);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, threads, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
