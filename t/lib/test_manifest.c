/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "format/manifest.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))
#define XXH3 "00112233445566778899aabbccddeeff"
#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* The reference's fields in the reference's order, ours after them, but for the digest of
 * all other lines. */
static const char text[] =
"{\n"
"  \"manifest_sha256\": "
"\"859dc52773bdfad87651246bafadefe2e6050486b9bd32731c1ccf05e0d3dabc\",\n"
"  \"dataset_root\": \"/data/r\xc3\xb6" "d\",\n"
"  \"transform\": {\n"
"    \"name\": \"none\"\n"
"  },\n"
"  \"version\": \"" SHA "\",\n"
"  \"version_recipe\": \"{}\",\n"
"  \"code_version\": \"cachex 0.1.0\",\n"
"  \"default_dtype\": \"F16\",\n"
"  \"default_shard_version\": 2,\n"
"  \"created_at_ms\": 1700000000000,\n"
"  \"thresholds\": {},\n"
"  \"summary\": null,\n"
"  \"shards\": [\n"
"    {\n"
"      \"id\": \"shard-000000\",\n"
"      \"relative_path\": \"shard-000000.twh1\",\n"
"      \"shard_version\": 2,\n"
"      \"samples\": 7,\n"
"      \"width\": 640,\n"
"      \"height\": 480,\n"
"      \"channels\": 3,\n"
"      \"max_boxes\": 32,\n"
"      \"dtype\": \"BF16\",\n"
"      \"endianness\": \"Little\",\n"
"      \"checksum_sha256\": \"" SHA "\",\n"
"      \"bytes\": 12345,\n"
"      \"boxes_dtype\": \"F32\",\n"
"      \"checksum_xxh3\": \"" XXH3 "\",\n"
"      \"samples_hash\": \"fedcba9876543210fedcba9876543210\"\n"
"    },\n"
"    {\n"
"      \"id\": \"b\",\n"
"      \"relative_path\": \"sub/b.twh1\",\n"
"      \"shard_version\": 1,\n"
"      \"samples\": 0,\n"
"      \"width\": 0,\n"
"      \"height\": 4294967295,\n"
"      \"channels\": 1,\n"
"      \"max_boxes\": 0,\n"
"      \"dtype\": \"F8_E4M3\",\n"
"      \"endianness\": \"Big\",\n"
"      \"checksum_sha256\": null\n"
"    }\n"
"  ],\n"
"  \"warehouse\": {\n"
"    \"layout\": \"yolo\"\n"
"  },\n"
"  \"manifest_version\": 1\n"
"}\n";

START_TEST(round_trip)
{
	struct lc__manifest m;
	struct lc__buf out = { 0 };

	ck_assert_int_eq(lc__manifest_parse(text, strlen(text), "m", &m), LC_OK);
	ck_assert_str_eq(m.dataset_root, "/data/r\xc3\xb6" "d");
	ck_assert_str_eq(m.transform, "{\"name\":\"none\"}");
	ck_assert_str_eq(m.summary, "null");
	ck_assert_int_eq(m.default_dtype, LC_F16);
	ck_assert_uint_eq(m.created_at_ms, 1700000000000u);
	ck_assert_uint_eq(m.n, 2);
	ck_assert_uint_eq(m.shards[0].samples, 7);
	ck_assert_uint_eq(m.shards[0].width, 640);
	ck_assert_uint_eq(m.shards[0].height, 480);
	ck_assert_uint_eq(m.shards[0].channels, 3);
	ck_assert_int_eq(m.shards[0].dtype, LC_BF16);
	ck_assert_str_eq(m.shards[0].sha256, SHA);
	ck_assert_uint_eq(m.shards[0].bytes, 12345);
	ck_assert_int_eq(m.shards[0].boxes_dtype, LC_F32);
	ck_assert_str_eq(m.shards[0].xxh3, XXH3);
	ck_assert_str_eq(m.shards[0].samples_hash,
	    "fedcba9876543210fedcba9876543210");
	ck_assert_int_eq(m.shards[1].boxes_dtype, LC_F8_E4M3);
	ck_assert_str_eq(m.shards[1].xxh3, "");
	ck_assert_str_eq(m.shards[1].samples_hash, "");
	ck_assert_str_eq(m.warehouse, "{\"layout\":\"yolo\"}");
	ck_assert(!m.shards[0].big_endian);
	ck_assert(m.shards[1].big_endian);
	ck_assert(!m.shards[1].has_bytes);
	ck_assert_str_eq(m.shards[1].sha256, "");
	ck_assert_int_eq(lc__manifest_format(&m, &out), LC_OK);
	lc__buf_append(&out, "", 1);
	ck_assert_str_eq((const char *)out.data, text);
	lc__buf_free(&out);
	lc__manifest_free(&m);
}
END_TEST

