/* SPDX-License-Identifier: BSD-2-Clause */
/* Copying records between modules: what copy and merge share. */
#ifndef CACHEX_CMD_COPYING_H
#define CACHEX_CMD_COPYING_H

#include "lmdbcache.h"
#include "ui/opt.h"

/** The options of both, ended by OPT_END. */
extern struct opt copying_options[];

/** How to copy, and what it came to. */
struct copying {
	const char *verb;     /* "copy", for messages and progress */
	const char *from_root, *to_root; /* where the modules are */
	const char *prefix;   /* of the cache_ids, NULL for all */
	lc_conflict conflict; /* what to do with keys that are there */
	int dry_run;          /* count only */
	lc_copy_result total; /* of all sources */
	bool stopped;         /* by something else than damaged records, which are left out */
};

/** What the options ask for. */
struct copying copying_asked(const char *verb);

/** Copy one module into an open one, NULL if a dry run has no target; reports. */
int copying_add(struct copying *copying, const char *from, lc_cache *to);

/** Open the target, made if it is missing; a dry run makes none: NULL; reports. */
int copying_open(const struct copying *copying, const char *to, lc_cache **out);

/** Say what it came to. */
void copying_show(const struct copying *copying, const char *to);

#endif
