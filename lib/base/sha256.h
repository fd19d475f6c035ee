/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 by libcrypto. */
#ifndef LC_BASE_SHA256_H
#define LC_BASE_SHA256_H

#include <stddef.h>

#include "lmdbcache.h"

struct lc__sha256;

/** Begin a digest. LC_UNSUPPORTED in a build without libcrypto, LC_IO
 *  where it cannot be loaded, LC_NO_MEMORY. */
LC_CHECKED lc_status lc__sha256_new(struct lc__sha256 **out);
/** Both report a failure of libcrypto as LC_IO. */
LC_CHECKED lc_status lc__sha256_update(struct lc__sha256 *sha, const void *data,
    size_t size);
/** The digest as 64 lower-case hex digits and a terminator. */
LC_CHECKED lc_status lc__sha256_hex(struct lc__sha256 *sha, char out[65]);
void lc__sha256_free(struct lc__sha256 *sha);

/** The digest of these bytes, in one call. */
LC_CHECKED lc_status lc__sha256_of(const void *data, size_t size, char out[65]);

#endif
