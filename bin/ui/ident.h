/* SPDX-License-Identifier: BSD-2-Clause */
/* Printing cache_ids as text. */
#ifndef CACHEX_UI_IDENT_H
#define CACHEX_UI_IDENT_H

#include <stdbool.h>
#include <stdio.h>

#include "lmdbcache.h"

/**
 * Print with control characters, and bytes that are not UTF-8, as \xNN; returns
 * how many columns it takes, near enough.
 */
int ident_print(FILE *out, lc_id id);

/**
 * Print as an item of a list: NUL-ended if @p null, else a line; as it is, but
 * escaped on a terminal.
 */
void ident_item(FILE *out, lc_id id, bool null);

#endif
