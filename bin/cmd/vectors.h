/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the vectors of a module: one tensor of each record. */
#ifndef CACHEX_CMD_VECTORS_H
#define CACHEX_CMD_VECTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

/** The most elements in memory: 256 MiB. */
#define VECTORS_ELEMENTS ((size_t)1 << 26)

/** Which vectors to read. */
struct vectors_choice {
	/* Path of a part of each record; NULL: the record, or its first vector. */
	const char *field;
	uint64_t most; /* the most vectors to read */
	uint64_t seed; /* seed of a random choice, if there are more */
};

struct vectors {
	/* Path of the part that was read; "" if the records are tensors. */
	char *field;
	char type[64];    /* type of the first vector, "f32[512]" */
	float *rows;      /* one vector after another; all elements are finite */
	lc_id *ids;       /* key of each vector; copies */
	size_t n, d;      /* number of vectors; elements per vector */
	uint64_t found;   /* number of records that have the part */
	uint64_t lacking; /* number of records without it */
	/* Vectors left out, because they have NaN or infinities or are damaged. */
	uint64_t infinite;
};

/**
 * Read the vectors in the order of keys: all of them, or a random choice in which each
 * has the same probability. Fewer than choice->most are read if they would need too
 * much memory. Reports errors; returns an exit status: EXIT_NO if no record has the
 * part; EXIT_DATA if it is not a tensor of real numbers, or if sizes differ.
 * @param out  free with vectors_free(), also after a failure
 */
int vectors_read(lc_cache *cache, const struct vectors_choice *choice,
    struct vectors *out);
/** Whether the elements are real numbers. */
bool vectors_real(lc_dtype dtype);
/** Copy the elements of such a tensor. False if one of them is not finite. */
bool vectors_copy(const lc_tensor *tensor, float *out);

void vectors_free(struct vectors *vectors);

#endif
