/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/moments.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "value/dtype.h"

/* ---- pairs of doubles (Dekker 1971, Knuth 4.2.2) ------------------------------ */

/* a + b, where a is not smaller than b. */
static struct lc__double2
quick_sum(double a, double b)
{
	const double s = a + b;

	return (struct lc__double2){ s, b - (s - a) };
}

static struct lc__double2
exact_sum(double a, double b)
{
	const double s = a + b, t = s - a;

	return (struct lc__double2){ s, (a - (s - t)) + (b - t) };
}

static struct lc__double2
exact_product(double a, double b)
{
	const double p = a * b;

	return (struct lc__double2){ p, fma(a, b, -p) };
}

static struct lc__double2
plus(struct lc__double2 a, struct lc__double2 b)
{
	const struct lc__double2 high = exact_sum(a.high, b.high);
	const struct lc__double2 low = exact_sum(a.low, b.low);
	const struct lc__double2 s = quick_sum(high.high, high.low + low.high);

	return quick_sum(s.high, s.low + low.low);
}

static struct lc__double2
times(struct lc__double2 a, struct lc__double2 b)
{
	const struct lc__double2 p = exact_product(a.high, b.high);

	return quick_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

static struct lc__double2
over(struct lc__double2 a, double b)
{
	const double q = a.high / b;
	const struct lc__double2 p = exact_product(q, b);

	return quick_sum(q, ((a.high - p.high) - p.low + a.low) / b);
}

static bool
is_less(struct lc__double2 a, struct lc__double2 b)
{
	return a.high < b.high || (a.high == b.high && a.low < b.low);
}

static struct lc__double2
of_u64(uint64_t n)
{
	return exact_sum((double)(n >> 32) * 0x1p32, (double)(n & UINT32_MAX));
}

static struct lc__double2
of_i64(int64_t n)
{
	struct lc__double2 v = of_u64(n < 0 ? -(uint64_t)n : (uint64_t)n);

	return n < 0 ? (struct lc__double2){ -v.high, -v.low } : v;
}

/* ---- adding ------------------------------------------------------------------ */

static uint64_t
finite_of(const struct lc__moments *m)
{
	return m->count - m->plus - m->minus;
}

static void
widen(struct lc__moments *m, struct lc__double2 least, struct lc__double2 most)
{
	if (m->count == 0 || is_less(least, m->min))
		m->min = least;
	if (m->count == 0 || is_less(m->max, most))
		m->max = most;
}

/* Add squares of distances: to the mean, or to zero with the sum, or to another number
 * with the sum of the distances. */
static struct lc__double2
centred(struct lc__double2 squares, struct lc__double2 sum, uint64_t n)
{
	const struct lc__double2 mean = over(times(sum, sum), (double)n);

	return plus(squares, (struct lc__double2){ -mean.high, -mean.low });
}

/* Integers of at most 16 bits: their sums and those of their squares fit into 64 bits. */
static void
add_small(struct lc__moments *m, lc_dtype dtype, const unsigned char *p, uint64_t n,
    size_t stride)
{
	int64_t sum = 0, min = INT64_MAX, max = INT64_MIN;
	uint64_t squares = 0;

	for (uint64_t i = 0; i < n; i++, p += stride) {
		const int64_t x = dtype == LC_BOOL ? *p != 0
		    : dtype == LC_U8               ? *p
		    : dtype == LC_I8               ? (int8_t)*p
		    : dtype == LC_U16              ? lc__get16(p)
						   : (int16_t)lc__get16(p);
		sum += x;
		squares += (uint64_t)(x * x);
		min = x < min ? x : min;
		max = x > max ? x : max;
	}
	widen(m, of_i64(min), of_i64(max));
	m->sum = of_i64(sum);
	m->squares = centred(of_u64(squares), m->sum, n);
	m->count = n;
}

static struct lc__double2
wide_at(lc_dtype dtype, const unsigned char *p)
{
	switch (dtype) {
	case LC_U32: return of_u64(lc__get32(p));
	case LC_I32: return of_i64((int32_t)lc__get32(p));
	case LC_U64: return of_u64(lc__get64(p));
	case LC_I64: return of_i64((int64_t)lc__get64(p));
	default: return (struct lc__double2){ lc__element_real(dtype, p), 0 };
	}
}

static void
add_special(struct lc__moments *m, double x)
{
	const struct lc__double2 infinite = { x, 0 };

	if (isnan(x)) {
		m->nan++;
		return;
	}
	widen(m, infinite, infinite);
	m->count++;
	if (x > 0)
		m->plus++;
	else
		m->minus++;
}

/* Numbers whose squares do not fit into two doubles: distances are to the first of
 * them. */
static void
add_wide(struct lc__moments *m, lc_dtype dtype, const unsigned char *p, uint64_t n,
    size_t stride)
{
	struct lc__double2 first = { 0, 0 }, distances = { 0, 0 }, squares = { 0, 0 };

	for (uint64_t i = 0; i < n; i++, p += stride) {
		const struct lc__double2 x = wide_at(dtype, p);
		struct lc__double2 distance;
		if (!isfinite(x.high)) {
			add_special(m, x.high);
			continue;
		}
		if (finite_of(m) == 0)
			first = (struct lc__double2){ -x.high, -x.low };
		widen(m, x, x);
		distance = plus(x, first);
		distances = plus(distances, distance);
		squares = plus(squares, times(distance, distance));
		m->sum = plus(m->sum, x);
		m->count++;
	}
	if (finite_of(m) > 0)
		m->squares = centred(squares, distances, finite_of(m));
}

static double half[65536], brain[65536], e4m3[256], e5m2[256];
static pthread_once_t tables_made = PTHREAD_ONCE_INIT;

static void
make_tables(void)
{
	for (unsigned i = 0; i < 65536; i++) {
		const unsigned char bytes[] = { (unsigned char)i,
			(unsigned char)(i >> 8) };
		half[i] = lc__element_real(LC_F16, bytes);
		brain[i] = lc__element_real(LC_BF16, bytes);
		if (i < 256) {
			e4m3[i] = lc__element_real(LC_F8_E4M3, bytes);
			e5m2[i] = lc__element_real(LC_F8_E5M2, bytes);
		}
	}
}

static double
float_at(lc_dtype dtype, const unsigned char *p)
{
	switch (dtype) {
	case LC_F16: return half[lc__get16(p)];
	case LC_BF16: return brain[lc__get16(p)];
	case LC_F8_E4M3: return e4m3[*p];
	case LC_F8_E5M2: return e5m2[*p];
	default: return lc__element_real(dtype, p);
	}
}

/* Floats with at most 24 bits: a double holds their squares, and two doubles hold enough
 * of the sum of the squares for the distances to the mean, which are at most 2^24 times
 * smaller, to be exact after subtraction. */
static void
add_narrow(struct lc__moments *m, lc_dtype dtype, const unsigned char *p, uint64_t n,
    size_t stride)
{
	struct lc__double2 sum = { 0, 0 }, squares = { 0, 0 };
	double min = 0, max = 0;
	uint64_t count = 0;

	for (uint64_t i = 0; i < n; i++, p += stride) {
		const double x = float_at(dtype, p);
		if (!isfinite(x)) {
			add_special(m, x);
			continue;
		}
		min = count == 0 || x < min ? x : min;
		max = count == 0 || x > max ? x : max;
		count++;
		sum = plus(sum, (struct lc__double2){ x, 0 });
		squares = plus(squares, (struct lc__double2){ x * x, 0 });
	}
	if (count == 0)
		return;
	widen(m, (struct lc__double2){ min, 0 }, (struct lc__double2){ max, 0 });
	m->sum = sum;
	m->squares = centred(squares, sum, count);
	m->count += count;
}

static void
add_block(struct lc__moments *m, lc_dtype dtype, const unsigned char *p, uint64_t n,
    size_t stride)
{
	struct lc__moments block = { 0 };

	switch (dtype) {
	case LC_BOOL:
	case LC_U8:
	case LC_I8:
	case LC_U16:
	case LC_I16: add_small(&block, dtype, p, n, stride); break;
	case LC_U32:
	case LC_I32:
	case LC_U64:
	case LC_I64:
	case LC_F64: add_wide(&block, dtype, p, n, stride); break;
	default:
		pthread_once(&tables_made, make_tables);
		add_narrow(&block, dtype, p, n, stride);
	}
	lc__moments_merge(m, &block);
}

void
lc__moments_add(struct lc__moments *m, lc_dtype dtype, const void *data, uint64_t n,
    size_t stride)
{
	/* The squares of this many 16-bit numbers fit into 64 bits. */
	const uint64_t most = UINT64_C(1) << 31;

	for (uint64_t at = 0; at < n; at += most)
		add_block(m, dtype, (const unsigned char *)data + at * stride,
		    n - at < most ? n - at : most, stride);
}

static struct lc__double2
mean_of(const struct lc__moments *m)
{
	return over(m->sum, (double)finite_of(m));
}

void
lc__moments_merge(struct lc__moments *m, const struct lc__moments *other)
{
	const uint64_t n = finite_of(m), more = finite_of(other);
	struct lc__double2 apart, between;

	if (other->count > 0)
		widen(m, other->min, other->max);
	if (n == 0) {
		m->squares = other->squares;
	} else if (more > 0) {
		apart = mean_of(m);
		apart = plus(mean_of(other),
		    (struct lc__double2){ -apart.high, -apart.low });
		between = times(times(apart, apart),
		    (struct lc__double2){ (double)more, 0 });
		between = times(between,
		    over((struct lc__double2){ (double)n, 0 }, (double)n + (double)more));
		m->squares = plus(plus(m->squares, other->squares), between);
	}
	m->count += other->count;
	m->nan += other->nan;
	m->plus += other->plus;
	m->minus += other->minus;
	m->sum = plus(m->sum, other->sum);
}

/* ---- results ----------------------------------------------------------------- */

double
lc__moments_mean(const struct lc__moments *m)
{
	if (m->count == 0 || (m->plus > 0 && m->minus > 0))
		return (double)NAN;
	if (m->plus > 0 || m->minus > 0)
		return m->plus > 0 ? (double)INFINITY : -(double)INFINITY;
	return mean_of(m).high;
}

double
lc__moments_deviation(const struct lc__moments *m)
{
	if (m->count == 0 || m->plus > 0 || m->minus > 0)
		return (double)NAN;
	if (!isfinite(m->squares.high))
		return (double)INFINITY;
	return m->squares.high > 0 ? sqrt(over(m->squares, (double)m->count).high) : 0;
}

/* ---- tensors ----------------------------------------------------------------- */

uint64_t
lc__moments_channels(const lc_tensor *tensor, uint32_t axis)
{
	const uint64_t n = axis == LC__MOMENTS_WHOLE ? 1 : tensor->shape[axis];

	return lc__dtype_is_complex(tensor->dtype) ? 2 * n : n;
}

void
lc__moments_tensor(struct lc__moments *channels, const lc_tensor *tensor, uint32_t axis)
{
	const uint64_t parts = lc__dtype_is_complex(tensor->dtype) ? 2 : 1;
	const lc_dtype dtype = tensor->dtype == LC_C32 ? LC_F16
	    : tensor->dtype == LC_C64                  ? LC_F32
	    : tensor->dtype == LC_C128                 ? LC_F64
						       : tensor->dtype;
	const size_t size = lc_dtype_size(tensor->dtype);
	const unsigned char *p = tensor->data;
	uint64_t rows = 1, n = 1, run = 1;

	if (tensor->nbytes == 0)
		return;
	/* Each row has the channels in turn, each with a run of elements. */
	for (uint32_t i = 0; i < tensor->ndim; i++)
		*(axis == LC__MOMENTS_WHOLE || i > axis ? &run
			: i < axis                      ? &rows
							: &n) *= tensor->shape[i];
	for (uint64_t c = 0; c < n; c++, p += run * size)
		for (uint64_t part = 0; part < parts; part++) {
			struct lc__moments *const m = &channels[c * parts + part];
			const unsigned char *const q = p + part * (size / parts);
			/* Run by run; if runs are short, the same position of every
			 * run. */
			for (uint64_t row = 0; row < rows && run >= rows; row++)
				lc__moments_add(m, dtype, q + row * n * run * size, run,
				    size);
			for (uint64_t i = 0; i < run && run < rows; i++)
				lc__moments_add(m, dtype, q + i * size, rows,
				    n * run * size);
		}
}
