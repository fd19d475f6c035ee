/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fileio.h"
#include "formats/archive.h"
#include "need.h"
#include "sample.h"

#define LIMIT (1u << 22)

static const enum lc__archive_kind kinds[] = { LC__ARCHIVE_ZIP, LC__ARCHIVE_TAR };

static lc_status
keep(void *ctx, const void *data, size_t size)
{
	return lc__buf_append(ctx, data, size) != NULL ? LC_OK : LC_NO_MEMORY;
}

struct member {
	const char *name;
	size_t size;
	uint64_t seed;
};

static void
bytes_of(const struct member *member, struct lc__buf *out)
{
	void *place = lc__buf_append(out, NULL, member->size);

	sample_fill(place, member->size, member->seed);
}

static void
pack(enum lc__archive_kind kind, const struct member *members, size_t n,
    struct lc__buf *out)
{
	struct lc__archive_writer *writer;
	struct lc__buf data = { 0 };

	need_ok(lc__archive_create(kind, keep, out, &writer));
	for (size_t i = 0; i < n; i++) {
		const size_t half = members[i].size / 2;
		data.size = 0;
		bytes_of(&members[i], &data);
		need_ok(lc__archive_add(writer, members[i].name, data.size));
		need_ok(lc__archive_append(writer, data.data, half));
		need_ok(lc__archive_append(writer, data.data + half, data.size - half));
	}
	need_ok(lc__archive_finish(writer));
	lc__buf_free(&data);
}

/* Every member of these, in this order, and nothing else. */
static void
same_members(struct lc__archive *archive, const struct member *members, size_t n)
{
	struct lc__archive_member member;
	struct lc__buf got = { 0 }, want = { 0 };

	for (size_t i = 0; i < n; i++) {
		need_ok(lc__archive_next(archive, &member));
		need(strcmp(member.name, members[i].name) == 0);
		need(member.regular && !member.encrypted && member.sized);
		need(member.size == members[i].size);
		if (i % 5 == 4)
			continue;
		got.size = want.size = 0;
		bytes_of(&members[i], &want);
		need_ok(lc__archive_read(archive, members[i].size, &got));
		need(got.size == want.size);
		need(memcmp(got.data, want.data, got.size) == 0);
	}
	need_status(lc__archive_next(archive, &member), LC_END);
	lc__buf_free(&got);
	lc__buf_free(&want);
}

static const struct member members[] = {
	{ "a.npy", 100, 1 },
	{ "dir/b.npy", 0, 2 },
	{ "caf\xc3\xa9/\xe5\xbc\xb5.bin", 3000000, 3 },
	{ "a name of more than a hundred bytes, which is what a header of the old kind "
	    "has room for, with a directory/and more.bin", 513, 4 },
	{ "passed over", 4000, 5 },
	{ "../up", 1, 6 },
	{ "/absolute", 512, 7 },
	{ "a.npy", 70000, 8 },
};
#define N (sizeof(members) / sizeof(members[0]))

/* ---- round trips ---------------------------------------------------------------- */

START_TEST(round_trip)
{
	struct lc__archive *archive;
	struct lc__buf bytes = { 0 };
	char path[4200];

	pack(kinds[_i], members, N, &bytes);
	assert_ok(lc__archive_open_bytes(kinds[_i], bytes.data, bytes.size, &archive));
	same_members(archive, members, N);
	lc__archive_close(archive);
	snprintf(path, sizeof(path), "%s/archive", run_scratch());
	assert_ok(lc__write_file_atomic(path, bytes.data, bytes.size));
	assert_ok(lc__archive_open_file(kinds[_i], path, &archive));
	same_members(archive, members, N);
	lc__archive_close(archive);
	lc__buf_free(&bytes);
}
END_TEST

