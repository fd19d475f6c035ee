/* SPDX-License-Identifier: BSD-2-Clause */
/* What a store holds, as texts to compare. */
#ifndef T_OBJECTS_SEEN_H
#define T_OBJECTS_SEEN_H

#include "objects/objects.h"

/** The bytes of an object of at most 1,000, valid until the next call. */
const char *text_of(struct lc__objects *store, const char *name);

/** "name size, name size": what a listing gives, valid until the next call. */
const char *listed(struct lc__objects *store, const char *prefix);
/** The function of such a listing; @p text is a struct lc__buf. */
lc_status append_name(void *text, const struct lc__object *object);

#endif
