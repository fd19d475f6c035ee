/* SPDX-License-Identifier: BSD-2-Clause */
/* How the sources of a warehouse stand, for the subcommands that say so. */
#ifndef CACHEX_CMD_WAREHOUSE_SOURCES_H
#define CACHEX_CMD_WAREHOUSE_SOURCES_H

#include <stdbool.h>

#include "lmdbcache.h"

/** The words of an option, in the order of lc_warehouse_sources. */
#define WAREHOUSE_SOURCES "stat|content|ignore"

struct warehouse_sources {
	bool listed;     /* the warehouse has a list of them */
	bool seen;       /* they were compared */
	lc_status found; /* LC_OK, LC_STALE, or why they could not be compared */
	char text[1000]; /* of a failure */
};

/**
 * Compare them as @p options says; each difference goes to its progress.
 * @return another status than LC_OK if something but the sources is wrong, or it
 * was stopped.
 */
LC_CHECKED lc_status warehouse_sources_look(lc_warehouse *warehouse,
    const lc_warehouse_options *options, struct warehouse_sources *out);

#endif
