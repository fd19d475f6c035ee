/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of several modules put together for an export. */
#ifndef CACHEX_CMD_EXPORT_JOIN_H
#define CACHEX_CMD_EXPORT_JOIN_H

#include <stdbool.h>

#include "cmd/streaming.h"

struct export_join;

/**
 * Of a join that streaming_open_join() has opened, which must outlive it.
 * Reports; an exit status.
 */
int export_join_new(const struct streaming_source *source, lc_missing missing,
    struct export_join **out);
/** NULL is harmless. */
void export_join_free(struct export_join *join);

/** A value of a tensor, also of a listed one, which has no data; NULL without memory. */
lc_value *export_join_tensor(const lc_tensor *tensor);

/**
 * A map with the first module's record, @p first, and the partners' records of this
 * cache_id, each under the name of its module. Tensors stay where they are, in memory
 * of @p first and of the modules, until the next call.
 * @param listed  tensors have no data
 * @param out     gets NULL if a partner is missing and that was asked to be left out;
 *                else a value of the caller's
 * @return LC_OK; LC_CHANGED if one is missing that was there; LC_CORRUPT, LC_NO_MEMORY.
 */
LC_CHECKED lc_status export_join_record(struct export_join *join, lc_id id,
    const lc_value *first, bool listed, lc_value **out);

#endif
