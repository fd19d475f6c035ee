/* SPDX-License-Identifier: BSD-2-Clause */
/* Shrinking: the file becomes smaller, alone or not at all, whoever dies. */
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "witness.h"

static lc_cache *
open_fast(const char *root)
{
	lc_options options = sample_options();

	options.durability = LC_DURABLE_RELAXED;
	return sample_open(root, "m", &options);
}

static const char *
path_of(const char *root, const char *name)
{
	static char path[4200];

	snprintf(path, sizeof(path), "%s/m/%s", root, name);
	return path;
}

/* The module's files, and none that is unfinished. */
static void
check_files(const char *root)
{
	DIR *dir = opendir(path_of(root, ""));
	const struct dirent *entry;

	while ((entry = readdir(dir)) != NULL)
		ck_assert_msg(entry->d_name[0] == '.' ||
		    strcmp(entry->d_name, "data.mdb") == 0 ||
		    strcmp(entry->d_name, "lock.mdb") == 0, "%s", entry->d_name);
	closedir(dir);
}

static uint64_t
file_size(const char *root)
{
	struct stat st;

	ck_assert_int_eq(stat(path_of(root, "data.mdb"), &st), 0);
	return (uint64_t)st.st_size;
}

/* A module with many free pages. */
static void
make_roomy(struct witness *w, const char *root)
{
	lc_cache *cache = open_fast(root);

	for (unsigned i = 0; i < 300; i++)
		witness_put(w, cache, i);
	assert_ok(lc_flush(cache));
	for (unsigned i = 0; i < 280; i++)
		witness_delete(w, cache, i);
	assert_ok(lc_compact(cache, NULL, NULL));
	assert_ok(lc_close(cache));
}

static void
check_after(const struct witness *w, const char *root)
{
	lc_cache *cache = open_fast(root);

	witness_check(w, cache);
	assert_ok(lc_close(cache));
}

