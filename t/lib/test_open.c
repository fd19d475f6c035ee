/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening and closing modules: names, options, what is there and what is not. */
#include "run.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "by_name.h"
#include "lmdbcache.h"
#include "need.h"
#include "pages/page_layout.h"
#include "sample.h"

#define FORTY "forty-characters-long-0123456789-abcdefg"

static const char *const bad_names[] = { "", ".", "..", ".hidden", "-x", "_x", "a/b",
	"a b", "a\n", "/", "\xc3\xa9", "x:y", "x+y", "a\\b",
	FORTY FORTY FORTY "123456789" };

START_TEST(bad_module_names)
{
	const char *root = run_scratch();
	lc_cache *cache = (lc_cache *)&cache;

	assert_status(lc_open(root, bad_names[_i], NULL, &cache), LC_INVALID);
	ck_assert_ptr_eq(cache, (lc_cache *)&cache);
	ck_assert_int_eq(rmdir(root), 0);
}
END_TEST

static const char *const good_names[] = { "a", "0", "A.b-c_d", "x..", "resnet50-v2",
	FORTY FORTY FORTY "12345678" };

START_TEST(good_module_names)
{
	const char *root = run_scratch();
	char *dir = join(root, good_names[_i]);
	struct stat st;
	char *file = join(dir, "data.mdb");

	assert_ok(lc_close(sample_open(root, good_names[_i], NULL)));
	ck_assert_int_eq(stat(file, &st), 0);
	ck_assert(S_ISREG(st.st_mode));
	free(file);
	free(dir);
}
END_TEST

static void
set_flush_every_0(lc_options *o)
{
	o->flush_every = 0;
}

static void
set_small_chunk(lc_options *o)
{
	o->chunk_bytes = 65535;
}

static void
set_large_chunk(lc_options *o)
{
	o->chunk_bytes = (64 << 20) + 1;
}

static void
set_unknown_flag(lc_options *o)
{
	o->flags |= 0x80;
}

static void
set_unknown_durability(lc_options *o)
{
	o->durability = (lc_durability)7;
}

static void
set_no_size(lc_options *o)
{
	o->struct_size = 0;
}

static void (*const bad_options[])(lc_options *) = { set_flush_every_0, set_small_chunk,
	set_large_chunk, set_unknown_flag, set_unknown_durability, set_no_size };

START_TEST(options_out_of_range)
{
	const char *root = run_scratch();
	lc_cache *cache = (lc_cache *)&cache;
	lc_options options;

	lc_options_init(&options);
	bad_options[_i](&options);
	assert_status(lc_open(root, "m", &options, &cache), LC_INVALID);
	ck_assert_ptr_eq(cache, (lc_cache *)&cache);
	ck_assert_int_eq(lc_last_error()->status, LC_INVALID);
	ck_assert_int_eq(rmdir(root), 0);
}
END_TEST

START_TEST(options_at_their_limits)
{
	lc_options options;
	lc_cache *cache;

	lc_options_init(&options);
	ck_assert_uint_eq(options.struct_size, sizeof(options));
	ck_assert_uint_eq(options.flags, LC_CREATE);
	ck_assert_int_eq(options.verify, 1);
	ck_assert_int_eq(options.durability, LC_DURABLE_FULL);
	ck_assert_uint_eq(options.flush_every, 2048);
	ck_assert_uint_eq(options.chunk_bytes, 4 << 20);
	ck_assert_uint_eq(options.flush_interval_ms, 1000);
	ck_assert_uint_eq(options.map_size, (uint64_t)1 << 40);
	ck_assert_uint_eq(options.pin_warn_ms, 60000);
	ck_assert_uint_eq(options.timeout_ms, UINT64_MAX);
	ck_assert_ptr_null(options.log);
	options.flush_every = 1;
	options.chunk_bytes = _i == 0 ? 65536 : 64 << 20;
	options.verify = 0;
	cache = sample_open(run_scratch(), "m", &options);
	put(cache, "a", 1);
	put(cache, "b", 1);
	assert_ok(lc_flush(cache));
	expect(cache, "a", 1);
	expect(cache, "b", 1);
	assert_ok(lc_close(cache));
}
END_TEST

