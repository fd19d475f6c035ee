/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LC_STREAM_CURSOR_FIELDS_H
#define LC_STREAM_CURSOR_FIELDS_H

#include "value/schema.h"

/** Paths of all tensors of a structure, in its order, as lc__cursor_fields(). */
LC_CHECKED lc_status lc__field_names(const struct lc__schema *schema,
    char ***names, size_t *n);

/** The same of names that are known. */
LC_CHECKED lc_status lc__field_names_copy(const char *const *from, size_t count,
    char ***names, size_t *n);

#endif
