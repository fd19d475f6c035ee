/* SPDX-License-Identifier: BSD-2-Clause */
/* UTF-8 as in RFC 3629: shortest forms, no surrogates, up to U+10FFFF. */
#ifndef LC_BASE_UTF8_H
#define LC_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/** The size of the character that begins the text; 0 if it is not valid UTF-8. */
size_t lc__utf8_length(const unsigned char *text, size_t size);
/** True if all of it is UTF-8. */
bool lc__utf8_valid(const void *data, size_t size);

#endif
