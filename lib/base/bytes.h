/* SPDX-License-Identifier: BSD-2-Clause */
/* Little-endian loads and stores, size arithmetic that cannot overflow. */
#ifndef LC_BASE_BYTES_H
#define LC_BASE_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Size of the UTF-8 byte order mark (U+FEFF) at the start of a text: 3, or 0 without
 *  one. */
static inline size_t
lc__utf8_mark(const void *text, size_t size)
{
	return size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static inline uint16_t
lc__get16(const void *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t
lc__get32(const void *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t
lc__get64(const void *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/** Load up to 8 bytes, lowest first; the missing ones are zero. */
static inline uint64_t
lc__get_few(const void *p, size_t size)
{
	unsigned char bytes[sizeof(uint64_t)] = { 0 };
	memcpy(bytes, p, size);
	return lc__get64(bytes);
}

static inline void
lc__set16(void *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void
lc__set32(void *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void
lc__set64(void *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

/** Round @p n up to a multiple of @p unit, a power of two. The caller makes sure that it
 *  fits. */
static inline uint64_t
lc__round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) & ~(unit - 1);
}

/** The greatest common divisor; of 0 and n it is n. */
static inline uint64_t
lc__gcd(uint64_t a, uint64_t b)
{
	while (b != 0) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/** a * b into *out, false if it overflows. */
static inline bool
lc__mul64(uint64_t a, uint64_t b, uint64_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}

/** a + b into *out, false if it overflows. */
static inline bool
lc__add64(uint64_t a, uint64_t b, uint64_t *out)
{
	return !__builtin_add_overflow(a, b, out);
}

#endif