static const struct {
	unsigned flags;
	const char *root, *module;
} missing_rows[] = {
	{ 0, "", "m" }, { LC_RDONLY, "", "m" }, { 0, "/no", "m" },
	{ LC_RDONLY, "/no/root", "m" },
};

START_TEST(missing_modules)
{
	const char *root = run_scratch();
	char *path = join(root, missing_rows[_i].root);
	lc_options options = sample_options();
	lc_cache *cache = (lc_cache *)&cache;

	options.flags = missing_rows[_i].flags;
	assert_status(lc_open(path, "m", &options, &cache), LC_NO_FILE);
	ck_assert_ptr_eq(cache, (lc_cache *)&cache);
	/* The message names the module, and nothing was made. */
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "m"));
	ck_assert_int_eq(rmdir(root), 0);
	free(path);
}
END_TEST

START_TEST(makes_root_with_its_parents)
{
	char *root = join(run_scratch(), "a/b/c");
	lc_cache *cache = sample_open(root, "m", NULL);

	put(cache, "k", 1);
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", NULL);
	expect(cache, "k", 1);
	assert_ok(lc_close(cache));
	free(root);
}
END_TEST

static const unsigned open_flags[] = { LC_RDONLY, 0, LC_CREATE };

START_TEST(a_file_in_the_place_of_a_module)
{
	const char *root = run_scratch();
	char *path = join(root, "m");
	lc_options options = sample_options();
	lc_cache *cache = (lc_cache *)&cache;
	lc_status status;

	ck_assert_int_ge(close(open(path, O_CREAT | O_WRONLY, 0644)), 0);
	options.flags = open_flags[_i];
	status = lc_open(root, "m", &options, &cache);
	ck_assert_msg(status == LC_NOT_MODULE || status == LC_NO_FILE, "%s",
	    lc_status_name(status));
	ck_assert_ptr_eq(cache, (lc_cache *)&cache);
	ck_assert_int_eq(unlink(path), 0);
	free(path);
}
END_TEST

/* A data.mdb of other bytes is refused and stays as it is. */
START_TEST(data_that_is_no_module)
{
	static const size_t sizes[] = { 1, 100, 4096, 8192, 65536 };
	const char *root = run_scratch();
	lc_options options = sample_options();
	char *dir = join(root, "m"), *file = join(dir, "data.mdb");
	unsigned char *before = malloc(65536), *after = malloc(65537);
	lc_cache *cache = (lc_cache *)&cache;
	const size_t size = sizes[_i % 5];
	FILE *f;

	options.flags = open_flags[_i / 5];
	sample_fill(before, size, size);
	ck_assert_int_eq(mkdir(dir, 0755), 0);
	f = fopen(file, "w");
	ck_assert_uint_eq(fwrite(before, 1, size, f), size);
	fclose(f);
	assert_status(lc_open(root, "m", &options, &cache), LC_NOT_MODULE);
	ck_assert_ptr_eq(cache, (lc_cache *)&cache);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "m"));
	f = fopen(file, "r");
	ck_assert_uint_eq(fread(after, 1, 65537, f), size);
	ck_assert_mem_eq(after, before, size);
	fclose(f);
	free(before);
	free(after);
	free(file);
	free(dir);
}
END_TEST

