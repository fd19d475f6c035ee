/* SPDX-License-Identifier: BSD-2-Clause */
/* An export of records into a format of another system. */
#ifndef CACHEX_CMD_EXPORT_H
#define CACHEX_CMD_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/stream_sources.h"
#include "formats/formats.h"
#include "lmdbcache.h"

/* ---- Records of several modules put together for an export ------------------------- */

struct export_join;

/**
 * Of a join that stream_source_open_join() has opened, which must outlive it.
 * Reports; an exit status.
 */
int export_join_new(const struct stream_source *source, lc_missing missing,
    struct export_join **out);
/** NULL is harmless. */
void export_join_free(struct export_join *join);

/** What is exported, and how. */
struct export_choice {
	const struct lc__outgoing_format *format;
	struct lc__outgoing_how how; /* its group is set by the code that exports */
	unsigned order;              /* LC_BY_ORDER, LC_BY_COMMIT or LC_BY_KEY */
	const char *field;           /* the part of each record; NULL for all of it */
	struct export_join *join;    /* records of several modules; NULL: of one */
	bool by_bucket;              /* a directory for each bucket */
	uint64_t bucket_scale;       /* pixels for each element of a tensor's side; 0: see
	                                struct export_bucket */
	const char *bucket_field;    /* the part that names the bucket; or NULL */
};

/** Reports and shows; an exit status. */
int export_records(lc_cache *cache, const char *target,
    const struct export_choice *choice);

#endif
