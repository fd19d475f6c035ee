/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON text to jansson's values. */
#ifndef LC_FORMAT_JSON_PARSE_H
#define LC_FORMAT_JSON_PARSE_H

#include <stddef.h>

#include <jansson.h>

/**
 * As json_loadb(), but json_error_code() is json_error_out_of_memory wherever memory ran
 * out: jansson itself calls such a text malformed.
 */
json_t *lc__json_parse(const char *text, size_t size, size_t flags, json_error_t *error);

#endif
