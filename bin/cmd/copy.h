/* SPDX-License-Identifier: BSD-2-Clause */
/* Copying records between modules: what copy and merge share. */
#ifndef CACHEX_CMD_COPY_H
#define CACHEX_CMD_COPY_H

#include "lmdbcache.h"
#include "ui/opt.h"

/** The options of both, ended by OPT_END. */
extern struct opt copy_options[];

/** How to copy, and the result. */
struct copy_job {
	const char *verb;                /* "copy", for messages and progress */
	const char *from_root, *to_root; /* where the modules are */
	const char *prefix;              /* of the cache_ids, NULL for all */
	lc_conflict conflict;            /* what to do with keys that are there */
	int dry_run;                     /* count only */
	lc_copy_result total;            /* of all sources */
	bool stopped; /* by something else than damaged records, which are left out */
};

/** As the options say. */
struct copy_job copy_job_of_options(const char *verb);

/** Copy one module into an open one, NULL if a dry run has no target; reports. */
int copy_job_add(struct copy_job *copy_job, const char *from, lc_cache *to);

/** Open the target, which is made if it is missing; in a dry run *out may be NULL. Reports. */
int copy_job_open_target(const struct copy_job *copy_job, const char *to, lc_cache **out);

/** Print the result. */
void copy_job_show(const struct copy_job *copy_job, const char *to);

#endif
