/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake_build.h"
#include "outdir_files.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

static void
fix_time(void)
{
	setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
}

START_TEST(same_bytes_for_any_threads)
{
	const char *one = fake_reference(0), *four = run_scratch();
	const struct fake_variant v = { .threads = 4 };
	lc_export_result result;

	ck_assert_int_eq(fake_build(four, &v, &result), LC_OK);
	ck_assert_uint_eq(result.shards, 5);
	ck_assert_uint_eq(result.reused, 0);
	ck_assert_uint_eq(result.samples, 100);
	ck_assert_int_eq(outdir_count_files(four, ""), 6);
	outdir_assert_same_dirs(one, four);
	ck_assert_int_eq(lc_manifest_verify(four, NULL), LC_OK);
}
END_TEST

START_TEST(shards_stay_below_their_size)
{
	const char *dir = fake_reference(0);
	uint64_t samples = 0;
	lc_shard *shard;

	for (int i = 0; i < 5; i++) {
		char name[40], *path;
		snprintf(name, sizeof(name), "shard-%06d.twh1", i);
		path = outdir_join(dir, name);
		ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
		ck_assert_uint_le(lc_shard_info_of(shard)->file_size, FAKE_SHARD_BYTES);
		ck_assert_int_eq(lc_shard_verify(shard, NULL), LC_OK);
		for (uint64_t k = 0; k < lc_shard_info_of(shard)->samples; k++) {
			struct lc__twh1_row row;
			const void *image;
			lc_sample sample;
			ck_assert_int_eq(lc_shard_sample(shard, k, &sample), LC_OK);
			ck_assert_int_eq(fake_row(NULL, samples, &row), LC_OK);
			ck_assert_int_eq(fake_image(NULL, samples++, NULL, &image), LC_OK);
			ck_assert_mem_eq(sample.image.data, image, FAKE_IMAGE);
			ck_assert_uint_eq(sample.image.ndim, 2);
			ck_assert_uint_eq(sample.id.size, row.cache_id.size);
			ck_assert_mem_eq(sample.id.data, row.cache_id.data,
			    row.cache_id.size);
		}
		lc_shard_close(shard);
		free(path);
	}
	ck_assert_uint_eq(samples, 100);
}
END_TEST

/* ---- interruptions ----------------------------------------------------- */


/* Stop before every step there is; each time a second run must finish it. */
START_TEST(cancelled_at_every_step)
{
	const char *whole = fake_reference(0);
	lc_export_result result;
	lc_status status;
	int first_step = 0;

	do {
		const char *dir = run_scratch();
		int steps = first_step++, shards;
		const struct fake_variant stop = { .progress = { .step = fake_stop_at, .ctx = &steps },
			.threads = 1 + (unsigned)first_step % 2 };
		const struct fake_variant again = { 0 };

		status = fake_build(dir, &stop, &result);
		if (status == LC_OK)
			break;
		ck_assert_int_eq(status, LC_CANCELLED);
		ck_assert(!outdir_exists(dir, "manifest.json"));
		ck_assert_int_eq(outdir_count_unfinished(dir), 0);
		shards = outdir_count_files(dir, ".twh1");
		ck_assert_int_eq(fake_build(dir, &again, &result), LC_OK);
		ck_assert_uint_eq(result.reused, shards);
		outdir_assert_same_dirs(whole, dir);
	} while (true);
	ck_assert_int_gt(first_step, 6);
}
END_TEST

static void
interrupt(const char *dir, uint64_t samples)
{
	int steps = 4;
	const struct fake_variant v = { .samples = samples,
		.progress = { .step = fake_stop_at, .ctx = &steps } };
	lc_export_result result;

	ck_assert_int_eq(fake_build(dir, &v, &result), LC_CANCELLED);
	ck_assert_int_gt(outdir_count_files(dir, ".twh1"), 1);
	ck_assert(outdir_exists(dir, ".export-state.json"));
}

START_TEST(another_build_starts_afresh)
{
	const char *dir = run_scratch();
	const struct fake_variant other = { .samples = 30, .state = "other" };
	lc_export_result result;

	interrupt(dir, 0);
	ck_assert_int_eq(fake_build(dir, &other, &result), LC_OK);
	ck_assert_uint_eq(result.reused, 0);
	ck_assert_int_eq(outdir_count_files(dir, ""), 3);
	outdir_assert_same_dirs(fake_reference(30), dir);
}
END_TEST

