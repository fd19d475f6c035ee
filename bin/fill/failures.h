/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file of failed items: a JSON object on each line, {"id", "why", "attempts",
 * "stderr", "at"}, written as items fail, so that it exists after a kill too.
 */
#ifndef CACHEX_FILL_FAILURES_H
#define CACHEX_FILL_FAILURES_H

#include <stdbool.h>

#include "fill/items.h"

struct lc__failures;

/** Begin a new file, or with @p keep append to the existing one. */
LC_CHECKED lc_status lc__failures_open(const char *path, bool keep,
    struct lc__failures **out);
/** Add one in a single write. */
LC_CHECKED lc_status lc__failures_add(struct lc__failures *failures,
    const struct lc__items *batch, const struct lc__item *item);
uint64_t lc__failures_count(const struct lc__failures *failures);
/** Removes the file if it is empty. NULL is allowed. */
LC_CHECKED lc_status lc__failures_close(struct lc__failures *failures);

#endif
