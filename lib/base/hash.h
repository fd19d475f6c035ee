/* SPDX-License-Identifier: BSD-2-Clause */
/* XXH3, 64 bits: checksums and hash tables. */
#ifndef LC_BASE_HASH_H
#define LC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t lc__hash64(const void *data, size_t size);
uint64_t lc__hash64_seed(const void *data, size_t size, uint64_t seed);

#endif