/* The first occurrence of one text replaced by another. */
static char *
replaced(const char *from, const char *to)
{
	const char *at = strstr(text, from);
	char *out;

	ck_assert_ptr_nonnull(at);
	ck_assert_int_ge(asprintf(&out, "%.*s%s%s", (int)(at - text), text, to,
	    at + strlen(from)), 0);
	return out;
}

static const struct {
	const char *from, *to;
	lc_status status;
	const char *text;
} malformed_rows[] = {
	{ "\"name\": \"none\"", "\"name\" \"none\"", LC_CORRUPT,
	    "m: line 5: " },
	{ "\"shards\": [", "\"shard\": [", LC_NOT_MODULE, "m: not a shard manifest" },
	{ text, "[1]", LC_NOT_MODULE, "m: not a shard manifest" },
	{ text, "", LC_CORRUPT, "m: line 1: " },
	{ text, "{\"shards\":{}}", LC_NOT_MODULE, "m: not a shard manifest" },
	{ text, "{\"shards\":[]}", LC_CORRUPT, "m: dataset_root is missing" },
	{ "\"manifest_version\": 1", "\"manifest_version\": 2", LC_VERSION,
	    "m: manifest_version 2 is newer than this library" },
	{ "\"default_shard_version\": 2", "\"default_shard_version\": 3", LC_VERSION,
	    "m: default_shard_version 3 is newer than this library" },
	{ "\"default_shard_version\": 2", "\"default_shard_version\": 0", LC_CORRUPT,
	    "m: default_shard_version is 0" },
	{ "\"default_dtype\": \"F16\"", "\"default_dtype\": \"f16\"", LC_CORRUPT,
	    "m: default_dtype is not a known dtype" },
	{ "\"created_at_ms\": 17", "\"created_at_ms\": -17", LC_CORRUPT,
	    "m: created_at_ms is out of range" },
	{ "\"samples\": 7", "\"samples\": 7.0", LC_CORRUPT,
	    "m: shards[0]: samples is not an integer" },
	{ "\"samples\": 7", "\"samples\": -7", LC_CORRUPT,
	    "m: shards[0]: samples is out of range" },
	{ "\"width\": 640", "\"width\": 4294967296", LC_CORRUPT,
	    "m: shards[0]: width is out of range" },
	{ "\"width\": 640", "\"width\": 99999999999999999999", LC_CORRUPT,
	    "m: shards[0]: width is out of range" },
	{ "\"endianness\": \"Little\"", "\"endianness\": \"little\"", LC_CORRUPT,
	    "m: shards[0]: endianness is neither Little nor Big" },
	{ "\"checksum_sha256\": \"0", "\"checksum_sha256\": \"g", LC_CORRUPT,
	    "m: shards[0]: checksum_sha256 is not 64 hex digits" },
	{ "\"checksum_sha256\": \"0", "\"checksum_sha256\": \"", LC_CORRUPT,
	    "m: shards[0]: checksum_sha256 is not 64 hex digits" },
	{ "\"checksum_xxh3\": \"0", "\"checksum_xxh3\": \"", LC_CORRUPT,
	    "m: shards[0]: checksum_xxh3 is not 32 hex digits" },
	{ "\"samples_hash\": \"f", "\"samples_hash\": \"g", LC_CORRUPT,
	    "m: shards[0]: samples_hash is not 32 hex digits" },
	{ "\"samples_hash\": \"fe", "\"samples_hash\": \"feed", LC_CORRUPT,
	    "m: shards[0]: samples_hash is not 32 hex digits" },
	{ "\"boxes_dtype\": \"F32\"", "\"boxes_dtype\": 1", LC_CORRUPT,
	    "m: shards[0]: boxes_dtype is not a string" },
	{ "\"boxes_dtype\": \"F32\"", "\"boxes_dtype\": \"F33\"", LC_CORRUPT,
	    "m: shards[0]: boxes_dtype is not a known dtype" },
	{ "\"id\": \"b\"", "\"id\": 5", LC_CORRUPT,
	    "m: shards[1]: id is not a string" },
	{ "\"sub/b.twh1\"", "\"../b.twh1\"", LC_CORRUPT,
	    "m: shards[1]: relative_path does not stay inside the directory" },
	{ "\"sub/b.twh1\"", "\"shard-000000.twh1\"", LC_CORRUPT,
	    "m: shard shard-000000.twh1 stands twice" },
	{ "\"id\": \"b\"", "\"id\": \"b\", \"id\": \"b\"", LC_CORRUPT,
	    "m: line 34: " },
	{ "\"id\": \"b\"", "\"id\": \"\\u0000\"", LC_CORRUPT,
	    "m: line 34: " },
	{ "\"id\": \"b\"", "\"id\": \"\xff\"", LC_CORRUPT,
	    "m: line 34: " },
};

