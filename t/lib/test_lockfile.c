/* SPDX-License-Identifier: BSD-2-Clause */
/* LMDB's files of a module: lock.mdb where there is no room for it, and files that are
 * links, FIFOs or directories. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "env/foreign.h"
#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

/* A child's exit status when the system does not allow what it tests. */
#define NOT_HERE 77

static bool no_fallocate; /* the file system cannot */

LC_API int
fallocate(int fd, int mode, off_t offset, off_t size)
{
	if (no_fallocate) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return (int)syscall(SYS_fallocate, fd, mode, offset, size);
}

static char *
join(const char *dir, const char *name)
{
	static char paths[8][5000];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void
make_module(const char *root, const char *name)
{
	lc_options options = sample_options();
	lc_cache *cache = sample_open(root, name, &options);

	need_ok(sample_put(cache, "k", 1, 1, SAMPLE_SMALL));
	need_ok(lc_close(cache));
}

static void
expect_record(const char *root, const char *name, unsigned flags)
{
	lc_options options = sample_options();
	lc_cache *cache;
	lc_view view;

	options.flags = flags;
	cache = sample_open(root, name, &options);
	need_ok(lc_get(cache, "k", 1, &view));
	need(sample_is(&view.tensor, "k", 1, 1, SAMPLE_SMALL));
	lc_view_release(&view);
	need_ok(lc_close(cache));
}

static void
expect_status(const char *root, const char *name, unsigned flags, lc_status status,
    const char *file)
{
	lc_options options = sample_options();
	lc_cache *cache = NULL;

	options.flags = flags;
	need_status(lc_open(root, name, &options, &cache), status);
	need(cache == NULL);
	need(strstr(lc_last_error()->text, file) != NULL);
}

/* ---- no room -------------------------------------------------------------------- */

/* A small file system in a mount name space of its own. */
static void
mount_small(const char *root)
{
	if (unshare(CLONE_NEWNS) != 0 ||
	    mount("none", "/", "none", MS_REC | MS_PRIVATE, "") != 0 ||
	    mount("none", root, "tmpfs", 0, "size=1m") != 0)
		_exit(NOT_HERE);
}

static void
fill(const char *root)
{
	static const char bytes[4096];
	const int fd = open(join(root, "filler"), O_WRONLY | O_CREAT | O_APPEND, 0600);

	need(fd != -1);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		continue;
	need(errno == ENOSPC);
	close(fd);
}

static void
in_child(void (*fn)(void *root))
{
	const int status = child_run(fn, (void *)(uintptr_t)run_scratch());

	if (status == NOT_HERE)
		printf("# no file system can be mounted here\n");
	ck_assert_msg(status == 0 || status == NOT_HERE, "%d", status);
}

static const unsigned all_flags[] = { LC_RDONLY, 0, LC_CREATE };

/* Restored or copied: there is no lock.mdb. */
static void
without_lock(void *ctx)
{
	const char *root = ctx;

	mount_small(root);
	make_module(root, "m");
	need(unlink(join(root, "m/lock.mdb")) == 0);
	fill(root);
	for (size_t i = 0; i < 3; i++) {
		expect_status(root, "m", all_flags[i], LC_NO_SPACE, "m/lock.mdb");
		need(access(join(root, "m/lock.mdb"), F_OK) == -1);
	}
	need(unlink(join(root, "filler")) == 0);
	expect_record(root, "m", LC_RDONLY);
	fill(root);
	/* It has its space now. */
	for (size_t i = 0; i < 3; i++)
		expect_record(root, "m", all_flags[i]);
}

/* Copied without its blocks, cut short, or empty. */
static void
with_holes(void *ctx)
{
	static const off_t sizes[] = { -1, 0, 1, 4096, 8192, 40000 };
	const char *root = ctx;
	struct stat before, st;
	int fd;

	mount_small(root);
	make_module(root, "m");
	need(stat(join(root, "m/lock.mdb"), &before) == 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const off_t size = sizes[i] == -1 ? before.st_size : sizes[i];

		fd = open(join(root, "m/lock.mdb"), O_RDWR | O_TRUNC);
		need(fd != -1 && ftruncate(fd, size) == 0 && close(fd) == 0);
		fill(root);
		for (size_t j = 0; j < 3; j++)
			expect_status(root, "m", all_flags[j], LC_NO_SPACE, "m/lock.mdb");
		need(stat(join(root, "m/lock.mdb"), &st) == 0 && st.st_size == size);
		need(unlink(join(root, "filler")) == 0);
		expect_record(root, "m", LC_RDONLY);
		need(stat(join(root, "m/lock.mdb"), &st) == 0);
		need(st.st_size == before.st_size);
	}
}

/* Nothing of a module that cannot be made is left; what was there stays. */
static void
new_module(void *ctx)
{
	const char *root = ctx;
	uint64_t left = 0;

	mount_small(root);
	make_module(root, "old");
	fill(root);
	expect_status(root, "m", LC_CREATE, LC_NO_SPACE, "m/lock.mdb");
	need(access(join(root, "m"), F_OK) == -1);
	need(mkdir(join(root, "m"), 0755) == 0);
	/* Some bytes more each time: lock.mdb has room, data.mdb has none, or in part. */
	for (left = 4096; left <= 40 * 4096; left += 4096) {
		lc_options options = sample_options();
		struct stat st;
		lc_cache *cache;

		need(stat(join(root, "filler"), &st) == 0);
		need(truncate(join(root, "filler"), st.st_size - 4096) == 0);
		if (lc_open(root, "m", &options, &cache) == LC_OK) {
			need_ok(lc_close(cache));
			break;
		}
		need_status(lc_last_error()->status, LC_NO_SPACE);
		need(rmdir(join(root, "m")) == 0 && mkdir(join(root, "m"), 0755) == 0);
	}
	need(left > 17 * 4096 && left < 40 * 4096);
	expect_record(root, "old", LC_RDONLY);
}

/* Other software's environments are read without the lock file. */
static void
foreign(void *ctx)
{
	const char *root = ctx;
	struct lc__foreign *f;
	struct stat st;

	mount_small(root);
	make_module(root, "m");
	need(truncate(join(root, "m/lock.mdb"), 0) == 0);
	fill(root);
	/* It is a module, which is found by reading it. */
	need_status(lc__foreign_open(join(root, "m"), &f), LC_INVALID);
	need(stat(join(root, "m/lock.mdb"), &st) == 0 && st.st_size == 0);
}

static void
file_size_limit(void *ctx)
{
	const char *root = ctx;
	struct rlimit limit;

	make_module(root, "m");
	make_module(root, "n");
	need(unlink(join(root, "m/lock.mdb")) == 0);
	need(truncate(join(root, "n/lock.mdb"), 0) == 0);
	need(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = 60000;
	need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	expect_status(root, "m", LC_RDONLY, LC_NO_SPACE, "m/lock.mdb");
	expect_status(root, "n", LC_RDONLY, LC_NO_SPACE, "n/lock.mdb");
	expect_status(root, "new", LC_CREATE, LC_NO_SPACE, "new/lock.mdb");
	need(access(join(root, "new"), F_OK) == -1);
	limit.rlim_cur = limit.rlim_max;
	need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	expect_record(root, "m", 0);
	expect_record(root, "n", 0);
}

static void
cannot_allocate(void *ctx)
{
	const char *root = ctx;
	struct stat st;

	mount_small(root);
	make_module(root, "m");
	need(unlink(join(root, "m/lock.mdb")) == 0);
	no_fallocate = true;
	fill(root);
	expect_status(root, "m", LC_RDONLY, LC_NO_SPACE, "m/lock.mdb");
	need(access(join(root, "m/lock.mdb"), F_OK) == -1);
	need(unlink(join(root, "filler")) == 0);
	expect_record(root, "m", LC_RDONLY);
	need(stat(join(root, "m/lock.mdb"), &st) == 0);
	need(st.st_blocks * 512 >= st.st_size);
	fill(root);
	expect_record(root, "m", 0);
}

static void (*const no_room[])(void *) = {
	without_lock, with_holes, new_module, foreign, file_size_limit, cannot_allocate
};

START_TEST(no_room_for_the_lock_file)
{
	in_child(no_room[_i]);
}
END_TEST

/* ---- what is no file -------------------------------------------------------------- */

static const char *const names[] = { "data.mdb", "lock.mdb", "inputs.lock" };
enum kind { LINK, DANGLING, FIFO, DIRECTORY, KINDS };

/* Put something else in the place of one of the module's files. */
static void
replace(const char *root, const char *name, enum kind kind, const char *other)
{
	char file[100];
	char *path;

	snprintf(file, sizeof(file), "m/%s", name);
	path = join(root, file);
	need(unlink(path) == 0 || errno == ENOENT);
	switch (kind) {
	case LINK: need(symlink(other, path) == 0); break;
	case DANGLING: need(symlink("nowhere", path) == 0); break;
	case FIFO: need(mkfifo(path, 0600) == 0); break;
	default: need(mkdir(path, 0755) == 0);
	}
}

static lc_status
claim(const char *root)
{
	const lc_input input = { .name = "i" };
	lc_options options = sample_options();
	lc_writer *writer;
	lc_cache *cache;
	lc_status status;

	status = lc_open(root, "m", &options, &cache);
	if (status != LC_OK)
		return status;
	need_ok(lc_inputs_declare(cache, 1, &input));
	status = lc_writer_open(cache, "i", &writer);
	need_ok(lc_close(cache));
	return status;
}

START_TEST(what_is_no_file)
{
	const char *root = run_scratch(), *name = names[_i / KINDS];
	const enum kind kind = (enum kind)(_i % KINDS);
	const char *victim = join(root, "victim");
	char text[100] = "";
	char *where;
	int fd;

	if (strcmp(name, "inputs.lock") != 0)
		make_module(root, "m");
	else
		assert_ok(lc_close(sample_open(root, "m", NULL)));
	if (strcmp(name, "data.mdb") == 0 && kind == LINK)
		ck_assert_int_eq(rename(join(root, "m/data.mdb"), victim), 0);
	fd = open(victim, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd != -1) {
		ck_assert_int_eq(write(fd, "precious", 8), 8);
		close(fd);
	}
	replace(root, name, kind, victim);
	if (strcmp(name, "inputs.lock") == 0) {
		assert_status(claim(root), LC_NOT_MODULE);
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "/inputs.lock: "));
	} else {
		for (size_t i = 0; i < 3; i++) {
			lc_options options = sample_options();
			lc_cache *cache;

			options.flags = all_flags[i];
			assert_status(lc_open(root, "m", &options, &cache),
			    LC_NOT_MODULE);
			where = strstr(lc_last_error()->text, name);
			ck_assert_ptr_nonnull(where);
			ck_assert_ptr_nonnull(strstr(where, kind <= DANGLING ?
			    ": a symbolic link, which is not followed" :
			    ": not a regular file"));
		}
	}
	if (fd != -1) {
		fd = open(victim, O_RDONLY);
		ck_assert_int_eq(read(fd, text, sizeof(text)), 8);
		ck_assert_str_eq(text, "precious");
		close(fd);
	}
	ck_assert_int_eq(access(join(root, "m/nowhere"), F_OK), -1);
}
END_TEST

