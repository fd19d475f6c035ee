/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of files and of their names as one line of UTF-8. */
#ifndef CACHEX_LABELS_PRINTABLE_H
#define CACHEX_LABELS_PRINTABLE_H

#include <stddef.h>

/**
 * Copy a string: control characters and what is not UTF-8 become \xNN, byte by
 * byte. What does not fit into @p room (with its terminator) is left out, never a
 * part of a character. 4 bytes for each of the text and 1 are always enough.
 * @return bytes written without the terminator
 */
size_t lc__printable(const char *text, char *out, size_t room);

#endif
