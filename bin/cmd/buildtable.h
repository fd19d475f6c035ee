/* SPDX-License-Identifier: BSD-2-Clause */
/* What a build did, as a table for people. */
#ifndef CACHEX_CMD_BUILDTABLE_H
#define CACHEX_CMD_BUILDTABLE_H

#include <stdbool.h>

#include "build/ingest.h"

/** Print it on standard output. */
void buildtable_print(const struct lc__ingest_result *result, bool dry_run);

#endif
