/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "format/twh1_row.h"
#include "shard_fixture.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

START_TEST(full_row)
{
	/* fixmap 6: every key, spelled out. */
	static const char hex[] = "86"
	    "a8 63616368655f6964 c403 00ff61"
	    "a5 7368617065 93 03 cd0280 ce00010000"
	    "a8 6672616d655f6964 cc80"
	    "a6 72756e5f6964 a2 7231"
	    "ad 6f726967696e616c5f73697a65 92 cd0780 cd0438"
	    "a9 7472616e73666f726d c0";
	const struct lc__twh1_row row = {
		.cache_id = { "\0\377a", 3 }, .has_shape = true, .ndim = 3,
		.shape = { 3, 640, 65536 }, .has_frame_id = true,
		.frame_id = 128, .run_id = "r1", .original_width = 1920,
		.original_height = 1080, .transform = { "\xc0", 1 }
	};
	unsigned char expected[sizeof(hex)];
	const size_t n = fixture_hex(hex, expected);
	struct lc__buf buf = { 0 };
	struct lc__twh1_row got;

	lc__twh1_row_encode(&row, &buf);
	ck_assert_uint_eq(buf.size, n);
	ck_assert_mem_eq(buf.data, expected, n);
	ck_assert(lc__twh1_row_decode((lc_id){ buf.data, n }, &got));
	ck_assert_uint_eq(got.cache_id.size, 3);
	ck_assert_mem_eq(got.cache_id.data, "\0\377a", 3);
	ck_assert_uint_eq(got.ndim, 3);
	ck_assert_uint_eq(got.shape[2], 65536);
	for (size_t cut = 0; cut < n; cut++) {
		unsigned char *part = fixture_copy(buf.data, cut);
		ck_assert(!lc__twh1_row_decode((lc_id){ part, cut }, &got));
		free(part);
	}
	lc__buf_free(&buf);
}
END_TEST

static const struct {
	const char *hex;
	bool good;
} row_rows[] = {
	{ "80", true },
	{ "de0000", true },
	{ "df00000000", true },
	{ "", false },
	{ "c0", false },                        /* not a map */
	{ "8000", false },                      /* bytes behind it */
	{ "8101c0", false },                    /* key is no string */
	{ "81a161", false },                    /* no value */
	{ "81d90161c2", true },                 /* str 8 */
	{ "81a8 63616368655f6964", false },
	{ "81a8 63616368655f6964 a161", false },   /* cache_id is a string */
	{ "81a8 63616368655f6964 c5000161", true },
	{ "81a8 63616368655f6964 c6ffffffff61", false },
	{ "81a5 7368617065 dc0001 05", true },
	{ "81a5 7368617065 dd00000001 05", true },
	{ "81a5 7368617065 91 ff", false },        /* a negative dimension */
	{ "81a5 7368617065 dc0011 0101010101010101010101010101010101", false },
	{ "81a161 ddffffffff", false },         /* more members than bytes */
	{ "81a161 dfffffffff", false },
	{ "81a161 c1", false },
	{ "81a161 d80000000000000000000000000000000000", true },
	{ "81a161 c7020501 02", true },
	{ "81a161 c9ffffffff05", false },
	{ "81a161 cb0000000000000000", true },
	{ "81a161 9191919191919191919191919191919191919191919191919190", true },
};

START_TEST(odd_rows)
{
	unsigned char room[128], *bytes;
	const size_t n = fixture_hex(row_rows[_i].hex, room);
	struct lc__twh1_row row;

	bytes = fixture_copy(room, n);
	ck_assert_int_eq(lc__twh1_row_decode((lc_id){ bytes, n }, &row),
	    row_rows[_i].good);
	free(bytes);
}
END_TEST

START_TEST(random_rows)
{
	static const unsigned char start[] = { 0x83, 0xa1, 'a' };
	uint64_t seed = run_seed();

	for (int round = 0; round < 40000; round++) {
		unsigned char *bytes = malloc(64);
		const size_t n = run_random(&seed) % 61 + 4;
		struct lc__twh1_row row;

		for (size_t i = 0; i < 64; i++)
			bytes[i] = (unsigned char)(run_random(&seed) >> 56);
		memcpy(bytes + 64 - n, start, sizeof(start));
		(void)lc__twh1_row_decode((lc_id){ bytes + 64 - n, n }, &row);
		free(bytes);
	}
}
END_TEST

/* ---- origins --------------------------------------------------------------- */

static void
assert_id(lc_id id, const char *text)
{
	ck_assert_uint_eq(id.size, strlen(text));
	ck_assert_mem_eq(id.data, text, id.size);
}

