/* SPDX-License-Identifier: BSD-2-Clause */
#include "dataset.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jpeglib.h>
#include <png.h>

#include "base/fileio.h"
#include "need.h"
#include "run.h"

/* Long ago. */
#define SETTLED 1600000000

static void
make_parent(const char *path)
{
	char *dir = strdup(path), *slash;

	need(dir != NULL);
	slash = strrchr(dir, '/');
	if (slash != NULL && slash != dir) {
		*slash = '\0';
		need_ok(lc__make_dirs(dir));
	}
	free(dir);
}

static FILE *
create(const char *path)
{
	FILE *out;

	make_parent(path);
	out = fopen(path, "wb");
	need(out != NULL);
	return out;
}

void
dataset_file(const char *path, const char *text)
{
	FILE *out = create(path);

	need(fputs(text, out) >= 0);
	need(fclose(out) == 0);
}

/* ---- images ------------------------------------------------------------------- */

/* A gradient with a rectangle: neither flat nor noise. */
static uint8_t *
make_pixels(uint32_t width, uint32_t height, uint64_t seed)
{
	uint8_t *pixels = malloc((size_t)3 * width * height), *p = pixels;
	uint64_t state = seed;
	const uint32_t left = (uint32_t)(run_random(&state) % width);
	const uint32_t top = (uint32_t)(run_random(&state) % height);
	const uint8_t base = (uint8_t)run_random(&state);

	need(pixels != NULL);
	for (uint32_t y = 0; y < height; y++) {
		for (uint32_t x = 0; x < width; x++, p += 3) {
			p[0] = (uint8_t)(base + 3 * x);
			p[1] = (uint8_t)(base + 5 * y);
			p[2] = x >= left && y >= top ? 255 : base;
		}
	}
	return pixels;
}

static void
write_png(FILE *out, uint32_t width, uint32_t height, uint8_t *pixels)
{
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL,
	    NULL, NULL);
	png_infop info = png_create_info_struct(png);

	need(setjmp(png_jmpbuf(png)) == 0);
	png_init_io(png, out);
	png_set_IHDR(png, info, width, height, 8, PNG_COLOR_TYPE_RGB,
	    PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
	    PNG_FILTER_TYPE_DEFAULT);
	png_write_info(png, info);
	for (uint32_t y = 0; y < height; y++)
		png_write_row(png, pixels + (size_t)3 * width * y);
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
}

/* EXIF data of one entry, big-endian. */
static void
write_orientation(struct jpeg_compress_struct *jpeg, unsigned orientation)
{
	uint8_t exif[] = "Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03"
	    "\0\0\0\x01\0?\0\0\0\0\0\0";

	exif[25] = (uint8_t)orientation;
	jpeg_write_marker(jpeg, JPEG_APP0 + 1, exif, sizeof(exif) - 1);
}

static void
write_jpeg(FILE *out, uint32_t width, uint32_t height, uint8_t *pixels,
    unsigned orientation)
{
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;

	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_compress(&jpeg);
	jpeg_stdio_dest(&jpeg, out);
	jpeg.image_width = width;
	jpeg.image_height = height;
	jpeg.input_components = 3;
	jpeg.in_color_space = JCS_RGB;
	jpeg_set_defaults(&jpeg);
	jpeg_start_compress(&jpeg, TRUE);
	if (orientation > 1)
		write_orientation(&jpeg, orientation);
	while (jpeg.next_scanline < height) {
		JSAMPROW row = pixels + (size_t)3 * width * jpeg.next_scanline;
		need(jpeg_write_scanlines(&jpeg, &row, 1) == 1);
	}
	jpeg_finish_compress(&jpeg);
	jpeg_destroy_compress(&jpeg);
}

void
dataset_image(const char *path, uint32_t width, uint32_t height, uint64_t seed)
{
	const size_t n = strlen(path);
	uint8_t *pixels = make_pixels(width, height, seed);
	FILE *out = create(path);

	if (n > 4 && strcmp(path + n - 4, ".png") == 0)
		write_png(out, width, height, pixels);
	else
		write_jpeg(out, width, height, pixels, 1);
	need(fclose(out) == 0);
	free(pixels);
}

void
dataset_turned(const char *path, uint32_t width, uint32_t height, uint64_t seed,
    unsigned orientation)
{
	uint8_t *pixels = make_pixels(width, height, seed);
	FILE *out = create(path);

	write_jpeg(out, width, height, pixels, orientation);
	need(fclose(out) == 0);
	free(pixels);
}

/* ---- frames -------------------------------------------------------------------- */

static char *
turn_buffer(void)
{
	static char buffers[4][4096];
	static unsigned turn;

	return buffers[turn++ % 4];
}

const char *
dataset_label(const char *root, const char *run, unsigned n)
{
	char *path = turn_buffer();

	snprintf(path, 4096, "%s/%s/labels/f%u.json", root, run, n);
	return path;
}

const char *
dataset_picture(const char *root, const char *run, unsigned n)
{
	char *path = turn_buffer();

	snprintf(path, 4096, "%s/%s/images/f%u.png", root, run, n);
	return path;
}

void
dataset_frame(const char *root, const char *run, unsigned n, uint32_t width,
    uint32_t height, unsigned boxes, uint64_t seed)
{
	char text[16384];
	size_t at = (size_t)snprintf(text, sizeof(text), "{\"frame_id\":%u,"
	    "\"image\":\"images/f%u.png\",\"image_present\":true,\"labels\":[",
	    n, n);

	for (unsigned i = 0; i < boxes; i++) {
		const double x = (double)(i % 8) / 16, y = (double)(n % 8) / 16;
		need(at < sizeof(text) - 200);
		at += (size_t)snprintf(text + at, sizeof(text) - at,
		    "%s{\"bbox_norm\":[%g,%g,%g,%g],\"class_id\":%u}",
		    i > 0 ? "," : "", x, y, x + 0.25, y + 0.5, i % 3);
	}
	snprintf(text + at, sizeof(text) - at, "],\"note\":\"seed %llu\"}\n",
	    (unsigned long long)seed);
	dataset_file(dataset_label(root, run, n), text);
	dataset_image(dataset_picture(root, run, n), width, height, seed);
}

void
dataset_make(const char *root, unsigned frames)
{
	static const uint32_t sizes[][2] = { { 40, 30 }, { 30, 40 }, { 64, 20 },
		{ 33, 33 } };

	for (unsigned r = 0; r < 2; r++)
		for (unsigned n = 0; n < frames; n++)
			dataset_frame(root, r == 0 ? "a" : "b", n,
			    sizes[(n + r) % 4][0], sizes[(n + r) % 4][1],
			    n % 5 == 4 ? 0 : 1 + n % 4, 1000 * r + n);
	dataset_settle(root);
}

/* Directories get another time each time: somebody may have changed them. */
static time_t changes;

static int
set_back(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	const time_t at = SETTLED + (kind == FTW_DP ? changes : 0);
	const struct timespec times[2] = { { at, 0 }, { at, 0 } };

	(void)st;
	(void)ftw;
	return utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

void
dataset_settle(const char *root)
{
	changes++;
	need(nftw(root, set_back, 16, FTW_PHYS | FTW_DEPTH) == 0);
}
