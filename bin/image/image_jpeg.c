/* SPDX-License-Identifier: BSD-2-Clause */
/* JPEG by libjpeg: the only file that includes <jpeglib.h>. */
#include "config.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/lazy.h"
#include "image/orientation.h"
#include "image/sink.h"

/* Scans of a progressive file. Encoders write about ten; a file of a few
 * kilobytes may hold thousands that each visit every pixel. */
#define MAX_SCANS 500

/* Loaded on first use: lib/base/lazy.h. */
/* clang-format off */
#define CALLS(X) X(jpeg_CreateDecompress) X(jpeg_calc_output_dimensions) \
	X(jpeg_destroy_decompress) X(jpeg_finish_decompress) X(jpeg_mem_src) \
	X(jpeg_read_header) X(jpeg_read_scanlines) X(jpeg_save_markers) \
	X(jpeg_start_decompress) X(jpeg_std_error)
/* clang-format on */
LC__LAZY(lib, "libjpeg", LIBJPEG_FILE, CALLS)

/* Everything that must outlive a longjmp, so that no local variable has to. */
struct reader {
	struct jpeg_error_mgr errors; /* first: libjpeg hands back this address */
	struct jpeg_progress_mgr progress;
	struct jpeg_decompress_struct info;
	jmp_buf escape;   /* out of a failing call of libjpeg */
	bool header_done; /* the data that follows is pixels */
	lc_status status; /* why it escaped */
	struct lc__sink *sink;
};

static lc_status
status_of_message(int code)
{
	switch (code) {
	case JERR_OUT_OF_MEMORY: return LC_NO_MEMORY;
	case JERR_ARITH_NOTIMPL:
	case JERR_BAD_PRECISION:
	case JERR_CONVERSION_NOTIMPL:
	case JERR_SOF_UNSUPPORTED: return LC_UNSUPPORTED;
	default: return LC_CORRUPT;
	}
}

static void
on_error(j_common_ptr info)
{
	struct reader *reader = (struct reader *)info->err;
	char text[JMSG_LENGTH_MAX];

	/* libjpeg says "Insufficient memory (case 4)". */
	if (info->err->msg_code == JERR_OUT_OF_MEMORY)
		snprintf(text, sizeof(text), "out of memory");
	else
		info->err->format_message(info, text);
	reader->status = lc__error(status_of_message(info->err->msg_code), 0, "JPEG: %s",
	    text);
	longjmp(reader->escape, 1);
}

/* Warnings that concern no pixel: an unknown JFIF version, filling between header fields,
 * and stray bytes before the end marker, which libjpeg looks for after the last scan. */
static bool
is_harmless(const struct reader *reader)
{
	const struct jpeg_error_mgr *errors = &reader->errors;

	if (errors->msg_code == JWRN_EXTRANEOUS_DATA)
		return !reader->header_done || errors->msg_parm.i[1] == JPEG_EOI;
	return errors->msg_code == JWRN_JFIF_MAJOR;
}

/* When libjpeg warns, it continues with invented pixels. */
static void
on_message(j_common_ptr info, int level)
{
	if (level >= 0 || is_harmless((const struct reader *)info->err))
		return;
	on_error(info);
}

static void
on_progress(j_common_ptr info)
{
	struct reader *reader = (struct reader *)info->err;

	if (reader->info.input_scan_number > MAX_SCANS) {
		reader->status = lc__error(LC_INVALID, 0, "JPEG: more than %d scans",
		    MAX_SCANS);
		longjmp(reader->escape, 1);
	}
}

static unsigned
find_orientation(const struct jpeg_decompress_struct *info)
{
	for (jpeg_saved_marker_ptr m = info->marker_list; m != NULL; m = m->next)
		if (m->marker == JPEG_APP0 + 1 && m->data_length > 6 &&
		    memcmp(m->data, "Exif\0", 6) == 0)
			return lc__exif_orientation(m->data + 6, m->data_length - 6);
	return 1;
}

/* Let libjpeg convert: grey stays grey. CMYK is converted here. */
static lc_status
choose_colours(struct jpeg_decompress_struct *info)
{
	switch (info->jpeg_color_space) {
	case JCS_GRAYSCALE: info->out_color_space = JCS_GRAYSCALE; return LC_OK;
	case JCS_RGB:
	case JCS_YCbCr: info->out_color_space = JCS_RGB; return LC_OK;
	case JCS_CMYK:
	case JCS_YCCK: info->out_color_space = JCS_CMYK; return LC_OK;
	default:
		return lc__error(LC_UNSUPPORTED, 0,
		    "JPEG: %d components of unknown meaning", info->num_components);
	}
}

