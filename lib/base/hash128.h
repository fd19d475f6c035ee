/* SPDX-License-Identifier: BSD-2-Clause */
/* XXH3, 128 bits: what tells files apart. The upper half comes first, as in the
 * hash's canonical text. */
#ifndef LC_BASE_HASH128_H
#define LC_BASE_HASH128_H

#include <stddef.h>
#include <stdint.h>

#define LC__HASH128_HEX 33 /* hex digits and a terminator */

void lc__hash128(const void *data, size_t size, uint64_t hash[2]);

/** The same of bytes that come in pieces. */
struct lc__hash128;
/** NULL without memory. */
struct lc__hash128 *lc__hash128_new(void);
void lc__hash128_update(struct lc__hash128 *state, const void *data, size_t size);
void lc__hash128_end(const struct lc__hash128 *state, uint64_t hash[2]);
/** The same as 32 lower-case hex digits. */
void lc__hash128_hex(const struct lc__hash128 *state, char out[LC__HASH128_HEX]);
void lc__hash128_free(struct lc__hash128 *state);

#endif
