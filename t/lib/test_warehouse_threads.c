/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that read one warehouse at once, each in an order of its own. */
#include "run.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "made_warehouse.h"
#include "outdir_files.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))
#define THREADS 4
#define EPOCHS 3u

static const struct {
	lc_warehouse_mode mode;
	lc_verify_mode verify;
	struct made_variant variant;
	bool damaged; /* a shard of it */
	uint32_t open_shards;
} rows[] = {
	{ LC_WAREHOUSE_MAP, LC_VERIFY_ONCE, { 0 }, false, 0 },
	{ LC_WAREHOUSE_STREAM, LC_VERIFY_ONCE, { 0 }, false, 0 },
	{ LC_WAREHOUSE_MEMORY, LC_VERIFY_ONCE, { 0 }, false, 0 },
	{ LC_WAREHOUSE_STREAM, LC_VERIFY_NEVER, { 0 }, false, 0 },
	{ LC_WAREHOUSE_MAP, LC_VERIFY_ONCE, { .shapes = true }, false, 0 },
	{ LC_WAREHOUSE_STREAM, LC_VERIFY_ONCE, { .shard_bytes = 4096 }, false, 0 },
	{ LC_WAREHOUSE_MAP, LC_VERIFY_ONCE, { 0 }, true, 0 },
	{ LC_WAREHOUSE_STREAM, LC_VERIFY_ONCE, { 0 }, true, 0 },
	{ LC_WAREHOUSE_MAP, LC_VERIFY_ONCE, { .shard_bytes = 4096 }, false, 2 },
	{ LC_WAREHOUSE_STREAM, LC_VERIFY_ONCE, { .shard_bytes = 4096 }, false, 3 },
	{ LC_WAREHOUSE_MAP, LC_VERIFY_ONCE, { 0 }, true, 1 },
};

struct reader {
	lc_warehouse *w;
	int row;
	uint64_t seed;
	uint64_t good, damaged; /* samples */
};

static void
read_one(struct reader *r, uint64_t i)
{
	lc_sample sample;
	const lc_status status = lc_warehouse_sample(r->w, i, &sample);

	if (status == LC_CORRUPT) {
		r->damaged++;
		return;
	}
	ck_assert_int_eq(status, LC_OK);
	ck_assert(made_is(&sample, i, &rows[r->row].variant));
	r->good++;
	if (i % 3 == 0)
		lc_warehouse_prefetch(r->w, i + 1, 5);
	lc_warehouse_release(r->w, &sample);
}

static void *
read_shuffled(void *ctx)
{
	struct reader *r = ctx;
	uint64_t order[MADE_SAMPLES];

	for (uint64_t i = 0; i < MADE_SAMPLES; i++)
		order[i] = i;
	for (unsigned epoch = 0; epoch < EPOCHS; epoch++) {
		for (uint64_t i = MADE_SAMPLES - 1; i > 0; i--) {
			const uint64_t j = run_random(&r->seed) % (i + 1);
			const uint64_t k = order[i];

			order[i] = order[j];
			order[j] = k;
		}
		for (uint64_t i = 0; i < MADE_SAMPLES; i++)
			read_one(r, order[i]);
	}
	return NULL;
}

START_TEST(shuffled)
{
	const struct made made = made_warehouse(&rows[_i].variant);
	lc_warehouse_options options = made_options(rows[_i].mode);
	lc_warehouse_stats stats = { .struct_size = sizeof(stats) };
	struct reader readers[THREADS];
	pthread_t threads[THREADS];
	uint64_t seed = run_seed(), good = 0, damaged = 0;
	lc_warehouse *w;

	if (rows[_i].damaged)
		outdir_flip(made.version, "32x24/shard-000001.twh1", 5000);
	options.verify = rows[_i].verify;
	options.open_shards = rows[_i].open_shards;
	ck_assert_int_eq(lc_warehouse_open(made.warehouse, &options, &w), LC_OK);
	for (int i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){ w, _i, run_random(&seed), 0, 0 };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_shuffled,
		    &readers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		good += readers[i].good;
		damaged += readers[i].damaged;
	}
	ck_assert_int_eq(lc_warehouse_stat(w, &stats), LC_OK);
	ck_assert_uint_eq(stats.samples_read, THREADS * EPOCHS * MADE_SAMPLES);
	ck_assert_uint_eq(good + damaged, stats.samples_read);
	/* As often damaged as looked at, by each of them in each epoch. */
	ck_assert_uint_eq(damaged % (THREADS * EPOCHS), 0);
	ck_assert(rows[_i].damaged == (damaged > 0));
	lc_warehouse_close(w);
}
END_TEST

/* While others hold samples, and with all descriptors but a few taken. */
START_TEST(few_descriptors)
{
	const struct made_variant v = { .shard_bytes = 4096 };
	const struct made made = made_warehouse(&v);
	const lc_warehouse_options options = made_options(LC_WAREHOUSE_STREAM);
	const int before = dup(0);
	lc_sample held[MADE_SAMPLES];
	lc_warehouse *w;
	int after;

	ck_assert_int_eq(close(before), 0);
	ck_assert_int_eq(lc_warehouse_open(made.warehouse, &options, &w), LC_OK);
	after = dup(0);
	ck_assert_int_eq(after, before); /* opening leaves none open */
	close(after);
	for (uint64_t i = 0; i < MADE_SAMPLES; i++)
		ck_assert_int_eq(lc_warehouse_sample(w, i, &held[i]), LC_OK);
	after = dup(0);
	ck_assert_int_le(after, before + 64);
	close(after);
	for (uint64_t i = 0; i < MADE_SAMPLES; i++) {
		ck_assert(made_is(&held[i], i, &v));
		lc_warehouse_release(w, &held[i]);
	}
	lc_warehouse_close(w);
	after = dup(0);
	ck_assert_int_eq(after, before);
	close(after);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warehouse_threads");
	TCase *tc = tcase_create("warehouse_threads");

	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, shuffled, 0, COUNT(rows));
	tcase_add_test(tc, few_descriptors);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
