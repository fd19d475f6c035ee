/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LC_STORE_ITERATE_H
#define LC_STORE_ITERATE_H

#include "store/cache.h"

/**
 * Check the checksum of the record behind an item of an open iterator, from any
 * thread; for walks with LC_ITER_LISTED that copy the data later. An item's
 * pointers stay valid until lc_iter_close().
 * @return LC_OK, or LC_CORRUPT with the key in the error.
 */
LC_CHECKED lc_status lc__iter_verify(const lc_item *item);

#endif