START_TEST(malformed)
{
	char *bad = replaced(malformed_rows[_i].from, malformed_rows[_i].to);
	struct lc__manifest m;

	ck_assert_int_eq(lc__manifest_parse(bad, strlen(bad), "m", &m),
	    malformed_rows[_i].status);
	/* After a line number come the words of lib/base/json_scan.c. */
	ck_assert_msg(strncmp(lc_last_error()->text, malformed_rows[_i].text,
	    strlen(malformed_rows[_i].text)) == 0, "%s", lc_last_error()->text);
	free(bad);
}
END_TEST

static const struct {
	const char *path;
	bool ok;
} path_rows[] = {
	{ "a", true }, { "a.twh1", true }, { "a/b", true }, { "..a", true },
	{ "a..", true }, { "...", true }, { "", false }, { "/", false },
	{ "/a", false }, { ".", false }, { "..", false }, { "./a", false },
	{ "../a", false }, { "a/..", false }, { "a/../b", false },
	{ "a//b", false }, { "a/", false }, { "a/./b", false },
};

START_TEST(paths)
{
	ck_assert_int_eq(lc__manifest_path_ok(path_rows[_i].path),
	    path_rows[_i].ok);
}
END_TEST

START_TEST(not_utf8)
{
	struct lc__manifest m = { .dataset_root = (char *)"\xff" };
	struct lc__buf out = { 0 };

	ck_assert_int_eq(lc__manifest_format(&m, &out), LC_INVALID);
	ck_assert_int_eq(lc__manifest_quote("\xff", &out), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "'\\xff' is not UTF-8");
	ck_assert_int_eq(lc__manifest_quote("a\"\n", &out), LC_OK);
	ck_assert_uint_eq(out.size, 7);
	ck_assert_mem_eq(out.data, "\"a\\\"\\n\"", 7);
	lc__buf_free(&out);
}
END_TEST

/* They are written as they were read. */
START_TEST(reals)
{
	static const struct { const char *in, *out; } rows[] = {
		{ "{\"a\":0.1}", "\"a\": 0.1\n" },
		{ "{\"a\":[0.05,{\"b\":1e-300}]}", "\"b\": 1e-300\n" },
		{ "{\"a\":0.30000000000000004}", "\"a\": 0.30000000000000004\n" },
		{ "{\"a\":[1.50, 18446744073709551615 ]}", "18446744073709551615\n" },
		{ "{\"a\":5e-324}", "\"a\": 5e-324\n" },
	};

	for (int i = 0; i < COUNT(rows); i++) {
		struct lc__manifest m = { .transform = (char *)rows[i].in };
		struct lc__buf out = { 0 };

		ck_assert_int_eq(lc__manifest_format(&m, &out), LC_OK);
		lc__buf_append(&out, "", 1);
		ck_assert_msg(strstr((char *)out.data, rows[i].out) != NULL, "%s",
		    (char *)out.data);
		lc__buf_free(&out);
	}
}
END_TEST

