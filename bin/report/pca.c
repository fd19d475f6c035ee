/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pca.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/team.h"
#include "order/shuffle.h"

#define MORE 6 /* more directions than are wanted, so that these converge faster */
#define BLOCK (LC__PCA_MOST + MORE)
#define ROUNDS 100
#define SETTLED 1e-11 /* share of the total that a variance may still change */
#define PARTS 16      /* parts of the vectors; their sums are added in a fixed order */
#define THREADS 8

/* One round of the iteration: the covariance matrix times b directions. */
struct round {
	const float *vectors;
	size_t n, d, b;
	const double *mean;
	const double *from; /* d rows of b: element e of all directions together */
	double *sums;       /* the sum of each part: PARTS matrices like `from` */
};

/* Add (from' c) c for each vector of the part; c is the vector minus the mean, from' c
 * its b products with the directions. */
static lc_status
multiply_part(struct lc__team *team, unsigned thread, uint64_t part)
{
	const struct round *r = team->ctx;
	const size_t first = r->n * part / PARTS, end = r->n * (part + 1) / PARTS;
	const size_t b = r->b;
	double *sum = r->sums + part * r->d * b;

	(void)thread;
	memset(sum, 0, r->d * b * sizeof(*sum));
	for (size_t i = first; i < end; i++) {
		const float *vector = r->vectors + i * r->d;
		double z[BLOCK] = { 0 };
		for (size_t e = 0; e < r->d; e++) {
			const double c = vector[e] - r->mean[e];
			for (size_t j = 0; j < b; j++)
				z[j] += c * r->from[e * b + j];
		}
		for (size_t e = 0; e < r->d; e++) {
			const double c = vector[e] - r->mean[e];
			for (size_t j = 0; j < b; j++)
				sum[e * b + j] += c * z[j];
		}
	}
	return LC_OK;
}

static lc_status
multiply(struct round *r, double *out)
{
	struct lc__team team = {
		.work = multiply_part,
		.ctx = r,
		.jobs = PARTS,
		.threads = lc__team_processors(THREADS),
	};
	const size_t size = r->d * r->b;

	return_if_error(lc__team_run(&team));
	memset(out, 0, size * sizeof(*out));
	for (size_t part = 0; part < PARTS; part++)
		for (size_t i = 0; i < size; i++)
			out[i] += r->sums[part * size + i];
	for (size_t i = 0; i < size; i++)
		out[i] /= (double)r->n;
	return LC_OK;
}

/* Make the columns orthogonal and of length 1 by Gram-Schmidt, twice against rounding.
 * A column that depends on those before it becomes 0. */
static void
orthogonalise(double *m, size_t d, size_t b)
{
	for (size_t j = 0; j < b; j++) {
		double before = 0, after = 0;
		for (size_t e = 0; e < d; e++)
			before += m[e * b + j] * m[e * b + j];
		for (int twice = 0; twice < 2; twice++)
			for (size_t i = 0; i < j; i++) {
				double dot = 0;
				for (size_t e = 0; e < d; e++)
					dot += m[e * b + i] * m[e * b + j];
				for (size_t e = 0; e < d; e++)
					m[e * b + j] -= dot * m[e * b + i];
			}
		for (size_t e = 0; e < d; e++)
			after += m[e * b + j] * m[e * b + j];
		const double scale = after > before * 1e-24 && after > DBL_MIN
		    ? 1 / sqrt(after)
		    : 0;
		for (size_t e = 0; e < d; e++)
			m[e * b + j] *= scale;
	}
}

/* Compute the eigenvalues of a symmetric matrix, and its eigenvectors as columns, by
 * Jacobi rotations. */
static void
eigen(double s[BLOCK][BLOCK], size_t b, double values[BLOCK], double v[BLOCK][BLOCK])
{
	for (size_t i = 0; i < b; i++)
		for (size_t j = 0; j < b; j++)
			v[i][j] = i == j;
	for (int sweep = 0; sweep < 60; sweep++) {
		double off = 0, diagonal = 0;
		for (size_t i = 0; i < b; i++)
			for (size_t j = 0; j < b; j++)
				*(i == j ? &diagonal : &off) += s[i][j] * s[i][j];
		if (off <= diagonal * 1e-30)
			break;
		for (size_t p = 0; p < b; p++)
			for (size_t q = p + 1; q < b; q++) {
				if (s[p][q] == 0)
					continue;
				const double theta = (s[q][q] - s[p][p]) / (2 * s[p][q]);
				const double t = (theta < 0 ? -1 : 1) /
				    (fabs(theta) + sqrt(theta * theta + 1));
				const double c = 1 / sqrt(t * t + 1), sine = t * c;
				for (size_t i = 0; i < b; i++) {
					const double x = s[i][p], y = s[i][q];
					s[i][p] = c * x - sine * y;
					s[i][q] = sine * x + c * y;
				}
				for (size_t i = 0; i < b; i++) {
					const double x = s[p][i], y = s[q][i];
					s[p][i] = c * x - sine * y;
					s[q][i] = sine * x + c * y;
				}
				for (size_t i = 0; i < b; i++) {
					const double x = v[i][p], y = v[i][q];
					v[i][p] = c * x - sine * y;
					v[i][q] = sine * x + c * y;
				}
			}
	}
	for (size_t i = 0; i < b; i++)
		values[i] = s[i][i];
	/* Sort by eigenvalue, largest first. */
	for (size_t i = 0; i < b; i++) {
		size_t most = i;
		for (size_t j = i + 1; j < b; j++)
			if (values[j] > values[most])
				most = j;
		for (size_t j = 0; j < b && most != i; j++) {
			const double swap = v[j][i];
			v[j][i] = v[j][most];
			v[j][most] = swap;
		}
		const double swap = values[i];
		values[i] = values[most];
		values[most] = swap;
	}
}

