/* SPDX-License-Identifier: BSD-2-Clause */
/* A warehouse, and all that a report says of it. */
#ifndef CACHEX_CMD_WAREHOUSE_FACTS_H
#define CACHEX_CMD_WAREHOUSE_FACTS_H

#include "lmdbcache.h"
#include "report/facts.h"
#include "report/parquet_tables.h"
#include "report/sqlite.h"

struct warehouse_facts {
	lc_warehouse *warehouse;
	struct lc__facts facts;
	uint64_t thumbnails;   /* how many to draw */
	struct lc__sqlite *db; /* that gets every sample, or NULL; not owned */
	struct lc__parquet_tables *tables; /* the same */
};

/**
 * Open it, also if it is stale or exceeds its limits, which a report shows, and
 * read what is said of it as a whole. Reports; an exit status.
 */
int warehouse_facts_open(struct warehouse_facts *facts, const char *path);
/** Look at every sample. Reports; an exit status. */
int warehouse_facts_survey(struct warehouse_facts *facts);
/** Harmless for one that is all zero. */
void warehouse_facts_close(struct warehouse_facts *facts);

#endif
