/* SPDX-License-Identifier: BSD-2-Clause */
/* XXH3 of long inputs by the widest vectors of the processor it runs on. */
#ifndef LC_BASE_HASH_LONG_H
#define LC_BASE_HASH_LONG_H

#include <stddef.h>
#include <stdint.h>

uint64_t lc__hash64_long(const void *data, size_t size);

#endif