START_TEST(empty)
{
	struct lc__archive *archive;
	struct lc__archive_member member;
	struct lc__buf bytes = { 0 };
	char path[4200];

	pack(kinds[_i], NULL, 0, &bytes);
	assert_ok(lc__archive_open_bytes(kinds[_i], bytes.data, bytes.size, &archive));
	assert_status(lc__archive_next(archive, &member), LC_END);
	lc__archive_close(archive);
	snprintf(path, sizeof(path), "%s/archive", run_scratch());
	assert_ok(lc__write_file_atomic(path, bytes.data, bytes.size));
	assert_ok(lc__archive_open_file(kinds[_i], path, &archive));
	assert_status(lc__archive_next(archive, &member), LC_END);
	lc__archive_close(archive);
	lc__buf_free(&bytes);
}
END_TEST

/* The hour's zone and the locale do not matter, to who writes or to who reads. */
START_TEST(anywhere)
{
	static const char *const zones[] = { "UTC", "Asia/Tokyo", "America/Lima" };
	static const char *const locales[] = { "C", "C.UTF-8", "C" };
	struct lc__archive *archive;
	struct lc__buf bytes[3] = { { 0 } };

	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(setenv("TZ", zones[i], 1), 0);
		ck_assert_ptr_nonnull(setlocale(LC_ALL, locales[i]));
		pack(kinds[_i], members, N, &bytes[i]);
		ck_assert_uint_eq(bytes[i].size, bytes[0].size);
		ck_assert_mem_eq(bytes[i].data, bytes[0].data, bytes[0].size);
		assert_ok(lc__archive_open_bytes(kinds[_i], bytes[i].data,
		    bytes[i].size, &archive));
		same_members(archive, members, N);
		lc__archive_close(archive);
	}
	for (int i = 0; i < 3; i++)
		lc__buf_free(&bytes[i]);
}
END_TEST

/* More members than 16 bits count. */
START_TEST(many_members)
{
	enum { n = 70000 };
	struct member *many = calloc(n, sizeof(*many));
	char (*names)[16] = calloc(n, sizeof(*names));
	struct lc__archive *archive;
	struct lc__buf bytes = { 0 };

	for (size_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "%zu", i);
		many[i] = (struct member) { names[i], i % 3, i };
	}
	pack(kinds[_i], many, n, &bytes);
	assert_ok(lc__archive_open_bytes(kinds[_i], bytes.data, bytes.size, &archive));
	same_members(archive, many, n);
	lc__archive_close(archive);
	lc__buf_free(&bytes);
	free(names);
	free(many);
}
END_TEST

static void *
read_again(void *bytes_)
{
	const struct lc__buf *bytes = bytes_;
	struct lc__archive *archive;

	for (int i = 0; i < 10; i++) {
		need_ok(lc__archive_open_bytes(kinds[i % 2], bytes[i % 2].data,
		    bytes[i % 2].size, &archive));
		same_members(archive, members, N);
		lc__archive_close(archive);
	}
	return NULL;
}

START_TEST(threads)
{
	struct lc__buf bytes[2] = { { 0 } };
	pthread_t ids[4];

	for (int i = 0; i < 2; i++)
		pack(kinds[i], members, N, &bytes[i]);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&ids[i], NULL, read_again, bytes), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
	for (int i = 0; i < 2; i++)
		lc__buf_free(&bytes[i]);
}
END_TEST

/* ---- limits ------------------------------------------------------------------------ */

START_TEST(limits)
{
	struct lc__archive *archive;
	struct lc__archive_member member;
	struct lc__buf bytes = { 0 }, got = { 0 };

	pack(kinds[_i], members, 1, &bytes);
	assert_ok(lc__archive_open_bytes(kinds[_i], bytes.data, bytes.size, &archive));
	assert_ok(lc__archive_next(archive, &member));
	assert_status(lc__archive_read(archive, 99, &got), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "larger than 99 bytes");
	ck_assert_uint_eq(got.size, 0);
	assert_ok(lc__archive_read(archive, 100, &got));
	ck_assert_uint_eq(got.size, 100);
	lc__archive_close(archive);
	lc__buf_free(&bytes);
	lc__buf_free(&got);
}
END_TEST

