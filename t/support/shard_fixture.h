/* SPDX-License-Identifier: BSD-2-Clause */
/* Two shards spelled out by hand from twh1(5), for the tests of bytes and files. */
#ifndef T_SHARD_FIXTURE_H
#define T_SHARD_FIXTURE_H

#include <stddef.h>

#define FIXTURE_V1_SIZE 4152
#define FIXTURE_V2_SIZE 4336

/** Version 1: f32, 1 x 1 x 2, two samples, one box each. */
const unsigned char *fixture_v1(void);

/** Version 2: f16 of shape [2], two samples "a" and "b", checksums. */
const unsigned char *fixture_v2(void);

/** The bytes of hex text, blanks ignored, to @p out; returns how many. */
size_t fixture_hex(const char *hex, unsigned char *out);

/** A copy that ends where its memory ends, so that reading beyond it shows. */
unsigned char *fixture_copy(const unsigned char *bytes, size_t size);

#endif