START_TEST(mutations)
{
	uint64_t seed = run_seed();

	for (int round = 0; round < 20000; round++) {
		const size_t n = strlen(text) - run_random(&seed) % 8;
		char *bad = malloc(n);
		struct lc__manifest m;

		memcpy(bad, text, n);
		for (uint64_t k = run_random(&seed) % 3; k > 0; k--) {
			const uint64_t r = run_random(&seed);
			bad[r % n] = r >> 63 ? (char)(r >> 40) :
			    "0\"{}[],:-9"[(r >> 40) % 10];
		}
		if (lc__manifest_parse(bad, n, "m", &m) == LC_OK)
			lc__manifest_free(&m);
		free(bad);
	}
}
END_TEST

/* ---- changed after they were written ------------------------------------------------- */

/* A manifest that this library wrote, and what became of changed copies of it. */
struct changing {
	struct lc__buf whole;
	struct lc__buf copy;
	uint64_t seed;
	unsigned tried, taken;
	char first[400]; /* of those that were taken */
};

/* The copy must be refused. */
static void
try_copy(struct changing *c, const char *what, size_t at)
{
	/* Sanitizers see what is read behind the end. */
	char *exact = malloc(c->copy.size ? c->copy.size : 1);
	struct lc__manifest m;

	if (c->copy.size == c->whole.size &&
	    memcmp(c->copy.data, c->whole.data, c->copy.size) == 0) {
		free(exact);
		return;
	}
	memcpy(exact, c->copy.data, c->copy.size);
	c->tried++;
	if (lc__manifest_parse(exact, c->copy.size, "m", &m) == LC_OK) {
		if (c->taken++ == 0)
			snprintf(c->first, sizeof(c->first), "%s at %zu of: %.*s", what, at,
			    (int)(c->copy.size - at < 80 ? c->copy.size - at : 80), exact + at);
		lc__manifest_free(&m);
	}
	free(exact);
}

/* Copy, with `cut` bytes at a place replaced by others. */
static void
try_splice(struct changing *c, const char *what, size_t at, size_t cut, const void *put,
    size_t size)
{
	c->copy.size = 0;
	lc__buf_append(&c->copy, c->whole.data, at);
	lc__buf_append(&c->copy, put, size);
	lc__buf_append(&c->copy, (const char *)c->whole.data + at + cut,
	    c->whole.size - at - cut);
	ck_assert(!c->copy.failed);
	try_copy(c, what, at);
}

static void
change_bytes(struct changing *c)
{
	static const char likely[] = "0 \n\t,:\"{}[]-9eE.x";

	for (size_t i = 0; i < c->whole.size; i++) {
		const unsigned char old = ((const unsigned char *)c->whole.data)[i];
		const unsigned char random = (unsigned char)run_random(&c->seed);
		for (int bit = 0; bit < 8; bit++) {
			const unsigned char flipped = (unsigned char)(old ^ 1 << bit);
			try_splice(c, "a flipped bit", i, 1, &flipped, 1);
		}
		try_splice(c, "a byte lost", i, 1, "", 0);
		try_splice(c, "a random byte", i, 1, &random, 1);
		try_splice(c, "the end lost", i, c->whole.size - i, "", 0);
		for (size_t k = 0; k < sizeof(likely) - 1; k++)
			try_splice(c, "a byte more", i, 0, &likely[k], 1);
	}
	try_splice(c, "a blank at the end", c->whole.size, 0, " ", 1);
	try_splice(c, "a line at the end", c->whole.size, 0, "\n", 1);
	try_splice(c, "an object at the end", c->whole.size, 0, "{}", 2);
}

