/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Principal components: the orthogonal directions in which vectors vary most. They are
 * computed by subspace iteration from a fixed start. The order of all sums is
 * independent of the number of threads, so the same vectors give the same bits.
 */
#ifndef CACHEX_REPORT_PCA_H
#define CACHEX_REPORT_PCA_H

#include <stddef.h>

#include "lmdbcache.h"

/** The most components. */
#define LC__PCA_MOST 16

struct lc__pca {
	size_t d;     /* number of elements of a vector */
	size_t k;     /* number of components */
	double *mean; /* mean vector, d elements; malloc'ed */
	/* The k components, d elements each, of length 1, with the largest element
	 * positive; components beyond the rank are all 0; malloc'ed. */
	double *axes;
	/* Variance along each component, largest first. */
	double variance[LC__PCA_MOST];
	double total; /* sum of the variances of all elements */
};

/**
 * Compute the first @p k components of @p n vectors of @p d finite elements, which lie
 * one after another in memory. A variance is a sum of squares divided by n.
 * @param k         1 to LC__PCA_MOST; if it is more than d, d are computed
 * @param rounds    most rounds of the iteration; 0: until the variances settle. The
 *                  axes are orthogonal after any number of rounds.
 * @param progress  may be NULL; a non-zero result of step() ends the call
 * @param out       free with lc__pca_free(), also after a failure
 * @return LC_OK; LC_CANCELLED; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__pca_find(const float *vectors, size_t n, size_t d, size_t k,
    unsigned rounds, const lc_progress *progress, struct lc__pca *out);
/** The k coordinates of a vector along the components. */
void lc__pca_project(const struct lc__pca *pca, const float *vector, double *out);
void lc__pca_free(struct lc__pca *pca);

#endif
