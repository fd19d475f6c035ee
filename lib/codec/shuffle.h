/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shuffling: of elements of @p width bytes, first all first bytes, then all second bytes,
 * and so on.
 */
#ifndef LC_CODEC_SHUFFLE_H
#define LC_CODEC_SHUFFLE_H

#include <stddef.h>

/** @p size is a multiple of @p width, which is 2, 4 or 8; the buffers do not overlap. */
void lc__shuffle(const unsigned char *in, size_t size, unsigned width,
    unsigned char *out);

/** The reverse. */
void lc__unshuffle(const unsigned char *in, size_t size, unsigned width,
    unsigned char *out);

#endif