START_TEST(damage_between_runs_is_found)
{
	const char *dir = run_scratch();
	const struct fake_variant v = { 0 };
	lc_export_result result;
	int shards;

	interrupt(dir, 0);
	shards = outdir_count_files(dir, ".twh1");
	outdir_flip(dir, "shard-000001.twh1", 5000);
	ck_assert_int_eq(fake_build(dir, &v, &result), LC_OK);
	ck_assert_uint_eq(result.reused, shards - 1);
	outdir_assert_same_dirs(fake_reference(0), dir);
}
END_TEST

START_TEST(damaged_state_starts_afresh)
{
	static const char *const states[] = { "", "{", "[]", "{\"shards\":[]}" };
	const char *dir = run_scratch();
	const struct fake_variant v = { 0 };
	lc_export_result result;

	interrupt(dir, 0);
	outdir_put_file(dir, ".export-state.json", states[_i]);
	ck_assert_int_eq(fake_build(dir, &v, &result), LC_OK);
	ck_assert_uint_eq(result.reused, 0);
	outdir_assert_same_dirs(fake_reference(0), dir);
}
END_TEST

/* A step that watches the state file: it is written once, and then grows. */
struct watch {
	const char *dir;
	ino_t file;
	off_t size;
	int grown; /* how often */
};

static int
watch_state(void *ctx, uint64_t done, uint64_t total)
{
	struct watch *watch = ctx;
	char *path = outdir_join(watch->dir, ".export-state.json");
	struct stat st;

	(void)done;
	(void)total;
	ck_assert_int_eq(stat(path, &st), 0);
	free(path);
	if (watch->size != 0) {
		ck_assert_uint_eq(st.st_ino, watch->file);
		/* "9 SHA-256" and a newline, and from then on "10 SHA-256" */
		if (st.st_size != watch->size)
			ck_assert_int_eq(st.st_size - watch->size,
			    watch->grown++ < 10 ? 67 : 68);
	}
	watch->file = st.st_ino;
	watch->size = st.st_size;
	return 0;
}

START_TEST(state_grows_by_a_line_a_shard)
{
	const char *dir = run_scratch();
	struct watch watch = { .dir = dir };
	const struct fake_variant v = { .samples = 400,
		.progress = { .step = watch_state, .ctx = &watch } };
	lc_export_result result;

	ck_assert_int_eq(fake_build(dir, &v, &result), LC_OK);
	ck_assert_uint_gt(result.shards, 10);
	/* No step comes after the last shard. */
	ck_assert_int_eq(watch.grown, (int)result.shards - 1);
	ck_assert(!outdir_exists(dir, ".export-state.json"));
}
END_TEST

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* What an end of the state file costs: shards that are written again. */
static const struct {
	const char *name, *end;
	int lost;
} end_rows[] = {
	{ "cut", "4 0123", 0 },
	{ "cut and continued", "4 01235 " SHA "\n", 0 },
	{ "another checksum", "0 " SHA "\n", 1 },
	{ "another kind", "0 0123456789abcdef0123456789abcdef\n", 1 },
	{ "no such shard", "5 " SHA "\n", 0 },
	{ "a number of 2^64", "18446744073709551616 " SHA "\n", 0 },
	{ "an empty line", "\n", 0 },
	{ "after a bad line", "x\n0 " SHA "\n", 0 },
	{ "not there", "4 " SHA "\n", 0 },
};

START_TEST(ends_of_states)
{
	const char *dir = run_scratch();
	const struct fake_variant v = { 0 };
	lc_export_result result;
	struct lc__buf text;
	int shards;

	interrupt(dir, 0);
	shards = outdir_count_files(dir, ".twh1");
	text = outdir_get_file(dir, ".export-state.json");
	lc__buf_append(&text, end_rows[_i].end, strlen(end_rows[_i].end) + 1);
	outdir_put_file(dir, ".export-state.json", (char *)text.data);
	lc__buf_free(&text);
	ck_assert_int_eq(fake_build(dir, &v, &result), LC_OK);
	ck_assert_msg(result.reused == (uint64_t)(shards - end_rows[_i].lost),
	    "%s: %d of %d", end_rows[_i].name, (int)result.reused, shards);
	outdir_assert_same_dirs(fake_reference(0), dir);
}
END_TEST

