/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which directory of a series of shards a record goes to: "bucket_1024x1024". The record
 * knows best: its part that is asked for, else a string "aspect_bucket", else the pixels
 * in "width" and "height". Without any, the sides of a tensor tell, which are rounded: a
 * side of 8 x 127.9 pixels has 127 elements.
 */
#ifndef CACHEX_CMD_EXPORT_BUCKET_H
#define CACHEX_CMD_EXPORT_BUCKET_H

#include <stdint.h>

#include "lmdbcache.h"

struct export_bucket {
	lc_iter *iter;     /* stands on the record */
	const lc_value *record; /* of a join; NULL: the iterator has it */
	const char *field; /* the part that names the bucket; or NULL */
	uint64_t scale;    /* pixels for each element of a side: the sides tell; 0 for what
	                      the record says, and else 1 */
	char name[64];     /* of the directory */
};

/** lc__outgoing_how.group, with a struct export_bucket. */
lc_status export_bucket_name(void *bucket, lc_id id, const lc_value *value,
    const char **out);

#endif
