/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "base/checksum.h"

START_TEST(error_texts)
{
	ck_assert_int_eq(lc__error_sys(ENOSPC, "%s: write", "a.npy"), LC_NO_SPACE);
	ck_assert_str_eq(lc_last_error()->text,
	    "a.npy: write: No space left on device");
	ck_assert_int_eq(lc_last_error()->sys, ENOSPC);
	ck_assert_int_eq(lc__error_prefix("import"), LC_NO_SPACE);
	ck_assert_str_eq(lc_last_error()->text,
	    "import: a.npy: write: No space left on device");
	ck_assert_int_eq(lc__no_memory(NULL), LC_NO_MEMORY);
	ck_assert_str_eq(lc_last_error()->text, "out of memory");
	ck_assert_int_eq(lc_last_error()->sys, 0);
	ck_assert_int_eq(lc__no_memory("a.npy"), LC_NO_MEMORY);
	ck_assert_str_eq(lc_last_error()->text, "a.npy: out of memory");
	ck_assert_str_eq(lc_status_name(LC_CORRUPT), "corrupt");
	for (int status = LC_OK; status <= LC_STALE; status++)
		ck_assert_str_ne(lc_status_name((lc_status)status), "unknown status");
	ck_assert_str_eq(lc_status_name(LC_FAILED), "failed");
	ck_assert_str_eq(lc_status_name(LC_STALE), "stale");
	ck_assert_str_eq(lc_status_name((lc_status)1000), "unknown status");
}
END_TEST

START_TEST(quoting)
{
	char longer[200];

	ck_assert_str_eq(lc__quote_id("a\n\\b\xff", 5), "'a\\x0a\\x5cb\\xff'");
	memset(longer, 'k', sizeof(longer));
	ck_assert_uint_eq(strlen(lc__quote_id(longer, sizeof(longer))), 80 + 2 + 3);
}
END_TEST

START_TEST(buf_grows)
{
	struct lc__buf buf = { 0 };

	for (int i = 0; i < 1000; i++)
		lc__buf_printf(&buf, "%03d", i);
	ck_assert_uint_eq(buf.size, 3000);
	ck_assert_mem_eq(buf.data + 3 * 777, "777", 3);
	lc__buf_append64(&buf, 0x0807060504030201u);
	ck_assert_uint_eq(buf.size, 3008);
	ck_assert_mem_eq(buf.data + 3000, "\1\2\3\4\5\6\7\10", 8);
	lc__buf_free(&buf);
}
END_TEST

START_TEST(little_endian)
{
	unsigned char b[8];

	lc__set64(b, 0x0807060504030201u);
	ck_assert_mem_eq(b, "\1\2\3\4\5\6\7\10", 8);
	ck_assert_uint_eq(lc__get16(b + 1), 0x0302);
	ck_assert_uint_eq(lc__get32(b + 4), 0x08070605);
	ck_assert_uint_eq(lc__round_up(65, 64), 128);
}
END_TEST

START_TEST(known_hashes)
{
	struct lc__checksum *sha;
	char hex[65];

	/* XXH3_64bits("") and SHA-256("abc"), from their specifications. */
	ck_assert_uint_eq(lc__hash64("", 0), 0x2D06800538D394C2u);
	ck_assert_int_eq(lc__checksum_new("sha256", &sha), LC_OK);
	ck_assert_int_eq(lc__checksum_update(sha, "abc", 3), LC_OK);
	ck_assert_int_eq(lc__checksum_hex(sha, hex), LC_OK);
	ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223"
	    "b00361a396177a9cb410ff61f20015ad");
	lc__checksum_free(sha);
}
END_TEST

/* To copy bytes while they are hashed changes neither, also in part of a long copy and to an
 * address that is not aligned. */
START_TEST(hash_and_copy)
{
	static const size_t sizes[] = { 0, 1, 64, 241, 4096, 4097, 8192, 20000, 65536 };
	unsigned char *from = malloc(65536), *room = malloc(65536 + 17), *to;
	uint64_t seed = run_seed();

	for (size_t i = 0; i < 65536; i++)
		from[i] = (unsigned char)run_random(&seed);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		const size_t size = sizes[s];
		const size_t some[] = { 0, size / 2, size - size % 63, size };

		for (size_t i = 0; i < 4 * 4; i++) {
			const size_t n = some[i % 4];
			const size_t all = i / 4 % 2 ? n : (size_t)3 << 20;

			to = room + (i / 8 ? 7 : 0);
			memset(room, 0xee, 65536 + 17);
			ck_assert_uint_eq(lc__hash64_copy(from, size, to, n, all),
			    lc__hash64(from, size));
			ck_assert_mem_eq(to, from, n);
			ck_assert_uint_eq(to[n], 0xee);
		}
	}
	free(from);
	free(room);
}
END_TEST

START_TEST(atomic_write)
{
	const char *dir = run_scratch();
	char *path = lc__path_join(dir, "x/y/file");
	char *parent = lc__path_join(dir, "x/y");
	struct lc__buf buf = { 0 };

	ck_assert_int_eq(lc__write_file_atomic(path, "a", 1), LC_NO_FILE);
	ck_assert_int_eq(lc__make_dirs(parent), LC_OK);
	ck_assert_int_eq(lc__make_dirs(parent), LC_OK);
	ck_assert_int_eq(lc__write_file_atomic(path, "first", 5), LC_OK);
	ck_assert_int_eq(lc__write_file_atomic(path, "second", 6), LC_OK);
	ck_assert_int_eq(lc__read_file(path, 5, &buf), LC_INVALID);
	buf.size = 0;
	ck_assert_int_eq(lc__read_file(path, 6, &buf), LC_OK);
	ck_assert_uint_eq(buf.size, 6);
	ck_assert_mem_eq(buf.data, "second", 6);
	ck_assert_int_eq(lc__make_dirs(path), LC_NO_FILE);
	ck_assert_int_eq(unlink(path), 0);
	/* No temporary is left: the directory is empty. */
	ck_assert_int_eq(rmdir(parent), 0);
	lc__buf_free(&buf);
	free(parent);
	free(path);
}
END_TEST

START_TEST(source_date_epoch)
{
	setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
	ck_assert_uint_eq(lc__clock_wall_ms(), 1700000000000u);
	setenv("SOURCE_DATE_EPOCH", "soon", 1);
	ck_assert_uint_gt(lc__clock_wall_ms(), 1700000000000u);
}
END_TEST

START_TEST(deadlines)
{
	const uint64_t now = lc__clock_ns();
	const uint64_t soon = lc__clock_deadline(1000);

	ck_assert_uint_ge(soon, now + 1000000000u);
	ck_assert_uint_le(soon, lc__clock_ns() + 1000000000u);
	ck_assert_uint_eq(lc__clock_deadline(UINT64_MAX), UINT64_MAX);
	ck_assert_uint_eq(lc__clock_deadline(UINT64_MAX / 1000000), UINT64_MAX);
}
END_TEST

/* A failure is told from the end of a directory. */
int
main(void)
{
	Suite *suite = suite_create("base");
	TCase *tc = tcase_create("base");

	tcase_add_test(tc, error_texts);
	tcase_add_test(tc, quoting);
	tcase_add_test(tc, buf_grows);
	tcase_add_test(tc, little_endian);
	tcase_add_test(tc, known_hashes);
	tcase_add_test(tc, hash_and_copy);
	tcase_add_test(tc, atomic_write);
	tcase_add_test(tc, source_date_epoch);
	tcase_add_test(tc, deadlines);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
