/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store of objects in a bucket of S3, or of a server that speaks its language: object "a/b"
 * of s3://BUCKET/PREFIX is the key PREFIX/a/b. put_new() is a PUT on the condition
 * If-None-Match: *, which the server decides; the bytes go with their SHA-256, so that it
 * refuses what was cut or changed on the way. A time is the key's Last-Modified, in seconds.
 *
 * A request that fails for a reason that may pass is sent again, after a random time.
 */
#ifndef LC_OBJECTS_S3_H
#define LC_OBJECTS_S3_H

#include "lmdbcache.h"
#include "objects/objects.h"

#define LC__S3_OBJECT ((uint64_t)5 << 40) /* the largest object, bytes */
#define LC__S3_SINGLE ((uint64_t)5 << 30) /* of one PUT */
#define LC__S3_PART ((uint64_t)16 << 20)  /* of an upload in parts, at least */

/**
 * Open s3://BUCKET or s3://BUCKET/PREFIX. Nothing is sent.
 * @param options  copied
 * @return LC_OK; LC_INVALID for a bad URL or option; LC_UNSUPPORTED in a build without
 * libcurl; LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__s3_open(const char *url, const lc_store_options *options,
    struct lc__objects **out);

/** For tests: larger objects than @p single are put in parts of @p part bytes at least,
 *  instead of LC__S3_SINGLE and LC__S3_PART. */
void lc__s3_limit(struct lc__objects *objects, uint64_t single, uint64_t part);

#endif
