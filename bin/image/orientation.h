/* SPDX-License-Identifier: BSD-2-Clause */
/* How EXIF says that a stored picture is turned, and turning it upright. */
#ifndef CACHEX_IMAGE_ORIENTATION_H
#define CACHEX_IMAGE_ORIENTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The orientation, 1 to 8, in EXIF data that begins with its TIFF header; 1
 * (upright) if there is none or the data is damaged.
 */
unsigned lc__exif_orientation(const void *tiff, size_t size);

/** How the file's rows and columns lie in the upright picture. */
struct lc__orientation {
	bool turned; /* the file's rows are the picture's columns */
	bool back_x; /* the file's columns run backwards, */
	bool back_y; /* and its rows */
};

/** By orientation, 1 to 8; 0 is as 1, upright. */
extern const struct lc__orientation lc__orientations[9];

/** Copy a plane of width x height bytes, as it is stored, upright to @p to, where
 *  rows are @p stride bytes apart. */
void lc__turn_plane(unsigned orientation, const uint8_t *from, uint32_t width,
    uint32_t height, uint8_t *to, size_t stride);

/** The same of samples of 16 bits; @p stride in samples. */
void lc__turn_plane16(unsigned orientation, const uint16_t *from, uint32_t width,
    uint32_t height, uint16_t *to, size_t stride);

#endif
