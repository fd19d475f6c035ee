/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of an item whose value is to be stored. */
#ifndef CACHEX_FILL_TALLY_H
#define CACHEX_FILL_TALLY_H

#include <stdbool.h>

#include "fill/items.h"

/** Bytes of a value's tensors. */
uint64_t lc__tally_bytes(const lc_value *value);

/** Does what a put returned speak against this item only, and not against the next? */
bool lc__tally_is_item(lc_status status);

#endif