START_TEST(some)
{
	struct lc__archive *archive;
	struct lc__archive_member member;
	struct lc__buf bytes = { 0 }, got = { 0 }, want = { 0 };

	pack(kinds[_i], members, 1, &bytes);
	bytes_of(&members[0], &want);
	assert_ok(lc__archive_open_bytes(kinds[_i], bytes.data, bytes.size, &archive));
	assert_ok(lc__archive_next(archive, &member));
	for (size_t size = 30; size <= 120; size += 30) {
		assert_ok(lc__archive_read_some(archive, 30, &got));
		ck_assert_uint_eq(got.size, size < 100 ? size : 100);
	}
	assert_ok(lc__archive_read_some(archive, 30, &got));
	ck_assert_uint_eq(got.size, 100);
	ck_assert_mem_eq(got.data, want.data, 100);
	lc__archive_close(archive);
	lc__buf_free(&bytes);
	lc__buf_free(&got);
	lc__buf_free(&want);
}
END_TEST

/* ---- damage ------------------------------------------------------------------------ */

/* Read all that there is; the status that ends it. */
static lc_status
read_all(enum lc__archive_kind kind, const void *bytes, size_t size, size_t *n)
{
	struct lc__archive *archive = NULL;
	struct lc__archive_member member;
	struct lc__buf got = { 0 };
	lc_status status = lc__archive_open_bytes(kind, bytes, size, &archive);

	for (*n = 0; status == LC_OK; ++*n) {
		status = lc__archive_next(archive, &member);
		got.size = 0;
		if (status == LC_OK)
			status = lc__archive_read(archive, LIMIT, &got);
		if (status != LC_OK)
			break;
	}
	ck_assert(status == LC_OK || status == LC_END ||
	    strpbrk(lc_last_error()->text, "\n\r") == NULL);
	lc__archive_close(archive);
	lc__buf_free(&got);
	return status;
}

static const struct member few[] = {
	{ "a.npy", 100, 1 }, { "b.npy", 600, 2 }, { "caf\xc3\xa9", 10, 3 },
};

/* A copy of its own, so that reads beyond it are seen. */
START_TEST(cut)
{
	struct lc__buf bytes = { 0 };
	size_t n;

	pack(kinds[_i], few, 3, &bytes);
	/* The second of the blocks that end a tar archive may be missing. */
	for (size_t size = 0; size < bytes.size - (_i == 1 ? 512 : 0); size++) {
		void *copy = malloc(size + 1);
		memcpy(copy, bytes.data, size);
		ck_assert_msg(read_all(kinds[_i], copy, size, &n) == LC_CORRUPT,
		    "%zu of %zu bytes: %s", size, bytes.size, lc_last_error()->text);
		free(copy);
	}
	ck_assert_int_eq(read_all(kinds[_i], bytes.data, bytes.size, &n), LC_END);
	ck_assert_uint_eq(n, 3);
	lc__buf_free(&bytes);
}
END_TEST

/* Whatever is changed, reading comes to an end; data that is not right is found out in
 * a zip archive, which has checksums. */
START_TEST(changed)
{
	struct lc__buf bytes = { 0 };
	const char *data;
	size_t n, place;

	pack(kinds[_i], few, 3, &bytes);
	for (size_t i = 0; i < bytes.size; i++) {
		for (int bit = 0; bit < 8; bit++) {
			bytes.data[i] = (unsigned char)(bytes.data[i] ^ 1 << bit);
			(void)read_all(kinds[_i], bytes.data, bytes.size, &n);
			ck_assert_uint_lt(n, 10);
			bytes.data[i] = (unsigned char)(bytes.data[i] ^ 1 << bit);
		}
	}
	data = memmem(bytes.data, bytes.size, "b.npy", 5);
	ck_assert_ptr_nonnull(data);
	place = (size_t)(data - (char *)bytes.data) + 200;
	bytes.data[place] ^= 1;
	if (kinds[_i] == LC__ARCHIVE_ZIP) {
		ck_assert_int_eq(read_all(kinds[_i], bytes.data, bytes.size, &n),
		    LC_CORRUPT);
		ck_assert_uint_eq(n, 1);
	}
	lc__buf_free(&bytes);
}
END_TEST

