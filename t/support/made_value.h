/* SPDX-License-Identifier: BSD-2-Clause */
/* Values at random: every kind, odd numbers, odd names. */
#ifndef T_MADE_VALUE_H
#define T_MADE_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"

/** What a value may be made of. */
struct made_value {
	bool tensors;  /* tensors */
	bool plain;    /* plain data, tuples, tagged values, pairs, empty parts and any
	                  name at all */
	unsigned deep; /* the deepest nesting */
};

/** A value; free it with lc_value_free(). Tensors borrow static memory. */
lc_value *make_value(uint64_t *seed, struct made_value how);

#endif
