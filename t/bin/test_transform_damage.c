/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "image/transform.h"
#include "made_image.h"

/* From a block of the exact size, so that a read behind it is seen. */
static lc_status
transform_exact(const struct lc__transform *transform, const unsigned char *bytes,
    size_t size)
{
	struct lc__workspace *workspace = lc__workspace_new();
	unsigned char *exact = malloc(size + (size == 0));
	uint8_t *planes = malloc((size_t)3 * transform->width * transform->height);
	struct lc__transformed done = { .stored_width = 12345 };
	lc_status status;

	memcpy(exact, bytes, size);
	status = lc__transform_image(transform, exact, size, "dir/x", workspace,
	    planes, &done);
	if (status != LC_OK) {
		ck_assert_int_eq(lc_last_error()->status, status);
		ck_assert_mem_eq(lc_last_error()->text, "dir/x: ", 7);
		ck_assert_uint_eq(done.stored_width, 12345);
	}
	free(planes);
	free(exact);
	lc__workspace_free(workspace);
	return status;
}

static const struct lc__transform small = { .width = 16, .height = 12,
	.max_pixels = 1 << 20 };

static void
make(int kind, uint32_t width, uint32_t height, struct lc__buf *file)
{
	unsigned char exif[38];

	make_exif(exif, kind % 2, 6);
	if (kind < PNG_ROWS) {
		make_png(&png_rows[kind], width, height, file);
		insert_chunk(file, 33, "eXIf", exif, sizeof(exif));
	} else {
		make_jpeg(&jpeg_rows[kind - PNG_ROWS], width, height, exif, sizeof(exif),
		    file);
	}
}

/* A file that ends early is refused wherever it ends. */
START_TEST(cut)
{
	struct lc__buf file = { 0 };

	make(_i, 21, 18, &file);
	for (size_t size = 0; size < file.size; size++)
		ck_assert_int_eq(transform_exact(&small, file.data, size),
		    lc__image_sniff(file.data, size) == LC__IMAGE_NONE ? LC_INVALID :
		    LC_CORRUPT);
	ck_assert_int_eq(transform_exact(&small, file.data, file.size), LC_OK);
	lc__buf_free(&file);
}
END_TEST

/* Any change is an error or an image; never a read or write out of bounds. */
START_TEST(changed)
{
	uint64_t seed = run_seed();
	struct lc__transform transform = small;
	struct lc__buf file = { 0 };

	make(_i, 40, 33, &file);
	for (int round = 0; round < 150; round++) {
		unsigned char *copy = malloc(file.size);
		struct lc__transformed header;
		memcpy(copy, file.data, file.size);
		change_bytes(copy, file.size, &seed);
		transform.fit = (enum lc__fit)(run_random(&seed) % 3);
		transform.alpha = (enum lc__alpha)(run_random(&seed) % 2);
		transform.dct_scale = run_random(&seed) % 2;
		if (transform_exact(&transform, copy, file.size) == LC_OK)
			ck_assert_int_eq(lc__image_probe(copy, file.size, "x", &header),
			    LC_OK);
		free(copy);
	}
	lc__buf_free(&file);
}
END_TEST

/* The same behind good checksums. */
START_TEST(changed_with_good_crc)
{
	uint64_t seed = run_seed();
	struct lc__buf file = { 0 };

	make(_i, 30, 20, &file);
	for (int round = 0; round < 100; round++) {
		unsigned char *copy = malloc(file.size);
		memcpy(copy, file.data, file.size);
		change_png(copy, file.size, &seed);
		transform_exact(&small, copy, file.size);
		free(copy);
	}
	lc__buf_free(&file);
}
END_TEST

/* ---- limits ------------------------------------------------------------------ */

START_TEST(limits)
{
	struct lc__transform transform = { .width = 8, .height = 8,
		.max_pixels = 300 * 20 };
	struct lc__buf file = { 0 };

	make(_i ? 0 : PNG_ROWS, 300, 20, &file);
	ck_assert_int_eq(transform_exact(&transform, file.data, file.size), LC_OK);
	transform.max_pixels--;
	ck_assert_int_eq(transform_exact(&transform, file.data, file.size),
	    LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "dir/x: 300 x 20 pixels are above the limit of 5999");
	transform.max_pixels = 0;
	transform.height = 0;
	ck_assert_int_eq(transform_exact(&transform, file.data, file.size),
	    LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "dir/x: a target of 8 x 0 pixels");
	transform.height = 65536;
	transform.fit = LC__FIT_STRETCH;
	ck_assert_int_eq(transform_exact(&transform, file.data, file.size),
	    LC_INVALID);
	lc__buf_free(&file);
}
END_TEST

/* ---- headers ----------------------------------------------------------------- */

START_TEST(probed)
{
	struct lc__buf file = { 0 };
	struct lc__transformed header;
	size_t least = 0;

	make(_i, 201, 160, &file);
	/* The header is in the first bytes, or behind a palette. */
	for (size_t size = 0; size <= file.size; size += size < 2000 ? 1 : 997) {
		memset(&header, 0x55, sizeof(header));
		if (lc__image_probe(file.data, size, "x", &header) != LC_OK) {
			ck_assert_uint_eq(least, 0);
			ck_assert_uint_eq(header.stored_width, 0x55555555);
			ck_assert_mem_eq(lc_last_error()->text, "x: ", 3);
			continue;
		}
		least = least != 0 ? least : size;
		ck_assert_uint_eq(header.stored_width, 201);
		ck_assert_uint_eq(header.stored_height, 160);
		ck_assert_uint_eq(header.orientation, 6);
		ck_assert_uint_eq(header.decode_ns, 0);
	}
	/* Without the pixels. */
	ck_assert_uint_gt(least, 0);
	ck_assert_uint_lt(least, file.size * 9 / 10);
	lc__buf_free(&file);
}
END_TEST

/* No limit of pixels, as none are read, and no memory depends on them. */
START_TEST(probed_bomb)
{
	struct lc__buf file = { 0 };
	struct lc__transformed header;
	struct rusage usage;

	make(0, 9, 9, &file);
	png_save_uint_32(file.data + 16, 0x7fffffff);
	png_save_uint_32(file.data + 20, 0x7fffffff);
	png_save_uint_32(file.data + 29, crc_of(file.data + 12, 17));
	ck_assert_int_eq(lc__image_probe(file.data, file.size, "x", &header), LC_OK);
	ck_assert_uint_eq(header.stored_width, 0x7fffffff);
	ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
	ck_assert_int_lt(usage.ru_maxrss, 1 << 20); /* KiB; a row has 6 GiB */
	ck_assert_int_eq(transform_exact(&small, file.data, file.size), LC_INVALID);
	lc__buf_free(&file);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("transform damage");
	TCase *tc = tcase_create("transform damage");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, cut, 0, PNG_ROWS + JPEG_ROWS);
	tcase_add_loop_test(tc, changed, 0, PNG_ROWS + JPEG_ROWS);
	tcase_add_loop_test(tc, changed_with_good_crc, 0, PNG_ROWS);
	tcase_add_loop_test(tc, limits, 0, 2);
	tcase_add_loop_test(tc, probed, 0, PNG_ROWS + JPEG_ROWS);
	tcase_add_test(tc, probed_bomb);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
