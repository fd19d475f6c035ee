/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "made_tiff.h"

#include "made_image.h"
#include "run.h"

const struct tiff_kind tiff_rows[TIFF_ROWS] = {
	{ "black", 8, ALPHA_NONE, false, 0, 4, "none", "w", 1 },
	{ "black", 1, ALPHA_NONE, false, 0, 3, "none", "w", 1 },
	{ "white", 1, ALPHA_NONE, false, 16, 0, "packbits", "w", 1 },
	{ "black", 2, ALPHA_NONE, false, 0, 100, "lzw", "wb", 1 },
	{ "white", 4, ALPHA_NONE, false, 0, 1, "deflate", "wb", 1 },
	{ "white", 8, ALPHA_NONE, false, 0, 7, "lzw", "w8", 1 },
	{ "black", 16, ALPHA_NONE, false, 0, 5, "none", "wb", 1 },
	{ "white", 16, ALPHA_NONE, false, 32, 0, "deflate", "w", 1 },
	{ "black", 8, ALPHA_PLAIN, true, 0, 5, "none", "w", 2 },
	{ "rgb", 8, ALPHA_NONE, false, 0, 5, "none", "w", 3 },
	{ "rgb", 8, ALPHA_NONE, true, 16, 0, "lzw", "wb8", 3 },
	{ "rgb", 8, ALPHA_PLAIN, false, 0, 9, "deflate", "w", 4 },
	{ "rgb", 8, ALPHA_MULTIPLIED, false, 16, 0, "none", "w", 4 },
	{ "rgb", 16, ALPHA_NONE, false, 0, 6, "lzw", "wb", 3 },
	{ "rgb", 16, ALPHA_MULTIPLIED, true, 0, 6, "none", "w", 4 },
	{ "palette", 8, ALPHA_NONE, false, 0, 6, "lzw", "w", 3 },
	{ "palette", 4, ALPHA_NONE, false, 16, 0, "none", "wb", 3 },
	{ "palette", 1, ALPHA_NONE, false, 0, 6, "none", "w", 3 },
	{ "cmyk", 8, ALPHA_NONE, false, 0, 6, "none", "w", 3 },
	{ "cmyk", 16, ALPHA_NONE, true, 0, 6, "deflate", "w", 3 },
};

static bool
is(const struct tiff_kind *kind, const char *photometric)
{
	return strcmp(kind->photometric, photometric) == 0;
}

static unsigned
inks_of(const struct tiff_kind *kind)
{
	return is(kind, "rgb") ? 3 : is(kind, "cmyk") ? 4 : 1;
}

/* The sample as the file has it. */
static unsigned
sample(const struct tiff_kind *kind, uint32_t x, uint32_t y, unsigned s)
{
	if (kind->bits == 16)
		return noise(x, y, s) << 8 | noise(x, y, s + 8);
	return noise(x, y, s) >> (8 - kind->bits);
}

unsigned
tiff_want(const struct tiff_kind *kind, uint32_t x, uint32_t y, unsigned c)
{
	const unsigned white = kind->bits == 16 ? 65535 : 255;
	const unsigned inks = inks_of(kind), colours = inks == 1 && !is(kind, "palette") ? 1 : 3;
	double value = sample(kind, x, y, c);

	if (c == colours)
		return sample(kind, x, y, inks);
	if (is(kind, "palette"))
		return noise(sample(kind, x, y, 0), 7, c);
	if (is(kind, "cmyk"))
		return (unsigned)((1 - value / white) * (1 - sample(kind, x, y, 3) /
		    (double)white) * white + 0.5);
	value = value * white / (kind->bits < 8 ? (1 << kind->bits) - 1 : (int)white);
	if (is(kind, "white"))
		value = white - value;
	if (kind->alpha == ALPHA_MULTIPLIED && sample(kind, x, y, inks) > 0)
		value = value * white / sample(kind, x, y, inks) + 0.5;
	return value < white ? (unsigned)value : white;
}

#ifdef HAVE_LIBTIFF

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tiffio.h>

#include "base/bytes.h"

