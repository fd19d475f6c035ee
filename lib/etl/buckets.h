/* SPDX-License-Identifier: BSD-2-Clause */
/* Aspect buckets: a few target sizes, of which each image gets the nearest. */
#ifndef LC_ETL_BUCKETS_H
#define LC_ETL_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

#define LC__BUCKETS_MAX 64

struct lc__bucket {
	uint32_t width, height;
};

/** The seven sizes of 1024 x 1024 pixels' area: 1024x1024, 832x1216, 1216x832,
 *  768x1280, 1280x768, 704x1344, 1344x704. */
extern const struct lc__bucket lc__buckets_default[7];

/** The index of the bucket whose width / height is nearest to the image's; the
 *  first of equals. @p n is 1 at least. */
size_t lc__bucket_nearest(const struct lc__bucket *buckets, size_t n,
    uint32_t width, uint32_t height);

/**
 * @p k buckets for these aspect ratios: k-means on log(width / height), started
 * at quantiles so that the same ratios give the same buckets, each centre then
 * the size of @p area pixels with sides of multiples of @p quantum. Equal ones
 * are joined: *n may be less than @p k.
 * @param ratios  width / height, all > 0; sorted in place
 */
LC_CHECKED lc_status lc__buckets_learn(double *ratios, size_t count, size_t k,
    uint64_t area, uint32_t quantum, struct lc__bucket *out, size_t *n);

#endif
