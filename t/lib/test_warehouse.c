/* SPDX-License-Identifier: BSD-2-Clause */
/* Warehouses opened and read: every mode, the same bytes; statistics. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "made_warehouse.h"
#include "outdir_files.h"
#include "warehouse/warehouse.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

static const struct made_variant plain;

static lc_warehouse *
open_with(const char *path, const lc_warehouse_options *options)
{
	lc_warehouse *w = NULL;

	ck_assert_msg(lc_warehouse_open(path, options, &w) == LC_OK, "%s",
	    lc_last_error()->text);
	return w;
}

static lc_warehouse_stats
stats_of(const lc_warehouse *w)
{
	lc_warehouse_stats stats = { .struct_size = sizeof(stats) };

	ck_assert_int_eq(lc_warehouse_stat(w, &stats), LC_OK);
	return stats;
}

static void
read_one(lc_warehouse *w, uint64_t i, const struct made_variant *v)
{
	lc_sample sample;

	ck_assert_msg(lc_warehouse_sample(w, i, &sample) == LC_OK, "%s",
	    lc_last_error()->text);
	ck_assert_msg(made_is(&sample, i, v), "sample %llu",
	    (unsigned long long)i);
	lc_warehouse_release(w, &sample);
	ck_assert_ptr_null(sample.image.data);
}

static void
copy_one(lc_warehouse *w, uint64_t i)
{
	unsigned char image[MADE_IMAGE + 1];
	float boxes[MADE_MAX_BOXES][4], mask[MADE_MAX_BOXES];

	image[MADE_IMAGE] = 0x5a;
	ck_assert_int_eq(lc_warehouse_copy(w, i, image, boxes, mask), LC_OK);
	ck_assert_int_eq(image[MADE_IMAGE], 0x5a);
	ck_assert_mem_eq(image, made_image(i), MADE_IMAGE);
	ck_assert_mem_eq(boxes, made_boxes(i), sizeof(boxes));
	ck_assert_mem_eq(mask, made_mask(i), sizeof(mask));
	memset(mask, 1, sizeof(mask));
	ck_assert_int_eq(lc_warehouse_copy(w, i, NULL, NULL, mask), LC_OK);
	ck_assert_mem_eq(mask, made_mask(i), sizeof(mask));
}

/* ---- every variant, mode and verification ------------------------------------ */

static const struct made_variant variants[] = {
	{ .version = 0 },
	{ .shapes = true },
	{ .shard_bytes = 4096 }, /* a sample a shard: more than files open at once */
	{ .version = 1 },
	{ .bare = true },
	{ .no_sha256 = true },
	{ .bare = true, .no_sha256 = true },
	{ .no_about = true },
	{ .no_about = true, .version = 1 },
};

static void
read_all(const char *path, const struct made_variant *v, lc_warehouse_mode mode,
    lc_verify_mode verify)
{
	lc_warehouse_options options = made_options(mode);
	lc_warehouse *w;

	options.verify = verify;
	w = open_with(path, &options);
	for (int epoch = 0; epoch < 2; epoch++)
		for (uint64_t i = 0; i < MADE_SAMPLES; i++)
			read_one(w, i, v);
	lc_warehouse_close(w);
}

START_TEST(same_samples_everywhere)
{
	const struct made_variant *v = &variants[_i];
	const struct made made = made_warehouse(v);

	for (int mode = LC_WAREHOUSE_MAP; mode <= LC_WAREHOUSE_MEMORY; mode++)
		for (int verify = LC_VERIFY_NEVER; verify <= LC_VERIFY_ONCE; verify++)
			read_all(made.warehouse, v, (lc_warehouse_mode)mode,
			    (lc_verify_mode)verify);
	read_all(made.version, v, LC_WAREHOUSE_MAP, LC_VERIFY_ONCE);
}
END_TEST

/* A thread may see that a sample is known before it sees that its blocks are good:
 * what is read to verify them stays out of the caller's memory. */
