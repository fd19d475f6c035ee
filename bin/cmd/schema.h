/* SPDX-License-Identifier: BSD-2-Clause */
/* What a module stores under each schema, for the commands stat and schema. */
#ifndef CACHEX_CMD_SCHEMA_H
#define CACHEX_CMD_SCHEMA_H

#include "lmdbcache.h"
#include "ui/json.h"

/** Print a line for each schema: structure, records, sizes, ratio, codecs. The command
 *  stat indents them. */
LC_CHECKED lc_status schemas_text(lc_cache *cache, const char *indent);

/** Write an array under @p key with an object for each schema. */
LC_CHECKED lc_status schemas_json(lc_cache *cache, struct json *json, const char *key);

#endif
