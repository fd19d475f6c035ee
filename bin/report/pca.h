/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Principal components: the orthogonal directions in which vectors vary most. Found by
 * subspace iteration from a fixed start, in sums whose order does not depend on the number
 * of threads: the same vectors give the same bits.
 */
#ifndef CACHEX_REPORT_PCA_H
#define CACHEX_REPORT_PCA_H

#include <stddef.h>

#include "lmdbcache.h"

/** The most components. */
#define LC__PCA_MOST 16

struct lc__pca {
	size_t d;     /* elements of a vector */
	size_t k;     /* components */
	double *mean; /* d of them; malloc'ed */
	double *axes; /* d elements of each component in turn, of length 1, the largest
	                 element positive; all 0 beyond the rank; malloc'ed */
	double variance[LC__PCA_MOST]; /* along each of them, largest first */
	double total;                  /* of all elements together */
};

/**
 * Find the first @p k components of @p n vectors of @p d elements, which are finite and
 * lie one after another. Variances are sums of squares divided by n.
 * @param k         1 to LC__PCA_MOST; more than d are not found
 * @param rounds    at most, of the iteration; 0 for as many as are needed. The axes are
 *                  orthogonal after any number.
 * @param progress  may be NULL; non-zero from its step() ends the call
 * @param out       free with lc__pca_free(), also after a failure
 * @return LC_OK; LC_CANCELLED; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__pca_find(const float *vectors, size_t n, size_t d, size_t k,
    unsigned rounds, const lc_progress *progress, struct lc__pca *out);
/** The coordinates of a vector along the components, @p out has k. */
void lc__pca_project(const struct lc__pca *pca, const float *vector, double *out);
void lc__pca_free(struct lc__pca *pca);

#endif
