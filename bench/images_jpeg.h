/* SPDX-License-Identifier: BSD-2-Clause */
/* JPEG files for the sets of images. */
#ifndef BENCH_IMAGES_JPEG_H
#define BENCH_IMAGES_JPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** One in memory; malloc'ed. */
struct jpeg {
	unsigned char *bytes;
	unsigned long size;
};

/** Code three planes, quality 90, chroma halved both ways. */
struct jpeg jpeg_of_planes(const uint8_t *planes, uint32_t width, uint32_t height);

/** The same coefficients in one scan, as cameras write them; no metadata. */
struct jpeg jpeg_in_one_scan(const unsigned char *bytes, size_t size);

/** Has it three colours? */
bool jpeg_is_colour(const unsigned char *bytes, size_t size);

#endif
