/* SPDX-License-Identifier: BSD-2-Clause */
/* TIFF by libtiff: the only file that includes <tiffio.h>. */
#include "config.h"

#include "image/sink.h"

#include "base/error.h"

#ifdef HAVE_LIBTIFF

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

#include "base/bytes.h"
#include "base/lazy.h"
#include "image/image.h"

/* Loaded on first use: lib/base/lazy.h. */
/* clang-format off */
#define CALLS(X) X(TIFFClientOpenExt) X(TIFFClose) X(TIFFComputeStrip) X(TIFFComputeTile) \
	X(TIFFGetField) X(TIFFGetFieldDefaulted) X(TIFFIsCODECConfigured) X(TIFFIsTiled) \
	X(TIFFOpenOptionsAlloc) X(TIFFOpenOptionsFree) \
	X(TIFFOpenOptionsSetErrorHandlerExtR) X(TIFFOpenOptionsSetMaxSingleMemAlloc) \
	X(TIFFOpenOptionsSetWarningHandlerExtR) X(TIFFReadEncodedStrip) \
	X(TIFFReadEncodedTile) X(TIFFScanlineSize64) X(TIFFSetField) X(TIFFTileRowSize64) \
	X(TIFFTileSize64) X(TIFFVStripSize64)
/* clang-format on */
LC__LAZY(lib, "libtiff", LIBTIFF_FILE, CALLS)

/* Memory that libtiff may allocate at once: for its tables, whose size the file
 * determines, and for pixels. */
#define TABLES ((uint64_t)16 << 20)

struct reader {
	const unsigned char *bytes;
	uint64_t size, at; /* of the file, and where libtiff reads */
	bool pixels;       /* the data that follows is pixels */
	bool failed;
	char text[300]; /* of the first error */
	TIFF *tiff;
	struct lc__sink *sink;
	struct lc__image_header picture;

	uint16_t bits, samples; /* of a sample, of a pixel */
	uint16_t photometric;
	bool separate;      /* each sample has its own blocks */
	unsigned colours;   /* 1 or 3 that come out */
	unsigned inks;      /* samples that these are computed from */
	bool alpha;         /* the sample after the inks is alpha, */
	bool premultiplied; /* which the colours were multiplied with */
	const uint16_t *palette[3];
	unsigned palette_shift; /* from its numbers to 8 bits */

	/* Strips and tiles are blocks: one strip, or a row of tiles, is a band. */
	bool tiled;
	uint32_t block_width, block_height, columns;
	uint64_t block_size, row_size;
	uint8_t *blocks; /* of a band: those of sample 0, of sample 1, ... */
	uint16_t *row;   /* inks and alpha of one row */
};

/* ---- what libtiff calls ------------------------------------------------------------- */

static tmsize_t
on_read(thandle_t handle, void *out, tmsize_t size)
{
	struct reader *reader = (struct reader *)handle;
	const uint64_t left = reader->at < reader->size ? reader->size - reader->at : 0;
	const uint64_t n = size < 0 ? 0 : (uint64_t)size < left ? (uint64_t)size : left;

	memcpy(out, reader->bytes + (n > 0 ? reader->at : 0), n);
	reader->at += n;
	return (tmsize_t)n;
}

static tmsize_t
on_write(thandle_t handle, void *bytes, tmsize_t size)
{
	(void)handle;
	(void)bytes;
	(void)size;
	return -1;
}

static toff_t
on_seek(thandle_t handle, toff_t offset, int whence)
{
	struct reader *reader = (struct reader *)handle;

	reader->at = offset +
	    (whence == SEEK_CUR          ? reader->at
		    : whence == SEEK_END ? reader->size
					 : 0);
	return reader->at;
}

static int
on_close(thandle_t handle)
{
	(void)handle;
	return 0;
}

static toff_t
on_size(thandle_t handle)
{
	return ((struct reader *)handle)->size;
}

/* Keep the first error; later ones follow from it. */
__attribute__((format(printf, 4, 0))) static int
on_error(TIFF *tiff, void *context, const char *module, const char *format,
    va_list arguments)
{
	struct reader *reader = context;

	(void)tiff;
	(void)module;
	if (reader->failed)
		return 1;
	reader->failed = true;
	vsnprintf(reader->text, sizeof(reader->text), format, arguments);
	for (char *c = reader->text; *c != '\0'; c++)
		if ((unsigned char)*c < ' ')
			*c = ' ';
	return 1;
}

/* In the header, libtiff warns of each field that it does not know; only a field that the
 * file is too short for is damage. In the pixels it warns when it continues with invented
 * ones, except for the two warnings named here. */