static void
set_kind(TIFF *tiff, const struct tiff_kind *kind, uint32_t width, uint32_t height)
{
	static const struct {
		const char *name;
		uint16_t number;
	} words[] = {
		{ "black", PHOTOMETRIC_MINISBLACK }, { "white", PHOTOMETRIC_MINISWHITE },
		{ "rgb", PHOTOMETRIC_RGB }, { "palette", PHOTOMETRIC_PALETTE },
		{ "cmyk", PHOTOMETRIC_SEPARATED }, { "none", COMPRESSION_NONE },
		{ "lzw", COMPRESSION_LZW }, { "deflate", COMPRESSION_ADOBE_DEFLATE },
		{ "packbits", COMPRESSION_PACKBITS }
	};
	const uint16_t extra = kind->alpha == ALPHA_MULTIPLIED ? EXTRASAMPLE_ASSOCALPHA :
	    EXTRASAMPLE_UNASSALPHA;

	TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
	TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height);
	TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, kind->bits);
	TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, inks_of(kind) + (kind->alpha != 0));
	TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, kind->separate ? PLANARCONFIG_SEPARATE :
	    PLANARCONFIG_CONTIG);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].name, kind->photometric) == 0)
			TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, words[i].number);
		if (strcmp(words[i].name, kind->compression) == 0)
			TIFFSetField(tiff, TIFFTAG_COMPRESSION, words[i].number);
	}
	if (kind->alpha != ALPHA_NONE)
		TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &extra);
	if (kind->tile > 0) {
		TIFFSetField(tiff, TIFFTAG_TILEWIDTH, kind->tile);
		TIFFSetField(tiff, TIFFTAG_TILELENGTH, kind->tile);
	} else {
		TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, kind->rows);
	}
}

/* The upper 8 bits are those of noise(), the lower ones are not to matter. */
static void
set_palette(TIFF *tiff, unsigned bits)
{
	uint16_t tables[3][256];

	for (unsigned c = 0; c < 3; c++)
		for (unsigned i = 0; i < 256; i++)
			tables[c][i] = (uint16_t)(noise(i, 7, c) << 8 | noise(i, 8, c));
	(void)bits;
	TIFFSetField(tiff, TIFFTAG_COLORMAP, tables[0], tables[1], tables[2]);
}

/* A block of rows or a tile, packed. */
static void
pack(const struct tiff_kind *kind, uint32_t x0, uint32_t y0, uint32_t width,
    uint32_t height, unsigned plane, uint8_t *out)
{
	const unsigned all = inks_of(kind) + (kind->alpha != 0);
	const unsigned n = kind->separate ? 1 : all;
	const size_t row_size = ((size_t)width * n * kind->bits + 7) / 8;

	memset(out, 0, row_size * height);
	for (uint32_t y = 0; y < height; y++)
		for (size_t i = 0; i < (size_t)width * n; i++) {
			const unsigned v = sample(kind, x0 + (uint32_t)(i / n), y0 + y,
			    kind->separate ? plane : (unsigned)(i % n));
			uint8_t *row = out + y * row_size;
			if (kind->bits == 16)
				((uint16_t *)(void *)row)[i] = (uint16_t)v;
			else
				row[i * kind->bits / 8] |=
				    (uint8_t)(v << (8 - kind->bits - i * kind->bits % 8));
		}
}

static void
write_pixels(TIFF *tiff, const struct tiff_kind *kind, uint32_t width, uint32_t height)
{
	const uint32_t bw = kind->tile ? kind->tile : width;
	const uint32_t bh = kind->tile ? kind->tile : kind->rows < height ? kind->rows : height;
	const unsigned all = inks_of(kind) + (kind->alpha != 0);
	const unsigned planes = kind->separate ? all : 1;
	uint8_t *block = malloc((size_t)bw * bh * all * 2);

	for (unsigned plane = 0; plane < planes; plane++)
		for (uint32_t y = 0; y < height; y += bh)
			for (uint32_t x = 0; x < width; x += bw) {
				const uint32_t rows = kind->tile || height - y > bh ? bh :
				    height - y;
				const size_t size = (((size_t)bw * (kind->separate ? 1 : all) *
				    kind->bits + 7) / 8) * rows;
				pack(kind, x, y, bw, rows, plane, block);
				if (kind->tile > 0)
					ck_assert(TIFFWriteEncodedTile(tiff,
					    TIFFComputeTile(tiff, x, y, 0, (uint16_t)plane), block,
					    (tmsize_t)size) > 0);
				else
					ck_assert(TIFFWriteEncodedStrip(tiff,
					    TIFFComputeStrip(tiff, y, (uint16_t)plane), block,
					    (tmsize_t)size) > 0);
			}
	free(block);
}

