/* SPDX-License-Identifier: BSD-2-Clause */
#include "made_image.h"

#include <stdlib.h>
#include <string.h>

uint8_t
smooth(uint32_t x, uint32_t y, uint32_t c)
{
	return (uint8_t)(x * (3 + c) + y * (7 - c) + 40 * c + (x / 9 + y / 5) % 3 * 20);
}

size_t
make_exif(unsigned char out[38], bool big_endian, unsigned orientation)
{
	static const unsigned char little[38] = { 'I', 'I', 42, 0, 8, 0, 0, 0, 2, 0,
		0x0f, 1, 2, 0, 4, 0, 0, 0, 'a', 'b', 'c', 0,
		0x12, 1, 3, 0, 1, 0, 0, 0 };
	static const unsigned char big[38] = { 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 2,
		1, 0x0f, 0, 2, 0, 0, 0, 4, 'a', 'b', 'c', 0,
		1, 0x12, 0, 3, 0, 0, 0, 1 };

	memcpy(out, big_endian ? big : little, 38);
	out[big_endian ? 31 : 30] = (unsigned char)orientation;
	return 38;
}

const struct jpeg_kind jpeg_rows[JPEG_ROWS] = {
	{ JCS_RGB, JCS_YCbCr, 3, 2, BASELINE, false, 0, 3 },
	{ JCS_RGB, JCS_YCbCr, 3, 1, BASELINE, false, 3, 3 },
	{ JCS_RGB, JCS_YCbCr, 3, 2, PROGRESSIVE, false, 0, 3 },
	{ JCS_RGB, JCS_YCbCr, 3, 2, SEPARATE, false, 0, 3 },
	{ JCS_RGB, JCS_RGB, 3, 1, BASELINE, true, 0, 3 },
	{ JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1, BASELINE, false, 0, 1 },
	{ JCS_GRAYSCALE, JCS_GRAYSCALE, 1, 1, PROGRESSIVE, false, 0, 1 },
	{ JCS_CMYK, JCS_YCCK, 4, 2, BASELINE, true, 0, 3 },
	{ JCS_CMYK, JCS_CMYK, 4, 1, BASELINE, true, 0, 3 },
	{ JCS_CMYK, JCS_CMYK, 4, 1, PROGRESSIVE, false, 0, 3 },
};

/* Write the EXIF marker and the rows of a picture, or smooth() if it is NULL. */
static void
write_rows(struct jpeg_compress_struct *info, const void *exif, size_t exif_size,
    const uint8_t *pixels)
{
	const size_t row_bytes =
	    (size_t)info->image_width * (unsigned)info->input_components;
	unsigned char marker[64] = "Exif\0";
	uint8_t *row = malloc(row_bytes);

	jpeg_start_compress(info, TRUE);
	if (exif != NULL) {
		memcpy(marker + 6, exif, exif_size);
		jpeg_write_marker(info, JPEG_APP0 + 1, marker,
		    (unsigned)exif_size + 6);
	}
	while (info->next_scanline < info->image_height) {
		if (pixels != NULL)
			memcpy(row, pixels + info->next_scanline * row_bytes, row_bytes);
		else
			for (size_t i = 0; i < row_bytes; i++)
				row[i] = smooth((uint32_t)(i /
				    (unsigned)info->input_components), info->next_scanline,
				    (uint32_t)(i % (unsigned)info->input_components));
		jpeg_write_scanlines(info, &row, 1);
	}
	jpeg_finish_compress(info);
	free(row);
}

/* A file on its way into memory. */
struct coding {
	struct jpeg_compress_struct info;
	struct jpeg_error_mgr errors;
	unsigned char *bytes;
	unsigned long size;
};

static void
coding_begin(struct coding *coding, uint32_t width, uint32_t height, int samples,
    J_COLOR_SPACE in)
{
	memset(coding, 0, sizeof(*coding));
	coding->info.err = jpeg_std_error(&coding->errors);
	jpeg_create_compress(&coding->info);
	jpeg_mem_dest(&coding->info, &coding->bytes, &coding->size);
	coding->info.image_width = width;
	coding->info.image_height = height;
	coding->info.input_components = samples;
	coding->info.in_color_space = in;
	jpeg_set_defaults(&coding->info);
}