/* The first pages of a data file as far as they got to the disk. */
static const struct {
	unsigned size;    /* of the file, in quarters of a page */
	unsigned extra;   /* bytes more */
	bool pages[2];    /* which of the two is there, the other is zeros */
	unsigned stray;   /* a byte that is not zero, if not 0 */
	unsigned txnid;   /* of the pages */
	bool made;        /* such a file comes from a making that was cut off */
} first_pages[] = {
	{ 8, 0, { false, false }, 0, 0, true },
	{ 8, 0, { true, false }, 0, 0, true },
	{ 8, 0, { false, true }, 0, 0, true },
	{ 4, 0, { true, false }, 0, 0, true },
	{ 4, 0, { false, false }, 0, 0, true },
	{ 3, 0, { true, false }, 0, 0, true },
	{ 0, 1, { false, false }, 0, 0, true },
	{ 8, 0, { false, false }, 5, 0, false },
	{ 8, 0, { true, false }, 500, 0, false },
	{ 8, 0, { true, false }, 8191, 0, false },
	{ 8, 0, { true, false }, 0, 1, false },
	{ 8, 1, { true, false }, 0, 0, false },
	{ 12, 0, { false, false }, 0, 0, false },
};

static void
put_first_page(unsigned char *page, uint64_t number, uint64_t txnid)
{
	const uint32_t magic = PAGE_MAGIC, page_size = (uint32_t)getpagesize();
	const uint64_t none = PAGE_NONE, map_size = 1 << 20, last = 1;

	memcpy(page + PAGE_NUMBER, &number, 8);
	page[PAGE_FLAGS] = PAGE_META;
	memcpy(page + META_MAGIC, &magic, 4);
	page[META_VERSION] = 1;
	memcpy(page + META_MAP_SIZE, &map_size, 8);
	memcpy(page + META_FREE_TREE + TREE_PAD, &page_size, 4);
	page[META_FREE_TREE + TREE_FLAGS] = TREE_INTEGER_KEYS;
	memcpy(page + META_FREE_TREE + TREE_ROOT, &none, 8);
	memcpy(page + META_MAIN_TREE + TREE_ROOT, &none, 8);
	memcpy(page + META_LAST_PAGE, &last, 8);
	memcpy(page + META_TXNID, &txnid, 8);
}

static size_t
make_first_pages(int i, unsigned char *out)
{
	const size_t page = (size_t)getpagesize();

	for (unsigned j = 0; j < 2; j++)
		if (first_pages[i].pages[j])
			put_first_page(out + j * page, j, first_pages[i].txnid);
	if (first_pages[i].stray != 0)
		out[first_pages[i].stray] = 1;
	return first_pages[i].size * page / 4 + first_pages[i].extra;
}

/* The module does not open, and its data stay as they are. */
static lc_status
refused(const char *root, unsigned flags, int fd, const void *data, size_t size)
{
	unsigned char *now = malloc(size + 1);
	lc_options options = sample_options();
	lc_cache *cache = NULL;
	lc_status status;

	options.flags = flags;
	status = lc_open(root, "m", &options, &cache);
	ck_assert(status != LC_OK);
	ck_assert_int_eq(pread(fd, now, size + 1, 0), (ssize_t)size);
	ck_assert_mem_eq(now, data, size);
	free(now);
	return status;
}

/* What was never more than begun is made; whatever else is there stays as it is. */
START_TEST(making_that_was_cut_off)
{
	unsigned char *data = calloc(4, (size_t)getpagesize());
	const size_t size = make_first_pages(_i, data);
	const char *root = run_scratch();
	char *dir = join(root, "m"), *file = join(dir, "data.mdb");
	lc_cache *cache;
	int fd;

	ck_assert_int_eq(mkdir(dir, 0755), 0);
	fd = open(file, O_RDWR | O_CREAT, 0644);
	ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
	if (first_pages[_i].made) {
		ck_assert_int_eq(refused(root, 0, fd, data, size), LC_NOT_MODULE);
		cache = sample_open(root, "m", NULL);
		put(cache, "k", 1);
		assert_ok(lc_flush(cache));
		expect(cache, "k", 1);
		assert_ok(lc_close(cache));
	} else {
		refused(root, 0, fd, data, size);
		refused(root, LC_CREATE, fd, data, size);
	}
	close(fd);
	free(data);
	free(file);
	free(dir);
}
END_TEST

static int
take_name(void *ctx, const char *name)
{
	strcat(ctx, name);
	strcat(ctx, " ");
	return 0;
}

