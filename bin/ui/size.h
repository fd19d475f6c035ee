/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers, sizes, shapes, dates and colours as people write and read them. */
#ifndef CACHEX_UI_SIZE_H
#define CACHEX_UI_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** Decimal digits only; false if it is anything else or too large. */
bool count_parse(const char *text, uint64_t *out);

/** "1 shard", "2 shards"; @p noun in the singular; returns @p out. */
char *count_human(uint64_t n, const char *noun, char *out, size_t room);

/** "512", "64K", "192M", "1.5G", "192MiB": powers of 1,024. */
bool size_parse(const char *text, uint64_t *out);

/** "192M" if that is exact, else bytes; returns @p out. */
char *size_exact(uint64_t bytes, char *out, size_t room);

/** "1.5 GiB", three digits; returns @p out. */
char *size_human(double bytes, char *out, size_t room);

/** "2 h 05 min", "12 s"; returns @p out. */
char *time_human(double seconds, char *out, size_t room);

/** Room for any of these texts. */
#define SIZE_TEXT 40

/** "3,640,640"; an empty text is rank 0. LC_INVALID for anything else. */
LC_CHECKED lc_status shape_parse(const char *text, uint32_t *ndim,
    uint64_t shape[LC_MAX_NDIM]);

/** Room for a date. */
#define DATE_TEXT 32

/** "2026-11-21T15:04:05Z" of ms since 1970; returns @p out. */
char *date_text(uint64_t ms, char out[DATE_TEXT]);

/** "640x480", or "640" for a square. */
bool picture_size(const char *text, lc_bucket *out);

/** "1024x1024,832x1216"; *n says how many. */
bool picture_sizes(const char *text, lc_bucket *out, size_t room, size_t *n);

/** "727272", red, green and blue in hex. */
bool picture_colour(const char *text, uint8_t out[3]);

#endif
