/* SPDX-License-Identifier: BSD-2-Clause */
/* Members of a label's objects that nobody reads: they are kept as metadata. */
#ifndef CACHEX_LABELS_JSON_EXTRA_H
#define CACHEX_LABELS_JSON_EXTRA_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"

/** Whether a member of an object is kept. */
typedef bool (*lc__json_is_extra)(const json_t *object, const char *name,
    const json_t *member);

/** How many members are. */
uint32_t lc__json_count_extra(const json_t *object, lc__json_is_extra is_extra);
/** Append their names and values as MessagePack, without the head of a map; false
 *  if one is nested deeper than LC__LABEL_JSON_DEPTH. */
bool lc__json_pack_extra(const json_t *object, lc__json_is_extra is_extra,
    struct lc__buf *out);

#endif
