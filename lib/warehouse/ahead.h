/* SPDX-License-Identifier: BSD-2-Clause */
/* Asking the system for samples before they are read. */
#ifndef LC_WAREHOUSE_AHEAD_H
#define LC_WAREHOUSE_AHEAD_H

#include <stdint.h>

#include "warehouse/shardset.h"
#include "warehouse/stream.h"

/** Samples [first, first + n), as far as there are such. */
void lc__ahead_ask(struct lc__shardset *set, uint64_t first, uint64_t n);

/** Sample @p i is read in mode STREAM: if it follows the one before, ask for those
 *  behind it. */
void lc__ahead_follow(struct lc__shardset *set, struct lc__stream *stream, uint64_t i);

#endif
