/* SPDX-License-Identifier: BSD-2-Clause */
/* Text and numbers as JSON writes them. */
#ifndef CACHEX_FORMATS_JSON_TEXT_H
#define CACHEX_FORMATS_JSON_TEXT_H

#include <stddef.h>
#include <stdio.h>

/** A string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void lc__json_string(FILE *out, const void *data, size_t size);

/**
 * A finite number with the fewest digits that read back as the same one, and so
 * that no reader takes it for an integer: 1.0, 0.1, 1e+100.
 */
void lc__json_real(FILE *out, double number);

#endif
