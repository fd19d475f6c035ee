/* SPDX-License-Identifier: BSD-2-Clause */
#include "images_jpeg.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#define QUALITY 90

/* Errors end the program, which is libjpeg's own way. */

struct jpeg
jpeg_of_planes(const uint8_t *planes, uint32_t width, uint32_t height)
{
	const size_t plane = (size_t)width * height;
	struct jpeg_compress_struct info;
	struct jpeg_error_mgr errors;
	struct jpeg out = { NULL, 0 };
	JSAMPROW row = malloc((size_t)3 * width);

	if (row == NULL)
		err(1, NULL);
	info.err = jpeg_std_error(&errors);
	jpeg_create_compress(&info);
	jpeg_mem_dest(&info, &out.bytes, &out.size);
	info.image_width = width;
	info.image_height = height;
	info.input_components = 3;
	info.in_color_space = JCS_RGB;
	jpeg_set_defaults(&info);
	jpeg_set_quality(&info, QUALITY, TRUE);
	jpeg_start_compress(&info, TRUE);
	while (info.next_scanline < height) {
		const uint8_t *from = planes + (size_t)info.next_scanline * width;
		for (size_t i = 0; i < (size_t)3 * width; i++)
			row[i] = from[i % 3 * plane + i / 3];
		jpeg_write_scanlines(&info, &row, 1);
	}
	jpeg_finish_compress(&info);
	jpeg_destroy_compress(&info);
	free(row);
	return out;
}

struct jpeg
jpeg_in_one_scan(const unsigned char *bytes, size_t size)
{
	struct jpeg_decompress_struct from;
	struct jpeg_compress_struct to;
	struct jpeg_error_mgr errors;
	struct jpeg out = { NULL, 0 };
	jvirt_barray_ptr *coefficients;

	from.err = to.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&from);
	jpeg_create_compress(&to);
	jpeg_mem_src(&from, bytes, size);
	jpeg_read_header(&from, TRUE);
	coefficients = jpeg_read_coefficients(&from);
	jpeg_mem_dest(&to, &out.bytes, &out.size);
	jpeg_copy_critical_parameters(&from, &to);
	jpeg_write_coefficients(&to, coefficients);
	jpeg_finish_compress(&to);
	jpeg_finish_decompress(&from);
	jpeg_destroy_compress(&to);
	jpeg_destroy_decompress(&from);
	return out;
}

bool
jpeg_is_colour(const unsigned char *bytes, size_t size)
{
	struct jpeg_decompress_struct info;
	struct jpeg_error_mgr errors;
	bool colour;

	info.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&info);
	jpeg_mem_src(&info, bytes, size);
	jpeg_read_header(&info, TRUE);
	colour = info.jpeg_color_space == JCS_YCbCr;
	jpeg_destroy_decompress(&info);
	return colour;
}
