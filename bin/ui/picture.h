/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes and colours of pictures as people write them. */
#ifndef CACHEX_UI_PICTURE_H
#define CACHEX_UI_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** The longest side of a target. */
#define PICTURE_MOST 16384

/** "640x480", or "640" for a square. */
bool picture_size(const char *text, lc_bucket *out);
/** "1024x1024,832x1216"; *n says how many. */
bool picture_sizes(const char *text, lc_bucket *out, size_t room,
    size_t *n);
/** "727272", red, green and blue in hex. */
bool picture_colour(const char *text, uint8_t out[3]);

#endif
