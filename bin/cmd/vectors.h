/* SPDX-License-Identifier: BSD-2-Clause */
/* The vectors of a module: one tensor of each record. */
#ifndef CACHEX_CMD_VECTORS_H
#define CACHEX_CMD_VECTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

/** Elements that are held at most: 256 MiB. */
#define VECTORS_ELEMENTS ((size_t)1 << 26)

/** How they are chosen. */
struct vectors_choice {
	const char
	    *field;    /* a part of each record; NULL: the record, or its first vector */
	uint64_t most; /* how many are read at most */
	uint64_t seed; /* of a random choice, if there are more */
};

struct vectors {
	char *field;      /* the part that was read, "" for records that are tensors */
	char type[64];    /* "f32[512]", of the first one */
	float *rows;      /* one after another; all elements are finite */
	lc_id *ids;       /* of each; copies */
	size_t n, d;      /* vectors, and elements of each */
	uint64_t found;   /* records that have the part */
	uint64_t lacking; /* records without it */
	uint64_t
	    infinite; /* vectors left out: they have NaN, infinities, or are damaged */
};

/**
 * Read the vectors, in the order of keys: all, or a random choice, each with the same
 * probability. Fewer than choice->most are read if they would need too much memory.
 * Reports; an exit status: EXIT_NO if no record has the part; EXIT_DATA if it is not a
 * tensor of real numbers, or of different sizes.
 * @param out  free with vectors_free(), also after a failure
 */
int vectors_read(lc_cache *cache, const struct vectors_choice *choice,
    struct vectors *out);
/** Are the elements real numbers? */
bool vectors_real(lc_dtype dtype);
/** Copy the elements of such a tensor; false if one of them is not finite. */
bool vectors_copy(const lc_tensor *tensor, float *out);

void vectors_free(struct vectors *vectors);

#endif