START_TEST(copies_of_blocks_not_seen_good)
{
	enum { AROUND = 256 << 10 };
	const struct made made = made_warehouse(&plain);
	const lc_warehouse_options options = made_options(LC_WAREHOUSE_STREAM);
	lc_warehouse *w = open_with(made.warehouse, &options);
	unsigned char *room = malloc(2 * AROUND + MADE_IMAGE);

	ck_assert_ptr_nonnull(room);
	for (uint64_t i = 0; i < 20; i++) {
		read_one(w, i, &plain);
		for (size_t s = 0; s < w->set.n; s++)
			atomic_store(w->set.shards[s].good, 0);
		memset(room, 0x5a, 2 * AROUND + MADE_IMAGE);
		ck_assert_int_eq(lc_warehouse_copy(w, i, room + AROUND, NULL, NULL),
		    LC_OK);
		ck_assert_mem_eq(room + AROUND, made_image(i), MADE_IMAGE);
		for (size_t k = 0; k < AROUND; k++) {
			ck_assert_uint_eq(room[k], 0x5a);
			ck_assert_uint_eq(room[AROUND + MADE_IMAGE + k], 0x5a);
		}
	}
	free(room);
	lc_warehouse_close(w);
}
END_TEST

START_TEST(copies)
{
	const struct made made = made_warehouse(&plain);
	const lc_warehouse_options options = made_options((lc_warehouse_mode)_i);
	lc_warehouse *w = open_with(made.warehouse, &options);

	for (int epoch = 0; epoch < 2; epoch++)
		for (uint64_t i = MADE_SAMPLES; i-- > 0;)
			copy_one(w, i);
	lc_warehouse_close(w);
}
END_TEST

/* ---- what it says ------------------------------------------------------------ */

START_TEST(what_it_is)
{
	const struct made made = made_warehouse(&plain);
	lc_warehouse *w = open_with(made.warehouse, NULL);
	const lc_warehouse_info *info = lc_warehouse_info_of(w);
	lc_series_info series;

	ck_assert_str_eq(info->path, made.version);
	ck_assert_str_eq(info->recipe, "{\"made\":1}");
	ck_assert_uint_eq(strlen(info->version), 64);
	ck_assert_uint_eq(strlen(info->fingerprint), 64);
	ck_assert_str_eq(info->dataset_root, "assets");
	ck_assert_str_eq(info->transform, "{\"resize_mode\":\"Letterbox\"}");
	ck_assert_str_eq(info->thresholds, "{}");
	ck_assert_ptr_nonnull(strstr(info->summary, "\"total\":104"));
	ck_assert_uint_eq(info->samples, MADE_SAMPLES);
	ck_assert_uint_ge(info->shards, 5);
	ck_assert_uint_ge(info->bytes, (uint64_t)MADE_SAMPLES * MADE_IMAGE);
	ck_assert_uint_eq(info->max_boxes, MADE_MAX_BOXES);
	ck_assert_int_eq(info->dtype, LC_F16);
	ck_assert_int_eq(info->boxes_dtype, LC_F32);
	ck_assert_int_eq(info->sources_seen, 1);
	ck_assert_uint_eq(info->series, 2);
	ck_assert_int_eq(lc_warehouse_series(w, 0, &series), LC_OK);
	ck_assert_uint_eq(series.channels, 3);
	ck_assert_uint_eq(series.height, 24);
	ck_assert_uint_eq(series.width, 32);
	ck_assert_uint_eq(series.first, 0);
	ck_assert_uint_eq(series.samples, MADE_FIRST);
	ck_assert_int_eq(lc_warehouse_series(w, 1, &series), LC_OK);
	ck_assert_uint_eq(series.height, 48);
	ck_assert_uint_eq(series.width, 16);
	ck_assert_uint_eq(series.first, MADE_FIRST);
	ck_assert_uint_eq(series.samples, MADE_SECOND);
	ck_assert_int_eq(lc_warehouse_series(w, 2, &series), LC_NOT_FOUND);
	lc_warehouse_close(w);
}
END_TEST

START_TEST(plain_exports_open)
{
	const struct made_variant v = { .no_about = true };
	const struct made made = made_warehouse(&v);
	lc_warehouse_options options = made_options(LC_WAREHOUSE_MAP);
	lc_warehouse *w = open_with(made.version, &options);

	ck_assert_str_eq(lc_warehouse_info_of(w)->fingerprint, "");
	ck_assert_int_eq(lc_warehouse_info_of(w)->sources_seen, 0);
	ck_assert_uint_eq(lc_warehouse_info_of(w)->series, 2);
	lc_warehouse_close(w);
	options.sources = LC_SOURCES_CONTENT;
	ck_assert_int_eq(lc_warehouse_open(made.version, &options, &w),
	    LC_NOT_FOUND);
}
END_TEST

