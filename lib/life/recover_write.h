/* SPDX-License-Identifier: BSD-2-Clause */
/* The outcome of a recovery, as rows. */
#ifndef LC_LIFE_RECOVER_WRITE_H
#define LC_LIFE_RECOVER_WRITE_H

#include "life/recovery.h"

/** Write chunks, ledger, index and counters as they follow from what was decided. */
LC_CHECKED lc_status lc__recovery_write(struct lc__recovery *r);

#endif
