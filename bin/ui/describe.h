/* SPDX-License-Identifier: BSD-2-Clause */
/* The structure of a value as a line of text. */
#ifndef CACHEX_UI_DESCRIBE_H
#define CACHEX_UI_DESCRIBE_H

#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** "{features: f32[512], label: plain}"; "?" without memory. Free it. */
char *describe_value(const lc_value *value);

/** Cut to about @p columns columns with "…" behind it; returns @p text. */
char *describe_cut(char *text, size_t columns);

/** Bytes of all its tensors. */
uint64_t describe_bytes(const lc_value *value);

#endif
