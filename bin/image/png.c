/* SPDX-License-Identifier: BSD-2-Clause */
/* PNG by libpng: the only module that includes <png.h> to write. */
#include <setjmp.h>
#include <stdlib.h>

#include <png.h>

#include "base/error.h"
#include "image/canvas.h"

/* One level and one filter for every row, so that the bytes depend on nothing else. */
#define LEVEL 6
#define FILTER PNG_FILTER_PAETH

/* Everything that must outlive a longjmp, so no local variable does. */
struct writer {
	png_structp png;
	png_infop info;
	lc_status status; /* why libpng escaped */
	bool no_memory;
	struct lc__buf *out;
};

static void
on_error(png_structp png, png_const_charp text)
{
	struct writer *writer = png_get_error_ptr(png);

	if (writer->no_memory || writer->out->failed)
		writer->status = lc__no_memory("PNG");
	else
		writer->status = lc__error(LC_IO, 0, "PNG: %s", text);
	png_longjmp(png, 1);
}

static void
on_warning(png_structp png, png_const_charp text)
{
	(void)png;
	(void)text;
}

/* libpng and zlib have several words for a lack of memory. */
static png_voidp
on_malloc(png_structp png, png_alloc_size_t size)
{
	struct writer *writer = png_get_mem_ptr(png);
	void *p = malloc(size);

	writer->no_memory |= p == NULL;
	return p;
}

static void
on_free(png_structp png, png_voidp p)
{
	(void)png;
	free(p);
}

static void
on_write(png_structp png, png_bytep data, size_t size)
{
	struct writer *writer = png_get_io_ptr(png);

	if (lc__buf_append(writer->out, data, size) == NULL)
		png_error(png, "out of memory");
}

static void
on_flush(png_structp png)
{
	(void)png;
}

static lc_status
write_or_escape(struct writer *writer, const struct lc__canvas *canvas)
{
	const png_structp png = writer->png;

	if (setjmp(png_jmpbuf(png)) != 0)
		return writer->status;
	png_set_write_fn(png, writer, on_write, on_flush);
	png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
	png_set_compression_level(png, LEVEL);
	png_set_filter(png, PNG_FILTER_TYPE_BASE, FILTER);
	png_set_IHDR(png, writer->info, canvas->width, canvas->height, 8,
	    PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
	    PNG_FILTER_TYPE_DEFAULT);
	png_write_info(png, writer->info);
	for (uint32_t y = 0; y < canvas->height; y++)
		png_write_row(png, canvas->pixels + (size_t)y * canvas->width * 3);
	png_write_end(png, writer->info);
	return LC_OK;
}

lc_status
lc__canvas_png(const struct lc__canvas *canvas, struct lc__buf *out)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	lc_status status;

	if (writer == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory for a PNG file");
	writer->out = out;
	writer->png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, writer, on_error,
	    on_warning, writer, on_malloc, on_free);
	if (writer->png != NULL)
		writer->info = png_create_info_struct(writer->png);
	if (writer->info != NULL)
		status = write_or_escape(writer, canvas);
	else
		status = lc__error(LC_NO_MEMORY, 0, "out of memory for a PNG file");
	png_destroy_write_struct(&writer->png, &writer->info);
	free(writer);
	return status;
}