START_TEST(beyond_the_end)
{
	const struct made made = made_warehouse(&plain);
	const lc_warehouse_options options = made_options((lc_warehouse_mode)_i);
	lc_warehouse *w = open_with(made.warehouse, &options);
	lc_sample sample;

	ck_assert_int_eq(lc_warehouse_sample(w, MADE_SAMPLES, &sample),
	    LC_NOT_FOUND);
	ck_assert_int_eq(lc_warehouse_sample(w, UINT64_MAX, &sample),
	    LC_NOT_FOUND);
	ck_assert_int_eq(lc_warehouse_copy(w, MADE_SAMPLES, NULL, NULL, NULL),
	    LC_NOT_FOUND);
	lc_warehouse_prefetch(w, MADE_SAMPLES, 10);
	lc_warehouse_prefetch(w, 3, UINT64_MAX);
	read_one(w, MADE_SAMPLES - 1, &plain);
	ck_assert_uint_eq(stats_of(w).samples_read, 1);
	lc_warehouse_close(w);
	lc_warehouse_close(NULL);
}
END_TEST

/* ---- options ----------------------------------------------------------------- */

static const struct {
	const char *version; /* NULL: the whole key */
	lc_status status;
} version_rows[] = {
	{ NULL, LC_OK },
	{ "00000000", LC_VERSION },
	{ "0000000", LC_INVALID },
	{ "not hexa!", LC_INVALID },
	{ "", LC_INVALID },
};

START_TEST(version)
{
	const struct made made = made_warehouse(&plain);
	lc_warehouse_options options = made_options(LC_WAREHOUSE_MAP);
	char key[65];
	lc_warehouse *w = open_with(made.warehouse, NULL);

	strcpy(key, lc_warehouse_info_of(w)->version);
	lc_warehouse_close(w);
	options.version = version_rows[_i].version ? version_rows[_i].version : key;
	ck_assert_int_eq(lc_warehouse_open(made.warehouse, &options, &w),
	    version_rows[_i].status);
	if (version_rows[_i].status != LC_OK)
		return;
	lc_warehouse_close(w);
	key[8] = '\0';
	for (char *p = key; *p != '\0'; p++)
		if (*p >= 'a')
			*p = (char)(*p - 'a' + 'A');
	lc_warehouse_close(open_with(made.warehouse, &options));
}
END_TEST

START_TEST(bad_options)
{
	const struct made made = made_warehouse(&plain);
	lc_warehouse_options options = { 0 };
	lc_warehouse_stats stats = { 0 };
	lc_warehouse *w = NULL;

	ck_assert_int_eq(lc_warehouse_open(made.warehouse, &options, &w),
	    LC_INVALID);
	options = made_options((lc_warehouse_mode)3);
	ck_assert_int_eq(lc_warehouse_open(made.warehouse, &options, &w),
	    LC_INVALID);
	options = made_options(LC_WAREHOUSE_MAP);
	options.verify = (lc_verify_mode)-1;
	ck_assert_int_eq(lc_warehouse_open(made.warehouse, &options, &w),
	    LC_INVALID);
	options.verify = LC_VERIFY_ONCE;
	options.sources = (lc_warehouse_sources)3;
	ck_assert_int_eq(lc_warehouse_open(made.warehouse, &options, &w),
	    LC_INVALID);
	ck_assert_ptr_null(w);
	w = open_with(made.warehouse, NULL);
	ck_assert_int_eq(lc_warehouse_stat(w, &stats), LC_INVALID);
	lc_warehouse_close(w);
}
END_TEST

/* ---- what it cost ------------------------------------------------------------- */

