/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of any structure that follow from a state. */
#ifndef T_RANDOM_VALUE_H
#define T_RANDOM_VALUE_H

#include <stdint.h>

#include "lmdbcache.h"

/** A value nested up to @p depth levels, with its own data; lc_value_free(). */
lc_value *random_value(uint64_t *state, int depth);

/** A part of it at random, at any level; @p path of @p room bytes leads there. */
const lc_value *random_part(uint64_t *state, const lc_value *value, char *path,
    size_t room);

#endif
