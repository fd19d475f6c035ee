/* SPDX-License-Identifier: BSD-2-Clause */
/* How many digits the reals of a JSON value need. */
#ifndef LC_FORMAT_DIGITS_H
#define LC_FORMAT_DIGITS_H

#include <stddef.h>

#include <jansson.h>

/**
 * Flags for json_dump*(): the fewest digits, 15 to 17, with which every real in the
 * value reads back as the same one. jansson's own 17 write 0.1 as
 * 0.10000000000000001.
 */
size_t lc__json_digits(const json_t *value);

#endif
