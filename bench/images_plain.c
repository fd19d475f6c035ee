/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limit: one pass over the file with plain calls of libjpeg, with its defaults,
 * into the library's resampling. Nothing is checked, and whatever can be is used
 * again for the next image.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "image/geometry.h"
#include "image/resize.h"
#include "image/sink.h"
#include "image/transform.h"
#include "images_ways.h"

/* libjpeg-turbo writes rows that are aligned for vectors around the caches. */
#define ASKEW 8

struct plain {
	struct jpeg_decompress_struct info;
	struct jpeg_error_mgr errors;
	struct image_file file;
	struct lc__scratch band, memory;
	struct lc__resize resize;
	uint8_t *planes;
	uint16_t *halves;
};

static void *
begin(void)
{
	struct plain *plain = calloc(1, sizeof(*plain));

	if (plain == NULL)
		err(1, NULL);
	plain->info.err = jpeg_std_error(&plain->errors);
	jpeg_create_decompress(&plain->info);
	plain->planes = aligned_alloc(64, 3 * IMAGES_PLANE);
	plain->halves = aligned_alloc(64, 3 * IMAGES_PLANE * sizeof(uint16_t));
	if (plain->planes == NULL || plain->halves == NULL)
		err(1, NULL);
	return plain;
}

static void
end(void *state)
{
	struct plain *plain = state;

	jpeg_destroy_decompress(&plain->info);
	lc__scratch_free(&plain->band);
	lc__scratch_free(&plain->memory);
	free(plain->file.bytes);
	free(plain->planes);
	free(plain->halves);
	free(plain);
}

/* Letterbox: beside the picture, or above and below it. */
static void
pad(uint8_t *plane, const struct lc__geometry *g)
{
	const size_t side = IMAGES_SIDE, right = g->to_x + g->to_width;
	const size_t bottom = g->to_y + g->to_height;

	memset(plane, 0, g->to_y * side);
	memset(plane + bottom * side, 0, (side - bottom) * side);
	for (size_t y = g->to_y; y < bottom && g->to_width < side; y++) {
		memset(plane + y * side, 0, g->to_x);
		memset(plane + y * side + right, 0, side - right);
	}
}

static void
begin_resize(struct plain *plain)
{
	const uint32_t width = plain->info.output_width;
	const uint32_t height = plain->info.output_height;
	struct lc__resize_plan plan = { .channels = 3, .stride = IMAGES_SIDE,
		.sums = lc__sums_best() };
	struct lc__geometry g;

	lc__geometry_plan(LC__FIT_LETTERBOX, width, height, IMAGES_SIDE, IMAGES_SIDE,
	    &g);
	for (int c = 0; c < 3; c++) {
		uint8_t *plane = plain->planes + (size_t)c * IMAGES_PLANE;
		pad(plane, &g);
		plan.planes[c] = plane + (size_t)g.to_y * IMAGES_SIDE + g.to_x;
	}
	if (lc__filter_plan(0, width, width, g.to_width, &plan.x) != LC_OK ||
	    lc__filter_plan(0, height, height, g.to_height, &plan.y) != LC_OK ||
	    lc__resize_begin(&plain->resize, &plan, &plain->memory) != LC_OK)
		errx(1, "%s", lc_last_error()->text);
}

static void
read_rows(struct plain *plain)
{
	struct jpeg_decompress_struct *info = &plain->info;
	const size_t stride = ((size_t)3 * info->output_width + 63) / 64 * 64;
	uint8_t *band = lc__scratch_get(&plain->band, LC__BAND + 1, stride);
	JSAMPROW rows[LC__BAND];

	for (int i = 0; i < LC__BAND; i++)
		rows[i] = band + ASKEW + (size_t)i * stride;
	while (info->output_scanline < info->output_height) {
		const JDIMENSION y = info->output_scanline;
		const JDIMENSION left = info->output_height - y;
		const JDIMENSION most = left < LC__BAND ? left : LC__BAND;
		JDIMENSION n = 0;
		while (n < most)
			n += jpeg_read_scanlines(info, rows + n, most - n);
		lc__resize_rows(&plain->resize, y, n, rows[0], stride);
	}
}

static const uint16_t *
image(void *state, const char *path)
{
	struct plain *plain = state;

	image_file_read(&plain->file, path);
	jpeg_mem_src(&plain->info, plain->file.bytes, plain->file.size);
	jpeg_read_header(&plain->info, TRUE);
	jpeg_start_decompress(&plain->info);
	begin_resize(plain);
	read_rows(plain);
	jpeg_finish_decompress(&plain->info);
	if (lc__planes_convert(plain->planes, 3 * IMAGES_PLANE, LC_F16,
	    plain->halves) != LC_OK)
		errx(1, "%s", lc_last_error()->text);
	return plain->halves;
}

const struct images_way images_plain = { "plain loop", begin, end, image };