__attribute__((format(printf, 4, 0))) static int
on_warning(TIFF *tiff, void *context, const char *module, const char *format,
    va_list arguments)
{
	const struct reader *reader = context;

	if (!reader->pixels && strncmp(format, "IO error", 8) != 0)
		return 1;
	if (strcmp(module, "LZWPreDecode") == 0 || strcmp(module, "JPEGPreDecode") == 0)
		return 1;
	return on_error(tiff, context, module, format, arguments);
}

/* libtiff reports a lack of memory only in the text of its message, in several ways. Some
 * of these mean that the file asks for more than most_memory(), for more than its own
 * size can fill, or for nothing. */
static lc_status
failure(const struct reader *reader)
{
	static const char *const words[] = { "memory", "no space", "malloc",
		"insertion in" };
	static const char *const others[] = { "is beyond the", "than filesize",
		"(0 elements" };
	bool memory = false;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		memory |= strcasestr(reader->text, words[i]) != NULL;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		memory &= strstr(reader->text, others[i]) == NULL;
	if (memory)
		return lc__no_memory("TIFF");
	return lc__error(LC_CORRUPT, 0, "TIFF: %s",
	    reader->failed ? reader->text : "the data is damaged");
}

/* ---- the header --------------------------------------------------------------------- */

static lc_status
unsupported(const char *what, unsigned number)
{
	return lc__error(LC_UNSUPPORTED, 0, "TIFF: %s %u is not read", what, number);
}

/* Colours and what they are made of. */
static lc_status
read_colours(struct reader *reader)
{
	uint16_t compression, inks;

	if (!lib.TIFFGetField(reader->tiff, TIFFTAG_PHOTOMETRIC, &reader->photometric))
		return lc__error(LC_CORRUPT, 0,
		    "TIFF: it does not say what its samples are");
	lib.TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_COMPRESSION, &compression);
	if (compression == COMPRESSION_OJPEG || !lib.TIFFIsCODECConfigured(compression))
		return unsupported("compression", compression);
	/* JPEG's own colours are converted by its decoder. */
	if (reader->photometric == PHOTOMETRIC_YCBCR && compression == COMPRESSION_JPEG) {
		lib.TIFFSetField(reader->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
		reader->photometric = PHOTOMETRIC_RGB;
	}
	reader->colours = 3;
	reader->inks = 3;
	switch (reader->photometric) {
	case PHOTOMETRIC_MINISBLACK:
	case PHOTOMETRIC_MINISWHITE: reader->colours = reader->inks = 1; return LC_OK;
	case PHOTOMETRIC_PALETTE: reader->inks = 1; return LC_OK;
	case PHOTOMETRIC_RGB: return LC_OK;
	case PHOTOMETRIC_SEPARATED:
		reader->inks = 4;
		lib.TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_INKSET, &inks);
		return inks == INKSET_CMYK ? LC_OK : unsupported("ink set", inks);
	default: return unsupported("photometric interpretation", reader->photometric);
	}
}

/* A sample after the inks must be marked as alpha: otherwise it could be infrared. */
static lc_status
read_alpha(struct reader *reader)
{
	uint16_t count = 0, *kinds = NULL;

	if (reader->samples == reader->inks)
		return LC_OK;
	lib.TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds);
	if (reader->samples != reader->inks + 1 || count != 1 ||
	    (kinds[0] != EXTRASAMPLE_ASSOCALPHA && kinds[0] != EXTRASAMPLE_UNASSALPHA) ||
	    reader->photometric == PHOTOMETRIC_PALETTE)
		return lc__error(LC_UNSUPPORTED, 0,
		    "TIFF: %u samples a pixel, of which %u "
		    "are colours and the others not alpha",
		    reader->samples, reader->inks);
	reader->alpha = true;
	reader->premultiplied = kinds[0] == EXTRASAMPLE_ASSOCALPHA;
	return LC_OK;
}

static lc_status
read_samples(struct reader *reader)
{
	uint16_t format, planes;
	bool good;

	lib.TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_BITSPERSAMPLE, &reader->bits);
	lib.TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_SAMPLESPERPIXEL,
	    &reader->samples);
	lib.TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_SAMPLEFORMAT, &format);
	lib.TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_PLANARCONFIG, &planes);
	if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID)
		return unsupported("sample format", format);
	return_if_error(read_colours(reader));
	return_if_error(read_alpha(reader));
	reader->separate = planes == PLANARCONFIG_SEPARATE && reader->samples > 1;
	good = reader->bits == 8 ||
	    (reader->bits == 16 && reader->photometric != PHOTOMETRIC_PALETTE) ||
	    (reader->samples == 1 &&
		(reader->bits == 1 || reader->bits == 2 || reader->bits == 4));
	return good ? LC_OK : unsupported("a sample of bits", reader->bits);
}

