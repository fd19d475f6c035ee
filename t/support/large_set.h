/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of very many shards, as cachex pull makes them, out of a few small ones. */
#ifndef T_LARGE_SET_H
#define T_LARGE_SET_H

#include <stdint.h>

#include "lmdbcache.h"

/** Which files of shards there are. */
enum large_set_files {
	LARGE_SET_NONE,   /* none: the manifests alone */
	LARGE_SET_LINKS,  /* a hard link each, of which a file can have 65,000 on ext4 */
	LARGE_SET_STORED, /* those of the set that it is made of, named by their SHA-256 */
};

/**
 * Make a set of @p shards shards in a directory: manifest.json names manifests of 4,096
 * shards each in part, which name shards in obj. Those of the set @p from, whose manifest
 * names its shards, are taken in turn.
 */
LC_CHECKED lc_status large_set_make(const char *from, const char *dir, uint64_t shards,
    enum large_set_files files);

/** The path of a shard from the set's directory, unless they are stored; to be freed. */
char *large_set_path(uint64_t shard);

#endif
