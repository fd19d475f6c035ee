/* SPDX-License-Identifier: BSD-2-Clause */
/* Coding the tensors of a record anew. */
#ifndef LC_LIFE_RECODE_H
#define LC_LIFE_RECODE_H

#include "store/record.h"

/**
 * Write a record that fits its schema as it would be put with another codec.
 * @param out   gets the whole record, malloc'ed; NULL if it would be above the limit
 *              and stays as it is
 * @param size  gets its bytes
 * @return LC_OK; LC_CORRUPT if its coded bytes are damaged; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__recode(const struct lc__record *record,
    const struct lc__schema *schema, lc_codec codec, int level,
    unsigned char **out, size_t *size);

#endif
