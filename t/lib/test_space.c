/* SPDX-License-Identifier: BSD-2-Clause */
/* Room that runs out: the map's, a file size limit's, the file system's. */
#include "run.h"

#include <errno.h>
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

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

static const struct sample_range sizes = { 5000, 60000 };

/* A child's exit status when the system does not allow what it tests. */
#define NOT_HERE 77

static size_t
number(char id[SAMPLE_ID_ROOM], uint64_t i)
{
	return (size_t)snprintf(id, SAMPLE_ID_ROOM, "%06llu", (unsigned long long)i);
}

static lc_status
put(lc_cache *cache, uint64_t i)
{
	char id[SAMPLE_ID_ROOM];
	const size_t size = number(id, i);

	return sample_put(cache, id, size, 1, sizes);
}

static void
expect(lc_cache *cache, uint64_t i)
{
	char id[SAMPLE_ID_ROOM];
	const size_t size = number(id, i);
	lc_view view;

	need_ok(lc_get(cache, id, size, &view));
	need(sample_is(&view.tensor, id, size, 1, sizes));
	lc_view_release(&view);
}

static lc_options
small_map(void)
{
	lc_options options = sample_options();

	options.map_size = 1 << 20;
	options.flush_every = 20;
	options.durability = LC_DURABLE_RELAXED;
	return options;
}

START_TEST(map_grows)
{
	const lc_options options = small_map();
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_stats stats = { .struct_size = sizeof(stats) };

	for (uint64_t i = 0; i < 600; i++) {
		assert_ok(put(cache, i));
		expect(cache, i / 2);
	}
	assert_ok(lc_flush(cache));
	assert_ok(lc_stat(cache, &stats));
	ck_assert_uint_gt(stats.file_bytes, 4 << 20);
	ck_assert_uint_ge(stats.map_bytes, stats.file_bytes);
	assert_ok(lc_close(cache));
	/* A map smaller than the file is as good as one that fits. */
	cache = sample_open(root, "m", &options);
	for (uint64_t i = 0; i < 600; i++)
		expect(cache, i);
	assert_ok(put(cache, 600));
	assert_ok(lc_close(cache));
}
END_TEST

/* A view forbids the growth until it is released; nothing is lost meanwhile. */
START_TEST(views_hold_the_map)
{
	const lc_options options = small_map();
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_status status = LC_OK;
	uint64_t n = 0;
	lc_view view;
	char id[SAMPLE_ID_ROOM];

	assert_ok(put(cache, n++));
	assert_ok(lc_flush(cache));
	assert_ok(lc_get(cache, id, number(id, 0), &view));
	while (status == LC_OK && n < 200) {
		status = put(cache, n);
		n += status == LC_OK;
		if (status == LC_OK)
			status = lc_flush(cache);
	}
	ck_assert_msg(status == LC_MAP_FULL, "%s", lc_status_name(status));
	assert_status(lc_flush(cache), LC_MAP_FULL);
	ck_assert(sample_is(&view.tensor, "000000", 6, 1, sizes));
	for (uint64_t i = 0; i < n; i++)
		expect(cache, i);
	lc_view_release(&view);
	assert_ok(lc_flush(cache));
	assert_ok(put(cache, n++));
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", &options);
	for (uint64_t i = 0; i < n; i++)
		expect(cache, i);
	assert_ok(lc_close(cache));
}
END_TEST

static void
fill_elsewhere(void *root)
{
	const lc_options options = small_map();
	lc_cache *cache = sample_open(root, "m", &options);

	for (uint64_t i = 1; i < 300; i++)
		need_ok(put(cache, i));
	need_ok(lc_close(cache));
}

