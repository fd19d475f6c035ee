/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects of JSON without the bulk that nobody asks for. */
#ifndef CACHEX_LABELS_JSON_SLIM_H
#define CACHEX_LABELS_JSON_SLIM_H

#include <stddef.h>

#include "base/buf.h"

/**
 * Append an object with [] for every list and object in it, but for the member
 * @p keep. What is left out is not looked at; what is malformed elsewhere stays so.
 * Outlines are most of many files, and parsing them most of the time.
 */
void lc__json_slim(const char *text, size_t size, const char *keep,
    struct lc__buf *out);

#endif