/* Another name of a file that LMDB would write over. */
START_TEST(second_name)
{
	const char *root = run_scratch(), *victim = join(root, "victim");
	char text[20] = "";
	int fd;

	make_module(root, "m");
	fd = open(victim, O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(write(fd, "precious", 8), 8);
	close(fd);
	ck_assert_int_eq(unlink(join(root, "m/lock.mdb")), 0);
	ck_assert_int_eq(link(victim, join(root, "m/lock.mdb")), 0);
	expect_status(root, "m", LC_RDONLY, LC_NOT_MODULE, "m/lock.mdb: a hard link");
	fd = open(victim, O_RDONLY);
	ck_assert_int_eq(read(fd, text, sizeof(text)), 8);
	ck_assert_str_eq(text, "precious");
	close(fd);
	/* A tree copied by links has lock files of two names, which are good. */
	ck_assert_int_eq(unlink(join(root, "m/lock.mdb")), 0);
	expect_record(root, "m", LC_RDONLY);
	ck_assert_int_eq(link(join(root, "m/lock.mdb"), join(root, "second")), 0);
	expect_record(root, "m", LC_RDONLY);
}
END_TEST

/* ---- who may not lock ------------------------------------------------------------- */

START_TEST(not_writable)
{
	const char *root = run_scratch();
	const uid_t user = geteuid();
	lc_options options = sample_options();
	lc_cache *cache;
	char want[6000];

	make_module(root, "m");
	if (_i == 1)
		ck_assert_int_eq(unlink(join(root, "m/lock.mdb")), 0);
	else
		ck_assert_int_eq(chmod(join(root, "m/lock.mdb"), 0444), 0);
	ck_assert_int_eq(chmod(join(root, "m/data.mdb"), 0444), 0);
	ck_assert_int_eq(chmod(join(root, "m"), 0555), 0);
	ck_assert_int_eq(chmod(root, 0755), 0);
	ck_assert_int_eq(chmod(join(root, ".."), 0755), 0);
	options.flags = LC_RDONLY;
	if (user == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	assert_status(lc_open(root, "m", &options, &cache), LC_PERMISSION);
	ck_assert_int_eq(seteuid(user), 0);
	snprintf(want, sizeof(want), "%s/m/lock.mdb: readers write to it as well; let this "
	    "user do so (chmod), or read a copy of the module: Permission denied", root);
	ck_assert_str_eq(lc_last_error()->text, want);
	ck_assert_int_eq(chmod(join(root, "m"), 0755), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("lockfile");
	TCase *tc = tcase_create("lockfile");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, no_room_for_the_lock_file, 0,
	    sizeof(no_room) / sizeof(*no_room));
	tcase_add_loop_test(tc, what_is_no_file, 0, 3 * KINDS);
	tcase_add_test(tc, second_name);
	tcase_add_loop_test(tc, not_writable, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