/* Another process grows the file past this one's map. */
START_TEST(map_grown_by_another)
{
	const lc_options options = small_map();
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_iter *iter;
	lc_item item;
	uint64_t count;

	assert_ok(put(cache, 0));
	assert_ok(lc_flush(cache));
	expect(cache, 0);
	ck_assert_int_eq(child_run(fill_elsewhere, (void *)(uintptr_t)root), 0);
	switch (_i) {
	case 0: /* reads first */
		for (uint64_t i = 0; i < 300; i++)
			expect(cache, i);
		break;
	case 1: /* writes first */
		assert_ok(put(cache, 300));
		assert_ok(lc_flush(cache));
		expect(cache, 299);
		break;
	default: /* walks first */
		assert_ok(lc_iter_open(cache, LC_BY_KEY, NULL, 0, &iter));
		for (uint64_t i = 0; i < 300; i++)
			assert_ok(lc_iter_next(iter, &item));
		lc_iter_close(iter);
	}
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(count, _i == 1 ? 301 : 300);
	assert_ok(lc_close(cache));
}
END_TEST

/* And while this one holds a view: the view stays right, and it is said why not. */
START_TEST(map_grown_by_another_under_a_view)
{
	const lc_options options = small_map();
	const char *root = run_scratch();
	lc_cache *cache = sample_open(root, "m", &options);
	char id[SAMPLE_ID_ROOM];
	lc_view view, late;
	lc_status status;

	assert_ok(put(cache, 0));
	assert_ok(lc_flush(cache));
	assert_ok(lc_get(cache, id, number(id, 0), &view));
	ck_assert_int_eq(child_run(fill_elsewhere, (void *)(uintptr_t)root), 0);
	status = lc_get(cache, id, number(id, 299), &late);
	ck_assert_msg(status == LC_OK || status == LC_MAP_FULL, "%s",
	    lc_status_name(status));
	if (status == LC_OK) {
		ck_assert(sample_is(&late.tensor, "000299", 6, 1, sizes));
		lc_view_release(&late);
	}
	ck_assert(sample_is(&view.tensor, "000000", 6, 1, sizes));
	lc_view_release(&view);
	for (uint64_t i = 0; i < 300; i++)
		expect(cache, i);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- a disk that fails ------------------------------------------------------- */

static _Atomic int meta_writes_to_fail;

/* liblmdb's writes: its two meta pages are the first of the file. */
LC_API ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
	if (meta_writes_to_fail > 0 && offset < 2 * 4096) {
		meta_writes_to_fail--;
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, data, size, offset);
}

/* After a failed write of a meta page LMDB refuses everything: reads and writes
 * reopen it, and nothing is lost. */
START_TEST(failed_meta_page)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	lc_view view;
	char id[SAMPLE_ID_ROOM];
	lc_status status;

	assert_ok(put(cache, 0));
	assert_ok(lc_flush(cache));
	expect(cache, 0);
	if (_i == 2)
		assert_ok(lc_get(cache, id, number(id, 0), &view));
	assert_ok(put(cache, 1));
	meta_writes_to_fail = 1;
	status = lc_flush(cache);
	ck_assert_msg(status == LC_IO || status == LC_NO_SPACE, "%s",
	    lc_status_name(status));
	ck_assert_int_eq(meta_writes_to_fail, 0);
	switch (_i) {
	case 0: /* reads first */
		expect(cache, 0);
		expect(cache, 1);
		break;
	case 1: /* writes first */
		assert_ok(lc_flush(cache));
		break;
	default: /* a view is in the way */
		assert_status(lc_flush(cache), LC_MAP_FULL);
		ck_assert(sample_is(&view.tensor, "000000", 6, 1, sizes));
		lc_view_release(&view);
	}
	assert_ok(lc_flush(cache));
	expect(cache, 0);
	expect(cache, 1);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- no space ---------------------------------------------------------------- */

/* Write and flush until it fails; then nothing acknowledged is lost and all that was
 * put is still readable. Returns how many were put. */
