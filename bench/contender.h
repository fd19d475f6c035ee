/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store under measurement. Each contender does the same work in the way that its
 * own author would write it; a failure ends the program.
 */
#ifndef BENCH_CONTENDER_H
#define BENCH_CONTENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "load.h"

/** Ways to read. "Touched": the first byte of the data is read. */
enum way {
	GET_POINTER,          /* random keys in place, the data not touched */
	GET,                  /* random keys in place, touched */
	GET_RENEWED,          /* the same, each under the newest snapshot of its own */
	GET_VERIFIED,         /* the same, checksum checked */
	COPY,                 /* random keys, copied out */
	COPY_VERIFIED,
	BATCH,                /* random keys, BATCH_SIZE of them at a time, touched */
	BATCH_VERIFIED,
	SCAN_KEYS,            /* all in the order of keys, touched */
	SCAN_KEYS_VERIFIED,
	SCAN_COMMITS,         /* all in the order they were put, touched */
	SCAN_COMMITS_VERIFIED,
	SCAN_COMMITS_LISTED,  /* the same, the data not touched */
	SCAN_KEYS_COPY,       /* the scans again, each value copied out */
	SCAN_COMMITS_COPY,
	SCAN_COMMITS_COPY_VERIFIED,
	WAYS
};

#define BATCH_SIZE 100

/**
 * Read @p n samples, load->order[i % samples] for i in turn (all of them, in a
 * scan). Returns the sum of the bytes touched; where none is, of the sizes.
 */
typedef uint64_t read_fn(void *store, uint64_t n);

struct contender {
	const char *name;
	uint64_t largest; /* value size that it takes part with */

	bool steps;       /* its commits are measured one by one, too */
	bool verifies;    /* has checksums, and can do without */

	/**
	 * Open the store in directory @p dir, which exists; make what is missing.
	 * @p verify counts only where the contender verifies.
	 */
	void *(*open)(const struct load *load, const char *dir, bool verify);
	void (*close)(void *store);
	/** Put samples from..to-1, load->commit a commit; all durable on return. */
	void (*fill)(void *store, uint64_t from, uint64_t to);
	/** NULL where the contender does not have that way. */
	read_fn *read[WAYS];
	/**
	 * Put the first samples, @p bytes of data, without a commit; the growth of
	 * private memory. NULL where nothing is kept pending.
	 */
	double (*pending)(const struct load *load, const char *dir, uint64_t bytes);
};

extern const struct contender contender_lmdb, contender_cachex, contender_sqlite;

/** The key of the i-th sample that is read. */
static inline const char *
key_in_order(const struct load *load, uint64_t i)
{
	return load->keys[load->order[i % load->samples]];
}

#endif
