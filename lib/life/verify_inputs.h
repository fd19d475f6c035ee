/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of verify that looks at inputs and the published order. */
#ifndef LC_LIFE_VERIFY_INPUTS_H
#define LC_LIFE_VERIFY_INPUTS_H

#include "store/snapshot.h"

/**
 * Compare the rows of inputs and of the order with one another, with the ledger and
 * with what the chunks hold. Each damage goes to @p damage.
 * @param digests  of the chunks by id; not read in a module without inputs
 * @return LC_OK, also with damages; LC_NO_MEMORY, LC_IO.
 */
LC_CHECKED lc_status lc__verify_inputs(struct lc__snapshot *snapshot,
    const uint64_t *digests, void (*damage)(void *ctx, const char *line),
    void *ctx);

#endif