/* The palette is of 16 bits; some programs write 8. */
static lc_status
read_palette(struct reader *reader)
{
	uint16_t *tables[3];

	if (reader->photometric != PHOTOMETRIC_PALETTE)
		return LC_OK;
	if (!lib.TIFFGetField(reader->tiff, TIFFTAG_COLORMAP, &tables[0], &tables[1],
		&tables[2]))
		return lc__error(LC_CORRUPT, 0, "TIFF: its palette is missing");
	for (int c = 0; c < 3; c++) {
		reader->palette[c] = tables[c];
		for (size_t i = 0; i < (size_t)1 << reader->bits; i++)
			if (tables[c][i] > 255)
				reader->palette_shift = 8;
	}
	return LC_OK;
}

static lc_status
read_size(struct reader *reader)
{
	struct lc__image_header *picture = &reader->picture;
	uint32_t width = 0, height = 0, kind = 0;
	uint16_t orientation, bits;

	lib.TIFFGetField(reader->tiff, TIFFTAG_IMAGEWIDTH, &width);
	lib.TIFFGetField(reader->tiff, TIFFTAG_IMAGELENGTH, &height);
	lib.TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_SUBFILETYPE, &kind);
	lib.TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_ORIENTATION, &orientation);
	lib.TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_BITSPERSAMPLE, &bits);
	if ((kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) != 0)
		return lc__error(LC_UNSUPPORTED, 0,
		    "TIFF: its first page is a preview or a mask");
	picture->width = picture->stored_width = width;
	picture->height = picture->stored_height = height;
	picture->shrink = 1;
	picture->orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
	picture->deep = bits == 16;
	return lc__sink_check(reader->sink, width, height);
}

/* ---- pixels ------------------------------------------------------------------------- */

static lc_status
plan_strips(struct reader *reader)
{
	uint32_t rows = 0;

	lib.TIFFGetFieldDefaulted(reader->tiff, TIFFTAG_ROWSPERSTRIP, &rows);
	if (rows == 0)
		return lc__error(LC_CORRUPT, 0, "TIFF: strips of 0 rows");
	reader->block_width = reader->picture.width;
	reader->block_height = rows < reader->picture.height ? rows
							     : reader->picture.height;
	reader->columns = 1;
	reader->block_size = lib.TIFFVStripSize64(reader->tiff, reader->block_height);
	reader->row_size = lib.TIFFScanlineSize64(reader->tiff);
	return LC_OK;
}

static lc_status
plan_tiles(struct reader *reader)
{
	uint32_t width = 0, height = 0;
	uint64_t columns;

	lib.TIFFGetField(reader->tiff, TIFFTAG_TILEWIDTH, &width);
	lib.TIFFGetField(reader->tiff, TIFFTAG_TILELENGTH, &height);
	if (width == 0 || height == 0)
		return lc__error(LC_CORRUPT, 0, "TIFF: tiles of %u x %u pixels", width,
		    height);
	columns = ((uint64_t)reader->picture.width + width - 1) / width;
	/* Tiles may be much larger than the picture. */
	if (columns * width > UINT32_MAX ||
	    lc__sink_check(reader->sink, (uint32_t)(columns * width), height) != LC_OK)
		return lc__error(LC_INVALID, 0,
		    "TIFF: tiles of %u x %u pixels are above the limit", width, height);
	reader->block_width = width;
	reader->block_height = height;
	reader->columns = (uint32_t)columns;
	reader->block_size = lib.TIFFTileSize64(reader->tiff);
	reader->row_size = lib.TIFFTileRowSize64(reader->tiff);
	return LC_OK;
}

/* Blocks of the size that libtiff reports must contain all bytes that are read from
 * them. */
static lc_status
plan_blocks(struct reader *reader)
{
	const uint64_t samples = reader->separate ? 1 : reader->samples;
	uint64_t least, size;

	reader->tiled = lib.TIFFIsTiled(reader->tiff);
	return_if_error(reader->tiled ? plan_tiles(reader) : plan_strips(reader));
	least = (reader->block_width * samples * reader->bits + 7) / 8;
	if (reader->row_size != least ||
	    !lc__mul64(reader->row_size, reader->block_height, &size) ||
	    reader->block_size != size)
		return lc__error(LC_UNSUPPORTED, 0,
		    "TIFF: samples of colours at less than the full size are not read");
	if (!lc__mul64(size,
		(uint64_t)reader->columns * (reader->separate ? reader->samples : 1),
		&size) ||
	    size > PTRDIFF_MAX)
		return lc__no_memory("TIFF");
	reader->blocks = malloc(size);
	reader->row = malloc(sizeof(*reader->row) * reader->picture.width *
	    (reader->inks + reader->alpha));
	if (reader->blocks == NULL || reader->row == NULL)
		return lc__no_memory("TIFF");
	return LC_OK;
}

