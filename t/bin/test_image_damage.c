/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "made_image.h"
#include "value/tensor.h"

/* ---- limits ------------------------------------------------------------------ */

static void
check_refused(const struct lc__buf *file, const struct lc__image_options *options,
    lc_status status, const char *message)
{
	lc_tensor got = { .nbytes = 12345 };

	ck_assert_int_eq(lc__image_decode(file->data, file->size, "x", options,
	    &got), status);
	ck_assert_str_eq(lc_last_error()->text, message);
	ck_assert_uint_eq(got.nbytes, 12345);
}

START_TEST(pixel_limit)
{
	const struct lc__image_options exact = { .max_pixels = 300 * 20 };
	const struct lc__image_options below = { .max_pixels = 300 * 20 - 1 };
	const char *message = "x: 300 x 20 pixels are above the limit of 5999";
	struct lc__buf png = { 0 }, jpeg = { 0 };
	lc_tensor got;

	make_png(&png_rows[0], 300, 20, &png);
	make_jpeg(&jpeg_rows[0], 300, 20, NULL, 0, &jpeg);
	ck_assert_int_eq(lc__image_decode(png.data, png.size, "x", &exact, &got),
	    LC_OK);
	lc_tensor_free(&got);
	ck_assert_int_eq(lc__image_decode(jpeg.data, jpeg.size, "x", &exact, &got),
	    LC_OK);
	lc_tensor_free(&got);
	check_refused(&png, &below, LC_INVALID, message);
	check_refused(&jpeg, &below, LC_INVALID, message);

	/* The same files, with a size that no memory has. */
	png_save_uint_32(png.data + 16, 0x7fffffff);
	png_save_uint_32(png.data + 20, 0x7fffffff);
	png_save_uint_32(png.data + 29, crc_of(png.data + 12, 17));
	check_refused(&png, NULL, LC_INVALID, "x: 2147483647 x 2147483647 pixels "
	    "are above the limit of 268435456");
	for (size_t i = 0; i + 8 < jpeg.size; i++)
		if (jpeg.data[i] == 0xff && jpeg.data[i + 1] == 0xc0)
			memcpy(jpeg.data + i + 5, "\xff\xdc\xff\xdc", 4);
	check_refused(&jpeg, NULL, LC_INVALID,
	    "x: 65500 x 65500 pixels are above the limit of 268435456");
	lc__buf_free(&png);
	lc__buf_free(&jpeg);
}
END_TEST

/* A scan given many times over costs a pass over the image each time. */
START_TEST(scan_limit)
{
	struct lc__buf file = { 0 }, bomb = { 0 };
	size_t end = 0, start = 0;
	lc_tensor got;

	make_jpeg(&jpeg_rows[3], 16, 16, NULL, 0, &file);
	while (file.data[end + 1] != 0xd9) {
		if (file.data[end + 1] == 0xda)
			start = end;
		end = next_marker(&file, end);
	}
	lc__buf_append(&bomb, file.data, end);
	for (int scans = 3; scans < 500; scans++)
		lc__buf_append(&bomb, file.data + start, end - start);
	lc__buf_append(&bomb, "\xff\xd9", 2);
	ck_assert_int_eq(lc__image_decode(bomb.data, bomb.size, "x", NULL, &got),
	    LC_OK);
	lc_tensor_free(&got);
	bomb.size -= 2;
	lc__buf_append(&bomb, file.data + start, end - start);
	lc__buf_append(&bomb, "\xff\xd9", 2);
	check_refused(&bomb, NULL, LC_INVALID, "x: JPEG: more than 500 scans");
	lc__buf_free(&bomb);
	lc__buf_free(&file);
}
END_TEST

/* ---- damage ------------------------------------------------------------------ */

START_TEST(sniffing)
{
	struct lc__buf file = { .data = (unsigned char *)"GIF89a", .size = 6 };

	ck_assert_int_eq(lc__image_sniff("\xff\xd8\xff\xe0", 4), LC__IMAGE_JPEG);
	ck_assert_int_eq(lc__image_sniff("\xff\xd8", 2), LC__IMAGE_NONE);
	ck_assert_int_eq(lc__image_sniff("\x89PNG\r\n\x1a\n", 8), LC__IMAGE_PNG);
	ck_assert_int_eq(lc__image_sniff("\x89PNG\r\n\x1a\n", 7), LC__IMAGE_NONE);
	ck_assert_int_eq(lc__image_sniff("", 0), LC__IMAGE_NONE);
	check_refused(&file, NULL, LC_INVALID, "x: neither JPEG, PNG, WebP nor TIFF");
}
END_TEST

