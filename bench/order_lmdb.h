/* SPDX-License-Identifier: BSD-2-Clause */
/* liblmdb as it is used plainly: one value a record, under its number. */
#ifndef BENCH_ORDER_LMDB_H
#define BENCH_ORDER_LMDB_H

#include "order_set.h"

/** Write the set's environment, durable. */
void order_lmdb_fill(const struct order_set *set);

#endif
