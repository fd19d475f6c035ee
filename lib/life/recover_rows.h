/* SPDX-License-Identifier: BSD-2-Clause */
/* The small rows of a damaged module: state, settings, schemas, ledger. */
#ifndef LC_LIFE_RECOVER_ROWS_H
#define LC_LIFE_RECOVER_ROWS_H

#include "life/recovery.h"

/** Read the state row, or make up for it from what the tables hold. */
LC_CHECKED lc_status lc__recovery_read_state(struct lc__recovery *r);

/** One byte of a row may be wrong: which, and what it was, the checksum at its end
 *  tells. False for a row with more damage, and for a large one. */
bool lc__recovery_mend_byte(unsigned char *row, size_t size);

/** Mend the damaged schemas; a structure that is lost gets a stand-in. */
LC_CHECKED lc_status lc__recovery_mend_schemas(struct lc__recovery *r);

/** Put the defaults in the place of damaged settings. */
LC_CHECKED lc_status lc__recovery_mend_settings(struct lc__recovery *r);

/** Compare ledger and counters with what was decided, and find rows damaged. */
LC_CHECKED lc_status lc__recovery_check_counts(struct lc__recovery *r);

/** The first row of the ledger from @p id on whose chunk is not there; LC_NOT_FOUND
 *  without one. */
LC_CHECKED lc_status lc__recovery_orphan(struct lc__recovery *r, uint64_t *id);

/** Count all sound records. */
LC_CHECKED lc_status lc__recovery_count_usage(struct lc__recovery *r,
    struct lc__usage *usage);

/** What the ledger row of a chunk is to be, with what can be read of the old one. */
LC_CHECKED lc_status lc__recovery_row(struct lc__recovery *r,
    const struct lc__found *chunk, struct lc__ledger_row *row, bool *intact);

#endif
