/* SPDX-License-Identifier: BSD-2-Clause */
/* Room on the disk. */
#ifndef CACHEX_BUILD_SPACE_H
#define CACHEX_BUILD_SPACE_H

#include <stdint.h>

#include "lmdbcache.h"

/** Bytes that may still be written below @p path. */
LC_CHECKED lc_status lc__space_left(const char *path, uint64_t *out);

/** LC_NO_SPACE, with both numbers, unless @p needed bytes are free. @p what needs
 *  them: "12 frames". */
LC_CHECKED lc_status lc__space_check(const char *path, uint64_t needed, const char *what);

#endif
