/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of many names came before: 16 bytes of hash and a number are kept of each. */
#ifndef CACHEX_FORMATS_SEEN_H
#define CACHEX_FORMATS_SEEN_H

#include <stdint.h>

#include "lmdbcache.h"

/** All zero is empty. */
struct lc__seen_names {
	struct lc__seen_slot *slots;
	size_t count, room;
};

/** Note a name. LC_EXISTS, without an error's text, if it was there already: then
 *  *first gets the number that it came with. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__seen_add(struct lc__seen_names *seen, const void *name,
    size_t size, uint32_t number, uint32_t *first);

void lc__seen_free(struct lc__seen_names *seen);

#endif
