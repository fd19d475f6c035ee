/* SPDX-License-Identifier: BSD-2-Clause */
/* Which directory of a series of shards a record goes to: "bucket_1024x1024". */
#ifndef BIN_EXPORT_BUCKET_H
#define BIN_EXPORT_BUCKET_H

#include <stdint.h>

#include "lmdbcache.h"

struct export_bucket {
	lc_iter *iter;     /* stands on the record */
	const char *field; /* the part that names the bucket; NULL: the sides tell */
	uint64_t scale;    /* pixels for each element of a side */
	char name[64];     /* of the directory */
};

/** lc__outgoing_how.group, with a struct export_bucket. */
lc_status export_bucket_name(void *bucket, lc_id id, const lc_value *value,
    const char **out);

#endif
