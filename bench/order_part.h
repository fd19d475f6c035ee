/* SPDX-License-Identifier: BSD-2-Clause */
/* A part of what bench/order measures. */
#ifndef BENCH_ORDER_PART_H
#define BENCH_ORDER_PART_H

#include "choice.h"
#include "harness.h"

struct order_part {
	/** Measure those of its cases that are wanted; data sets go below @p root. */
	void (*measure)(struct bench *bench, const struct choice *choice,
	    const char *root);
	/** State its ratios. */
	void (*ratios)(struct bench *bench);
};

extern const struct order_part order_reads, order_permutation, order_chunks,
    order_windows, order_shares, order_lists;

#endif
