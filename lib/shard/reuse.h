/* SPDX-License-Identifier: BSD-2-Clause */
/* Shards of an older build that a new one takes over instead of writing them. */
#ifndef LC_SHARD_REUSE_H
#define LC_SHARD_REUSE_H

#include <stdbool.h>

#include "base/team.h"
#include "format/manifest.h"

/** The older build. Zeros are one without shards. */
struct lc__reuse {
	const char *dir;              /* borrowed */
	struct lc__manifest manifest; /* its */
};

/** Read its manifest. One that is missing or damaged has no shards to take. */
LC_CHECKED lc_status lc__reuse_open(const char *dir, struct lc__reuse *out);
void lc__reuse_close(struct lc__reuse *older);

/** The shard there with the same samples, form and size, and the checksum that is
 *  asked for; NULL if there is none. */
const struct lc__manifest_shard *lc__reuse_find(const struct lc__reuse *older,
    const struct lc__manifest_shard *wanted, bool no_sha256);

/** Whether files of the older build can have links in @p dir. */
bool lc__reuse_links(const struct lc__reuse *older, const char *dir);

/**
 * Have a shard of the older build at @p path, which may stand there already.
 * Linked, its size, header and checksum section are looked at; copied, where no
 * link can be made, all of it. Counts its bytes as steps of the work.
 * @param info   what its header has to say
 * @param taken  false if the shard there is missing or damaged: then @p path is free
 */
LC_CHECKED lc_status lc__reuse_take(const struct lc__reuse *older,
    const struct lc__manifest_shard *shard, const lc_shard_info *info,
    const char *path, struct lc__team *team, bool *taken);

#endif