START_TEST(full_origin)
{
	/* fixmap 8: the keys of a labelled image, spelled out. */
	static const char hex[] = "88"
	    "a8 63616368655f6964 c403 00ff61"
	    "a8 6672616d655f6964 cf 0000000100000000"
	    "a6 72756e5f6964 a2 7231"
	    "ad 6f726967696e616c5f73697a65 92 cd0780 cd0438"
	    "a9 7472616e73666f726d c0"
	    "a9 636c6173735f696473 96 00 7f ff cdffff d180ff d3 ffffff0000000000"
	    "ab 626f7865735f746f74616c 0c"
	    "a6 6c6162656c73 81a1 61 9101";
	static const int64_t ids[6] = { 0, 127, -1, 65535, -32513,
		-0x10000000000 };
	const struct lc__twh1_row row = {
		.cache_id = { "\0\377a", 3 }, .has_frame_id = true,
		.frame_id = 1ull << 32, .run_id = "r1", .original_width = 1920,
		.original_height = 1080, .transform = { "\xc0", 1 },
		.has_classes = true, .class_ids = ids, .n_classes = 6,
		.boxes_total = 12, .labels = { "\x81\xa1" "a\x91\1", 5 }
	};
	unsigned char expected[sizeof(hex)];
	const size_t n = fixture_hex(hex, expected);
	struct lc__buf buf = { 0 };
	int64_t got[7] = { 0, 0, 0, 0, 0, 0, 77 };
	lc_sample_origin origin;
	bool has_total;

	lc__twh1_row_encode(&row, &buf);
	ck_assert_uint_eq(buf.size, n);
	ck_assert_mem_eq(buf.data, expected, n);
	ck_assert(lc__twh1_row_origin((lc_id){ buf.data, n }, &origin, &has_total,
	    got, 7));
	ck_assert(has_total);
	assert_id(origin.run_id, "r1");
	ck_assert_int_eq(origin.has_frame_id, 1);
	ck_assert_uint_eq(origin.frame_id, 1ull << 32);
	ck_assert_uint_eq(origin.original_width, 1920);
	ck_assert_uint_eq(origin.original_height, 1080);
	ck_assert_uint_eq(origin.boxes_total, 12);
	ck_assert_uint_eq(origin.n_classes, 6);
	ck_assert_mem_eq(got, ids, sizeof(ids));
	ck_assert_int_eq(got[6], 77);
	assert_id(origin.labels, "\x81\xa1" "a\x91\1");
	for (size_t cut = 0; cut < n; cut++) {
		unsigned char *part = fixture_copy(buf.data, cut);
		ck_assert(!lc__twh1_row_origin((lc_id){ part, cut }, &origin,
		    &has_total, NULL, 0));
		free(part);
	}
	lc__buf_free(&buf);
}
END_TEST

static const struct {
	const char *hex;
	bool good;
	uint32_t n_classes;
} origin_rows[] = {
	{ "80", true, 0 },
	{ "81a9 636c6173735f696473 90", true, 0 },
	{ "81a9 636c6173735f696473 dc0003 d0ff cc80 d2ffffffff", true, 3 },
	{ "81a9 636c6173735f696473 dd00000001 cf7fffffffffffffff", true, 1 },
	{ "81a9 636c6173735f696473 91 cf8000000000000000", false, 0 },
	{ "81a9 636c6173735f696473 91 a131", false, 0 },      /* a string */
	{ "81a9 636c6173735f696473 91 cb0000000000000000", false, 0 },
	{ "81a9 636c6173735f696473 ddffffffff 00", false, 0 },
	{ "81a9 636c6173735f696473 81 00", false, 0 },        /* a map */
	{ "81a8 6672616d655f6964 ff", false, 0 },             /* -1 */
	{ "81a6 72756e5f6964 c40161", false, 0 },             /* bin */
	{ "81a6 72756e5f6964 dbffffffff61", false, 0 },
	{ "81ad 6f726967696e616c5f73697a65 9101", false, 0 },
	{ "81ad 6f726967696e616c5f73697a65 93010101", false, 0 },
	{ "81ad 6f726967696e616c5f73697a65 9201 ceffffffff", true, 0 },
	{ "81ad 6f726967696e616c5f73697a65 9201 cf0000000100000000", false, 0 },
	{ "81ab 626f7865735f746f74616c c0", false, 0 },
	{ "81a6 6c6162656c73 80", true, 0 },
	{ "81a6 6c6162656c73 de0001a16101", true, 0 },
	{ "81a6 6c6162656c73 df00000000", true, 0 },
	{ "81a6 6c6162656c73 90", false, 0 },                 /* no map */
	{ "81a6 6c6162656c73 81a161", false, 0 },
	{ "81a6 6c6162656c73", false, 0 },
	{ "81a7 756e6b6e6f776e 93c0c0c0", true, 0 },
	{ "8000", false, 0 },
	{ "", false, 0 },
};

