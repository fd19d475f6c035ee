/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A module whose truth is known, and what a fault in its data.mdb does to it: what may
 * never happen, whatever the fault, ends the process through need().
 */
#ifndef T_VICTIM_H
#define T_VICTIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** All that a cache_id ever led to. */
struct victim_key {
	void *id;
	size_t id_size;
	lc_value **values; /* oldest first */
	size_t count;
	bool live;         /* the last of them is its value; else it was deleted */
};

/** A node of a leaf page: one row of a table. */
struct victim_row {
	char table[8];
	size_t key, key_size;     /* offset in the file, bytes */
	size_t value, value_size; /* the same; on overflow pages too */
};

struct victim {
	struct victim_key *keys;
	size_t nkeys, nlive;
	lc_settings settings;
	lc_fill fill;
	unsigned char *bytes; /* data.mdb while it is sound */
	size_t size;
	struct victim_row *rows;
	size_t nrows;
};

/** What the rounds saw. */
struct victim_tally {
	uint64_t rounds;
	uint64_t seen;      /* verify found the fault */
	uint64_t recovered; /* recover ended with LC_OK */
	uint64_t whole;     /* of them, those that lost nothing */
	uint64_t refused;   /* recover said that it cannot help */
};

/** Make a module "m" in @p root at random: plain puts or inputs, tensors or values of
 *  any structure, codecs, lengths, settings; and learn what it holds. */
void victim_make(struct victim *v, const char *root, uint64_t seed);
void victim_free(struct victim *v);

/** Write these bytes as the data.mdb of module "m", whose other files go. */
void victim_write(const char *root, const void *bytes, size_t size);

/** Verify, read, recover, verify and read the module "m", whose file has a fault.
 *  @p moved: sound bytes are in the place of others, so that replaced and deleted values
 *  may be found. */
void victim_round(const struct victim *v, const char *root, bool moved,
    struct victim_tally *tally);

/** Salvage the module "m" into the new one "salvaged", which verifies and has nothing
 *  else than what was put: LC_OK, or LC_NOT_MODULE. */
lc_status victim_salvage(const struct victim *v, const char *root, bool moved,
    lc_salvage_result *result);

#endif
