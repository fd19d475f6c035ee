/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of verify that checks inputs and the published order. */
#ifndef LC_LIFE_VERIFY_INPUTS_H
#define LC_LIFE_VERIFY_INPUTS_H

#include "store/snapshot.h"

/** What the check needs, and where it reports. */
struct lc__verify_ask {
	/* The digest of a chunk's records by lc__digest(); 0 if it is missing. */
	uint64_t (*digest)(void *ctx, uint64_t chunk);
	void (*damage)(void *ctx, const char *line);
	void *ctx;
};

/**
 * Compare the rows of inputs and of the order with one another, with the ledger and with
 * the content of the chunks.
 * @return LC_OK, also if there is damage; LC_NO_MEMORY, LC_IO.
 */
LC_CHECKED lc_status lc__verify_inputs(struct lc__snapshot *snapshot,
    const struct lc__verify_ask *ask);

#endif