static uint64_t
write_until_full(lc_cache *cache, const char *root, uint64_t limit)
{
	lc_options reading = sample_options();
	lc_status status = LC_OK;
	uint64_t put_ones = 0, flushed = 0;
	lc_cache *reader;

	while (status == LC_OK && put_ones < limit) {
		status = put(cache, put_ones);
		put_ones += status == LC_OK;
		if (status == LC_OK && put_ones % 3 == 0)
			status = lc_flush(cache);
		if (status == LC_OK && put_ones % 3 == 0)
			flushed = put_ones;
	}
	need_status(status, LC_NO_SPACE);
	need(flushed > 0);
	need_status(lc_flush(cache), LC_NO_SPACE);
	for (uint64_t i = 0; i < put_ones; i++)
		expect(cache, i);
	reading.flags = LC_RDONLY;
	reader = sample_open(root, "m", &reading);
	for (uint64_t i = 0; i < flushed; i++)
		expect(reader, i);
	need_ok(lc_close(reader));
	return put_ones;
}

/* There is room again: the pending ones are committed by the next flush. */
static void
go_on(lc_cache *cache, const char *root, uint64_t n)
{
	const lc_options options = sample_options();
	lc_verify_result result;

	need_ok(lc_flush(cache));
	need_ok(put(cache, n));
	need_ok(lc_close(cache));
	cache = sample_open(root, "m", &options);
	for (uint64_t i = 0; i <= n; i++)
		expect(cache, i);
	need_ok(lc_verify(cache, NULL, &result));
	need(result.live == n + 1);
	need_ok(lc_close(cache));
}