START_TEST(stale_shards_go)
{
	const char *dir = fake_reference(0);
	const struct fake_variant fewer = { .samples = 30, .state = "fewer" };
	lc_export_result result;

	outdir_put_file(dir, "shard-000009.twh1.tmp.Xy3aB9", "left by a killed run");
	outdir_put_file(dir, "manifest.json.tmp.abcdef", "left by a killed run");
	outdir_put_file(dir, "notes.txt", "not ours");
	ck_assert_int_eq(fake_build(dir, &fewer, &result), LC_OK);
	ck_assert_int_eq(outdir_count_files(dir, ".twh1"), 2);
	ck_assert_int_eq(outdir_count_files(dir, ""), 4);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
}
END_TEST

static const struct {
	const char *name, *text, *error;
} stranger_rows[] = {
	{ "val.twh1", "x", "holds val.twh1, which no export here has written" },
	{ "manifest.json", "{\"name\": \"app\"}",
	    "will not replace a file that is not a manifest of shards: manifest.json: "
	    "not a shard manifest" },
	{ "manifest.json", "hello", "will not replace a file that is not a manifest" },
};

START_TEST(strangers_are_kept)
{
	const char *dir = run_scratch();
	const struct fake_variant v = { 0 };
	lc_export_result result;
	struct lc__buf text;

	outdir_put_file(dir, stranger_rows[_i].name, stranger_rows[_i].text);
	ck_assert_int_eq(fake_build(dir, &v, &result), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    stranger_rows[_i].error));
	ck_assert_int_eq(outdir_count_files(dir, ""), 1);
	text = outdir_get_file(dir, stranger_rows[_i].name);
	ck_assert_uint_eq(text.size, strlen(stranger_rows[_i].text));
	lc__buf_free(&text);
}
END_TEST

START_TEST(one_export_at_a_time)
{
	const char *dir = run_scratch();
	const int fd = open(dir, O_RDONLY | O_DIRECTORY);
	const struct fake_variant v = { 0 };
	lc_export_result result;

	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	ck_assert_int_eq(fake_build(dir, &v, &result), LC_BUSY);
	ck_assert_int_eq(outdir_count_files(dir, ""), 0);
	close(fd);
}
END_TEST

START_TEST(damaged_sample_ends_it)
{
	const char *dir = run_scratch();
	uint64_t damaged = 50;
	const struct fake_variant v = { .damaged = &damaged, .threads = 2 };
	lc_export_result result;

	ck_assert_int_eq(fake_build(dir, &v, &result), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "key 'x': checksum mismatch");
	ck_assert(!outdir_exists(dir, "manifest.json"));
	ck_assert_int_eq(outdir_count_unfinished(dir), 0);
}
END_TEST

START_TEST(dry_run_writes_nothing)
{
	char *dir = outdir_join(run_scratch(), "new");
	const struct fake_variant v = { .dry_run = true };
	lc_export_result result;

	ck_assert_int_eq(fake_build(dir, &v, &result), LC_OK);
	ck_assert_uint_eq(result.shards, 5);
	ck_assert_uint_gt(result.bytes, 100 * FAKE_IMAGE);
	ck_assert_int_eq(access(dir, F_OK), -1);
	free(dir);
}
END_TEST

/* A child rebuilds the directory over and over, now this, now that, and is
 * killed anywhere. Whenever a manifest stands there, it is right. */
START_TEST(killed_anywhere)
{
	const char *dir = run_scratch();
	uint64_t seed = run_seed();
	const struct fake_variant v = { 0 };
	lc_export_result result;
	const uint64_t start = lc__clock_ns();
	uint64_t span; /* two builds: kills fall into every part of one */
	int finished = 0, status;

	fake_reference(0);
	span = 2 * (lc__clock_ns() - start) / 1000 + 1;
	for (int round = 0; round < 100; round++) {
		const pid_t pid = fork();
		if (pid == 0) {
			for (uint64_t i = (uint64_t)round;; i++) {
				const struct fake_variant mine = { .threads = 2,
					.samples = i / 2 % 2 ? 30 : 100,
					.series = i / 2 % 2 ? 2 : 0,
					.state = i / 2 % 2 ? "two" : "same" };
				if (fake_build(dir, &mine, &result) != LC_OK ||
				    lc_manifest_verify(dir, NULL) != LC_OK)
					_exit(1);
			}
		}
		ck_assert_int_gt(pid, 0);
		usleep((useconds_t)(run_random(&seed) % span));
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status));
		if (!outdir_exists(dir, "manifest.json"))
			continue;
		finished++;
		ck_assert_msg(lc_manifest_verify(dir, NULL) == LC_OK, "%s",
		    lc_last_error()->text);
	}
	printf("# %d of 100 kills left a manifest\n", finished);
	ck_assert_int_eq(fake_build(dir, &v, &result), LC_OK);
	outdir_assert_same_dirs(fake_reference(0), dir);
}
END_TEST