START_TEST(cost_of_a_map)
{
	const struct made made = made_warehouse(&plain);
	lc_warehouse *w = open_with(made.warehouse, NULL);
	const lc_warehouse_info *info = lc_warehouse_info_of(w);
	lc_warehouse_stats before = stats_of(w), after;

	ck_assert_uint_eq(before.bytes_mapped, info->bytes);
	ck_assert_uint_eq(before.bytes_verified, 0);
	ck_assert_uint_eq(before.bytes_read, 0);
	ck_assert_uint_gt(before.open_ns, 0);
	ck_assert_uint_gt(before.sources_ns, 0);
	ck_assert_uint_ge(before.open_ns, before.sources_ns);
	ck_assert_uint_gt(before.slowest_shard_ns, 0);
	ck_assert_ptr_nonnull(strstr(before.slowest_shard, ".twh1"));
	for (uint64_t i = 0; i < MADE_SAMPLES; i++)
		read_one(w, i, &plain);
	after = stats_of(w);
	/* Each block once, and never more than there is. */
	ck_assert_uint_ge(after.bytes_verified, (uint64_t)MADE_SAMPLES * MADE_IMAGE);
	ck_assert_uint_le(after.bytes_verified, info->bytes);
	ck_assert_uint_eq(after.samples_read, MADE_SAMPLES);
	for (uint64_t i = 0; i < MADE_SAMPLES; i++)
		copy_one(w, i);
	before = after;
	after = stats_of(w);
	ck_assert_uint_eq(after.bytes_verified, before.bytes_verified);
	ck_assert_uint_eq(after.verify_ns, before.verify_ns);
	ck_assert_uint_eq(after.samples_read, 3 * MADE_SAMPLES);
	ck_assert_uint_eq(after.bytes_read, 0);
	lc_warehouse_close(w);
}
END_TEST

static const struct {
	lc_warehouse_mode mode;
	lc_verify_mode verify;
	bool files, version_one;
	unsigned reads, digests; /* times all bytes of all shards, when opened */
} cost_rows[] = {
	{ LC_WAREHOUSE_MAP, LC_VERIFY_ONCE, true, false, 1, 1 },
	{ LC_WAREHOUSE_MAP, LC_VERIFY_NEVER, true, false, 1, 1 },
	{ LC_WAREHOUSE_MAP, LC_VERIFY_ONCE, false, true, 1, 1 },
	{ LC_WAREHOUSE_MAP, LC_VERIFY_ALWAYS, false, true, 1, 1 },
	{ LC_WAREHOUSE_MAP, LC_VERIFY_NEVER, false, true, 0, 0 },
	{ LC_WAREHOUSE_STREAM, LC_VERIFY_ONCE, false, false, 0, 0 },
	{ LC_WAREHOUSE_STREAM, LC_VERIFY_ONCE, true, false, 1, 1 },
	{ LC_WAREHOUSE_MEMORY, LC_VERIFY_ONCE, false, false, 1, 0 },
	{ LC_WAREHOUSE_MEMORY, LC_VERIFY_ONCE, true, false, 1, 1 },
	{ LC_WAREHOUSE_MEMORY, LC_VERIFY_ONCE, false, true, 1, 1 },
	{ LC_WAREHOUSE_MEMORY, LC_VERIFY_NEVER, false, true, 1, 0 },
};

START_TEST(cost_of_opening)
{
	const struct made_variant v = { .version =
		cost_rows[_i].version_one ? 1 : 0 };
	const struct made made = made_warehouse(&v);
	lc_warehouse_options options = made_options(cost_rows[_i].mode);
	lc_warehouse_stats stats;
	lc_warehouse *w;

	options.verify = cost_rows[_i].verify;
	options.verify_files = cost_rows[_i].files;
	w = open_with(made.warehouse, &options);
	stats = stats_of(w);
	ck_assert_uint_eq(stats.bytes_read,
	    cost_rows[_i].reads * lc_warehouse_info_of(w)->bytes);
	ck_assert_uint_eq(stats.bytes_verified,
	    cost_rows[_i].digests * lc_warehouse_info_of(w)->bytes);
	ck_assert_uint_eq(stats.bytes_mapped, cost_rows[_i].mode ==
	    LC_WAREHOUSE_MAP ? lc_warehouse_info_of(w)->bytes : 0);
	ck_assert_uint_eq(stats.samples_read, 0);
	lc_warehouse_close(w);
}
END_TEST

/* Without checksums a stream reads what is asked for, and not a byte more. */
START_TEST(cost_of_a_stream)
{
	const struct made_variant v = { .bare = true };
	const struct made made = made_warehouse(&v);
	lc_warehouse_options options = made_options(LC_WAREHOUSE_STREAM);
	lc_warehouse *w;

	options.verify = LC_VERIFY_NEVER;
	w = open_with(made.warehouse, &options);
	for (uint64_t i = 0; i < 10; i++)
		copy_one(w, i);
	/* copy_one() copies all, and then the mask. */
	ck_assert_uint_eq(stats_of(w).bytes_read, 10 * (MADE_IMAGE +
	    MADE_MAX_BOXES * 4 * 4 + 2 * MADE_MAX_BOXES * 4));
	lc_warehouse_close(w);
}
END_TEST