START_TEST(odd_origins)
{
	unsigned char room[128], *bytes;
	const size_t n = fixture_hex(origin_rows[_i].hex, room);
	int64_t ids[2] = { 5, 5 };
	lc_sample_origin origin;
	bool has_total;

	bytes = fixture_copy(room, n);
	ck_assert_int_eq(lc__twh1_row_origin((lc_id){ bytes, n }, &origin,
	    &has_total, ids, 1), origin_rows[_i].good);
	if (origin_rows[_i].good)
		ck_assert_uint_eq(origin.n_classes, origin_rows[_i].n_classes);
	ck_assert_int_eq(ids[1], 5);
	free(bytes);
}
END_TEST

/* What a whole sample says, through the public function. */
static const struct {
	const char *hex;       /* of the row */
	uint64_t boxes_total;
	lc_status status;
} sample_rows[] = {
	{ "", 0, LC_OK },
	{ "80", 2, LC_OK },                          /* those of the mask */
	{ "81ab 626f7865735f746f74616c 07", 7, LC_OK },
	{ "81ab 626f7865735f746f74616c 00", 0, LC_OK },
	{ "81", 0, LC_CORRUPT },
};

START_TEST(origins_of_samples)
{
	static const float mask[4] = { 1, 1, 0, 0 };
	const uint64_t rows = 4;
	unsigned char room[64];
	lc_sample sample = { .id = { "k", 1 }, .meta = { room,
		fixture_hex(sample_rows[_i].hex, room) } };
	lc_sample_origin origin = { .frame_id = 99 };

	ck_assert_int_eq(lc_tensor_init(&sample.mask, LC_F32, 1, &rows, mask),
	    LC_OK);
	ck_assert_int_eq(lc_sample_read_origin(&sample, &origin, NULL, 0),
	    sample_rows[_i].status);
	if (sample_rows[_i].status == LC_OK) {
		ck_assert_uint_eq(origin.boxes_total, sample_rows[_i].boxes_total);
		ck_assert_uint_eq(origin.frame_id, 0);
	} else {
		ck_assert_str_eq(lc_last_error()->text,
		    "the metadata of sample 'k' is damaged");
		ck_assert_uint_eq(origin.frame_id, 99);
	}
}
END_TEST

static unsigned char
read_bytes(lc_id id)
{
	unsigned char sum = 0;

	for (size_t i = 0; i < id.size; i++)
		sum += ((const unsigned char *)id.data)[i];
	return sum;
}

/* Whole rows with some bytes changed, ended where their memory ends. */
START_TEST(mutated_origins)
{
	static const int64_t ids[3] = { 1, -1, 70000 };
	const struct lc__twh1_row row = { .cache_id = { "abc", 3 },
		.has_frame_id = true, .frame_id = 300, .run_id = "run",
		.original_width = 640, .original_height = 480, .has_classes = true,
		.class_ids = ids, .n_classes = 3, .boxes_total = 1000,
		.labels = { "\x81\xa1" "a\x91\1", 5 } };
	uint64_t seed = run_seed();
	struct lc__buf buf = { 0 };
	volatile unsigned char sum = 0;

	lc__twh1_row_encode(&row, &buf);
	for (int round = 0; round < 100000; round++) {
		const size_t n = buf.size - run_random(&seed) % 3;
		unsigned char *bytes = fixture_copy(buf.data, n);
		int64_t got[2];
		lc_sample_origin origin;
		bool has_total;

		for (uint64_t k = run_random(&seed) % 4; k > 0; k--) {
			const uint64_t r = run_random(&seed);
			bytes[r % n] = (unsigned char)(r >> 56);
		}
		if (lc__twh1_row_origin((lc_id){ bytes, n }, &origin, &has_total,
		    got, 2))
			sum += read_bytes(origin.run_id) + read_bytes(origin.labels);
		free(bytes);
	}
	(void)sum;
	lc__buf_free(&buf);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("twh1_row");
	TCase *tc = tcase_create("twh1_row");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, full_row);
	tcase_add_loop_test(tc, odd_rows, 0, COUNT(row_rows));
	tcase_add_test(tc, random_rows);
	tcase_add_test(tc, full_origin);
	tcase_add_loop_test(tc, odd_origins, 0, COUNT(origin_rows));
	tcase_add_loop_test(tc, origins_of_samples, 0, COUNT(sample_rows));
	tcase_add_test(tc, mutated_origins);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
