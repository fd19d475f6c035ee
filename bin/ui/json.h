/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes JSON, one value on each line. Keys are literals that need no escapes. */
#ifndef CACHEX_UI_JSON_H
#define CACHEX_UI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lmdbcache.h"

struct json {
	FILE *out;  /* where it goes */
	bool comma; /* a value precedes the next one */
};

/** Begin an object or an array, '{' or '['; @p key NULL inside an array. */
void jw_open(struct json *json, const char *key, char bracket);
/** End it, '}' or ']'. */
void jw_close(struct json *json, char bracket);
/** End the outermost object and the line. */
void jw_end_line(struct json *json);

/** Text; bytes that are not UTF-8 become U+FFFD. */
void jw_text(struct json *json, const char *key, const char *text);
void jw_count(struct json *json, const char *key, uint64_t value);
void jw_real(struct json *json, const char *key, double value);
void jw_flag(struct json *json, const char *key, bool value);
void jw_null(struct json *json, const char *key);
/** "id", or "id_base64" if it is not UTF-8. */
void jw_id(struct json *json, lc_id id);
/** "dtype" and "shape". */
void jw_type(struct json *json, const lc_tensor *tensor);
/** A key whose value the caller writes to `out`. */
void jw_key(struct json *json, const char *key);

#endif
