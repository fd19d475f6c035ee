/* SPDX-License-Identifier: BSD-2-Clause */
/* An export into a format of another system. */
#ifndef CACHEX_CMD_EXPORT_FORMATS_H
#define CACHEX_CMD_EXPORT_FORMATS_H

#include <stdint.h>

#include "cmd/export_join.h"
#include "formats/outgoing.h"
#include "lmdbcache.h"

/** What is exported, and how. */
struct export_choice {
	const struct lc__outgoing_format *format;
	struct lc__outgoing_how how; /* its group is set by whoever exports */
	unsigned order;              /* LC_BY_KEY or LC_BY_COMMIT */
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
