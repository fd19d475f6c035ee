/* SPDX-License-Identifier: BSD-2-Clause */
/* Tensors to be coded, and what comes back. */
#ifndef T_CODING_H
#define T_CODING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** The codecs, and auto at the end. */
#define CODING 5
extern const lc_codec coding[CODING];

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

enum kind {
	RANDOM, CONSTANT, RAMP, UNIT, SIGNED, NORMALISED, NEGATIVE_ZERO, WITH_NAN,
	ODD_END, KINDS
};

/** An element of 8 bit data as the float that a loader makes of it. */
double image_pixel(enum kind kind, size_t i, size_t n, unsigned k);
/** Store it as an element. */
void set_float(unsigned char *p, lc_dtype dtype, double value);

/** A flat tensor of n elements, malloc'ed to the byte. Pixels wander, as in images. */
lc_tensor coding_make(lc_dtype dtype, size_t n, enum kind kind, uint64_t *state);
void coding_unmake(lc_tensor *tensor);

/** Decode from and to memory that ends where bytes and tensor end. */
bool coding_decode(lc_codec codec, const void *in, size_t size,
    const lc_tensor *tensor, unsigned char *out);

/** Code and compare what comes back; returns the codec used. */
lc_codec round_trip(lc_codec codec, int level, const lc_tensor *tensor,
    struct lc__buf *buf);

#endif
