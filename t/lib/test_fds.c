/* SPDX-License-Identifier: BSD-2-Clause */
/* Closed standard descriptors: nothing that the library opens takes their place. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listdir.h"
#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

/* ---- what is opened, by the library and by those that it calls ------------------ */

static atomic_uint low_opens; /* descriptors below 3 */

static int
open_seen(int dir, const char *path, int flags, mode_t mode)
{
	const int fd = (int)syscall(SYS_openat, dir, path, flags, mode);

	/* O_PATH is for what takes the place of a closed one. */
	if (fd >= 0 && fd <= 2 && !(flags & O_PATH))
		low_opens++;
	return fd;
}

#define DEFINE_OPEN(name) \
	LC_API int \
	name(const char *path, int flags, ...) \
	{ \
		va_list rest; \
		mode_t mode; \
		va_start(rest, flags); \
		mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
		va_end(rest); \
		return open_seen(AT_FDCWD, path, flags, mode); \
	}
#define DEFINE_OPENAT(name) \
	LC_API int \
	name(int dir, const char *path, int flags, ...) \
	{ \
		va_list rest; \
		mode_t mode; \
		va_start(rest, flags); \
		mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
		va_end(rest); \
		return open_seen(dir, path, flags, mode); \
	}

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

/* ---- the library with some of 0 to 2 closed ------------------------------------- */

static unsigned subset; /* bit I: descriptor I is closed */

static void
close_subset(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (subset & (1u << fd))
			close(fd);
}

/* A failed assertion has nowhere to say so: the exit status must do. */
static void
check_subset(int step)
{
	for (int fd = 0; fd < 3; fd++)
		if ((fcntl(fd, F_GETFD) == -1) != ((subset >> fd & 1) != 0))
			_exit(100 + step);
	if (low_opens != 0)
		_exit(50 + step);
}

static int
take_module(void *ctx, const char *name)
{
	(void)name;
	++*(int *)ctx;
	return 0;
}

static void
fill_module(const char *root, const char *name)
{
	lc_options options = sample_options();
	lc_cache *cache = sample_open(root, name, &options);
	const float data[4] = { 1, 2, 3, 4 };
	const lc_tensor tensor = { .dtype = LC_F32, .ndim = 1, .shape = { 4 },
		.data = (void *)(uintptr_t)data, .nbytes = sizeof(data) };
	char id[20];

	for (int i = 0; i < 20; i++) {
		sprintf(id, "%06d", i);
		need_ok(lc_put(cache, id, 6, &tensor));
	}
	need_ok(lc_close(cache));
}

static void
read_shards(const char *dir)
{
	char path[6000];
	lc_shard *shard;
	lc_source *source;

	snprintf(path, sizeof(path), "%s/shard-000000.twh1", dir);
	need_ok(lc_shard_open(path, &shard));
	lc_shard_close(shard);
	need_ok(lc_manifest_verify(dir, NULL));
	need_ok(lc_source_open_shards(dir, NULL, &source));
	lc_source_close(source);
}

static void
use_all(void *ctx)
{
	const char *root = ctx;
	char copies[5000], shards[5000];
	lc_options options = sample_options();
	lc_verify_result verified = { .live = 0 };
	lc_compact_options compact;
	lc_export_options export;
	lc_export_result exported;
	uint64_t before, after;
	lc_cache *cache, *other;
	lc_view view;
	int n = 0;

	snprintf(copies, sizeof(copies), "%s/copies", root);
	snprintf(shards, sizeof(shards), "%s/shards", root);
	close_subset();
	fill_module(root, "m");
	check_subset(0);
	options.flags = LC_RDONLY;
	cache = sample_open(root, "m", &options);
	check_subset(1);
	need_ok(lc_get(cache, "000003", 6, &view));
	lc_view_release(&view);
	need_ok(lc_verify(cache, NULL, &verified));
	check_subset(2);
	need_ok(lc_modules(root, take_module, &n));
	check_subset(3);
	need_ok(lc_backup(cache, copies, LC_BACKUP_COMPACT));
	check_subset(4);
	lc_export_options_init(&export);
	need_ok(lc_export(cache, shards, &export, &exported));
	check_subset(5);
	need_ok(lc_close(cache));
	read_shards(shards);
	check_subset(6);
	options.flags = 0;
	cache = sample_open(root, "m", &options);
	other = sample_open(root, "n", NULL);
	lc_compact_options_init(&compact);
	need_ok(lc_copy(cache, other, NULL, NULL));
	need_ok(lc_compact(cache, &compact, NULL));
	need_ok(lc_clear(other));
	need_ok(lc_close(other));
	need_ok(lc_close(cache));
	check_subset(7);
	need_ok(lc_shrink(root, "m", &before, &after));
	check_subset(8);
	need_ok(lc_recover(root, "m", 0, NULL, NULL));
	check_subset(9);
	need(n == 1);
	_exit(0);
}