START_TEST(other_files)
{
	static const struct {
		const char *bytes;
		size_t size;
	} rows[] = {
		{ "", 0 }, { "PK", 2 }, { "PK\3\4", 4 }, { "hello, world", 12 },
		{ "PK\5\6\0\0\0\0\1\0\1\0\0\0\0\0\0\0\0\0\0\0", 22 },
	};
	struct lc__archive *archive;
	size_t n;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_int_eq(read_all(kinds[_i], rows[i].bytes, rows[i].size, &n),
		    LC_CORRUPT);
	assert_status(lc__archive_open_file(kinds[_i], "/nonexistent", &archive),
	    LC_NO_FILE);
	assert_status(lc__archive_open_file(kinds[_i], "/", &archive), LC_IO);
	lc__archive_close(NULL);
}
END_TEST

/* ---- failures of the sink ------------------------------------------------------------ */

static lc_status
refuse(void *ctx, const void *data, size_t size)
{
	size_t *left = ctx;

	(void)data;
	if (*left < size)
		return LC_NO_SPACE;
	*left -= size;
	return LC_OK;
}

START_TEST(full)
{
	static char data[100];
	struct lc__archive_writer *writer;
	struct lc__buf all = { 0 };
	lc_status status;
	size_t size;

	pack(kinds[_i], members, 1, &all);
	for (size = 0; size < all.size; size++) {
		size_t left = size;
		assert_ok(lc__archive_create(kinds[_i], refuse, &left, &writer));
		status = lc__archive_add(writer, "a.npy", sizeof(data));
		if (status == LC_OK)
			status = lc__archive_append(writer, data, sizeof(data));
		if (status == LC_OK)
			status = lc__archive_finish(writer);
		else
			lc__archive_discard(writer);
		ck_assert_int_eq(status, LC_NO_SPACE);
	}
	lc__buf_free(&all);
}
END_TEST

START_TEST(discarded)
{
	struct lc__archive_writer *writer;
	struct lc__buf bytes = { 0 };
	size_t size;

	assert_ok(lc__archive_create(kinds[_i], keep, &bytes, &writer));
	assert_ok(lc__archive_add(writer, "a", 10));
	assert_ok(lc__archive_append(writer, "12345", 5));
	size = bytes.size;
	lc__archive_discard(writer);
	ck_assert_uint_eq(bytes.size, size);
	lc__archive_discard(NULL);
	lc__buf_free(&bytes);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("archive");
	TCase *archive = tcase_create("archive");

	tcase_set_timeout(archive, 120);
	tcase_add_loop_test(archive, round_trip, 0, 2);
	tcase_add_loop_test(archive, empty, 0, 2);
	tcase_add_loop_test(archive, anywhere, 0, 2);
	tcase_add_loop_test(archive, many_members, 0, 2);
	tcase_add_test(archive, threads);
	tcase_add_loop_test(archive, limits, 0, 2);
	tcase_add_loop_test(archive, some, 0, 2);
	tcase_add_loop_test(archive, cut, 0, 2);
	tcase_add_loop_test(archive, changed, 0, 2);
	tcase_add_loop_test(archive, other_files, 0, 2);
	tcase_add_loop_test(archive, full, 0, 2);
	tcase_add_loop_test(archive, discarded, 0, 2);
	suite_add_tcase(suite, archive);
	return run_suite(suite);
}