/* CMYK to RGB in place: R = (1 - C) (1 - K). Adobe's files store 1 - ink. */
static void
convert_cmyk(uint8_t *pixels, size_t count, bool inverted)
{
	const unsigned flip = inverted ? 0 : 255;

	for (size_t i = 0; i < count; i++) {
		const uint8_t *from = pixels + 4 * i;
		const unsigned k = from[3] ^ flip;
		uint8_t *to = pixels + 3 * i;
		for (int c = 0; c < 3; c++)
			to[c] = (uint8_t)(((from[c] ^ flip) * k + 127) / 255);
	}
}

/* libjpeg-turbo writes rows that are aligned for vectors around the caches, and
 * reading them again costs more than the whole resampling. */
#define ASKEW 8 /* less than the shortest stride */

static lc_status
read_rows(struct reader *reader)
{
	struct jpeg_decompress_struct *info = &reader->info;
	const size_t stride = lc__round_up((size_t)info->output_width *
		(unsigned)info->output_components,
	    64);
	uint8_t *band = lc__scratch_get(reader->sink->band, LC__BAND + 1, stride);
	JSAMPROW rows[LC__BAND];

	if (band == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory for rows");
	for (int i = 0; i < LC__BAND; i++)
		rows[i] = band + ASKEW + (size_t)i * stride;
	while (info->output_scanline < info->output_height) {
		const JDIMENSION y = info->output_scanline;
		JDIMENSION n = 0, left = info->output_height - y;
		if (left > LC__BAND)
			left = LC__BAND;
		while (n < left)
			n += lib.jpeg_read_scanlines(info, rows + n, left - n);
		for (JDIMENSION i = 0; i < n && info->out_color_space == JCS_CMYK; i++)
			convert_cmyk(rows[i], info->output_width, info->saw_Adobe_marker);
		reader->sink->rows(reader->sink, y, n, rows[0], stride);
	}
	return LC_OK;
}

/* The header is read: begin the sink, and decode at the size that it wants. */
static lc_status
begin(struct reader *reader)
{
	struct jpeg_decompress_struct *info = &reader->info;
	struct lc__sink *sink = reader->sink;
	struct lc__image_header picture = {
		.stored_width = info->image_width,
		.stored_height = info->image_height,
		.shrink = 1,
		.orientation = find_orientation(info),
	};

	return_if_error(lc__sink_check(sink, info->image_width, info->image_height));
	return_if_error(choose_colours(info));
	if (sink->shrink != NULL)
		picture.shrink = sink->shrink(sink, &picture);
	info->scale_num = 1;
	info->scale_denom = picture.shrink;
	lib.jpeg_calc_output_dimensions(info);
	picture.width = info->output_width;
	picture.height = info->output_height;
	picture.channels = info->out_color_space == JCS_GRAYSCALE ? 1 : 3;
	return sink->begin(sink, &picture);
}

static lc_status
read_image(struct reader *reader, const void *bytes, size_t size)
{
	struct jpeg_decompress_struct *info = &reader->info;

	lib.jpeg_CreateDecompress(info, JPEG_LIB_VERSION, sizeof(*info));
	info->progress = &reader->progress;
	lib.jpeg_save_markers(info, JPEG_APP0 + 1, 0xffff);
	lib.jpeg_mem_src(info, bytes, size);
	lib.jpeg_read_header(info, TRUE);
	reader->header_done = true;
	return_if_error(begin(reader));
	if (reader->sink->header_only)
		return LC_OK;
	lib.jpeg_start_decompress(info);
	return_if_error(read_rows(reader));
	/* This reads up to the end marker, so a missing one is an error. */
	lib.jpeg_finish_decompress(info);
	return LC_OK;
}

static lc_status
read_or_escape(struct reader *reader, const void *bytes, size_t size)
{
	if (setjmp(reader->escape) != 0)
		return reader->status;
	return read_image(reader, bytes, size);
}

lc_status
lc__image_read_jpeg(const void *bytes, size_t size, struct lc__sink *sink)
{
	struct reader *reader;
	lc_status status;

	return_if_error(lib_load());
	reader = calloc(1, sizeof(*reader));
	if (reader == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory for a decoder");
	reader->sink = sink;
	reader->info.err = lib.jpeg_std_error(&reader->errors);
	reader->errors.error_exit = on_error;
	reader->errors.emit_message = on_message;
	reader->progress.progress_monitor = on_progress;
	status = read_or_escape(reader, bytes, size);
	lib.jpeg_destroy_decompress(&reader->info);
	free(reader);
	return status;
}