START_TEST(nothing_takes_their_place)
{
	subset = (unsigned)_i;
	ck_assert_int_eq(child_run(use_all, (void *)(uintptr_t)run_scratch()), 0);
}
END_TEST

/* The library has the module open, and the program prints. */
static void
print_while_open(void *root)
{
	static const char text[] = "a message for nobody\n";
	lc_cache *cache;

	close_subset();
	fill_module(root, "m");
	cache = sample_open(root, "m", NULL);
	for (int fd = 0; fd < 3; fd++)
		if ((subset & (1u << fd)) &&
		    (write(fd, text, sizeof(text)) != -1 || errno != EBADF))
			_exit(3);
	need_ok(lc_close(cache));
	_exit(0);
}

START_TEST(no_message_gets_into_a_file)
{
	const char *root = run_scratch();
	lc_verify_result result;
	lc_cache *cache;

	subset = (unsigned)_i;
	ck_assert_int_eq(child_run(print_while_open, (void *)(uintptr_t)root), 0);
	cache = sample_open(root, "m", NULL);
	assert_ok(lc_verify(cache, NULL, &result));
	ck_assert_uint_eq(result.live, 20);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- the functions themselves ---------------------------------------------------- */

static void *
open_and_close(void *path)
{
	for (int i = 0; i < 2000; i++) {
		const int fd = lc__open(path, O_RDONLY);
		struct lc__dir dir;

		if (fd < 3 || lc__dir_open("/", &dir) != LC_OK || dir.fd < 3)
			_exit(4);
		close(fd);
		lc__dir_close(&dir);
	}
	return NULL;
}

static void
open_in_threads(void *path)
{
	pthread_t threads[4];

	close_subset();
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, open_and_close, path) != 0)
			_exit(5);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	check_subset(0);
	_exit(0);
}

START_TEST(threads_open_at_the_same_time)
{
	subset = (unsigned)_i;
	ck_assert_int_eq(child_run(open_in_threads, (void *)(uintptr_t)"/dev/null"), 0);
}
END_TEST

/* One that the program opens meanwhile is the program's; a child gives back too. */
static void
hold_and_change(void *root)
{
	char path[5000];
	pid_t pid;
	int fd;

	snprintf(path, sizeof(path), "%s/f", (const char *)root);
	close_subset();
	lc__fds_hold();
	lc__fds_hold();
	errno = 0;
	if (write(1, "x", 1) != -1 || errno != EBADF)
		_exit(3);
	lc__fds_release();
	fd = lc__open(path, O_RDWR | O_CREAT | O_EXCL, 0640);
	if (fd < 3 || !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
		_exit(4);
	pid = fork();
	if (pid == 0) {
		check_subset(0);
		_exit(0);
	}
	if (child_wait(pid) != 0)
		_exit(5);
	if (dup2(fd, 1) != 1)
		_exit(6);
	lc__fds_release();
	if (write(1, "x", 1) != 1)
		_exit(7);
	subset &= ~2u;
	check_subset(1);
	_exit(0);
}

START_TEST(held_descriptors)
{
	const char *root = run_scratch();
	char path[5000];
	struct stat st;
	const mode_t mask = umask(022);

	subset = 7;
	ck_assert_int_eq(child_run(hold_and_change, (void *)(uintptr_t)root), 0);
	snprintf(path, sizeof(path), "%s/f", root);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0640);
	ck_assert_int_eq(st.st_size, 1);
	umask(mask);
}
END_TEST

START_TEST(failures_are_the_systems)
{
	int ends[2];

	errno = 0;
	ck_assert_int_eq(lc__open("/nowhere/at/all", O_RDONLY), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_ptr_null(lc__fopen("/nowhere", "re"));
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(lc__pipe(ends), 0);
	ck_assert_int_eq(fcntl(ends[0], F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(ends[1], F_GETFD), FD_CLOEXEC);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fds");
	TCase *tc = tcase_create("fds");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, nothing_takes_their_place, 0, 8);
	tcase_add_loop_test(tc, no_message_gets_into_a_file, 0, 8);
	tcase_add_loop_test(tc, threads_open_at_the_same_time, 0, 8);
	tcase_add_test(tc, held_descriptors);
	tcase_add_test(tc, failures_are_the_systems);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
