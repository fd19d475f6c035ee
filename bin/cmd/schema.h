/* SPDX-License-Identifier: BSD-2-Clause */
/* What a module stores under each structure: rows of stat and schema. */
#ifndef CACHEX_CMD_SCHEMA_H
#define CACHEX_CMD_SCHEMA_H

#include "lmdbcache.h"
#include "ui/json.h"

/** A line a schema: structure, records, sizes, ratio, codecs; indented for stat. */
LC_CHECKED lc_status schemas_text(lc_cache *cache, const char *indent);

/** The members of an object for each schema, in an array under @p key. */
LC_CHECKED lc_status schemas_json(lc_cache *cache, struct json *json, const char *key);

#endif
