/* SPDX-License-Identifier: BSD-2-Clause */
/* Inputs and the published order of a damaged module. */
#ifndef LC_LIFE_RECOVER_INPUTS_H
#define LC_LIFE_RECOVER_INPUTS_H

#include "life/recovery.h"

/** Read what the order says of chunks whose ledger rows may be damaged. */
LC_CHECKED lc_status lc__recovery_read_places(struct lc__recovery *r);

/** How many inputs the module has, as far as its rows and its ledger say. */
LC_CHECKED lc_status lc__recovery_count_inputs(struct lc__recovery *r,
    uint32_t *out);

/** Where a chunk came from, for a ledger row that is lost. */
void lc__recovery_place(const struct lc__recovery *r, uint64_t chunk,
    struct lc__ledger_row *row);

/** Compare everything that verify does, and note if it is to be written anew. */
LC_CHECKED lc_status lc__recovery_check_inputs(struct lc__recovery *r);

/** Write inputs and order anew from the ledger, if they are damaged; behind
 *  lc__recovery_write(). */
LC_CHECKED lc_status lc__recovery_write_inputs(struct lc__recovery *r);

#endif
