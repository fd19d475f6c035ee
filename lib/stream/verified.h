/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long pieces of records that were compared with their checksums a while ago: windows
 * come back to a long document many times, and each time it would be read whole.
 */
#ifndef LC_STREAM_VERIFIED_H
#define LC_STREAM_VERIFIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pieces that are remembered: a power of two. */
#define LC__VERIFIED 4096

/* Shorter ones are compared each time: a page of memory costs no less. */
#define LC__VERIFIED_MIN ((size_t)32 << 10)

/** Used by one thread at a time. All zeros is empty. */
struct lc__verified {
	struct {
		const void *at; /* in the map */
		uint64_t sum;   /* the checksum that stands with it */
	} seen[LC__VERIFIED];   /* by checksum */
};

/** Was it compared before, and is it the same by its place and its checksum? What a
 *  later commit puts there has another checksum. */
static inline bool
lc__verified_before(const struct lc__verified *verified, const void *at,
    size_t size, uint64_t sum)
{
	return size >= LC__VERIFIED_MIN &&
	    verified->seen[sum % LC__VERIFIED].at == at &&
	    verified->seen[sum % LC__VERIFIED].sum == sum;
}

/** It was compared, and is intact. */
static inline void
lc__verified_note(struct lc__verified *verified, const void *at, size_t size,
    uint64_t sum)
{
	if (size < LC__VERIFIED_MIN)
		return;
	verified->seen[sum % LC__VERIFIED].at = at;
	verified->seen[sum % LC__VERIFIED].sum = sum;
}

#endif
