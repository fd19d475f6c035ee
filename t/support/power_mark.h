/* SPDX-License-Identifier: BSD-2-Clause */
/* The marks that the recorded program leaves in the log. */
#ifndef T_POWER_MARK_H
#define T_POWER_MARK_H

#include <stdint.h>

#include "lmdbcache.h"

enum power_mark_kind {
	POWER_OPENING, /* the place may be made now */
	POWER_CHANGE,  /* key is about to be put in this version, 0 for a delete;
	                  POWER_KEYS for the delete of all */
	POWER_SETTING, /* the setting is about to get the value `key` */
	POWER_SET,     /* promise: it has that value */
	POWER_COPYING, /* the place is about to become a copy of place `from` */
	POWER_MADE,    /* promise: the place is there from now on */
	POWER_FLUSHED, /* promise: so are all changes so far if `full` */
	POWER_EXPORTING, /* shards may be in "out" from now on */
	POWER_EXPORTED   /* promise: all of them are */
};

struct power_mark {
	uint32_t kind, place;
	uint32_t from, full, key;
	uint32_t min, max; /* of the size in bytes */
	uint64_t version;
};

/** The export of power_export(), to be gone on with after a loss of power. */
LC_CHECKED lc_status power_export_module(lc_cache *cache, const char *dir);

#endif
