/* SPDX-License-Identifier: BSD-2-Clause */
/* A note in a warehouse that a rebuild was asked for and is not finished, so that one
 * that was killed goes on as a rebuild. */
#ifndef CACHEX_BUILD_REBUILD_H
#define CACHEX_BUILD_REBUILD_H

#include <stdbool.h>

#include "lmdbcache.h"

/** Leave the note, or take it away; it is fine if there is none. */
LC_CHECKED lc_status lc__rebuild_note(const char *warehouse, bool wanted);
bool lc__rebuild_noted(const char *warehouse);

#endif
