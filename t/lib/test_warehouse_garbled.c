/* SPDX-License-Identifier: BSD-2-Clause */
/* Each allocation of opening and reading a warehouse fails once; headers that are
 * garbled in every byte that the manifest does not know. */
#include "run.h"

#include "fail_malloc.h"
#include "made_warehouse.h"
#include "outdir_files.h"

#define MODES 3
#define MOST 20000 /* allocations; more would mean that it never ends */

/* All of it, or the first failure. No assertion: they allocate. */
static lc_status
pass(const char *path, const lc_warehouse_options *options)
{
	static const struct made_variant plain;
	lc_warehouse *w = NULL;
	lc_status status = lc_warehouse_open(path, options, &w);
	lc_sample sample;

	for (uint64_t i = 0; i < MADE_SAMPLES && status == LC_OK; i += 7) {
		status = lc_warehouse_sample(w, i, &sample);
		if (status == LC_OK) {
			if (!made_is(&sample, i, &plain))
				status = LC_FAILED;
			lc_warehouse_release(w, &sample);
		}
	}
	lc_warehouse_close(w);
	return status;
}

START_TEST(no_memory)
{
	static const struct made_variant plain;
	const struct made made = made_warehouse(&plain);
	lc_warehouse_options options = made_options((lc_warehouse_mode)(_i / 2));
	lc_status status = LC_NO_MEMORY;
	long n = 0, hits;

	options.verify_files = _i % 2;
	while (status != LC_OK && n++ < MOST) {
		fail_malloc(n, false);
		status = pass(made.warehouse, &options);
		hits = fail_malloc_hits();
		fail_malloc(0, false);
		ck_assert_msg(status == LC_OK || status == LC_NO_MEMORY, "%d: %s",
		    (int)status, lc_last_error()->text);
		/* Without a thread that could not be made it goes on. */
		if (hits > 0)
			status = LC_NO_MEMORY;
	}
	ck_assert_int_lt(n, MOST);
	ck_assert_int_gt(n, 20);
	ck_assert_int_eq(pass(made.warehouse, &options), LC_OK);
}
END_TEST

/* What is handed out can be read to its end, whatever it is. */
static void
touch(const lc_tensor *tensor)
{
	static volatile unsigned char sink;
	const unsigned char *bytes = tensor->data;

	for (size_t i = 0; i < tensor->nbytes; i++)
		sink = bytes[i];
	(void)sink;
}

static void
read_whatever(lc_warehouse *w)
{
	lc_sample sample;

	for (uint64_t i = 0; i < MADE_SAMPLES; i += 3) {
		if (lc_warehouse_sample(w, i, &sample) != LC_OK)
			continue;
		touch(&sample.image);
		touch(&sample.boxes);
		touch(&sample.mask);
		lc_warehouse_release(w, &sample);
	}
}

START_TEST(garbled)
{
	static const struct made_variant variants[] = { { .version = 1 },
		{ .bare = true }, { .version = 2 } };
	const struct made made = made_warehouse(&variants[_i / MODES]);
	lc_warehouse_options options = made_options((lc_warehouse_mode)(_i % MODES));
	static const char name[] = "32x24/shard-000001.twh1";
	uint64_t seed = run_seed(), opened = 0;
	lc_warehouse *w;

	options.verify = LC_VERIFY_NEVER;
	for (int k = 0; k < 300; k++) {
		const off_t at = 8 + (off_t)(run_random(&seed) % 72);

		outdir_flip(made.version, name, at);
		if (k % 2)
			outdir_flip(made.version, name, at ^ 1);
		if (lc_warehouse_open(made.warehouse, &options, &w) == LC_OK) {
			opened++;
			read_whatever(w);
			lc_warehouse_close(w);
		} else {
			ck_assert_int_eq(lc_last_error()->status, LC_CORRUPT);
		}
		outdir_flip(made.version, name, at);
		if (k % 2)
			outdir_flip(made.version, name, at ^ 1);
	}
	/* Version 1 has places that nobody checks; version 2 is sealed. */
	ck_assert(_i / MODES != 0 || opened > 0);
	ck_assert(_i / MODES != 2 || opened == 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warehouse_garbled");
	TCase *tc = tcase_create("warehouse_garbled");

	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, no_memory, 0, 2 * MODES);
	tcase_add_loop_test(tc, garbled, 0, 3 * MODES);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
