/* SPDX-License-Identifier: BSD-2-Clause */
/* A store of objects implemented by functions of the program: lc_store_open_calls(). */
#ifndef LC_OBJECTS_CALLS_H
#define LC_OBJECTS_CALLS_H

#include "lmdbcache.h"
#include "objects/objects.h"

/** @param calls  copied. LC_OK; LC_INVALID if a function is missing; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__calls_open(const lc_store_calls *calls, void *ctx,
    const char *url, struct lc__objects **out);

#endif
