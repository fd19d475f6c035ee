/* SPDX-License-Identifier: BSD-2-Clause */
/* bench-results.json: the rows and ratios of all benches, in one array. */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

struct results;

/**
 * Results of one bench, empty, to take the place of what stands of it in @p path
 * now; those of other benches stay. A file that is something else ends the program.
 */
struct results *results_new(const char *bench, const char *path);

/** A measured row: the median, least and greatest of @p runs values. */
void results_row(struct results *results, const char *case_name,
    const char *contender, const char *metric, const char *unit, double median,
    double min, double max, unsigned runs);

/** A stated ratio; @p sense is ">=" or "<=". */
void results_ratio(struct results *results, const char *ratio, double value,
    const char *sense, double target);

/** Replace the file as a whole. */
void results_write(struct results *results);

void results_free(struct results *results);

#endif
