/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LC_SHARD_DIGEST_H
#define LC_SHARD_DIGEST_H

#include "shard/workers.h"

/** The SHA-256 of a file in hex, counting its bytes as steps of the work. */
LC_CHECKED lc_status lc__file_sha256(const char *path,
    struct lc__workers *workers, char out[65]);

#endif
