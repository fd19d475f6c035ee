/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CACHEX_UI_SHAPE_H
#define CACHEX_UI_SHAPE_H

#include "lmdbcache.h"

/** "3,640,640"; an empty text is rank 0. LC_INVALID for anything else. */
LC_CHECKED lc_status shape_parse(const char *text, uint32_t *ndim,
    uint64_t shape[LC_MAX_NDIM]);

#endif