static lc_status
decode(const unsigned char *bytes, size_t size,
    enum lc__image_layout layout, lc_tensor *out)
{
	const struct lc__image_options options = { .layout = layout,
		.max_pixels = 1 << 20 };

	return decode_exact(bytes, size, &options, out);
}

static void
check_cuts(const struct lc__buf *file)
{
	lc_tensor got;

	for (size_t size = 0; size < file->size; size++)
		ck_assert_int_eq(decode(file->data, size, LC__IMAGE_CHW, &got),
		    size < 8 && lc__image_sniff(file->data, size) == LC__IMAGE_NONE ?
		    LC_INVALID : LC_CORRUPT);
	ck_assert_int_eq(decode(file->data, file->size, LC__IMAGE_CHW, &got),
	    LC_OK);
	lc_tensor_free(&got);
	/* What follows the image does not belong to it. */
	lc__buf_append((struct lc__buf *)file, "\xff\xd8 and more", 11);
	ck_assert_int_eq(decode(file->data, file->size, LC__IMAGE_CHW, &got),
	    LC_OK);
	lc_tensor_free(&got);
}

START_TEST(cut_png)
{
	struct lc__buf file = { 0 };

	make_png(&png_rows[_i], 9, 7, &file);
	check_cuts(&file);
	lc__buf_free(&file);
}
END_TEST

START_TEST(cut_jpeg)
{
	unsigned char exif[38];
	struct lc__buf file = { 0 };

	make_exif(exif, false, 6);
	make_jpeg(&jpeg_rows[_i], 20, 18, exif, sizeof(exif), &file);
	check_cuts(&file);
	lc__buf_free(&file);
}
END_TEST

static void
insert_bytes(struct lc__buf *file, size_t where, size_t count)
{
	ck_assert_ptr_nonnull(lc__buf_append(file, NULL, count));
	memmove(file->data + where + count, file->data + where,
	    file->size - count - where);
	memset(file->data + where, 0x5a, count);
}

/* Bytes that belong to nothing change no pixel in the header and before the end marker,
 * where many cameras write them. */
START_TEST(extra_bytes_in_jpeg)
{
	struct lc__buf file = { 0 };
	lc_tensor want, got;

	make_jpeg(&jpeg_rows[_i], 20, 18, NULL, 0, &file);
	ck_assert_int_eq(decode(file.data, file.size, LC__IMAGE_HWC, &want),
	    LC_OK);
	insert_bytes(&file, next_marker(&file, 2), 3);
	insert_bytes(&file, file.size - 2, 100);
	ck_assert_int_eq(decode(file.data, file.size, LC__IMAGE_HWC, &got),
	    LC_OK);
	ck_assert_uint_eq(got.nbytes, want.nbytes);
	ck_assert_mem_eq(got.data, want.data, want.nbytes);
	lc_tensor_free(&got);
	/* Without the end marker the file is cut, whatever it ends with. */
	ck_assert_int_eq(decode(file.data, file.size - 2, LC__IMAGE_HWC, &got),
	    LC_CORRUPT);
	lc_tensor_free(&want);
	lc__buf_free(&file);
}
END_TEST

/* An end marker does not make up for rows that are missing. */
START_TEST(missing_rows_in_jpeg)
{
	struct lc__buf file = { 0 };
	size_t scan;
	lc_tensor got;

	make_jpeg(&jpeg_rows[_i], 60, 58, NULL, 0, &file);
	for (scan = file.size - 2; file.data[scan] != 0xff || file.data[scan + 1] != 0xda;)
		scan--;
	for (size_t cut = file.size - 5; cut > scan + 20; cut -= 7) {
		struct lc__buf part = { 0 };
		lc__buf_append(&part, file.data, cut);
		lc__buf_append(&part, "\xff\xd9", 2);
		ck_assert_int_eq(decode(part.data, part.size, LC__IMAGE_HWC,
		    &got), LC_CORRUPT);
		lc__buf_free(&part);
	}
	lc__buf_free(&file);
}
END_TEST

