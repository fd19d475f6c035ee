/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits on a dataset's bad frames: from options and the environment. */
#ifndef CACHEX_CMD_BUILDLIMITS_H
#define CACHEX_CMD_BUILDLIMITS_H

#include <stdbool.h>
#include <stddef.h>

#include "format/summary.h"

/**
 * "12", more than 12 frames, "5%", more than that share of all, or both as in
 * "12,5%". False with @p why if it is none.
 */
bool limit_parse(const char *text, struct lc__limit *out, char *why, size_t room);

/**
 * WAREHOUSE_MAX_NAME and WAREHOUSE_MAX_NAME_RATIO, @p name in capitals; *out is left
 * as it is where neither is set.
 */
bool limit_environment(const char *name, struct lc__limit *out, char *why,
    size_t room);

#endif
