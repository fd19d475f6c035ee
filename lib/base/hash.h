/* SPDX-License-Identifier: BSD-2-Clause */
/* XXH3: 64 bits for checksums and hash tables, 128 bits to identify files. */
#ifndef LC_BASE_HASH_H
#define LC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t lc__hash64(const void *data, size_t size);
uint64_t lc__hash64_seed(const void *data, size_t size, uint64_t seed);

/** The same; in addition the first @p n of these bytes are copied to @p out, in pieces
 *  that stay in the processor's cache.
 *  @param all  size of the whole copy that these bytes are a part of */
uint64_t lc__hash64_copy(const void *data, size_t size, void *out, size_t n, size_t all);

/** The part of lc__hash64() for long inputs. */
uint64_t lc__hash64_long(const void *data, size_t size);

/* 128 bits. The upper half comes first, as in the hash's canonical text. */

#define LC__HASH128_HEX 33 /* hex digits and a terminator */

void lc__hash128(const void *data, size_t size, uint64_t hash[2]);

/** The same for bytes that arrive in pieces. */
struct lc__hash128;
/** NULL without memory. */
struct lc__hash128 *lc__hash128_new(void);
void lc__hash128_update(struct lc__hash128 *state, const void *data, size_t size);
void lc__hash128_end(const struct lc__hash128 *state, uint64_t hash[2]);
/** The same as 32 lower-case hex digits. */
void lc__hash128_hex(const struct lc__hash128 *state, char out[LC__HASH128_HEX]);
void lc__hash128_free(struct lc__hash128 *state);

#endif
