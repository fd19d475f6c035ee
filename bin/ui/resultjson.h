/* SPDX-License-Identifier: BSD-2-Clause */
/* The counts of a build as members of a JSON object. */
#ifndef CACHEX_UI_RESULTJSON_H
#define CACHEX_UI_RESULTJSON_H

#include "build/ingest.h"
#include "ui/json.h"

/** Where it stands: frames, samples, bytes. */
void result_counts(struct json *json, const struct lc__ingest_state *state);
/** What came of it. */
void result_members(struct json *json, const struct lc__ingest_result *result);

#endif
