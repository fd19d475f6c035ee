/* SPDX-License-Identifier: BSD-2-Clause */
/* An export as TWH1 shards. */
#ifndef CACHEX_CMD_EXPORT_SHARDS_H
#define CACHEX_CMD_EXPORT_SHARDS_H

#include <stdbool.h>

#include "lmdbcache.h"

/**
 * Export into a directory. how->dataset_root NULL is the module's name.
 * @param force  replace an export of something else
 * Reports and shows; an exit status.
 */
int export_shards(lc_cache *cache, const char *module, const char *dir,
    const lc_export_options *how, bool force);

#endif
