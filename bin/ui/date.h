/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CACHEX_UI_DATE_H
#define CACHEX_UI_DATE_H

#include <stdint.h>

/** Room for a date. */
#define DATE_TEXT 32

/** "2026-11-21T15:04:05Z" of ms since 1970; returns @p out. */
char *date_text(uint64_t ms, char out[DATE_TEXT]);

#endif
