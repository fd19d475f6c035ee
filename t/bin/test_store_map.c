/* SPDX-License-Identifier: BSD-2-Clause */
/* The map of chunks: what is summed, and every chunk where its bytes say. */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drawn.h"
#include "report/store_map.h"

#define WIDTH 400

static struct lc__pixels
draw(const struct lc__chunk_facts *chunks, size_t n)
{
	const struct lc__store_map map = { "m", chunks, n, 1 << 20, 4096 };
	struct lc__picture *picture;

	ck_assert_int_eq(lc__picture_new(LC__PICTURE_PNG, &picture), LC_OK);
	ck_assert_int_eq(lc__store_map_draw(picture, &map, WIDTH), LC_OK);
	ck_assert_double_eq(lc__picture_width(picture), WIDTH);
	return drawn_pixels(picture);
}

START_TEST(sums_skip_damaged_rows)
{
	const struct lc__chunk_facts chunks[] = {
		{ .chunk = 1, .records = 10, .live = 4, .bytes = 1000, .live_bytes = 400,
		    .time_ms = 5000 },
		{ .chunk = 2, .damaged = true },
		{ .chunk = 3, .records = 1, .live = 1, .bytes = 64, .live_bytes = 64,
		    .time_ms = 9000, .read_ms = 9500 },
	};
	const struct lc__store_sums sums = lc__store_sums_of(chunks, 3);

	ck_assert_uint_eq(sums.records, 11);
	ck_assert_uint_eq(sums.live, 5);
	ck_assert_uint_eq(sums.bytes, 1064);
	ck_assert_uint_eq(sums.live_bytes, 464);
	ck_assert_uint_eq(sums.oldest_ms, 5000);
	ck_assert_uint_eq(sums.newest_ms, 9500);
	ck_assert_uint_eq(sums.damaged, 1);
	ck_assert(sums.reads);
	ck_assert(!lc__store_sums_of(chunks, 2).reads);
	ck_assert_uint_eq(lc__store_sums_of(&chunks[1], 1).oldest_ms, 0);
}
END_TEST

/* Three chunks of 1/2, 1/4 and 1/4 of the bytes; the second is dead, the third half. */
START_TEST(chunks_are_as_long_as_their_bytes)
{
	const struct lc__chunk_facts chunks[] = {
		{ .chunk = 1, .records = 8, .live = 8, .bytes = 8192, .live_bytes = 8192,
		    .time_ms = 1000 },
		{ .chunk = 2, .records = 4, .bytes = 4096, .time_ms = 61000 },
		{ .chunk = 3, .records = 4, .live = 2, .bytes = 4096, .live_bytes = 2048,
		    .time_ms = 121000 },
	};
	const double dead[] = { 0, 1, 0.5 }, begin[] = { 0, 0.5, 0.75, 1 };
	const struct lc__store_rows rows = lc__store_rows_of(3, WIDTH);
	const double y = rows.area.y + rows.area.height / 2;
	struct lc__pixels got = draw(chunks, 3);

	ck_assert_uint_eq(rows.n, 1);
	for (int i = 0; i < 3; i++) {
		const double from = rows.area.x + rows.area.width * begin[i];
		const double to = rows.area.x + rows.area.width * begin[i + 1];
		for (double x = ceil(from) + 1; x < floor(to) - 2; x++)
			ck_assert_uint_eq(pixel(&got, x, y), lc__store_colour(dead[i]));
		if (i < 2)
			ck_assert_uint_eq(pixel(&got, floor(to - 0.5), y), LC__PAPER);
	}
	ck_assert_uint_eq(pixel(&got, rows.area.x - 1, y), LC__PAPER);
	lc__pixels_free(&got);
}
END_TEST

/* Of many small chunks a pixel has the mean of their dead shares. */
START_TEST(many_chunks_are_averaged)
{
	static struct lc__chunk_facts chunks[100000];
	const struct lc__store_rows rows = lc__store_rows_of(100000, WIDTH);
	struct lc__pixels got;

	for (size_t i = 0; i < 100000; i++)
		chunks[i] = (struct lc__chunk_facts){ .chunk = i + 1, .records = 2,
			.live = i % 2, .bytes = 128, .live_bytes = i % 2 * 128,
			.time_ms = 1000 + i };
	got = draw(chunks, 100000);
	ck_assert_uint_gt(rows.n, 10);
	for (unsigned row = 0; row < rows.n; row++)
		for (double x = 0; x < rows.area.width; x++) {
			const uint32_t colour = pixel(&got, rows.area.x + x,
			    rows.area.y + row * rows.apart + 3);
			/* 15.7 chunks to a pixel */
			ck_assert_int_le(abs((int)(colour & 0xff) -
				(int)(lc__store_colour(0.5) & 0xff)), 40);
		}
	lc__pixels_free(&got);
}
END_TEST

START_TEST(a_store_without_bytes_is_drawn)
{
	const struct lc__chunk_facts damaged = { .chunk = 1, .damaged = true };
	struct lc__pixels got = draw(&damaged, 1);

	lc__pixels_free(&got);
}
END_TEST

/* Reads are drawn where they are recorded, and else that they are not. */
START_TEST(reads_that_are_known)
{
	struct lc__chunk_facts chunks[2] = {
		{ .chunk = 1, .records = 1, .live = 1, .bytes = 2048, .live_bytes = 2048,
		    .time_ms = 1000 },
		{ .chunk = 2, .records = 1, .live = 1, .bytes = 64, .live_bytes = 64,
		    .time_ms = 2000 },
	};
	const struct lc__store_map map = { "m", chunks, 2, 1 << 20, 4096 };

	for (int known = 0; known < 2; known++) {
		struct lc__picture *picture;
		struct lc__buf svg;
		chunks[1].read_ms = known ? 5000 : 0;
		ck_assert_int_eq(lc__picture_new(LC__PICTURE_SVG, &picture), LC_OK);
		ck_assert_int_eq(lc__store_map_draw(picture, &map, WIDTH), LC_OK);
		svg = drawn_bytes(picture);
		ck_assert_int_eq(strstr((char *)svg.data,
		    ">2 KiB in chunks without a recorded read</text>") != NULL, known);
		ck_assert_int_eq(strstr((char *)svg.data, "Not recorded") != NULL, !known);
		lc__buf_free(&svg);
	}
}
END_TEST

START_TEST(colours_get_darker)
{
	double before = 1000;

	for (int i = 0; i <= 100; i++) {
		const uint32_t c = lc__store_colour(i / 100.0);
		const double grey = 0.2126 * (double)(c >> 16) +
		    0.7152 * (double)(c >> 8 & 0xff) + 0.0722 * (double)(c & 0xff);
		ck_assert_double_le(grey, before + 0.8);
		before = grey;
	}
	ck_assert_double_le(before, 60);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("store_map");
	TCase *tc = tcase_create("map");

	drawn_need();
	tcase_add_test(tc, sums_skip_damaged_rows);
	tcase_add_test(tc, chunks_are_as_long_as_their_bytes);
	tcase_add_test(tc, many_chunks_are_averaged);
	tcase_add_test(tc, a_store_without_bytes_is_drawn);
	tcase_add_test(tc, reads_that_are_known);
	tcase_add_test(tc, colours_get_darker);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