/* ---- full disks -------------------------------------------------------- */

START_TEST(file_size_limit)
{
	const char *dir = run_scratch();
	const struct rlimit limit = { 40000, 40000 };
	const struct fake_variant v = { 0 };
	lc_export_result result;

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(fake_build(dir, &v, &result), LC_NO_SPACE);
	ck_assert_int_eq(outdir_count_files(dir, ""), 1);
	ck_assert(outdir_exists(dir, ".export-state.json"));
}
END_TEST

START_TEST(no_room_leaves_the_old_export)
{
	const char *dir = run_scratch();
	const struct fake_variant small = { 0 }, large = { .samples = 400,
		.state = "large" };
	lc_export_result result;

	if (!outdir_mount(dir, "size=640k"))
		return;
	ck_assert_int_eq(fake_build(dir, &small, &result), LC_OK);
	ck_assert_int_eq(fake_build(dir, &large, &result), LC_NO_SPACE);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "the shards need"));
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
	/* What is replaced makes room for what replaces it. */
	ck_assert_int_eq(fake_build(dir, &small, &result), LC_OK);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
	umount(dir);
}
END_TEST

/* At the first step someone else takes the rest of the disk. */
static int
fill_disk(void *ctx, uint64_t done, uint64_t total)
{
	char *path = outdir_join(ctx, "filler");
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	static const char block[4096];

	(void)done;
	(void)total;
	while (write(fd, block, sizeof(block)) == sizeof(block))
		continue;
	close(fd);
	free(path);
	return 0;
}

START_TEST(disk_fills_on_the_way)
{
	const char *dir = run_scratch();
	const struct fake_variant full = { .progress = { .step = fill_disk,
		.ctx = (void *)dir } }, again = { 0 };
	lc_export_result result;

	if (!outdir_mount(dir, "size=640k"))
		return;
	ck_assert_int_eq(fake_build(dir, &full, &result), LC_NO_SPACE);
	ck_assert(!outdir_exists(dir, "manifest.json"));
	ck_assert_int_eq(outdir_count_unfinished(dir), 0);
	outdir_remove_file(dir, "filler");
	ck_assert_int_eq(fake_build(dir, &again, &result), LC_OK);
	outdir_assert_same_dirs(fake_reference(0), dir);
	umount(dir);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("build");
	TCase *tc = tcase_create("build");

	tcase_set_timeout(tc, 600);
	tcase_add_checked_fixture(tc, fix_time, NULL);
	tcase_add_test(tc, same_bytes_for_any_threads);
	tcase_add_test(tc, shards_stay_below_their_size);
	tcase_add_test(tc, cancelled_at_every_step);
	tcase_add_test(tc, another_build_starts_afresh);
	tcase_add_test(tc, damage_between_runs_is_found);
	tcase_add_loop_test(tc, damaged_state_starts_afresh, 0, 4);
	tcase_add_test(tc, state_grows_by_a_line_a_shard);
	tcase_add_loop_test(tc, ends_of_states, 0, COUNT(end_rows));
	tcase_add_test(tc, stale_shards_go);
	tcase_add_loop_test(tc, strangers_are_kept, 0, COUNT(stranger_rows));
	tcase_add_test(tc, one_export_at_a_time);
	tcase_add_test(tc, damaged_sample_ends_it);
	tcase_add_test(tc, dry_run_writes_nothing);
	tcase_add_test(tc, killed_anywhere);
	tcase_add_test(tc, file_size_limit);
	tcase_add_test(tc, no_room_leaves_the_old_export);
	tcase_add_test(tc, disk_fills_on_the_way);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