static void
find_mean(const float *vectors, size_t n, struct lc__pca *out)
{
	for (size_t i = 0; i < n; i++)
		for (size_t e = 0; e < out->d; e++)
			out->mean[e] += vectors[i * out->d + e];
	for (size_t e = 0; e < out->d; e++)
		out->mean[e] /= (double)n;
	for (size_t i = 0; i < n; i++)
		for (size_t e = 0; e < out->d; e++) {
			const double c = vectors[i * out->d + e] - out->mean[e];
			out->total += c * c;
		}
	out->total /= (double)n;
}

/* Compute the axes: the directions, rotated by the eigenvectors. */
static void
take_axes(const double *q, size_t b, double v[BLOCK][BLOCK], struct lc__pca *out)
{
	for (size_t j = 0; j < out->k; j++) {
		double *axis = out->axes + j * out->d;
		size_t largest = 0;
		for (size_t e = 0; e < out->d; e++) {
			for (size_t i = 0; i < b; i++)
				axis[e] += q[e * b + i] * v[i][j];
			/* Of elements that are equal but for rounding, the first
			 * decides the sign. */
			if (fabs(axis[e]) > fabs(axis[largest]) * (1 + 1e-9))
				largest = e;
		}
		for (size_t e = 0; e < out->d && axis[largest] < 0; e++)
			if (e != largest)
				axis[e] = -axis[e];
		axis[largest] = fabs(axis[largest]);
	}
}

static lc_status
iterate(struct round *r, double *q, double *y, unsigned rounds,
    const lc_progress *progress, struct lc__pca *out)
{
	double s[BLOCK][BLOCK], v[BLOCK][BLOCK], values[BLOCK];

	/* The start must have a part along each component; pseudorandom numbers from -1
	 * to 1 do. */
	for (size_t i = 0; i < r->d * r->b; i++)
		q[i] = (double)(lc__mix(i * LC__GOLDEN) >> 11) * 0x1p-52 - 1;
	orthogonalise(q, r->d, r->b);
	for (unsigned round = 0; round < rounds; round++) {
		bool settled = true;
		if (progress != NULL && progress->step != NULL &&
		    progress->step(progress->ctx, 0, 0) != 0)
			return lc__error(LC_CANCELLED, 0, "cancelled");
		return_if_error(multiply(r, y));
		for (size_t i = 0; i < r->b; i++)
			for (size_t j = 0; j < r->b; j++) {
				s[i][j] = 0;
				for (size_t e = 0; e < r->d; e++)
					s[i][j] += q[e * r->b + i] * y[e * r->b + j];
			}
		eigen(s, r->b, values, v);
		for (size_t j = 0; j < out->k; j++) {
			const double value = fmax(values[j], 0);
			if (fabs(value - out->variance[j]) > SETTLED * out->total)
				settled = false;
			out->variance[j] = value;
		}
		if (settled || round + 1 == rounds)
			break;
		memcpy(q, y, r->d * r->b * sizeof(*q));
		orthogonalise(q, r->d, r->b);
	}
	take_axes(q, r->b, v, out);
	return LC_OK;
}

lc_status
lc__pca_find(const float *vectors, size_t n, size_t d, size_t k, unsigned rounds,
    const lc_progress *progress, struct lc__pca *out)
{
	struct round r = { .vectors = vectors, .n = n, .d = d };
	double *q, *y, *sums;
	lc_status status = LC_OK;

	memset(out, 0, sizeof(*out));
	out->d = d;
	out->k = k < d ? k : d;
	r.b = out->k + MORE < d ? out->k + MORE : d;
	out->mean = calloc(d, sizeof(*out->mean));
	out->axes = calloc(out->k * d, sizeof(*out->axes));
	q = calloc(d * r.b, sizeof(*q));
	y = calloc(d * r.b, sizeof(*y));
	sums = calloc(PARTS * d * r.b, sizeof(*sums));
	if (out->mean == NULL || out->axes == NULL || q == NULL || y == NULL ||
	    sums == NULL) {
		status = lc__no_memory("view");
	} else {
		r.mean = out->mean;
		r.from = q;
		r.sums = sums;
		find_mean(vectors, n, out);
		status = iterate(&r, q, y, rounds > 0 ? rounds : ROUNDS, progress, out);
	}
	free(q);
	free(y);
	free(sums);
	return status;
}

void
lc__pca_project(const struct lc__pca *pca, const float *vector, double *out)
{
	for (size_t j = 0; j < pca->k; j++) {
		const double *axis = pca->axes + j * pca->d;
		out[j] = 0;
		for (size_t e = 0; e < pca->d; e++)
			out[j] += (vector[e] - pca->mean[e]) * axis[e];
	}
}

void
lc__pca_free(struct lc__pca *pca)
{
	free(pca->mean);
	free(pca->axes);
	memset(pca, 0, sizeof(*pca));
}
