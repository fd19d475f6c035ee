/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and sizes as people write and read them. */
#ifndef CACHEX_UI_SIZE_H
#define CACHEX_UI_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