static void
hit_file_size_limit(void *root)
{
	const lc_options options = sample_options();
	struct rlimit limit;
	lc_cache *cache = sample_open(root, "m", &options);
	uint64_t n;

	need(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	need(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = 2000000;
	need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	n = write_until_full(cache, root, 10000);
	limit.rlim_cur = limit.rlim_max;
	need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	go_on(cache, root, n);
}

START_TEST(file_size_limit)
{
	ck_assert_int_eq(child_run(hit_file_size_limit,
	    (void *)(uintptr_t)run_scratch()), 0);
}
END_TEST

/* In a mount name space of its own, so that nothing of it is seen outside or left. */
static void
fill_file_system(void *root)
{
	const lc_options options = sample_options();
	lc_cache *cache;
	uint64_t n;

	if (unshare(CLONE_NEWNS) != 0 ||
	    mount("none", "/", "none", MS_REC | MS_PRIVATE, "") != 0 ||
	    mount("none", root, "tmpfs", 0, "size=4m") != 0)
		_exit(NOT_HERE);
	cache = sample_open(root, "m", &options);
	n = write_until_full(cache, root, 10000);
	need(mount("none", root, "tmpfs", MS_REMOUNT, "size=40m") == 0);
	go_on(cache, root, n);
}

START_TEST(full_file_system)
{
	const int status = child_run(fill_file_system,
	    (void *)(uintptr_t)run_scratch());

	if (status == NOT_HERE)
		printf("# no file system can be mounted here\n");
	ck_assert(status == 0 || status == NOT_HERE);
}
END_TEST

/* A commit in the caller's thread does not die of the limit, and who only reads does
 * not notice it. */
static void
close_at_the_limit(void *root)
{
	const lc_options options = sample_options();
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_cache *cache = sample_open(root, "m", &options);
	struct rlimit limit;
	lc_view view;

	need_ok(put(cache, 0));
	need_ok(lc_flush(cache));
	need_ok(lc_settings_get(cache, &settings));
	need(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = 4096;
	need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	need_status(lc_settings_set(cache, &settings), LC_NO_SPACE);
	need_status(lc_get(cache, "none", 4, &view), LC_NOT_FOUND);
	need_status(lc_get(cache, "", 0, &view), LC_INVALID);
	need_ok(lc_close(cache));
	need(lc_last_error()->status == LC_INVALID);
	limit.rlim_cur = limit.rlim_max;
	need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	cache = sample_open(root, "m", &options);
	expect(cache, 0);
	need_ok(lc_settings_set(cache, &settings));
	need_ok(lc_close(cache));
}

static void
clear_at_the_limit(void *root)
{
	const lc_options options = small_map();
	lc_cache *cache = sample_open(root, "m", &options);
	char id[SAMPLE_ID_ROOM];
	const size_t id_size = number(id, 0);
	struct rlimit limit;
	uint64_t count;
	lc_view view;

	need_ok(put(cache, 0));
	need_ok(lc_flush(cache));
	need_ok(sample_put(cache, id, id_size, 2, sizes));
	need(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = 4096;
	need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	need_status(lc_clear(cache), LC_NO_SPACE);
	limit.rlim_cur = limit.rlim_max;
	need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	for (int i = 0; i < 2; i++) {
		need_ok(lc_get(cache, id, id_size, &view));
		need(sample_is(&view.tensor, id, id_size, 2, sizes));
		lc_view_release(&view);
		need_ok(lc_flush(cache));
	}
	need_ok(sample_put(cache, id, id_size, 3, sizes));
	need_ok(lc_clear(cache));
	need_ok(lc_flush(cache));
	need_ok(lc_count(cache, &count));
	need(count == 0);
	need_ok(lc_close(cache));
}

/* What was put before a clear that fails stays: pending, and then committed. */
START_TEST(failed_clear_keeps_what_is_pending)
{
	ck_assert_int_eq(child_run(clear_at_the_limit,
	    (void *)(uintptr_t)run_scratch()), 0);
}
END_TEST

START_TEST(file_size_limit_of_the_caller)
{
	ck_assert_int_eq(child_run(close_at_the_limit,
	    (void *)(uintptr_t)run_scratch()), 0);
}
END_TEST

/* No room at all: opening says so, and opens when there is room. */
static void
open_without_room(void *root)
{
	struct rlimit limit;
	lc_cache *cache = NULL;

	need(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	need(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = 100;
	need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	need_status(lc_open(root, "m", NULL, &cache), LC_NO_SPACE);
	need(cache == NULL);
	limit.rlim_cur = limit.rlim_max;
	need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	cache = sample_open(root, "m", NULL);
	need_ok(put(cache, 0));
	need_ok(lc_close(cache));
}

START_TEST(no_room_for_a_module)
{
	ck_assert_int_eq(child_run(open_without_room,
	    (void *)(uintptr_t)run_scratch()), 0);
}
END_TEST

/* ---- permissions ---------------------------------------------------------------- */

/* As another user if this one is above permissions. */
START_TEST(refused_by_the_system)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	const uid_t user = geteuid();
	char path[5000];
	lc_cache *cache = sample_open(root, "m", &options);

	assert_ok(put(cache, 0));
	assert_ok(lc_close(cache));
	cache = NULL;
	snprintf(path, sizeof(path), "%s/m", root);
	ck_assert_int_eq(chmod(path, _i == 0 ? 0 : 0700), 0);
	ck_assert_int_eq(chmod(root, _i == 0 ? 0755 : 0), 0);
	if (user == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	assert_status(lc_open(root, "m", &options, &cache), LC_PERMISSION);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, root));
	options.flags = LC_RDONLY;
	assert_status(lc_open(root, "m", &options, &cache), LC_PERMISSION);
	ck_assert_ptr_null(cache);
	ck_assert_int_eq(seteuid(user), 0);
	ck_assert_int_eq(chmod(root, 0755), 0);
	ck_assert_int_eq(chmod(path, 0755), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("space");
	TCase *tc = tcase_create("space");

	tcase_set_timeout(tc, 900);
	tcase_add_test(tc, map_grows);
	tcase_add_test(tc, views_hold_the_map);
	tcase_add_loop_test(tc, map_grown_by_another, 0, 3);
	tcase_add_test(tc, map_grown_by_another_under_a_view);
	tcase_add_loop_test(tc, failed_meta_page, 0, 3);
	tcase_add_test(tc, file_size_limit);
	tcase_add_test(tc, failed_clear_keeps_what_is_pending);
	tcase_add_test(tc, file_size_limit_of_the_caller);
	tcase_add_test(tc, full_file_system);
	tcase_add_test(tc, no_room_for_a_module);
	tcase_add_loop_test(tc, refused_by_the_system, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
