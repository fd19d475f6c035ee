/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/hash.h"
#include "base/checksum.h"
#include "need.h"
#include "outdir_files.h"
#include "warehouse/sources.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))
#define SINCE 1700000000000000000

/* ---- text ------------------------------------------------------------------ */

/* XXH3-128 of "a", as xxhsum -H2 prints it. */
#define A_HASH "a96faf705af16834e6c632b61e964e1f"
static const uint64_t a_hash[2] = { 0xa96faf705af16834, 0xe6c632b61e964e1f };

static const char text[] =
    "# cachex sources 1 1700000000000000000\n"
    "d " A_HASH " - 1500000000000000001 .\n"
    "f " A_HASH " 1 -5 /srv/labels.json\n"
    "f 00000000000000010000000000000002 9223372036854775807 "
    "9223372036854775807 a\\x01\\n\\\\\\x7f \xc3\xb6\xff.jpg\n"
    "m - - - b/c.png\n"
    "d " A_HASH " - -9223372036854775808 run 1\n"
    "f " A_HASH " 0 0 run 1/x..y/...\n";

static struct lc__sources
parsed(const char *from)
{
	struct lc__sources s;
	struct lc__buf buf = { 0 };

	lc__buf_append(&buf, from, strlen(from));
	assert_ok(lc__sources_parse(&buf, "s", &s));
	ck_assert_ptr_null(buf.data);
	return s;
}

static void
assert_text(const struct lc__sources *s, const char *want)
{
	struct lc__buf out = { 0 };

	assert_ok(lc__sources_format(s, &out));
	lc__buf_append(&out, "", 1);
	ck_assert_str_eq((const char *)out.data, want);
	lc__buf_free(&out);
}

START_TEST(round_trip)
{
	struct lc__sources s = parsed(text);

	ck_assert_int_eq(s.since_ns, SINCE);
	ck_assert_uint_eq(s.n, 6);
	ck_assert_str_eq(s.files[0].path, "");
	ck_assert(s.files[0].directory);
	ck_assert_mem_eq(s.files[0].hash, a_hash, 16);
	ck_assert_int_eq(s.files[1].mtime_ns, -5);
	ck_assert_str_eq(s.files[2].path, "a\x01\n\\\x7f \xc3\xb6\xff.jpg");
	ck_assert_uint_eq(s.files[2].size, INT64_MAX);
	ck_assert_int_eq(s.files[2].mtime_ns, INT64_MAX);
	ck_assert_uint_eq(s.files[2].hash[0], 1);
	ck_assert_uint_eq(s.files[2].hash[1], 2);
	ck_assert(s.files[3].missing);
	ck_assert_int_eq(s.files[4].mtime_ns, INT64_MIN);
	ck_assert_str_eq(s.files[5].path, "run 1/x..y/...");
	assert_text(&s, text);
	lc__sources_free(&s);
	lc__sources_free(&s);
}
END_TEST

/* The same list, made in another order and with lines twice. */
START_TEST(made)
{
	struct lc__sources want = parsed(text), s = { .since_ns = SINCE };

	for (int i = 0; i < 2; i++)
		for (size_t k = want.n; k-- > 0;)
			assert_ok(lc__sources_add(&s, &want.files[k]));
	lc__sources_sort(&s);
	assert_text(&s, text);
	lc__sources_free(&s);
	lc__sources_free(&want);
}
END_TEST

/* Many, so that everything grows. */
START_TEST(many)
{
	struct lc__sources s = { 0 };
	char path[20];

	for (int i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "%04d", i * 7 % 5000);
		assert_ok(lc__sources_add(&s,
		    &(struct lc__source_file){ .path = path }));
	}
	lc__sources_sort(&s);
	ck_assert_uint_eq(s.n, 5000);
	for (int i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "%04d", i);
		ck_assert_str_eq(s.files[i].path, path);
	}
	lc__sources_free(&s);
}
END_TEST

