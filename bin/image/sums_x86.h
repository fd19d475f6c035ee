/* SPDX-License-Identifier: BSD-2-Clause */
/* The sums with the vectors of x86, and what they share with the plain ones. */
#ifndef CACHEX_IMAGE_SUMS_X86_H
#define CACHEX_IMAGE_SUMS_X86_H

#include "image/filter.h"
#include "image/sums.h"

/* log2(LC__FILTER_ONE) is 14: down leaves 7 of these bits, across all 21. */
#define LC__SUMS_DOWN_SHIFT (14 - LC__SUMS_BITS)
#define LC__SUMS_DOWN_HALF (1 << (LC__SUMS_DOWN_SHIFT - 1))
#define LC__SUMS_ACROSS_SHIFT (14 + LC__SUMS_BITS)
#define LC__SUMS_ACROSS_HALF (1 << (LC__SUMS_ACROSS_SHIFT - 1))

/** The plain down() from sample @p first on. */
void lc__sums_down_from(const uint8_t *const *rows, const int16_t *weights,
    unsigned count, size_t first, size_t n, const int32_t *before, int32_t *after,
    int16_t *out);

/** The ways that this processor has, 2 at most, the best one last. */
size_t lc__sums_x86(const struct lc__sums *out[2]);

#endif
