/* SPDX-License-Identifier: BSD-2-Clause */
/* base64 with padding, RFC 4648. */
#ifndef CACHEX_FORMATS_BASE64_H
#define CACHEX_FORMATS_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

void lc__base64_write(FILE *out, const void *data, size_t size);
/**
 * Decode @p size characters in place over @p text; *decoded says how many bytes
 * there are. False if it is not base64.
 */
bool lc__base64_decode(char *text, size_t size, size_t *decoded);

#endif