static TIFF *
begin(int *fd, const char *mode)
{
	TIFF *tiff;

	*fd = memfd_create("tiff", MFD_CLOEXEC);
	ck_assert_int_ne(*fd, -1);
	tiff = TIFFFdOpen(dup(*fd), "made", mode);
	ck_assert_ptr_nonnull(tiff);
	return tiff;
}

static bool
end(TIFF *tiff, int fd, struct lc__buf *out)
{
	off_t size;

	TIFFClose(tiff);
	size = lseek(fd, 0, SEEK_END);
	ck_assert_int_eq(pread(fd, lc__buf_append(out, NULL, (size_t)size), (size_t)size, 0),
	    size);
	close(fd);
	return true;
}

bool
make_tiff(const struct tiff_kind *kind, uint32_t width, uint32_t height,
    unsigned orientation, unsigned pages, struct lc__buf *out)
{
	int fd;
	TIFF *tiff = begin(&fd, kind->mode);

	for (unsigned page = 0; page < pages; page++) {
		const uint32_t w = page == 0 ? width : 1, h = page == 0 ? height : 1;
		set_kind(tiff, kind, w, h);
		if (is(kind, "palette"))
			set_palette(tiff, kind->bits);
		TIFFSetField(tiff, TIFFTAG_ORIENTATION, orientation);
		write_pixels(tiff, kind, w, h);
		ck_assert(TIFFWriteDirectory(tiff));
	}
	return end(tiff, fd, out);
}

bool
make_tiff_with(unsigned tag, unsigned value, struct lc__buf *out)
{
	const struct tiff_kind *kind = &tiff_rows[0];
	unsigned char *entry;
	int fd;
	TIFF *tiff = begin(&fd, "wl");

	set_kind(tiff, kind, 5, 4);
	TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, 0);
	TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
	write_pixels(tiff, kind, 5, 4);
	end(tiff, fd, out);
	/* A directory is a u16 count and entries: u16 tag, u16 type, u32 count, value. */
	entry = out->data + lc__get32(out->data + 4) + 2;
	while (lc__get16(entry) != tag)
		entry += 12;
	lc__set16(entry + 8, (uint16_t)value);
	return true;
}

bool
make_tiff_jpeg(bool grey, uint32_t width, uint32_t height, struct lc__buf *out)
{
	const unsigned n = grey ? 1 : 3;
	uint8_t *row = malloc((size_t)width * n);
	int fd;
	TIFF *tiff = begin(&fd, "w");

	TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
	TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height);
	TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
	TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, n);
	TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
	TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_JPEG);
	TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, grey ? PHOTOMETRIC_MINISBLACK :
	    PHOTOMETRIC_YCBCR);
	TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
	TIFFSetField(tiff, TIFFTAG_JPEGQUALITY, 100);
	TIFFSetField(tiff, TIFFTAG_YCBCRSUBSAMPLING, 2, 2);
	TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 16);
	for (uint32_t y = 0; y < height; y++) {
		for (size_t i = 0; i < (size_t)width * n; i++)
			row[i] = smooth((uint32_t)(i / n), y, (uint32_t)(i % n));
		ck_assert_int_eq(TIFFWriteScanline(tiff, row, y, 0), 1);
	}
	free(row);
	return end(tiff, fd, out);
}

#else

bool
make_tiff(const struct tiff_kind *kind, uint32_t width, uint32_t height,
    unsigned orientation, unsigned pages, struct lc__buf *out)
{
	(void)kind; (void)width; (void)height; (void)orientation; (void)pages; (void)out;
	return false;
}

bool
make_tiff_with(unsigned tag, unsigned value, struct lc__buf *out)
{
	(void)tag; (void)value; (void)out;
	return false;
}

bool
make_tiff_jpeg(bool grey, uint32_t width, uint32_t height, struct lc__buf *out)
{
	(void)grey; (void)width; (void)height; (void)out;
	return false;
}

#endif
