/* SPDX-License-Identifier: BSD-2-Clause */
/* The public handle of a store: lc_store. */
#ifndef LC_OBJECTS_STORE_H
#define LC_OBJECTS_STORE_H

#include "lmdbcache.h"
#include "objects/objects.h"

/** The object for which a handle exists; its own. */
struct lc__objects *lc__store_objects(const lc_store *store);
/** Free the handle; its store has a new owner. */
void lc__store_forget(lc_store *store);

#endif
