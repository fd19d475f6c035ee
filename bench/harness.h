/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every bench shares: it collects the runs of each row, prints a table a
 * case and the ratios with their targets, and hands both to bench-results.json.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

struct bench;

/**
 * Start a bench and print what machine it runs on. Strings are kept.
 * @param path  file that the results go to, NULL for none
 */
struct bench *bench_start(const char *name, const char *path);

/** Add one run to a row; the row is made by its first run. The metric is copied, the
 *  other strings are kept. */
void bench_run(struct bench *bench, const char *case_name, const char *contender,
    const char *metric, const char *unit, double value);

/** The median of a row's runs, NaN if there is no such row. */
double bench_median(const struct bench *bench, const char *case_name,
    const char *contender, const char *metric);

/** Print a case's rows: a line a metric, a column a contender; medians only where
 *  there are many. */
void bench_print(const struct bench *bench, const char *case_name);

/**
 * State a ratio; NaN, of rows that were not measured, is left out.
 * @param sense  ">=" or "<="
 */
void bench_ratio(struct bench *bench, double value, const char *sense,
    double target, const char *format, ...) __attribute__((format(printf, 5, 6)));

/** Print the ratios, write the results and free the bench. */
void bench_finish(struct bench *bench);

/** Seconds of the monotonic clock. */
double bench_seconds(void);

/** Seconds that the threads of this process have spent on processors. */
double bench_cpu_seconds(void);

/** The median of @p n values, which get sorted. */
double bench_middle(double *values, unsigned n);

#endif