START_TEST(shrinks)
{
	struct witness w = { .range = { 4000, 8000 } };
	const char *root = run_scratch();
	uint64_t random = run_seed(), before = 0, after = 0;

	for (unsigned round = 0; round < 3; round++) {
		uint64_t size;

		make_roomy(&w, root);
		ck_assert_int_eq(chmod(path_of(root, "data.mdb"), 0640), 0);
		size = file_size(root);
		assert_ok(lc_shrink(root, "m", &before, &after));
		ck_assert_uint_eq(before, size);
		ck_assert_uint_eq(after, file_size(root));
		ck_assert_uint_lt(after, before / 4);
		check_after(&w, root);
		assert_ok(lc_shrink(root, "m", NULL, NULL));
		check_after(&w, root);
	}
	struct stat st;
	ck_assert_int_eq(stat(path_of(root, "data.mdb"), &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0640);
	check_files(root);
	lc_cache *cache = open_fast(root);
	witness_change(&w, cache, 300, &random);
	witness_check(&w, cache);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(nothing_there)
{
	const char *root = run_scratch();

	assert_status(lc_shrink(root, "m", NULL, NULL), LC_NO_FILE);
	assert_status(lc_shrink(root, "../m", NULL, NULL), LC_INVALID);
	assert_status(lc_shrink(root, NULL, NULL, NULL), LC_INVALID);
	ck_assert_int_eq(mkdir(path_of(root, ""), 0777), 0);
	lc_status status = lc_shrink(root, "m", NULL, NULL);
	ck_assert(status == LC_NO_FILE || status == LC_NOT_MODULE);
}
END_TEST

START_TEST(open_here)
{
	struct witness w = { .range = { 4000, 8000 } };
	const char *root = run_scratch();
	lc_cache *cache;
	uint64_t size;

	make_roomy(&w, root);
	size = file_size(root);
	cache = open_fast(root);
	assert_status(lc_shrink(root, "m", NULL, NULL), LC_BUSY);
	ck_assert_uint_eq(file_size(root), size);
	witness_check(&w, cache);
	witness_put(&w, cache, 1);
	assert_ok(lc_close(cache));
	assert_ok(lc_shrink(root, "m", NULL, NULL));
	check_after(&w, root);
}
END_TEST

/* ---- other processes ------------------------------------------------------ */

struct other {
	const char *root;
	unsigned flags;
	int ready[2], go[2];
};

static void
hold_open(void *ctx)
{
	struct other *other = ctx;
	lc_options options = sample_options();
	lc_cache *cache;
	char byte;

	options.flags = other->flags;
	cache = sample_open(other->root, "m", &options);
	close(other->go[1]);
	need(write(other->ready[1], "x", 1) == 1);
	need(read(other->go[0], &byte, 1) == 0);
	need_ok(lc_close(cache));
}

START_TEST(open_elsewhere)
{
	struct witness w = { .range = { 4000, 8000 } };
	struct other other = {
		.root = run_scratch(), .flags = _i ? LC_RDONLY : 0
	};
	uint64_t size;
	pid_t pid;
	char byte;

	make_roomy(&w, other.root);
	size = file_size(other.root);
	ck_assert_int_eq(pipe(other.ready), 0);
	ck_assert_int_eq(pipe(other.go), 0);
	pid = child_start(hold_open, &other);
	close(other.go[0]);
	ck_assert_int_eq(read(other.ready[0], &byte, 1), 1);
	assert_status(lc_shrink(other.root, "m", NULL, NULL), LC_BUSY);
	assert_status(lc_shrink(other.root, "m", NULL, NULL), LC_BUSY);
	ck_assert_uint_eq(file_size(other.root), size);
	close(other.go[1]);
	ck_assert_int_eq(child_wait(pid), 0);
	assert_ok(lc_shrink(other.root, "m", NULL, NULL));
	ck_assert_uint_lt(file_size(other.root), size);
	check_after(&w, other.root);
	close(other.ready[0]);
	close(other.ready[1]);
}
END_TEST

struct opener {
	const char *root;
	int acks[2];
	unsigned rounds;
};

static void
shrink_for_ever(void *ctx)
{
	const struct opener *o = ctx;

	for (;;) {
		const lc_status status = lc_shrink(o->root, "m", NULL, NULL);

		need(status == LC_OK || status == LC_BUSY);
	}
}

/* Open, count up, close: a shrink in between must not lose a step. */
static void
count_up(void *ctx)
{
	const struct opener *o = ctx;

	for (unsigned i = 0; i < o->rounds; i++) {
		lc_cache *cache = open_fast(o->root);
		uint64_t count = 0;
		lc_tensor tensor;

		if (lc_get_copy(cache, "n", 1, &tensor) == LC_OK) {
			memcpy(&count, tensor.data, sizeof(count));
			lc_tensor_free(&tensor);
		}
		need(count == i);
		count++;
		tensor = sample_bytes(&count, sizeof(count));
		need_ok(lc_put(cache, "n", 1, &tensor));
		need_ok(lc_close(cache));
	}
}

START_TEST(openers_race)
{
	struct opener o = { .root = run_scratch(), .rounds = sample_times(80) };
	lc_verify_result result;
	pid_t shrinker;
	lc_cache *cache;

	assert_ok(lc_close(open_fast(o.root)));
	shrinker = child_start(shrink_for_ever, &o);
	ck_assert_int_eq(child_run(count_up, &o), 0);
	ck_assert_int_eq(kill(shrinker, SIGKILL), 0);
	ck_assert_int_eq(child_wait(shrinker), 128 + SIGKILL);
	cache = open_fast(o.root);
	assert_ok(lc_verify(cache, NULL, &result));
	ck_assert_uint_eq(result.live, 1);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(killed)
{
	uint64_t random = run_seed() + 5;
	struct witness w = { .range = { 4000, 8000 } };
	struct opener o = { .root = run_scratch() };

	make_roomy(&w, o.root);
	for (unsigned i = sample_times(40); i > 0; i--) {
		const pid_t pid = child_start(shrink_for_ever, &o);

		usleep((useconds_t)(run_random(&random) % 8000));
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		ck_assert_int_eq(child_wait(pid), 128 + SIGKILL);
		check_after(&w, o.root);
	}
	assert_ok(lc_shrink(o.root, "m", NULL, NULL));
	check_files(o.root);
	check_after(&w, o.root);
}
END_TEST

/* A flipped bit in LMDB's pages: nothing is replaced. */
START_TEST(damaged)
{
	struct witness w = { .range = { 4000, 8000 } };
	const char *root = run_scratch();
	unsigned char byte = 0xff;
	uint64_t size;
	int fd;

	make_roomy(&w, root);
	size = file_size(root);
	fd = open(path_of(root, "data.mdb"), O_RDWR);
	for (off_t page = 2; page < (off_t)(size / 4096); page++)
		ck_assert_int_eq(pwrite(fd, &byte, 1, page * 4096 + 10), 1);
	close(fd);
	assert_status(lc_shrink(root, "m", NULL, NULL), LC_CORRUPT);
	ck_assert_uint_eq(file_size(root), size);
	check_files(root);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("shrink");
	TCase *tc = tcase_create("shrink");

	run_seed();
	tcase_set_timeout(tc, 3600);
	tcase_add_test(tc, shrinks);
	tcase_add_test(tc, nothing_there);
	tcase_add_test(tc, open_here);
	tcase_add_loop_test(tc, open_elsewhere, 0, 2);
	tcase_add_test(tc, openers_race);
	tcase_add_test(tc, killed);
	tcase_add_test(tc, damaged);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
