/* SPDX-License-Identifier: BSD-2-Clause */
/* What it takes to say which records an example is. */
#ifndef BENCH_ORDER_LOCATE_H
#define BENCH_ORDER_LOCATE_H

#include "harness.h"
#include "lmdbcache.h"

/** Nanoseconds of lc_stream_locate() for each order over a source; rows of a case. */
void order_locate(struct bench *bench, const char *case_name, lc_source *source,
    unsigned rounds);

#endif