static lc_status
read_block(struct reader *reader, uint32_t y, uint32_t column, uint16_t sample)
{
	const uint32_t left = reader->picture.height - y;
	uint8_t *block = reader->blocks +
	    ((uint64_t)sample * reader->columns + column) * reader->block_size;
	tmsize_t want = (tmsize_t)reader->block_size, got;

	if (reader->tiled) {
		got = lib.TIFFReadEncodedTile(reader->tiff,
		    lib.TIFFComputeTile(reader->tiff, column * reader->block_width, y, 0,
			sample),
		    block, want);
	} else {
		if (left < reader->block_height)
			want = (tmsize_t)(left * reader->row_size);
		got = lib.TIFFReadEncodedStrip(reader->tiff,
		    lib.TIFFComputeStrip(reader->tiff, y, sample), block, want);
	}
	return got == want && !reader->failed ? LC_OK : failure(reader);
}

static lc_status
read_band(struct reader *reader, uint32_t y)
{
	const uint16_t planes = reader->separate ? reader->samples : 1;

	for (uint16_t sample = 0; sample < planes; sample++)
		for (uint32_t column = 0; column < reader->columns; column++)
			return_if_error(read_block(reader, y, column, sample));
	return LC_OK;
}

/* Sample @p i of a row of a block. */
static unsigned
sample_at(const uint8_t *row, size_t i, unsigned bits)
{
	const unsigned bit = (unsigned)(i * bits % 8);

	if (bits == 16)
		return ((const uint16_t *)(const void *)row)[i];
	return row[i * bits / 8] >> (8 - bits - bit) & ((1u << bits) - 1);
}

/* Row @p y of the band into reader->row. */
static void
gather_row(struct reader *reader, uint32_t y)
{
	const unsigned used = reader->inks + reader->alpha;
	const unsigned step = reader->separate ? 1 : reader->samples;

	for (unsigned s = 0; s < used; s++) {
		const unsigned first = reader->separate ? 0 : s;
		const uint8_t *from = reader->blocks + y * reader->row_size +
		    (reader->separate ? (uint64_t)s * reader->columns : 0) *
			reader->block_size;
		uint16_t *to = reader->row + s;
		for (uint64_t x = 0; x < reader->picture.width;
		     x += reader->block_width) {
			const uint64_t left = reader->picture.width - x;
			const size_t n = left < reader->block_width ? left
								    : reader->block_width;
			for (size_t i = 0; i < n; i++, to += used)
				*to = (uint16_t)sample_at(from, i * step + first,
				    reader->bits);
			from += reader->block_size;
		}
	}
}

/* The colours of a pixel, from 0 to 255 or, of a deep picture, to 65,535. */
static void
mix(const struct reader *reader, const uint16_t *inks, unsigned out[3])
{
	const unsigned white = reader->bits == 16 ? 65535 : 255;

	switch (reader->photometric) {
	case PHOTOMETRIC_MINISBLACK:
	case PHOTOMETRIC_MINISWHITE:
		out[0] = reader->bits < 8 ? inks[0] * 255u / ((1u << reader->bits) - 1)
					  : inks[0];
		if (reader->photometric == PHOTOMETRIC_MINISWHITE)
			out[0] = white - out[0];
		break;
	case PHOTOMETRIC_PALETTE:
		for (int c = 0; c < 3; c++)
			out[c] = reader->palette[c][inks[0]] >> reader->palette_shift;
		break;
	case PHOTOMETRIC_SEPARATED:
		for (int c = 0; c < 3; c++)
			out[c] = (unsigned)(((uint64_t)(white - inks[c]) *
						    (white - inks[3]) +
						white / 2) /
			    white);
		break;
	default:
		for (int c = 0; c < 3; c++)
			out[c] = inks[c];
	}
}

/* Divide the colours by alpha, which they were multiplied with. */
static void
divide(unsigned white, unsigned alpha, unsigned n, unsigned *colours)
{
	for (unsigned c = 0; c < n && alpha > 0; c++) {
		const uint64_t value = ((uint64_t)colours[c] * white + alpha / 2) / alpha;
		colours[c] = value < white ? (unsigned)value : white;
	}
}

