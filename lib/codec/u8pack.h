/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Elements of 2, 4 or 8 bytes as 8-bit numbers. An image that was 8-bit and is now float
 * has at most 256 different elements, whatever scale, offset and arithmetic produced
 * them. So the elements themselves are stored, in a table of up to 256 entries, instead
 * of scale and offset: decoding looks them up, computes nothing, and gives the same bits
 * on every machine. Coding compares every element with its entry, which is what decoding
 * returns. When there would be too many different elements, as at the next channel of an
 * image that was normalised channel by channel, another run with its own table begins.
 *
 * The packed form is one number for each element (the numbers), then the runs in order:
 * u64: elements * 256 + entries - 1, then the entries of the table. The numbers may
 * themselves be coded.
 */
#ifndef LC_CODEC_U8PACK_H
#define LC_CODEC_U8PACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/**
 * Append the packed form of @p n elements of @p width bytes, 2, 4 or 8. False, with @p
 * out undefined, if they have too many different values, or if out->failed is set.
 */
bool lc__u8pack(const void *in, size_t n, unsigned width, struct lc__buf *out);

/** Runs being decoded. */
struct lc__runs {
	const unsigned char *next; /* the next run */
	size_t size;               /* bytes from there on */
	size_t left;               /* elements of the open run that are not decoded yet */
	unsigned width;            /* bytes an element */
	unsigned entries;          /* of the open run's table */
	unsigned char table[256 * 8];
};

/** Begin with the @p size bytes of runs at @p in; they are checked as they are used. */
void lc__runs_open(struct lc__runs *runs, const void *in, size_t size, unsigned width);

/** Look up the elements of the next @p n numbers. False if runs or numbers are
 *  malformed. */
bool lc__runs_decode(struct lc__runs *runs, const unsigned char *numbers, size_t n,
    unsigned char *out);

/** Was all of the input used? */
bool lc__runs_done(const struct lc__runs *runs);

#endif