/* Of one path the line stays by which it is found to have changed. */
START_TEST(twice)
{
	const struct lc__source_file files[] = {
		{ .path = "a", .mtime_ns = 7, .hash = { 1 } },
		{ .path = "a", .mtime_ns = 6, .hash = { 2 } },
		{ .path = "b", .mtime_ns = 6, .hash = { 2, 9 } },
		{ .path = "b", .mtime_ns = 6, .hash = { 2, 8 } },
		{ .path = "c" }, { .path = "c", .missing = true },
		{ .path = "d", .directory = true }, { .path = "d", .mtime_ns = 1 },
	};
	struct lc__sources s = { 0 };

	for (int i = 0; i < COUNT(files); i++)
		assert_ok(lc__sources_add(&s, &files[i]));
	lc__sources_sort(&s);
	ck_assert_uint_eq(s.n, 4);
	ck_assert_int_eq(s.files[0].mtime_ns, 6);
	ck_assert_uint_eq(s.files[1].hash[1], 8);
	ck_assert(s.files[2].missing);
	ck_assert(!s.files[3].directory);
	lc__sources_free(&s);
}
END_TEST

static const struct {
	const char *path;
	bool directory, ok;
} path_rows[] = {
	{ "a", false, true }, { "a/b", true, true }, { "", true, true },
	{ "", false, false }, { "/a/b", false, true }, { "/a", true, false },
	{ "/", false, false }, { "/", true, false }, { ".", true, false },
	{ "..", false, false }, { "a/..", false, false }, { "a/../b", true, false },
	{ "/a/../b", false, false }, { "./a", false, false }, { "a/./b", false, false },
	{ "a//b", false, false }, { "a/", true, false }, { "//a", false, false },
	{ "..a/b..", false, true }, { "...", false, true },
};

START_TEST(paths)
{
	const struct lc__source_file f = { .path = path_rows[_i].path,
		.directory = path_rows[_i].directory };
	struct lc__sources s = { 0 };

	assert_status(lc__sources_add(&s, &f), path_rows[_i].ok ? LC_OK : LC_INVALID);
	ck_assert_uint_eq(s.n, path_rows[_i].ok);
	lc__sources_free(&s);
}
END_TEST

#define HEAD "# cachex sources 1 5\n"
#define F HEAD "f " A_HASH