static void
set_subsampling(struct coding *coding, int factor)
{
	coding->info.comp_info[0].h_samp_factor = factor;
	coding->info.comp_info[0].v_samp_factor = factor;
}

static void
coding_end(struct coding *coding, struct lc__buf *out)
{
	jpeg_destroy_compress(&coding->info);
	lc__buf_append(out, coding->bytes, coding->size);
	free(coding->bytes);
}

void
make_jpeg(const struct jpeg_kind *kind, uint32_t width, uint32_t height,
    const void *exif, size_t exif_size, struct lc__buf *out)
{
	static const jpeg_scan_info separate[] = { { 1, { 0 }, 0, 63, 0, 0 },
		{ 1, { 1 }, 0, 63, 0, 0 }, { 1, { 2 }, 0, 63, 0, 0 } };
	struct coding coding;

	coding_begin(&coding, width, height, kind->samples, kind->in);
	jpeg_set_colorspace(&coding.info, kind->file);
	set_subsampling(&coding, kind->subsampling);
	coding.info.write_Adobe_marker = kind->adobe;
	coding.info.restart_interval = (unsigned)kind->restart;
	if (kind->scans == PROGRESSIVE) {
		jpeg_simple_progression(&coding.info);
	} else if (kind->scans == SEPARATE) {
		coding.info.scan_info = separate;
		coding.info.num_scans = 3;
	}
	write_rows(&coding.info, exif, exif_size, NULL);
	coding_end(&coding, out);
}

void
make_jpeg_of(const uint8_t *pixels, uint32_t width, uint32_t height,
    unsigned channels, const void *exif, size_t exif_size, struct lc__buf *out)
{
	struct coding coding;

	coding_begin(&coding, width, height, (int)channels,
	    channels == 1 ? JCS_GRAYSCALE : JCS_RGB);
	jpeg_set_quality(&coding.info, 100, TRUE);
	set_subsampling(&coding, 1);
	write_rows(&coding.info, exif, exif_size, pixels);
	coding_end(&coding, out);
}

uint8_t *
plain_jpeg(const struct lc__buf *file, unsigned shrink, unsigned *samples)
{
	struct jpeg_decompress_struct info;
	struct jpeg_error_mgr errors;
	uint8_t *pixels, *row;

	info.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&info);
	jpeg_mem_src(&info, file->data, file->size);
	jpeg_read_header(&info, TRUE);
	info.scale_num = 1;
	info.scale_denom = shrink;
	jpeg_start_decompress(&info);
	*samples = (unsigned)info.output_components;
	pixels = malloc((size_t)info.output_width * info.output_height * *samples);
	while (info.output_scanline < info.output_height) {
		row = pixels + (size_t)info.output_scanline * info.output_width *
		    *samples;
		jpeg_read_scanlines(&info, &row, 1);
	}
	jpeg_finish_decompress(&info);
	jpeg_destroy_decompress(&info);
	return pixels;
}

unsigned
jpeg_want(const struct jpeg_kind *kind, const uint8_t *pixel, unsigned c)
{
	double paper, black;

	if (kind->samples != 4)
		return pixel[c];
	paper = kind->adobe ? pixel[c] / 255.0 : 1 - pixel[c] / 255.0;
	black = kind->adobe ? pixel[3] / 255.0 : 1 - pixel[3] / 255.0;
	return (unsigned)(paper * black * 255 + 0.5);
}

size_t
next_marker(const struct lc__buf *file, size_t from)
{
	const unsigned char marker = file->data[from + 1];

	if (marker == 0xd8)
		return from + 2;
	from += 2 + (size_t)(file->data[from + 2] << 8 | file->data[from + 3]);
	while (marker == 0xda && (file->data[from] != 0xff ||
	    file->data[from + 1] == 0))
		from++;
	return from;
}
