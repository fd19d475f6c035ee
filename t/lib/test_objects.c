/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores of objects: what every back end promises, here of a directory. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "dying.h"
#include "fail_io.h"
#include "need.h"
#include "objects_seen.h"
#include "objects/directory.h"
#include "outdir_files.h"

static char path[4000];
static struct lc__objects *store;

static void
open_store(void)
{
	snprintf(path, sizeof(path), "%s/store", run_scratch());
	assert_ok(lc__directory_open(path, "file:store", &store));
}

static void
close_store(void)
{
	lc__objects_close(store);
}

static void
set_time(const char *name, time_t seconds)
{
	const struct timespec times[2] = { { seconds, 0 }, { seconds, 0 } };
	char file[5000];

	snprintf(file, sizeof(file), "%s/%s", path, name);
	ck_assert_int_eq(utimensat(AT_FDCWD, file, times, 0), 0);
}

/* Everything below the directory, temporary files too. */
static unsigned
count_files(void)
{
	char command[5000];
	unsigned n;
	FILE *out;

	snprintf(command, sizeof(command), "find '%s' -type f | wc -l", path);
	out = popen(command, "r");
	ck_assert_int_eq(fscanf(out, "%u", &n), 1);
	pclose(out);
	return n;
}

START_TEST(names)
{
	static const char *const good[] = { "a", "obj/4f/4f1c.twh1", "a.b", "A-_9/z" };
	static const char *const bad[] = { "", "/a", "a/", "a//b", ".", "..", "a/..",
		"../a", ".a", "a/.b", "a b", "a%b", "a\nb", "\xc3\xa9" };
	char longest[LC__OBJECT_NAME + 1];

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		ck_assert(lc__object_name_ok(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ck_assert_msg(!lc__object_name_ok(bad[i]), "%s", bad[i]);
		assert_status(lc__object_add(store, bad[i], "x", 1), LC_INVALID);
	}
	assert_status(lc__object_add(store, "../a", "x", 1), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "file:store: '../a' is not a name of an object");
	memset(longest, 'a', sizeof(longest));
	longest[LC__OBJECT_NAME] = '\0';
	ck_assert(!lc__object_name_ok(longest));
	longest[LC__OBJECT_NAME - 1] = '\0';
	ck_assert(lc__object_name_ok(longest));
}
END_TEST

START_TEST(put_and_get)
{
	struct lc__object about;
	char bytes[10] = "----------";
	size_t got;

	assert_status(lc__object_find(store, "a/b", &about), LC_NO_FILE);
	assert_ok(lc__object_add(store, "a/b", "hello", 5));
	ck_assert_str_eq(text_of(store, "a/b"), "hello");
	assert_ok(store->get_range(store, "a/b", 1, bytes, 3, &got, &about));
	ck_assert_uint_eq(got, 3);
	ck_assert_uint_eq(about.size, 5);
	ck_assert_int_eq(memcmp(bytes, "ell-", 4), 0);
	assert_ok(store->get_range(store, "a/b", 4, bytes, 10, &got, NULL));
	ck_assert_uint_eq(got, 1);
	assert_ok(store->get_range(store, "a/b", 99, bytes, 10, &got, NULL));
	ck_assert_uint_eq(got, 0);
	assert_ok(lc__object_replace(store, "a/b", "hallo!", 6));
	ck_assert_str_eq(text_of(store, "a/b"), "hallo!");
	assert_ok(lc__object_add(store, "empty", NULL, 0));
	ck_assert_str_eq(text_of(store, "empty"), "");
	ck_assert_uint_eq(count_files(), 2);
	assert_status(lc__object_read(store, "a/b", 5, &(struct lc__buf){ 0 }),
	    LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text,
	    "file:store/a/b: has 6 bytes, more than 5");
}
END_TEST

START_TEST(put_new_keeps_the_first)
{
	struct lc__object about;

	assert_ok(lc__object_add(store, "a/b", "one", 3));
	set_time("a/b", 1000);
	assert_ok(lc__object_find(store, "a/b", &about));
	ck_assert_uint_eq(about.time_ms, 1000000);
	assert_status(lc__object_add(store, "a/b", "two", 3), LC_EXISTS);
	ck_assert_str_eq(text_of(store, "a/b"), "one");
	assert_ok(lc__object_find(store, "a/b", &about));
	ck_assert_uint_gt(about.time_ms, 1000000);
	ck_assert_uint_eq(count_files(), 1);
}
END_TEST

START_TEST(touching)
{
	struct lc__object about;

	assert_ok(lc__object_add(store, "a/b", "one", 3));
	set_time("a/b", 1000);
	assert_ok(store->touch(store, "a/b"));
	assert_ok(lc__object_find(store, "a/b", &about));
	ck_assert_uint_gt(about.time_ms, 1500000000000);
	ck_assert_str_eq(text_of(store, "a/b"), "one");
	assert_status(store->touch(store, "a/c"), LC_NO_FILE);
	assert_status(store->touch(store, "../a"), LC_INVALID);
	ck_assert_uint_eq(count_files(), 1);
}
END_TEST

START_TEST(list_and_remove)
{
	char *leads;

	ck_assert_str_eq(listed(store, ""), "");
	assert_ok(lc__object_add(store, "a/b/c", "1", 1));
	assert_ok(lc__object_add(store, "a/b-d", "12", 2));
	assert_ok(lc__object_add(store, "ab/c", "123", 3));
	/* What is no object is not listed. */
	assert_ok(lc__object_add(store, "x/y.tmp.ABCDEF", "1", 1));
	outdir_put_file(path, "a/b/.hidden", "x");
	leads = outdir_join(path, "link");
	ck_assert_int_eq(symlink("a", leads), 0);
	free(leads);
	ck_assert_str_eq(listed(store, ""), "a/b/c 1, a/b-d 2, ab/c 3");
	ck_assert_str_eq(listed(store, "a/b"), "a/b/c 1, a/b-d 2");
	ck_assert_str_eq(listed(store, "a/b/"), "a/b/c 1");
	ck_assert_str_eq(listed(store, "a/b/c"), "a/b/c 1");
	ck_assert_str_eq(listed(store, "b"), "");
	assert_ok(store->remove(store, "ab/c"));
	assert_ok(store->remove(store, "ab/c"));
	assert_ok(store->remove(store, "never/there"));
	ck_assert_str_eq(listed(store, ""), "a/b/c 1, a/b-d 2");
	/* Its directory went with it, and comes again. */
	ck_assert(!outdir_exists(path, "ab"));
	assert_ok(lc__object_add(store, "ab/c", "1", 1));
}
END_TEST

static lc_status
stop(void *ctx, const struct lc__object *object)
{
	(void)object;
	return lc__error(LC_CANCELLED, 0, "%s", (const char *)ctx);
}

static lc_status
refuse(void *ctx, uint64_t offset, void *out, size_t size)
{
	memset(out, 'x', size);
	return offset < *(uint64_t *)ctx ? LC_OK : lc__error(LC_CORRUPT, 0, "no more");
}

START_TEST(nothing_of_what_is_refused)
{
	uint64_t most = 1 << 20;
	struct lc__body body = { 3 << 20, refuse, &most, NULL };

	assert_ok(lc__object_add(store, "there", "1", 1));
	assert_status(store->list(store, "", stop, (void *)"enough"), LC_CANCELLED);
	assert_status(store->put_new(store, "a/b", &body), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "no more");
	assert_status(store->put(store, "there", &body), LC_CORRUPT);
	body.size = 0;
	most = 0;
	assert_status(store->put_new(store, "a/b", &body), LC_CORRUPT);
	ck_assert_str_eq(text_of(store, "there"), "1");
	ck_assert_uint_eq(count_files(), 1);
}
END_TEST

START_TEST(sweeping)
{
	uint64_t files, bytes, now;
	char *lives;
	int fd;

	assert_ok(lc__objects_now(store, &now));
	ck_assert_uint_gt(now, 1500000000000);
	assert_ok(lc__object_add(store, "a/b", "1", 1));
	outdir_put_file(path, "a/dead.tmp.abcdef", "four");
	outdir_put_file(path, "a/lives.tmp.abcdef", "four");
	outdir_put_file(path, "a/young.tmp.abcdef", "four");
	set_time("a/b", 1000);
	set_time("a/dead.tmp.abcdef", 1000);
	set_time("a/lives.tmp.abcdef", 1000);
	lives = outdir_join(path, "a/lives.tmp.abcdef");
	fd = open(lives, O_RDWR);
	free(lives);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	assert_ok(store->sweep(store, "a/l", 2000000, true, &files, &bytes));
	ck_assert_uint_eq(files, 0);
	assert_ok(store->sweep(store, "a/", 2000000, true, &files, &bytes));
	ck_assert_uint_eq(files, 1);
	ck_assert_uint_eq(bytes, 4);
	ck_assert_uint_eq(count_files(), 4);
	assert_ok(store->sweep(store, "a/", 2000000, false, &files, &bytes));
	ck_assert_uint_eq(files, 1);
	ck_assert(!outdir_exists(path, "a/dead.tmp.abcdef"));
	ck_assert_uint_eq(count_files(), 3);
	close(fd);
}
END_TEST

START_TEST(probing)
{
	assert_ok(lc__objects_probe(store));
	ck_assert_str_eq(listed(store, ""), "");
}
END_TEST

/* A store that puts whatever is there, as some servers do. */
static lc_status (*put_new_of)(struct lc__objects *, const char *,
    const struct lc__body *);

static lc_status
put_anyway(struct lc__objects *objects, const char *name, const struct lc__body *body)
{
	return objects->put(objects, name, body);
}

static lc_status
put_over(struct lc__objects *objects, const char *name, const struct lc__body *body)
{
	const lc_status status = put_new_of(objects, name, body);

	if (status == LC_EXISTS)
		need_ok(objects->put(objects, name, body));
	return status;
}

START_TEST(probing_a_bad_store)
{
	put_new_of = store->put_new;
	store->put_new = _i == 0 ? put_anyway : put_over;
	assert_status(lc__objects_probe(store), LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text,
	    "file:store: puts an object although there is one of its name: parts that two "
	    "machines push would be lost; choose another store");
	ck_assert_str_eq(listed(store, ""), "");
}
END_TEST

/* ---- systems that refuse -------------------------------------------------------------- */

START_TEST(no_links)
{
	static const int lacks[] = { EPERM, EOPNOTSUPP, ENOSYS, EXDEV, EMLINK };
	char want[300];

	fail_io(1, lacks[_i], true);
	fail_io_only("link");
	assert_status(lc__objects_probe(store), LC_UNSUPPORTED);
	fail_io(0, 0, false);
	fail_io_only(NULL);
	snprintf(want, sizeof(want),
	    "file:store: its file system cannot link files, and a store needs that; choose "
	    "another directory: %s", strerror(lacks[_i]));
	ck_assert_str_eq(lc_last_error()->text, want);
	ck_assert_uint_eq(count_files(), 0);
}
END_TEST

/* Whatever fails: the name leads to nothing or to all of it, and no file is left that a
 * sweep does not find. Once more, and it is there. */
START_TEST(every_call_fails)
{
	static const int errors[] = { ENOSPC, EIO, EDQUOT };
	long n = 1;

	for (;; n++) {
		uint64_t files, bytes;
		struct lc__object about;
		lc_status status;

		fail_io(n, errors[_i], false);
		status = lc__object_add(store, "a/b", "new", 3);
		if (fail_io_hits() == 0)
			break;
		fail_io(0, 0, false);
		if (status != LC_OK)
			ck_assert_str_ne(lc_last_error()->text, "");
		if (lc__object_find(store, "a/b", &about) == LC_OK)
			ck_assert_str_eq(text_of(store, "a/b"), "new");
		else
			ck_assert_int_ne(status, LC_OK);
		assert_ok(store->sweep(store, "", UINT64_MAX, false, &files, &bytes));
		ck_assert_uint_le(lc__object_add(store, "a/b", "new", 3), LC_EXISTS);
		ck_assert_str_eq(text_of(store, "a/b"), "new");
		ck_assert_uint_eq(count_files(), 1);
		assert_ok(store->remove(store, "a/b"));
	}
	fail_io(0, 0, false);
	ck_assert_int_gt(n, 5);
}
END_TEST

/* The directories of an object may have been made by one who died before they were synced:
 * a put syncs the file, its directory, and those above it. */
START_TEST(directories_of_others)
{
	assert_ok(lc__object_add(store, "a/b/other", "1", 1));
	/* Four calls of a put, and three of one that finds the object. */
	for (long n = 1; n <= 7; n++) {
		lc_status status;

		if (n == 5)
			assert_ok(lc__object_add(store, "a/b/c", "new", 3));
		fail_io(n < 5 ? n : n - 4, EIO, false);
		fail_io_only("fsync");
		status = lc__object_add(store, "a/b/c", "new", 3);
		ck_assert_int_eq(fail_io_hits(), 1);
		fail_io(0, 0, false);
		fail_io_only(NULL);
		ck_assert_int_eq(status, LC_IO);
		if (n < 5)
			assert_ok(store->remove(store, "a/b/c"));
	}
}
END_TEST

START_TEST(a_full_disk)
{
	const struct lc__body body = { 1 << 20, refuse, &(uint64_t){ 1 << 30 }, NULL };

	assert_ok(lc__object_add(store, "a/c", "1", 1));
	fail_io(1, ENOSPC, true);
	fail_io_only("write");
	assert_status(store->put_new(store, "a/b", &body), LC_NO_SPACE);
	fail_io(0, 0, false);
	fail_io_only(NULL);
	ck_assert_uint_eq(count_files(), 1);
	assert_ok(store->put_new(store, "a/b", &body));
}
END_TEST

/* ---- many at once ------------------------------------------------------------------- */

static void
race(void *ctx)
{
	const unsigned *number = ctx;
	char text[8];
	int size = snprintf(text, sizeof(text), "%u", *number);
	lc_status status = lc__object_add(store, "a/b/raced", text, (size_t)size);

	need(status == LC_OK || status == LC_EXISTS);
	_exit(status == LC_OK ? 10 : 20);
}

START_TEST(exactly_one_wins)
{
	pid_t pids[8];

	for (unsigned round = 0; round < 5; round++) {
		unsigned won = 0, winner = 0;
		char expect[12];

		for (unsigned i = 0; i < 8; i++)
			pids[i] = child_start(race, &i);
		for (unsigned i = 0; i < 8; i++) {
			const int status = child_wait(pids[i]);

			ck_assert(status == 10 || status == 20);
			if (status == 10) {
				won++;
				winner = i;
			}
		}
		ck_assert_uint_eq(won, 1);
		snprintf(expect, sizeof(expect), "%u", winner);
		ck_assert_str_eq(text_of(store, "a/b/raced"), expect);
		ck_assert_uint_eq(count_files(), 1);
		assert_ok(store->remove(store, "a/b/raced"));
	}
}
END_TEST

/* ---- kills ---------------------------------------------------------------------------- */

struct victim {
	unsigned at;
	bool halfway, replace;
};

static void
put_and_die(void *ctx)
{
	const struct victim *victim = ctx;

	dying_begin(victim->at, victim->halfway, DYING_FILES);
	need_ok((victim->replace ? lc__object_replace : lc__object_add)(store, "a/b", "new",
	    3));
	dying_end();
}

/* The name leads to nothing or all of it, and the same put ends the work. */
START_TEST(killed_at_each_step)
{
	struct victim victim = { .at = 1, .replace = _i == 1 };
	unsigned there = 0;
	int status = -1;

	for (; status != 0; victim.halfway = !victim.halfway) {
		uint64_t files, bytes;

		if (victim.replace)
			assert_ok(lc__object_replace(store, "a/b", "old", 3));
		status = child_run(put_and_die, &victim);
		ck_assert(status == 0 || status == 128 + 9);
		if (outdir_exists(path, "a/b")) {
			if (strcmp(text_of(store, "a/b"), "new") == 0)
				there++;
			else
				ck_assert(victim.replace &&
				    strcmp(text_of(store, "a/b"), "old") == 0);
		}
		ck_assert_int_le(lc__object_add(store, "a/b", "new", 3), LC_EXISTS);
		assert_ok(store->sweep(store, "", UINT64_MAX, false, &files, &bytes));
		ck_assert_uint_eq(count_files(), 1);
		assert_ok(store->remove(store, "a/b"));
		victim.at += victim.halfway;
	}
	ck_assert_uint_gt(victim.at, 4);
	ck_assert_uint_gt(there, 1);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("objects");
	TCase *tc = tcase_create("directory");

	tcase_add_checked_fixture(tc, open_store, close_store);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, names);
	tcase_add_test(tc, put_and_get);
	tcase_add_test(tc, put_new_keeps_the_first);
	tcase_add_test(tc, touching);
	tcase_add_test(tc, list_and_remove);
	tcase_add_test(tc, nothing_of_what_is_refused);
	tcase_add_test(tc, sweeping);
	tcase_add_test(tc, probing);
	tcase_add_loop_test(tc, probing_a_bad_store, 0, 2);
	tcase_add_loop_test(tc, no_links, 0, 5);
	tcase_add_loop_test(tc, every_call_fails, 0, 3);
	tcase_add_test(tc, directories_of_others);
	tcase_add_test(tc, a_full_disk);
	tcase_add_test(tc, exactly_one_wins);
	tcase_add_loop_test(tc, killed_at_each_step, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
