/* SPDX-License-Identifier: BSD-2-Clause */
/* Checksums, by the names that Python's hashlib and xxhash use: "sha256", "md5",
 * "sha3_512", "blake2b", "xxh64", "xxh3_64", "xxh128" ... */
#ifndef LC_BASE_CHECKSUM_H
#define LC_BASE_CHECKSUM_H

#include <stddef.h>

#include "lmdbcache.h"

/** Hex digits of the longest checksum, and a terminator. */
#define LC__CHECKSUM_HEX 129
/** Hex digits of "sha256". */
#define LC__SHA256_HEX 65

struct lc__checksum;

/** LC_UNSUPPORTED for an unknown name, and in a build without libcrypto for every name
 *  that does not begin with "xxh"; LC_IO if libcrypto cannot be loaded; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__checksum_new(const char *name, struct lc__checksum **out);
/** Both return LC_IO if libcrypto fails. */
LC_CHECKED lc_status lc__checksum_update(struct lc__checksum *sum, const void *data,
    size_t size);
/** Write the checksum in lower-case hex digits with a terminator; @p out needs room for
 *  the digits of this kind. Nothing can be added afterwards. */
LC_CHECKED lc_status lc__checksum_hex(struct lc__checksum *sum, char *out);
/** NULL is allowed. */
void lc__checksum_free(struct lc__checksum *sum);

/** The SHA-256 of these bytes, in one call. */
LC_CHECKED lc_status lc__sha256_of(const void *data, size_t size,
    char out[LC__SHA256_HEX]);

/** Bytes of a SHA-256. */
#define LC__SHA256_SIZE 32

/** The HMAC (RFC 2104) by SHA-256 of these bytes under a key of any length. */
LC_CHECKED lc_status lc__hmac_sha256(const void *key, size_t key_size, const void *data,
    size_t size, unsigned char out[LC__SHA256_SIZE]);

#endif