/* reader->row as the sink wants it. */
static void
put_row(const struct reader *reader, uint8_t *out)
{
	const bool deep = reader->bits == 16, wide = deep && reader->sink->keep_deep;
	const unsigned used = reader->inks + reader->alpha;
	const unsigned channels = reader->picture.channels;

	for (uint32_t x = 0; x < reader->picture.width; x++) {
		const uint16_t *inks = reader->row + (size_t)x * used;
		unsigned pixel[4];
		mix(reader, inks, pixel);
		if (reader->premultiplied)
			divide(deep ? 65535 : 255, inks[reader->inks], reader->colours,
			    pixel);
		if (reader->alpha)
			pixel[reader->colours] = inks[reader->inks];
		for (unsigned c = 0; c < channels; c++)
			if (wide)
				((uint16_t *)(void *)out)[(size_t)x * channels + c] =
				    (uint16_t)pixel[c];
			else
				out[(size_t)x * channels + c] = (uint8_t)(deep
					? pixel[c] >> 8
					: pixel[c]);
	}
}

static lc_status
read_rows(struct reader *reader)
{
	const uint32_t height = reader->picture.height;
	const size_t stride = (size_t)reader->picture.width * reader->picture.channels *
	    (reader->bits == 16 && reader->sink->keep_deep ? 2 : 1);
	uint8_t *band = lc__scratch_get(reader->sink->band, LC__BAND, stride);

	if (band == NULL)
		return lc__no_memory("TIFF");
	reader->pixels = true;
	for (uint32_t y = 0; y < height; y++) {
		if (y % reader->block_height == 0)
			return_if_error(read_band(reader, y));
		gather_row(reader, y % reader->block_height);
		put_row(reader, band + y % LC__BAND * stride);
		if (y % LC__BAND == LC__BAND - 1 || y == height - 1)
			reader->sink->rows(reader->sink, y - y % LC__BAND,
			    y % LC__BAND + 1, band, stride);
	}
	return LC_OK;
}

static lc_status
read_image(struct reader *reader)
{
	struct lc__sink *sink = reader->sink;

	return_if_error(read_size(reader));
	if (sink->header_only)
		return sink->begin(sink, &reader->picture);
	return_if_error(read_samples(reader));
	return_if_error(read_palette(reader));
	return_if_error(plan_blocks(reader));
	reader->picture.channels = reader->colours + (reader->alpha && sink->keep_alpha);
	return_if_error(sink->begin(sink, &reader->picture));
	return read_rows(reader);
}

/* At most eight bytes for each of the file become a table, and for each pixel. */
static tmsize_t
most_memory(const struct reader *reader)
{
	const struct lc__sink *sink = reader->sink;
	const uint64_t pixels = sink->header_only ? 0
	    : sink->max_pixels                    ? sink->max_pixels
						  : LC__IMAGE_MAX_PIXELS;
	uint64_t most;

	if (!lc__add64(reader->size, pixels, &most) || !lc__mul64(most, 8, &most) ||
	    most > PTRDIFF_MAX - TABLES)
		return PTRDIFF_MAX;
	return (tmsize_t)(most + TABLES);
}

static lc_status
open_and_read(struct reader *reader)
{
	TIFFOpenOptions *options;
	lc_status status;

	return_if_error(lib_load());
	options = lib.TIFFOpenOptionsAlloc();
	if (options == NULL)
		return lc__no_memory("TIFF");
	lib.TIFFOpenOptionsSetMaxSingleMemAlloc(options, most_memory(reader));
	lib.TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, reader);
	lib.TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, reader);
	/* Read the first page; "m": read the file with our own functions, without a
	 * map. */
	reader->tiff = lib.TIFFClientOpenExt("", "rm", (thandle_t)reader, on_read,
	    on_write, on_seek, on_close, on_size, NULL, NULL, options);
	lib.TIFFOpenOptionsFree(options);
	if (reader->tiff == NULL)
		return failure(reader);
	status = reader->failed ? failure(reader) : read_image(reader);
	lib.TIFFClose(reader->tiff);
	return status;
}

lc_status
lc__image_read_tiff(const void *bytes, size_t size, struct lc__sink *sink)
{
	struct reader reader = { .bytes = bytes, .size = size, .sink = sink };
	const lc_status status = open_and_read(&reader);

	free(reader.blocks);
	free(reader.row);
	return status;
}

#else

lc_status
lc__image_read_tiff(const void *bytes, size_t size, struct lc__sink *sink)
{
	(void)bytes;
	(void)size;
	(void)sink;
	return lc__error(LC_UNSUPPORTED, 0, "TIFF: cachex was built without libtiff");
}

#endif