static int
stop_at_b(void *ctx, const char *name)
{
	take_name(ctx, name);
	return strcmp(name, "b") == 0;
}

START_TEST(modules_in_byte_order)
{
	static const char *const names[] = { "b", "a", "Z", "a.b", "a-b", "0", "aa" };
	const char *root = run_scratch();
	char *path, got[200] = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_ok(lc_close(sample_open(root, names[i], NULL)));
	/* What is not a module is passed over. */
	path = join(root, "empty");
	ck_assert_int_eq(mkdir(path, 0755), 0);
	free(path);
	path = join(root, "file");
	ck_assert_int_ge(close(open(path, O_CREAT | O_WRONLY, 0644)), 0);
	free(path);
	path = join(root, ".hidden");
	ck_assert_int_eq(mkdir(path, 0755), 0);
	free(path);
	assert_ok(lc_modules(root, take_name, got));
	ck_assert_str_eq(got, "0 Z a a-b a.b aa b ");
	got[0] = '\0';
	assert_ok(lc_close(sample_open(root, "c", NULL)));
	assert_status(lc_modules(root, stop_at_b, got), LC_CANCELLED);
	ck_assert_str_eq(got, "0 Z a a-b a.b aa b ");
	got[0] = '\0';
	path = join(root, "nowhere");
	assert_ok(lc_modules(path, take_name, got));
	ck_assert_str_eq(got, "");
	free(path);
}
END_TEST

START_TEST(nothing_to_close)
{
	lc_view view = { .status = LC_NOT_FOUND };

	ck_assert_int_eq(lc_close(NULL), LC_OK);
	lc_discard(NULL);
	lc_iter_close(NULL);
	lc_view_release(&view);
	lc_views_release(&view, 1);
	lc_views_release(NULL, 0);
}
END_TEST

START_TEST(read_only_handles)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	const lc_id ids[1] = { { "b", 1 } };
	const lc_tensor tensor = sample_bytes("x", 1);
	lc_status statuses[1] = { LC_OK };
	lc_cache *writer = sample_open(root, "m", &options), *reader;

	put(writer, "a", 1);
	assert_ok(lc_flush(writer));
	options.flags = LC_RDONLY;
	reader = sample_open(root, "m", &options);
	assert_status(lc_put(reader, "b", 1, &tensor), LC_READONLY);
	assert_status(lc_delete(reader, "a", 1), LC_READONLY);
	assert_status(lc_put_batch(reader, 1, ids, &tensor, statuses), LC_READONLY);
	ck_assert_int_eq(statuses[0], LC_READONLY);
	expect(reader, "a", 1);
	put(writer, "a", 2);
	assert_ok(lc_flush(writer));
	expect(reader, "a", 2);
	ck_assert_uint_eq(count_of(reader), 1);
	assert_ok(lc_close(writer));
	expect(reader, "a", 2);
	assert_ok(lc_close(reader));
	reader = sample_open(root, "m", &options);
	expect(reader, "a", 2);
	assert_ok(lc_close(reader));
}
END_TEST

static void
read_then_write(void *root)
{
	lc_options options = sample_options();
	lc_cache *reader, *writer;
	lc_view view;

	/* The data is for reading only to this user, and for writing to the first. */
	options.flags = LC_RDONLY;
	need(seteuid(65534) == 0);
	reader = sample_open(root, "m", &options);
	need_ok(lc_get(reader, "a", 1, &view));
	need(seteuid(0) == 0);
	options.flags = 0;
	need_status(lc_open(root, "m", &options, &writer), LC_MAP_FULL);
	need_ok(lc_contains(reader, "a", 1));
	lc_view_release(&view);
	writer = sample_open(root, "m", &options);
	need_ok(sample_put(writer, "b", 1, 1, SAMPLE_SMALL));
	need_ok(lc_close(writer));
	need_ok(lc_contains(reader, "b", 1));
	need_ok(lc_close(reader));
}

/* A module open read-only, for want of the right to write, is opened to write: it
 * must be reopened, which a view forbids, and until then it is read as before. */