/* Each member has a line of its own. */
static void
change_lines(struct changing *c)
{
	const char *data = (const char *)c->whole.data;
	const char *const end = data + c->whole.size;

	for (const char *at = data, *next; at < end; at = next) {
		const size_t i = (size_t)(at - data);
		next = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
		try_splice(c, "a line lost", i, (size_t)(next - at), "", 0);
		try_splice(c, "a line twice", i, 0, at, (size_t)(next - at));
		try_splice(c, "a member more", i, 0, "  \"x\": 1,\n", 10);
		if (next < end) {
			const char *third = (const char *)memchr(next, '\n',
			    (size_t)(end - next)) + 1;
			struct lc__buf both = { 0 };
			lc__buf_append(&both, next, (size_t)(third - next));
			lc__buf_append(&both, at, (size_t)(next - at));
			try_splice(c, "lines exchanged", i, both.size, both.data, both.size);
			lc__buf_free(&both);
		}
	}
}

/* Other values of the same kinds, and of others. */
static void
change_values(struct changing *c)
{
	static const char *const values[] = {
		"0", "1", "2", "255", "4294967295", "1e3", "-1", "null", "true", "\"\"",
		"\"shard-000001\"", "\"F32\"", "\"Big\"", "[]", "{}",
		"\"0000000000000000000000000000000000000000000000000000000000000000\"",
	};
	const char *data = (const char *)c->whole.data, *at = data;

	while ((at = strstr(at, "\": ")) != NULL) {
		const size_t begin = (size_t)(at + 3 - data), size = strcspn(at + 3, "\n") -
		    (at[3 + strcspn(at + 3, "\n") - 1] == ',');
		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
			try_splice(c, "another value", begin, size, values[i], strlen(values[i]));
		at += 3;
	}
}

static void
change_several(struct changing *c)
{
	for (int round = 0; round < 20000; round++) {
		char *bytes;
		c->copy.size = 0;
		lc__buf_append(&c->copy, c->whole.data, c->whole.size);
		bytes = (char *)c->copy.data;
		for (uint64_t k = 1 + run_random(&c->seed) % 4; k > 0; k--) {
			const uint64_t r = run_random(&c->seed);
			char *byte = &bytes[r % c->copy.size];
			/* Digits for digits and letters for letters pass most checks. */
			if (*byte >= '0' && *byte <= '9')
				*byte = (char)('0' + (r >> 40) % 10);
			else if (*byte >= 'a' && *byte <= 'z')
				*byte = (char)('a' + (r >> 40) % 26);
			else
				*byte = (char)(r >> 48);
		}
		try_copy(c, "several bytes", 0);
	}
}

START_TEST(changed)
{
	static void (*const ways[])(struct changing *) = {
		change_bytes, change_lines, change_values, change_several
	};
	struct changing c = { .seed = run_seed() };
	struct lc__manifest m;

	ck_assert_int_eq(lc__manifest_parse(text, strlen(text), "m", &m), LC_OK);
	ck_assert_int_eq(lc__manifest_format(&m, &c.whole), LC_OK);
	lc__manifest_free(&m);
	lc__buf_append(&c.whole, "", 1);
	c.whole.size--;
	ck_assert_int_eq(lc__manifest_parse(c.whole.data, c.whole.size, "m", &m), LC_OK);
	lc__manifest_free(&m);
	ways[_i](&c);
	ck_assert_uint_gt(c.tried, 100);
	ck_assert_msg(c.taken == 0, "%u of %u were taken, first %s", c.taken, c.tried,
	    c.first);
	lc__buf_free(&c.whole);
	lc__buf_free(&c.copy);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("manifest");
	TCase *tc = tcase_create("manifest");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, round_trip);
	tcase_add_loop_test(tc, malformed, 0, COUNT(malformed_rows));
	tcase_add_loop_test(tc, paths, 0, COUNT(path_rows));
	tcase_add_test(tc, not_utf8);
	tcase_add_test(tc, reals);
	tcase_add_test(tc, mutations);
	tcase_add_loop_test(tc, changed, 0, 4);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
