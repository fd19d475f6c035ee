/* SPDX-License-Identifier: BSD-2-Clause */
/* The one field of EXIF data that changes pixels. */
#ifndef CACHEX_IMAGE_EXIF_H
#define CACHEX_IMAGE_EXIF_H

#include <stddef.h>

/**
 * The orientation, 1 to 8, in EXIF data that begins with its TIFF header; 1
 * (upright) if there is none or the data is damaged.
 */
unsigned lc__exif_orientation(const void *tiff, size_t size);

#endif
