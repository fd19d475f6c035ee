/* SPDX-License-Identifier: BSD-2-Clause */
/* Files against the checksums that a manifest gives. */
#ifndef LC_WAREHOUSE_DIGESTS_H
#define LC_WAREHOUSE_DIGESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/team.h"
#include "format/manifest.h"

/** Whether the manifest has a checksum of this shard. */
bool lc__digest_known(const struct lc__manifest_shard *said);

/** A shard's file, counting its bytes as steps of the work. LC_CORRUPT if it
 *  differs or the manifest has nothing to compare with. */
LC_CHECKED lc_status lc__digest_file(const char *path,
    const struct lc__manifest_shard *said, struct lc__team *team);
/** The same of its bytes in memory. */
LC_CHECKED lc_status lc__digest_memory(const char *path, const void *bytes, uint64_t size,
    const struct lc__manifest_shard *said, struct lc__team *team);

/** Read a small file beside the manifest, and compare it with the SHA-256 that
 *  the manifest gives. @p out may be NULL. */
LC_CHECKED lc_status lc__digest_text(const char *path, const char *sha256,
    struct lc__buf *out);

#endif
