/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of 400,000 shards: opened, read, joined and verified with little memory. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fileio.h"
#include "fake_build.h"
#include "large_set.h"
#include "need.h"
#include "outdir_files.h"

#define SHARDS UINT64_C(400000)
#define FEW 8u        /* shards of the set that it is made of */
#define PER_SHARD 20u /* samples */
#define LIMIT 100     /* MB */

static const char *scratch;
static char *few; /* a set of FEW shards */

struct job {
	const char *dir, *out;
	uint64_t shards;
	enum large_set_files files;
};

static void
make(void *ctx)
{
	const struct job *job = ctx;

	need_ok(large_set_make(few, job->dir, job->shards, job->files));
}

/* In a process of its own, whose memory does not count here. */
static char *
make_set(const char *name, uint64_t shards, enum large_set_files files)
{
	char *dir = outdir_join(scratch, name);
	struct job job = { .dir = dir, .shards = shards, .files = files };

	ck_assert_int_eq(child_run(make, &job), 0);
	return dir;
}

/* This process never had more memory than that. */
static void
need_little(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	struct rusage usage;

	need(getrusage(RUSAGE_SELF, &usage) == 0);
	need(usage.ru_maxrss < LIMIT * 1000);
#endif
}

/* Make a shard of a set that has none, that of another number. */
static void
add_shard(const char *dir, uint64_t number)
{
	char from[5000], *path = large_set_path(number), *to = outdir_join(dir, path);

	snprintf(from, sizeof(from), "%s/shard-%06u.twh1", few, (unsigned)(number % FEW));
	need(link(from, to) == 0);
	free(path);
	free(to);
}

/* Sample @p i of a set is that of the set that it was made of. */
static void
need_sample(lc_warehouse *w, uint64_t i)
{
	unsigned char expected[FAKE_IMAGE];
	const void *image;
	lc_sample sample;

	need_ok(fake_image(NULL, i % (FEW * PER_SHARD), expected, &image));
	need_ok(lc_warehouse_sample(w, i, &sample));
	need(sample.image.nbytes == FAKE_IMAGE);
	need(memcmp(sample.image.data, image, FAKE_IMAGE) == 0);
	lc_warehouse_release(w, &sample);
}

static void
setup(void)
{
	const struct fake_variant v = { .samples = FEW * PER_SHARD };
	lc_export_result result;

	scratch = run_scratch();
	few = outdir_join(scratch, "few");
	need_ok(fake_build(few, &v, &result));
	need(result.shards == FEW);
}

static void
teardown(void)
{
	free(few);
}

/* ---- opened and read ------------------------------------------------------------ */

static const uint64_t there[] = { 0, 123456, SHARDS - 1 };

static void
open_and_read(void *ctx)
{
	const struct job *job = ctx;
	lc_warehouse *w;
	lc_sample sample;
	lc_source *source;
	char *missing = large_set_path(5), *path = outdir_join(job->dir, missing);

	need_ok(lc_warehouse_open(job->dir, NULL, &w));
	need(lc_warehouse_info_of(w)->samples == SHARDS * PER_SHARD);
	for (unsigned i = 0; i < sizeof(there) / sizeof(there[0]); i++)
		for (unsigned k = 0; k < PER_SHARD; k++)
			need_sample(w, there[i] * PER_SHARD + k);
	need_status(lc_warehouse_sample(w, 5 * PER_SHARD, &sample), LC_CORRUPT);
	need(strstr(lc_last_error()->text, missing) != NULL);
	lc_warehouse_close(w);
	need_ok(lc_source_open_shards(job->dir, NULL, &source));
	lc_source_close(source);
	need_little();
	free(missing);
	free(path);
}

/* Of all its shards only a few exist. */
START_TEST(opened)
{
	char *dir = make_set("all", SHARDS, LARGE_SET_NONE);
	struct job job = { .dir = dir };

	for (unsigned i = 0; i < sizeof(there) / sizeof(there[0]); i++)
		add_shard(dir, there[i]);
	ck_assert_int_eq(child_run(open_and_read, &job), 0);
	free(dir);
}
END_TEST

/* ---- joined --------------------------------------------------------------------- */

static void
join(void *ctx)
{
	const struct job *job = ctx;
	const char *const sets[] = { job->dir, few, job->dir };
	lc_union_result result;
	lc_warehouse *w;

	need_ok(lc_shard_union(job->out, sets, 3, &result));
	need(result.shards == 2 * SHARDS + FEW);
	need(result.samples == (2 * SHARDS + FEW) * PER_SHARD);
	need_ok(lc_warehouse_open(job->out, NULL, &w));
	/* The set in the middle ends where FEW begins anew. */
	need_sample(w, there[1] * PER_SHARD + 7);
	need_sample(w, (SHARDS + 3) * PER_SHARD);
	need_sample(w, (SHARDS + FEW + there[1]) * PER_SHARD + 19);
	lc_warehouse_close(w);
	need_little();
}

START_TEST(joined)
{
	char *dir = make_set("all", SHARDS, LARGE_SET_NONE);
	char *out = outdir_join(scratch, "union");
	struct job job = { .dir = dir, .out = out };

	ck_assert_uint_eq(SHARDS % FEW, 0);
	for (unsigned i = 0; i < sizeof(there) / sizeof(there[0]); i++)
		add_shard(dir, there[i]);
	ck_assert_int_eq(child_run(join, &job), 0);
	free(dir);
	free(out);
}
END_TEST

/* ---- all of a set of several parts ------------------------------------------------- */

static void
read_all(void *ctx)
{
	const struct job *job = ctx;
	lc_warehouse *w;

	need_ok(lc_warehouse_open(job->dir, NULL, &w));
	for (uint64_t i = 0; i < job->shards * PER_SHARD; i += 7)
		need_sample(w, i);
	lc_warehouse_close(w);
	need_ok(lc_manifest_verify(job->dir, NULL));
	need_little();
}

/* Paths that are named by the content, as in a store, and others. */
START_TEST(whole)
{
	struct job job = { .shards = 2 * 4096 + 100 };
	char *dir = make_set("set", job.shards,
	    _i == 0 ? LARGE_SET_LINKS : LARGE_SET_STORED);

	job.dir = dir;
	ck_assert_int_eq(child_run(read_all, &job), 0);
	free(dir);
}
END_TEST

/* One that is missing is found, whichever part it is of. */
START_TEST(missing)
{
	static const uint64_t numbers[] = { 1, 4095, 4096, 8000 };
	char *dir = make_set("set", 8001, LARGE_SET_LINKS);

	for (unsigned i = 0; i < 4; i++) {
		char *path = large_set_path(numbers[i]);

		outdir_remove_file(dir, path);
		assert_status(lc_manifest_verify(dir, NULL), LC_CORRUPT);
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text, path));
		add_shard(dir, numbers[i]);
		free(path);
	}
	assert_ok(lc_manifest_verify(dir, NULL));
	free(dir);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("large_set");
	TCase *tc = tcase_create("set");

	/* Half a gigabyte of manifests, of which nothing has to last. */
	if (getenv("TMPDIR") == NULL && access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 1);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 600);
	tcase_add_test(tc, opened);
	tcase_add_test(tc, joined);
	tcase_add_loop_test(tc, whole, 0, 2);
	tcase_add_test(tc, missing);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
