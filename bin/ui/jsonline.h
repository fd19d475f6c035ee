/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A line of anybody's JSON as a record: the object is the value, one of its members the
 * cache_id. A list of numbers becomes a tensor, i64 if all are integers and else f64,
 * so that streams can read it; all else stays plain data.
 */
#ifndef CACHEX_UI_JSONLINE_H
#define CACHEX_UI_JSONLINE_H

#include "ui/jsonrecord.h"

/** Read a line; as jsonrecord_read(). LC_INVALID if the member @p field is neither a
 *  string nor an integer. */
LC_CHECKED lc_status jsonline_read(const char *line, size_t size, const char *field,
    struct jsonrecord *out);

#endif