/* Stray bytes anywhere else may have taken the place of pixels. */
START_TEST(extra_bytes_between_scans)
{
	struct lc__buf file = { 0 };
	size_t scan = 0;
	lc_tensor got;

	make_jpeg(&jpeg_rows[3], 20, 18, NULL, 0, &file);
	while (file.data[scan + 1] != 0xda)
		scan = next_marker(&file, scan);
	insert_bytes(&file, next_marker(&file, scan), 100);
	ck_assert_int_eq(decode(file.data, file.size, LC__IMAGE_HWC, &got),
	    LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "extraneous bytes"));
	lc__buf_free(&file);
}
END_TEST

/* A later version of JFIF is still JPEG. */
START_TEST(unknown_jfif_version)
{
	struct lc__buf file = { 0 };
	lc_tensor got;

	make_jpeg(&jpeg_rows[0], 20, 18, NULL, 0, &file);
	ck_assert_str_eq((char *)file.data + 6, "JFIF");
	file.data[11] = 9;
	ck_assert_int_eq(decode(file.data, file.size, LC__IMAGE_HWC, &got),
	    LC_OK);
	lc_tensor_free(&got);
	lc__buf_free(&file);
}
END_TEST

/* PNG checks every byte: no changed file is decoded, also where the change is in
 * a chunk that is skipped. */
START_TEST(changed_png)
{
	struct lc__buf file = { 0 };
	lc_tensor got;

	make_png(&png_rows[_i], 9, 7, &file);
	insert_chunk(&file, 33, "tEXt", "Title\0something", 15);
	for (size_t place = 0; place < file.size; place++)
		for (unsigned bit = 0; bit < 8; bit += 3) {
			file.data[place] ^= (unsigned char)(1u << bit);
			ck_assert_int_ne(decode(file.data, file.size,
			    LC__IMAGE_HWC, &got), LC_OK);
			file.data[place] ^= (unsigned char)(1u << bit);
		}
	lc__buf_free(&file);
}
END_TEST

/* JPEG has no checksums: a change decodes to something or is an error. */
START_TEST(changed_jpeg)
{
	uint64_t seed = run_seed();
	struct lc__buf file = { 0 };
	unsigned char exif[38];
	lc_tensor got;

	make_exif(exif, true, 5);
	make_jpeg(&jpeg_rows[_i], 40, 33, exif, sizeof(exif), &file);
	for (int round = 0; round < 500; round++) {
		unsigned char *copy = malloc(file.size);
		memcpy(copy, file.data, file.size);
		change_bytes(copy, file.size, &seed);
		if (decode(copy, file.size, LC__IMAGE_HWC, &got) == LC_OK) {
			ck_assert_int_eq(lc__tensor_check(&got), LC_OK);
			lc_tensor_free(&got);
		}
		free(copy);
	}
	lc__buf_free(&file);
}
END_TEST

/* Damage behind valid checksums reaches the decoder itself. */
START_TEST(changed_png_with_good_crc)
{
	uint64_t seed = run_seed();
	struct lc__buf file = { 0 };
	lc_tensor got;

	make_png(&png_rows[_i], 30, 20, &file);
	for (int round = 0; round < 200; round++) {
		unsigned char *copy = malloc(file.size);
		memcpy(copy, file.data, file.size);
		change_png(copy, file.size, &seed);
		if (decode(copy, file.size, LC__IMAGE_CHW, &got) == LC_OK) {
			ck_assert_int_eq(lc__tensor_check(&got), LC_OK);
			lc_tensor_free(&got);
		}
		free(copy);
	}
	lc__buf_free(&file);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("image damage");
	TCase *tc = tcase_create("image damage");

	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, pixel_limit);
	tcase_add_test(tc, scan_limit);
	tcase_add_test(tc, sniffing);
	tcase_add_loop_test(tc, cut_png, 0, PNG_ROWS);
	tcase_add_loop_test(tc, cut_jpeg, 0, JPEG_ROWS);
	tcase_add_loop_test(tc, extra_bytes_in_jpeg, 0, JPEG_ROWS);
	tcase_add_loop_test(tc, missing_rows_in_jpeg, 0, JPEG_ROWS);
	tcase_add_test(tc, extra_bytes_between_scans);
	tcase_add_test(tc, unknown_jfif_version);
	tcase_add_loop_test(tc, changed_png, 0, PNG_ROWS);
	tcase_add_loop_test(tc, changed_jpeg, 0, JPEG_ROWS);
	tcase_add_loop_test(tc, changed_png_with_good_crc, 0, PNG_ROWS);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