START_TEST(read_only_then_write)
{
	const char *root = run_scratch();
	char *above = join(root, ".."), *dir = join(root, "m");
	char *data = join(dir, "data.mdb"), *lock = join(dir, "lock.mdb");
	lc_cache *cache = sample_open(root, "m", NULL);

	put(cache, "a", 1);
	assert_ok(lc_close(cache));
	if (geteuid() == 0) {
		ck_assert_int_eq(chmod(above, 0755), 0);
		ck_assert_int_eq(chmod(root, 0755), 0);
		ck_assert_int_eq(chmod(data, 0644), 0);
		ck_assert_int_eq(chmod(lock, 0666), 0);
		ck_assert_int_eq(child_run(read_then_write,
		    (void *)(uintptr_t)root), 0);
	}
	free(above);
	free(dir);
	free(data);
	free(lock);
}
END_TEST

static void
leave_open(void *root)
{
	lc_cache *cache = sample_open(root, "m", NULL);

	need_ok(sample_put(cache, "k", 1, 1, SAMPLE_SMALL));
	exit(0);
}

/* A handle still open at a normal exit is flushed. */
START_TEST(open_at_exit)
{
	const char *root = run_scratch();
	lc_cache *cache;

	ck_assert_int_eq(child_run(leave_open, (void *)(uintptr_t)root), 0);
	cache = sample_open(root, "m", NULL);
	expect(cache, "k", 1);
	assert_ok(lc_close(cache));
}
END_TEST

#if !defined(__SANITIZE_THREAD__)
static void *
open_and_discard(void *root)
{
	for (;;) {
		lc_cache *cache = sample_open(root, "m", NULL);

		need_ok(sample_put(cache, "k", 1, 1, SAMPLE_SMALL));
		lc_discard(cache);
	}
	return NULL;
}

static void
leave_a_thread(void *root)
{
	const struct timespec pause = { 0, 5000000 };
	pthread_t thread;

	need(pthread_create(&thread, NULL, open_and_discard, root) == 0);
	nanosleep(&pause, NULL);
	exit(0);
}

/* An exit does not wait for a handle that another thread is closing. */
START_TEST(closed_at_exit)
{
	const char *root = run_scratch();

	for (unsigned i = 0; i < sample_times(30); i++)
		ck_assert_int_eq(child_run(leave_a_thread,
		    (void *)(uintptr_t)root), 0);
}
END_TEST
#endif

int
main(void)
{
	Suite *suite = suite_create("open");
	TCase *tc = tcase_create("open");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, bad_module_names, 0,
	    sizeof(bad_names) / sizeof(bad_names[0]));
	tcase_add_loop_test(tc, good_module_names, 0,
	    sizeof(good_names) / sizeof(good_names[0]));
	tcase_add_loop_test(tc, options_out_of_range, 0,
	    sizeof(bad_options) / sizeof(bad_options[0]));
	tcase_add_loop_test(tc, options_at_their_limits, 0, 2);
	tcase_add_loop_test(tc, missing_modules, 0,
	    sizeof(missing_rows) / sizeof(missing_rows[0]));
	tcase_add_test(tc, makes_root_with_its_parents);
	tcase_add_loop_test(tc, a_file_in_the_place_of_a_module, 0, 3);
	tcase_add_loop_test(tc, data_that_is_no_module, 0, 15);
	tcase_add_loop_test(tc, making_that_was_cut_off, 0,
	    (int)(sizeof(first_pages) / sizeof(first_pages[0])));
	tcase_add_test(tc, modules_in_byte_order);
	tcase_add_test(tc, nothing_to_close);
	tcase_add_test(tc, read_only_handles);
	tcase_add_test(tc, read_only_then_write);
	tcase_add_test(tc, open_at_exit);
	/* The thread that the exit cuts short is what its checker calls leaked. */
#if !defined(__SANITIZE_THREAD__)
	tcase_add_test(tc, closed_at_exit);
#endif
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
