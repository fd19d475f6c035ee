/* SPDX-License-Identifier: BSD-2-Clause */
/* The small rows of a damaged module: state, settings, schemas, ledger. */
#ifndef LC_LIFE_RECOVER_ROWS_H
#define LC_LIFE_RECOVER_ROWS_H

#include "life/recovery.h"

/** Read the state row, mended if one byte of it is wrong; else r->state_lost. */
LC_CHECKED lc_status lc__recovery_read_state(struct lc__recovery *r);

/** Make up for a state row that is lost from what the tables hold. */
LC_CHECKED lc_status lc__recovery_make_up_state(struct lc__recovery *r);

/** Mend the damaged schemas; a structure that is lost gets a stand-in. */
LC_CHECKED lc_status lc__recovery_mend_schemas(struct lc__recovery *r);

/** Mend the settings, or put the defaults in their place. */
LC_CHECKED lc_status lc__recovery_mend_settings(struct lc__recovery *r);
/** Mend the counters, or begin them anew. */
LC_CHECKED lc_status lc__recovery_mend_counters(struct lc__recovery *r);

/** Compare ledger and counters with what was decided, and find rows damaged. */
LC_CHECKED lc_status lc__recovery_check_counts(struct lc__recovery *r);

/** The first row of the ledger behind chunk *id whose chunk is not there; LC_END
 *  without one. */
LC_CHECKED lc_status lc__recovery_orphan(struct lc__recovery *r, uint64_t *id);

/** Count all sound records. */
LC_CHECKED lc_status lc__recovery_count_usage(struct lc__recovery *r,
    struct lc__usage *usage);

/** What the ledger row of a chunk is to be, with what can be read of the old one. */
LC_CHECKED lc_status lc__recovery_row(struct lc__recovery *r,
    const struct lc__found *chunk, struct lc__ledger_row *row, bool *intact);

#endif
