/* SPDX-License-Identifier: BSD-2-Clause */
/* Small modules as bytes, and what salvage has to find in them when they are damaged. */
#ifndef T_SALVAGING_H
#define T_SALVAGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "life/salvage.h"
#include "lmdbcache.h"

enum salvaging_kind {
	SALVAGING_PLAIN,   /* one commit of tensors */
	SALVAGING_COMMITS, /* many commits with replaced and deleted records, compacted */
	SALVAGING_VALUES,  /* values of three structures, settings */
	SALVAGING_CODED,   /* coded tensors */
	SALVAGING_INPUTS,  /* filled by two inputs */
	SALVAGING_KINDS
};

/** A record of the undamaged file. */
struct salvaging_record {
	uint64_t hash[2];  /* of its cache_id */
	uint64_t at, size; /* in the file */
	uint64_t checksum;
};

/** A module's data file. */
struct salvaging {
	unsigned char *bytes;
	size_t size;
	uint32_t page_size;
	struct salvaging_record *live; /* by cache_id */
	uint64_t nlive;
	unsigned char *reached; /* a bit a page: the newest commit uses it */
};

/** Make module ROOT/m of a kind; all random follows from the seed. */
void salvaging_make(const char *root, enum salvaging_kind kind, uint64_t *seed);
/** Its file in memory; salvage finds exactly the records that the module has. */
void salvaging_load(const char *root, struct salvaging *out);
void salvaging_free(struct salvaging *s);

/** What one look at damaged bytes found. */
struct salvaging_result {
	lc_status status;
	uint64_t missing; /* live records that are whole and were not taken */
	uint64_t extra;   /* records taken that are not live */
	lc_salvage_result result;
};

/** Salvage @p size bytes, some of which may be damaged. */
struct salvaging_result salvaging_try(const struct salvaging *s,
    const unsigned char *bytes, size_t size);

/** The modules have the same records, by value; one of them is verified. */
void salvaging_compare(const char *root, const char *original, const char *salvaged);

#endif