static int
count_steps(void *ctx, uint64_t done, uint64_t total)
{
	uint64_t *last = ctx;

	ck_assert_uint_le(done, total);
	*last = done;
	return 0;
}

static int
stop(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx;
	(void)done;
	(void)total;
	return 1;
}

START_TEST(progress)
{
	const struct made made = made_warehouse(&plain);
	lc_warehouse_options options = made_options(LC_WAREHOUSE_MEMORY);
	uint64_t last = 0;
	lc_warehouse *w;

	options.verify_files = 1;
	options.progress = (lc_progress){ .step = count_steps, .ctx = &last };
	w = open_with(made.warehouse, &options);
	ck_assert_uint_eq(last, 2 * lc_warehouse_info_of(w)->bytes);
	lc_warehouse_close(w);
	options.progress.step = stop;
	ck_assert_int_eq(lc_warehouse_open(made.warehouse, &options, &w),
	    LC_CANCELLED);
}
END_TEST

/* ---- many shards, few descriptors ---------------------------------------------- */

START_TEST(streams_share_buffers)
{
	const struct made made = made_warehouse(&plain);
	const lc_warehouse_options options = made_options(LC_WAREHOUSE_STREAM);
	lc_warehouse *w = open_with(made.warehouse, &options);
	lc_sample held[MADE_SAMPLES], again;
	const void *before;

	/* Known by then, it stands at the same place in a buffer each time. */
	read_one(w, 0, &plain);
	for (uint64_t i = 0; i < MADE_SAMPLES; i++)
		ck_assert_int_eq(lc_warehouse_sample(w, i, &held[i]), LC_OK);
	for (uint64_t i = 0; i < MADE_SAMPLES; i++) {
		ck_assert(made_is(&held[i], i, &plain));
		ck_assert_uint_eq((uintptr_t)held[i].image.data % 64, 0);
		ck_assert_uint_eq((uintptr_t)held[i].boxes.data % 64, 0);
	}
	before = held[0].image.data;
	lc_warehouse_release(w, &held[0]);
	ck_assert_int_eq(lc_warehouse_sample(w, 0, &again), LC_OK);
	ck_assert_ptr_eq(again.image.data, before);
	lc_warehouse_release(w, &again);
	for (uint64_t i = 1; i < MADE_SAMPLES; i++)
		lc_warehouse_release(w, &held[i]);
	lc_warehouse_release(w, &again);
	lc_warehouse_close(w);
}
END_TEST

START_TEST(child_reads_on)
{
	const struct made made = made_warehouse(&plain);
	const lc_warehouse_options options = made_options((lc_warehouse_mode)_i);
	lc_warehouse *w = open_with(made.warehouse, &options);
	int status;
	pid_t pid;

	read_one(w, 0, &plain);
	pid = fork();
	if (pid == 0) {
		for (uint64_t i = 0; i < MADE_SAMPLES; i++)
			read_one(w, i, &plain);
		_exit(0);
	}
	for (uint64_t i = 0; i < MADE_SAMPLES; i++)
		read_one(w, i, &plain);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	lc_warehouse_close(w);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warehouse");
	TCase *tc = tcase_create("warehouse");

	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, same_samples_everywhere, 0, COUNT(variants));
	tcase_add_loop_test(tc, copies, 0, 3);
	tcase_add_test(tc, copies_of_blocks_not_seen_good);
	tcase_add_test(tc, what_it_is);
	tcase_add_test(tc, plain_exports_open);
	tcase_add_loop_test(tc, beyond_the_end, 0, 3);
	tcase_add_loop_test(tc, version, 0, COUNT(version_rows));
	tcase_add_test(tc, bad_options);
	tcase_add_test(tc, cost_of_a_map);
	tcase_add_loop_test(tc, cost_of_opening, 0, COUNT(cost_rows));
	tcase_add_test(tc, cost_of_a_stream);
	tcase_add_test(tc, progress);
	tcase_add_test(tc, streams_share_buffers);
	tcase_add_loop_test(tc, child_reads_on, 0, 3);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
