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
replaced(const char *whole, const char *from, const char *to)
{
	const char *at = strstr(whole, from);
	char *out;

	ck_assert_ptr_nonnull(at);
	ck_assert_int_ge(asprintf(&out, "%.*s%s%s", (int)(at - whole), whole, to,
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
	{ "\"manifest_version\": 1", "\"manifest_version\": 3", LC_VERSION,
	    "m: manifest_version 3 is newer than this library" },
	{ "\"manifest_version\": 1", "\"manifest_version\": 2", LC_CORRUPT,
	    "m: a manifest of version 2 does not have shards" },
	{ text, "{\"parts\":[]}", LC_CORRUPT,
	    "m: a manifest of version 0 does not have parts" },
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
	    "m: shard shard-000000.twh1 is listed twice" },
	{ "\"id\": \"b\"", "\"id\": \"b\", \"id\": \"b\"", LC_CORRUPT,
	    "m: line 34: " },
	{ "\"id\": \"b\"", "\"id\": \"\\u0000\"", LC_CORRUPT,
	    "m: line 34: " },
	{ "\"id\": \"b\"", "\"id\": \"\xff\"", LC_CORRUPT,
	    "m: line 34: " },
};

START_TEST(malformed)
{
	char *bad = replaced(text, malformed_rows[_i].from, malformed_rows[_i].to);
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

/* ---- parts --------------------------------------------------------------------------- */

/* Two parts, of which the second is elsewhere; as a directory store has them. */
static const char parts_text[] =
"{\n"
"  \"manifest_sha256\": "
"\"@\",\n"
"  \"dataset_root\": \"\",\n"
"  \"transform\": null,\n"
"  \"version\": \"" SHA "\",\n"
"  \"version_recipe\": \"{}\",\n"
"  \"code_version\": \"cachex 0.1.0\",\n"
"  \"default_dtype\": \"F16\",\n"
"  \"default_shard_version\": 2,\n"
"  \"created_at_ms\": 1700000000000,\n"
"  \"thresholds\": null,\n"
"  \"summary\": null,\n"
"  \"layout\": {\n"
"    \"width\": 8,\n"
"    \"height\": 1,\n"
"    \"channels\": 3,\n"
"    \"max_boxes\": 2,\n"
"    \"dtype\": \"F16\",\n"
"    \"boxes_dtype\": \"F32\"\n"
"  },\n"
"  \"parts\": [\n"
"    {\n"
"      \"relative_path\": \"../part/01/a.json\",\n"
"      \"base\": \"..\",\n"
"      \"sha256\": \"" SHA "\",\n"
"      \"samples\": 3089,\n"
"      \"bytes\": 123456,\n"
"      \"shards\": 4,\n"
"      \"counts\": \"1024x3 17\"\n"
"    },\n"
"    {\n"
"      \"relative_path\": \"b/manifest.json\",\n"
"      \"base\": \"\",\n"
"      \"sha256\": \"" SHA "\",\n"
"      \"samples\": 0,\n"
"      \"bytes\": 0,\n"
"      \"shards\": 0,\n"
"      \"counts\": \"\"\n"
"    }\n"
"  ],\n"
"  \"manifest_version\": 2\n"
"}\n";

#define PARTS_DIGEST \
	"1b694580e3061836d389debab5785d63b368eaac9ff205beb8cd2849299b5be9"

START_TEST(parts_round_trip)
{
	char *whole = replaced(parts_text, "@", PARTS_DIGEST);
	struct lc__manifest m;
	struct lc__buf out = { 0 };
	uint64_t samples, shards;
	const char *at;

	ck_assert_int_eq(lc__manifest_parse_any(whole, strlen(whole), "m", &m), LC_OK);
	ck_assert_uint_eq(m.manifest_version, LC__MANIFEST_OF_PARTS);
	ck_assert_uint_eq(m.n, 0);
	ck_assert_uint_eq(m.n_parts, 2);
	ck_assert_uint_eq(m.layout.width, 8);
	ck_assert_uint_eq(m.layout.height, 1);
	ck_assert_uint_eq(m.layout.channels, 3);
	ck_assert_uint_eq(m.layout.max_boxes, 2);
	ck_assert_int_eq(m.layout.dtype, LC_F16);
	ck_assert_int_eq(m.layout.boxes_dtype, LC_F32);
	ck_assert_str_eq(m.parts[0].relative_path, "../part/01/a.json");
	ck_assert_str_eq(m.parts[0].base, "..");
	ck_assert_str_eq(m.parts[0].sha256, SHA);
	ck_assert_uint_eq(m.parts[0].samples, 3089);
	ck_assert_uint_eq(m.parts[0].bytes, 123456);
	ck_assert_uint_eq(m.parts[0].shards, 4);
	ck_assert_str_eq(m.parts[1].base, "");
	at = m.parts[0].counts;
	ck_assert(lc__manifest_counts_next(&at, &samples, &shards));
	ck_assert_uint_eq(samples, 1024);
	ck_assert_uint_eq(shards, 3);
	ck_assert(lc__manifest_counts_next(&at, &samples, &shards));
	ck_assert_uint_eq(samples, 17);
	ck_assert_uint_eq(shards, 1);
	ck_assert(!lc__manifest_counts_next(&at, &samples, &shards));

	ck_assert_int_eq(lc__manifest_format(&m, &out), LC_OK);
	lc__buf_append(&out, "", 1);
	ck_assert_str_eq((const char *)out.data, whole);
	lc__buf_free(&out);
	lc__manifest_free(&m);

	/* Whoever reads shards does not take it for a manifest without any. */
	ck_assert_int_eq(lc__manifest_parse(whole, strlen(whole), "m", &m),
	    LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text,
	    "m: is a manifest of parts; a manifest of shards is needed");
	free(whole);
}
END_TEST

static const struct {
	const char *from, *to, *text;
} bad_parts_rows[] = {
	{ "\"layout\"", "\"lay\"", "m: layout is missing" },
	{ "\"width\": 8", "\"w\": 8", "m: width is missing" },
	{ "\"dtype\": \"F16\"", "\"dtype\": 16", "m: dtype is not a string" },
	{ "../part/01/a.json", "../part/../a.json",
	    "m: parts[0]: relative_path is not a path of a part" },
	{ "../part/01/a.json", "/a.json",
	    "m: parts[0]: relative_path is not a path of a part" },
	{ "../part/01/a.json", "..", "m: parts[0]: relative_path is not a path of a part" },
	{ "\"base\": \"..\"", "\"base\": \"/\"",
	    "m: parts[0]: base is not a path of a directory" },
	{ "\"base\": \"..\"", "\"base\": \"a/..\"",
	    "m: parts[0]: base is not a path of a directory" },
	{ "\"base\": \"..\"", "\"base\": \"./a\"",
	    "m: parts[0]: base is not a path of a directory" },
	{ "\"base\": \"..\"", "\"base\": \"/..\"",
	    "m: parts[0]: base is not a path of a directory" },
	{ "\"base\": \"..\"", "\"b\": \"..\"", "m: parts[0]: base is missing" },
	{ "\"sha256\": \"0", "\"sha256\": \"", "m: parts[0]: sha256 is not 64 hex digits" },
	{ "\"sha256\": \"0", "\"sha\": \"0", "m: parts[0]: sha256 is missing" },
	{ "\"shards\": 4", "\"shards\": 1048577", "m: parts[0]: shards is out of range" },
	{ "\"shards\": 4", "\"shards\": 5",
	    "m: parts[0]: counts does not have as many shards as the part" },
	{ "\"shards\": 4", "\"shards\": 3", "m: parts[0]: counts is out of range" },
	{ "\"samples\": 3089", "\"samples\": 3088",
	    "m: parts[0]: counts does not sum up to its samples" },
	{ "1024x3 17", "1024x0 17", "m: parts[0]: counts is out of range" },
	{ "1024x3 17", "9223372036854775807x3 17", "m: parts[0]: counts is out of range" },
	{ "1024x3 17", "1024x3  17", "m: parts[0]: counts is not a list of numbers" },
	{ "1024x3 17", "1024x3 17 ", "m: parts[0]: counts is not a list of numbers" },
	{ "1024x3 17", "1024x 17", "m: parts[0]: counts is not a list of numbers" },
	{ "1024x3 17", "-1x3 17", "m: parts[0]: counts is not a list of numbers" },
	{ "1024x3 17", "9223372036854775808 17",
	    "m: parts[0]: counts is not a list of numbers" },
	{ "\"counts\": \"\"", "\"counts\": \"0\"", "m: parts[1]: counts is out of range" },
	{ "\"manifest_version\": 2", "\"manifest_version\": 1",
	    "m: a manifest of version 1 does not have parts" },
	{ "1700000000000", "1700000000001", "m: the file was changed after it "
	    "was written (wrong manifest_sha256); restore it or create it again" },
};

START_TEST(bad_parts)
{
	char *whole = replaced(parts_text, "@", PARTS_DIGEST);
	char *bad = replaced(whole, bad_parts_rows[_i].from, bad_parts_rows[_i].to);
	struct lc__manifest m;

	ck_assert_int_eq(lc__manifest_parse_any(bad, strlen(bad), "m", &m), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, bad_parts_rows[_i].text);
	free(bad);
	free(whole);
}
END_TEST

static const struct {
	const char *path;
	bool ok;
} part_path_rows[] = {
	{ "a", true }, { "a/b", true }, { "../a", true }, { "../../a/b", true },
	{ "..", false }, { "../", false }, { "../..", false }, { "a/../b", false },
	{ "../a/..", false }, { "/a", false }, { "..//a", false }, { "", false },
	{ ".././a", false }, { "..a", true },
};

START_TEST(part_paths)
{
	ck_assert_int_eq(lc__manifest_part_path_ok(part_path_rows[_i].path),
	    part_path_rows[_i].ok);
}
END_TEST

START_TEST(described)
{
	struct lc__manifest m;
	struct lc__manifest_part part;
	struct lc__manifest_layout layout, other;

	ck_assert_int_eq(lc__manifest_parse(text, strlen(text), "m", &m), LC_OK);
	ck_assert_int_eq(lc__manifest_describe_part(&m, "m", &part), LC_OK);
	ck_assert_uint_eq(part.samples, 7);
	ck_assert_uint_eq(part.bytes, 12345);
	ck_assert_uint_eq(part.shards, 2);
	ck_assert_str_eq(part.counts, "7 0");
	free(part.counts);
	m.shards[1].samples = 7;
	ck_assert_int_eq(lc__manifest_describe_part(&m, "m", &part), LC_OK);
	ck_assert_str_eq(part.counts, "7x2");
	free(part.counts);
	m.shards[0].samples = m.shards[1].samples = INT64_MAX;
	ck_assert_int_eq(lc__manifest_describe_part(&m, "m", &part), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "m: has too many samples");

	ck_assert_int_eq(lc__manifest_layout_of(&m, "m", &layout), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "m: sub/b.twh1: its dtype is not that of shard-000000.twh1");
	m.n = 1;
	ck_assert_int_eq(lc__manifest_layout_of(&m, "m", &layout), LC_OK);
	ck_assert_uint_eq(layout.width, 640);
	ck_assert_int_eq(layout.boxes_dtype, LC_F32);
	other = layout;
	ck_assert_ptr_null(lc__manifest_layout_differs(&layout, &other));
	other.height++;
	ck_assert_str_eq(lc__manifest_layout_differs(&layout, &other), "height");
	m.n = 0;
	ck_assert_int_eq(lc__manifest_describe_part(&m, "m", &part), LC_OK);
	ck_assert_str_eq(part.counts, "");
	free(part.counts);
	ck_assert_int_eq(lc__manifest_layout_of(&m, "m", &layout), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "m: has no shards");
	m.n = 2;
	lc__manifest_free(&m);
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
		const char *const from = round % 2 ? text : parts_text;
		const size_t n = strlen(from) - run_random(&seed) % 8;
		char *bad = malloc(n);
		struct lc__manifest m;

		memcpy(bad, from, n);
		for (uint64_t k = run_random(&seed) % 3; k > 0; k--) {
			const uint64_t r = run_random(&seed);
			bad[r % n] = r >> 63 ? (char)(r >> 40) :
			    "0\"{}[],:-9"[(r >> 40) % 10];
		}
		if (lc__manifest_parse_any(bad, n, "m", &m) == LC_OK)
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
	if (lc__manifest_parse_any(exact, c->copy.size, "m", &m) == LC_OK) {
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
		/* Without both of these names it may be another program's, without a digest. */
		lc__buf_append(&c->copy, "", 1);
		c->copy.size--;
		if (strstr((const char *)c->copy.data, "\"manifest_sha256\"") == NULL &&
		    strstr((const char *)c->copy.data, "\"manifest_version\"") == NULL)
			continue;
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
	char *parts = replaced(parts_text, "@", PARTS_DIGEST);
	const char *from = _i < 4 ? text : parts;

	ck_assert_int_eq(lc__manifest_parse_any(from, strlen(from), "m", &m), LC_OK);
	free(parts);
	ck_assert_int_eq(lc__manifest_format(&m, &c.whole), LC_OK);
	lc__manifest_free(&m);
	lc__buf_append(&c.whole, "", 1);
	c.whole.size--;
	ck_assert_int_eq(lc__manifest_parse_any(c.whole.data, c.whole.size, "m", &m), LC_OK);
	lc__manifest_free(&m);
	ways[_i % 4](&c);
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
	tcase_add_test(tc, parts_round_trip);
	tcase_add_loop_test(tc, bad_parts, 0, COUNT(bad_parts_rows));
	tcase_add_loop_test(tc, part_paths, 0, COUNT(part_path_rows));
	tcase_add_test(tc, described);
	tcase_add_test(tc, not_utf8);
	tcase_add_test(tc, reals);
	tcase_add_test(tc, mutations);
	tcase_add_loop_test(tc, changed, 0, 8);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
