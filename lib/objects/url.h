/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores named by URLs. */
#ifndef LC_OBJECTS_URL_H
#define LC_OBJECTS_URL_H

#include <stdbool.h>

#include "lmdbcache.h"
#include "objects/objects.h"

/** Is this operand a store, where it could also be something else? */
bool lc__is_store_url(const char *text);

/**
 * Open the store named by "s3://BUCKET/PREFIX", "file:///DIR", "file:DIR" or a path. The
 * first object put creates a directory.
 * @param options  NULL for the defaults
 * @param there    a directory must exist, or LC_NO_FILE; S3 is not checked.
 * @return LC_OK; LC_INVALID for any other URL; LC_UNSUPPORTED in a build without S3;
 * LC_NO_MEMORY, LC_IO, LC_PERMISSION.
 */
LC_CHECKED lc_status lc__objects_open(const char *url, const lc_store_options *options,
    bool there, struct lc__objects **out);

#endif