static const struct {
	const char *text;
	lc_status status;
	const char *message;
} bad_rows[] = {
	{ "", LC_CORRUPT, "s: is not a list of sources" },
	{ "\n", LC_CORRUPT, "s: is not a list of sources" },
	{ "# cachex sources 1 5", LC_CORRUPT, "s: is not a list of sources" },
	{ "# cachex sources 0 5\n", LC_CORRUPT, "s: is not a list of sources" },
	{ "# cachex sources 01 5\n", LC_CORRUPT, "s: is not a list of sources" },
	{ "# cachex sources 2 x\n", LC_VERSION,
	    "s: version 2 is newer than this library" },
	{ "# cachex sources 1\n", LC_CORRUPT, "s: line 1 has no time" },
	{ "# cachex sources 1 \n", LC_CORRUPT, "s: line 1 has no time" },
	{ "# cachex sources 1 5 \n", LC_CORRUPT, "s: line 1 has no time" },
	{ HEAD "\n", LC_CORRUPT, "s: line 2 is not of a file or directory" },
	{ HEAD "x " A_HASH " 1 1 a\n", LC_CORRUPT,
	    "s: line 2 is not of a file or directory" },
	{ HEAD "f" A_HASH " 1 1 a\n", LC_CORRUPT,
	    "s: line 2 is not of a file or directory" },
	{ HEAD "f A96FAF705AF16834E6C632B61E964E1F 1 1 a\n", LC_CORRUPT,
	    "s: line 2 has no hash" },
	{ HEAD "f a96faf 1 1 a\n", LC_CORRUPT, "s: line 2 has no hash" },
	{ F "0 1 1 a\n", LC_CORRUPT, "s: line 2 has no hash" },
	{ F "  1 1 a\n", LC_CORRUPT, "s: line 2 has no size" },
	{ F " 01 1 a\n", LC_CORRUPT, "s: line 2 has no size" },
	{ F " +1 1 a\n", LC_CORRUPT, "s: line 2 has no size" },
	{ F " -1 1 a\n", LC_CORRUPT, "s: line 2 has no size" },
	{ F " - 1 a\n", LC_CORRUPT, "s: line 2 has no size" },
	{ F " 9223372036854775808 1 a\n", LC_CORRUPT, "s: line 2 has no size" },
	{ F " 36893488147419103232 1 a\n", LC_CORRUPT, "s: line 2 has no size" },
	{ HEAD "d " A_HASH " 0 1 a\n", LC_CORRUPT, "s: line 2 has no size" },
	{ F " 1 -0 a\n", LC_CORRUPT, "s: line 2 has no time" },
	{ F " 1 00 a\n", LC_CORRUPT, "s: line 2 has no time" },
	{ F " 1 1.5 a\n", LC_CORRUPT, "s: line 2 has no time" },
	{ F " 1 9223372036854775808 a\n", LC_CORRUPT, "s: line 2 has no time" },
	{ F " 1 -9223372036854775809 a\n", LC_CORRUPT, "s: line 2 has no time" },
	{ F " 1 1\n", LC_CORRUPT, "s: line 2 has no time" },
	{ F " 1 1 \n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ F " 1 1 .\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ F " 1 1 ../a\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ F " 1 1 /../a\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ F " 1 1 a\\\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ F " 1 1 a\\t\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ F " 1 1 a\tb\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ F " 1 1 a\\x\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ F " 1 1 a\\x1\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ F " 1 1 a\\x00b\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ F " 1 1 a\\x0a\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ F " 1 1 a\\x5c\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ F " 1 1 a\\x61\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ F " 1 1 a\\x1F\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ F " 1 1 \\x2e\\x2e/a\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ HEAD "d " A_HASH " - 1 /a\n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ HEAD "d " A_HASH " - 1 \n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ HEAD "m - - - \n", LC_CORRUPT, "s: line 2 has no valid path" },
	{ HEAD "m - - 0 a\n", LC_CORRUPT, "s: line 2 is not of a file or directory" },
	{ HEAD "m - - - a\nm - - - a\n", LC_CORRUPT, "s: line 3 is not in order" },
	{ HEAD "m - - - b\nm - - - a\n", LC_CORRUPT, "s: line 3 is not in order" },
	{ HEAD "m - - - a\n" "d " A_HASH " - 1 .\n", LC_CORRUPT,
	    "s: line 3 is not in order" },
	/* \n is sorted as the byte that it stands for, and ö behind all ASCII. */
	{ HEAD "m - - - a!\nm - - - a\\n\n", LC_CORRUPT, "s: line 3 is not in order" },
	{ HEAD "m - - - \xc3\xb6\nm - - - z\n", LC_CORRUPT,
	    "s: line 3 is not in order" },
	{ HEAD "m - - - a\nm - - - b", LC_CORRUPT, "s: line 3 is cut off" },
};

START_TEST(bad)
{
	struct lc__sources s;
	struct lc__buf buf = { 0 };

	lc__buf_append(&buf, bad_rows[_i].text, strlen(bad_rows[_i].text));
	assert_status(lc__sources_parse(&buf, "s", &s), bad_rows[_i].status);
	ck_assert_str_eq(lc_last_error()->text, bad_rows[_i].message);
	ck_assert_ptr_null(buf.data);
}
END_TEST

/* A NUL ends no line and no field. */
static const struct {
	const char *text;
	size_t size;
} nul_rows[] = {
#define NUL_ROW(text) { text, sizeof(text) - 1 }
	NUL_ROW("# cachex sources 1 5\0\n"),
	NUL_ROW(HEAD "m - - - a\0b\n"),
	NUL_ROW(HEAD "m - - - \0\n"),
	NUL_ROW(HEAD "d " A_HASH " - 1 .\0../x\n"),
	NUL_ROW(F "\0 1 1 a\n"),
	NUL_ROW(F " 1\0 1 a\n"),
	NUL_ROW(HEAD "\0\n"),
};

START_TEST(nul)
{
	struct lc__sources s;
	struct lc__buf buf = { 0 };

	lc__buf_append(&buf, nul_rows[_i].text, nul_rows[_i].size);
	assert_status(lc__sources_parse(&buf, "s", &s), LC_CORRUPT);
}
END_TEST

/* Some bytes of the text changed: it is refused, or it was the text of that list. */
START_TEST(mutations)
{
	uint64_t seed = run_seed(), accepted = 0;

	for (int i = 0; i < 50000; i++) {
		struct lc__buf buf = { 0 }, copy = { 0 }, out = { 0 };
		struct lc__sources s;
		lc__buf_append(&buf, text, sizeof(text) - 1);
		for (uint64_t n = 1 + run_random(&seed) % 2; n > 0; n--)
			buf.data[run_random(&seed) % buf.size] = (unsigned char)
			    "0123456789abcdef \n\\xn/.-dfm\0\xff"[
			    run_random(&seed) % 30];
		buf.size -= run_random(&seed) % 50 == 0 ? run_random(&seed) % 80 : 0;
		lc__buf_append(&copy, buf.data, buf.size);
		if (lc__sources_parse(&buf, "s", &s) == LC_OK) {
			accepted++;
			assert_ok(lc__sources_format(&s, &out));
			ck_assert_uint_eq(out.size, copy.size);
			ck_assert_mem_eq(out.data, copy.data, copy.size);
			lc__sources_free(&s);
		} else {
			ck_assert(lc_last_error()->status == LC_CORRUPT ||
			    lc_last_error()->status == LC_VERSION);
		}
		lc__buf_free(&out);
		lc__buf_free(&copy);
	}
	ck_assert_uint_gt(accepted, 1000);
}
END_TEST

/* ---- hashes ---------------------------------------------------------------- */

START_TEST(fingerprint)
{
	static const char hashed[] =
	    A_HASH " 1 /labels.json\n"
	    "00000000000000010000000000000002 9223372036854775807 "
	    "a\\x01\\n\\\\\\x7f \xc3\xb6\xff.jpg\n"
	    A_HASH " 0 run 1/x..y/...\n";
	struct lc__sources s = parsed(text);
	char want[65], got[65], before[65];

	assert_ok(lc__sha256_of(hashed, sizeof(hashed) - 1, want));
	assert_ok(lc__sources_fingerprint(&s, got));
	ck_assert_str_eq(got, want);
	s.since_ns++;
	s.files[0].hash[0]++;
	s.files[5].mtime_ns++;
	assert_ok(lc__sources_fingerprint(&s, got));
	ck_assert_str_eq(got, want);
	s.files[5].size++;
	assert_ok(lc__sources_fingerprint(&s, before));
	ck_assert_str_ne(before, want);
	s.files[5].hash[1]++;
	assert_ok(lc__sources_fingerprint(&s, got));
	ck_assert_str_ne(got, before);
	lc__sources_free(&s);
}
END_TEST

static void
write_bytes(const char *dir, const char *name, const void *bytes, size_t size)
{
	char *path = outdir_join(dir, name);

	assert_ok(lc__write_file_atomic(path, bytes, size));
	free(path);
}

static void
make_dir(const char *dir, const char *name)
{
	char *path = outdir_join(dir, name);

	ck_assert_int_eq(mkdir(path, 0777), 0);
	free(path);
}

/* Sizes around that of a piece: the same in pieces as at once. */
START_TEST(file_hashes)
{
	static const size_t sizes[] = { 0, 1, 240, 241, 65535, 65536, 65537, 200000 };
	const char *dir = run_scratch();
	unsigned char *bytes = malloc(200000);
	uint64_t seed = 5, one[2], pieces[2], size;
	char *path = outdir_join(dir, "f");

	for (size_t i = 0; i < 200000; i++)
		bytes[i] = (unsigned char)run_random(&seed);
	for (int i = 0; i < COUNT(sizes); i++) {
		write_bytes(dir, "f", bytes, sizes[i]);
		lc__hash128(bytes, sizes[i], one);
		assert_ok(lc__sources_hash_file(path, pieces, &size));
		ck_assert_mem_eq(one, pieces, 16);
		ck_assert_uint_eq(size, sizes[i]);
	}
	lc__hash128("a", 1, one);
	ck_assert_mem_eq(one, a_hash, 16);
	ck_assert_int_eq(unlink(path), 0);
	assert_status(lc__sources_hash_file(path, one, &size), LC_NO_FILE);
	assert_status(lc__sources_hash_file(dir, one, &size), LC_INVALID);
	ck_assert_int_eq(mkfifo(path, 0666), 0);
	assert_status(lc__sources_hash_file(path, one, &size), LC_INVALID);
	free(path);
	free(bytes);
}
END_TEST

/* Names and a "/" behind directories, each with a NUL, in the order of bytes. */
START_TEST(dir_hash)
{
	static const char hashed[] = "A.JPG\0b.jpeg\0c.PnG\0d.Json\0dangling.txt\0"
	    "e.jpg/\0e.txt\0f.xml\0g.yaml\0h.yml\0run 1/\0to_dir.png/\0\xff.jpg";
	static const char *const files[] = { "A.JPG", "b.jpeg", "c.PnG", "d.Json",
		"e.txt", "f.xml", "g.yaml", "h.yml", "\xff.jpg", "notes", "x.jpg~",
		"jpg", ".jpg", ".hidden.jpg", "x.tmp.XXXXXX", "x.gif" };
	const char *dir = run_scratch();
	char *path;
	uint64_t want[2], got[2];

	for (int i = 0; i < COUNT(files); i++)
		write_bytes(dir, files[i], "", 0);
	make_dir(dir, "run 1");
	make_dir(dir, ".git");
	make_dir(dir, "e.jpg");
	path = outdir_join(dir, "to_dir.png");
	ck_assert_int_eq(symlink("run 1", path), 0);
	free(path);
	path = outdir_join(dir, "dangling.txt");
	ck_assert_int_eq(symlink("nowhere", path), 0);
	free(path);
	lc__hash128(hashed, sizeof(hashed), want);
	assert_ok(lc__sources_hash_dir(dir, got));
	ck_assert_mem_eq(got, want, 16);
	path = outdir_join(dir, "none");
	assert_status(lc__sources_hash_dir(path, got), LC_NO_FILE);
	free(path);
	path = outdir_join(dir, "notes");
	assert_status(lc__sources_hash_dir(path, got), LC_NO_FILE);
	free(path);
}
END_TEST

/* Nothing that matters is the hash of nothing. */
START_TEST(empty_dir)
{
	uint64_t want[2], got[2];

	lc__hash128("", 0, want);
	assert_ok(lc__sources_hash_dir(run_scratch(), got));
	ck_assert_mem_eq(got, want, 16);
	ck_assert_uint_eq(want[0], 0x99aa06d3014798d8);
	ck_assert_uint_eq(want[1], 0x6001c324468d497f);
}
END_TEST

START_TEST(times)
{
	static const struct {
		int64_t s;
		long ns;
		int64_t want;
	} rows[] = {
		{ 0, 0, 0 }, { 1, 5, 1000000005 }, { -1, 5, -999999995 },
		{ 9223372036, 854775807, INT64_MAX },
		{ 9223372036, 854775808, INT64_MAX }, { INT64_MAX, 0, INT64_MAX },
		{ INT64_MIN, 0, INT64_MIN },
	};

	for (int i = 0; i < COUNT(rows); i++) {
		const struct stat st = { .st_mtim = { rows[i].s, rows[i].ns } };
		ck_assert_int_eq(lc__sources_mtime(&st), rows[i].want);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("sources");
	TCase *tc = tcase_create("sources");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, round_trip);
	tcase_add_test(tc, made);
	tcase_add_test(tc, many);
	tcase_add_test(tc, twice);
	tcase_add_loop_test(tc, paths, 0, COUNT(path_rows));
	tcase_add_loop_test(tc, bad, 0, COUNT(bad_rows));
	tcase_add_loop_test(tc, nul, 0, COUNT(nul_rows));
	tcase_add_test(tc, mutations);
	tcase_add_test(tc, fingerprint);
	tcase_add_test(tc, file_hashes);
	tcase_add_test(tc, dir_hash);
	tcase_add_test(tc, empty_dir);
	tcase_add_test(tc, times);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
