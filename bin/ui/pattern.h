/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes cache_ids from paths: "{dir}/{stem}". */
#ifndef CACHEX_UI_PATTERN_H
#define CACHEX_UI_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/** False with @p why if the pattern has a brace too many or an unknown name. */
bool pattern_check(const char *pattern, char *why, size_t room);
/** The pattern, which has been checked, filled from a path; malloc'ed. */
char *pattern_fill(const char *pattern, const char *path);

#endif
