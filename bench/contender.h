/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store under measurement. Each contender does the same work in the way that its
 * own author would write it; a failure ends the program.
 */
#ifndef BENCH_CONTENDER_H
#define BENCH_CONTENDER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "load.h"

/** Ways to read. "Touched": the first bytes of the data are read. */
enum way {
	GET_POINTER,         /* random keys in place, the data not touched */
	GET,                 /* random keys in place, touched */
	GET_RENEWED,         /* the same, each under the newest snapshot of its own */
	COPY,                /* random keys, copied out */
	BATCH,               /* random keys, BATCH_SIZE of them at a time, touched */
	BATCH_COPY,          /* the same, all of a batch copied out */
	SCAN_KEYS,           /* all in the order of keys, touched */
	SCAN_KEYS_COPY,      /* each value copied out */
	SCAN_KEYS_SUM,       /* every byte read */
	SCAN_COMMITS,        /* all in the order they were put, touched */
	SCAN_COMMITS_LISTED, /* the data not touched */
	SCAN_COMMITS_COPY,
	SCAN_COMMITS_SUM,
	WAYS
};

#define BATCH_SIZE 100

/** What a store that has checksums compares with them. */
enum check {
	CHECK_NONE,
	CHECK_ALL,  /* whatever is read, each time */
	CHECK_ONCE, /* when the process reads it for the first time */
	CHECKS
};

/** What is done with the bytes of a value that a scan came to. */
enum use { TOUCH, COPY_OUT, SUM };

/**
 * Read @p n samples, load->order[i % samples] for i in turn (all of them, in a
 * scan). Returns the sum of their first words; of all words, where every byte is read;
 * of the sizes, where none is.
 */
typedef uint64_t read_fn(void *store, uint64_t n);

struct contender {
	const char *name;

	bool steps;       /* its commits are measured one by one, too */
	bool verifies;    /* has checksums, and can do without */
	bool threads;     /* fill() may be called by several at once */

	/**
	 * Open the store in directory @p dir, which exists; make what is missing.
	 * @p check counts only where the contender verifies. NULL in a contender whose
	 * library was not there when this was built.
	 */
	void *(*open)(const struct load *load, const char *dir, enum check check);
	void (*close)(void *store);
	/** Put samples from..to-1, load->commit a commit; all durable on return. */
	void (*fill)(void *store, uint64_t from, uint64_t to);
	/** NULL where the contender does not have that way; without COPY it only puts. */
	read_fn *read[WAYS];
	/**
	 * Put the first samples, @p bytes of data, without a commit; the growth of
	 * private memory. NULL where nothing is kept pending.
	 */
	double (*pending)(const struct load *load, const char *dir, uint64_t bytes);
};

extern const struct contender contender_cachex, contender_cachex_waiting, contender_flat,
    contender_kyoto, contender_leveldb, contender_lmdb, contender_rocksdb, contender_sqlite,
    contender_tkrzw, contender_wiredtiger;

/** The key of the i-th sample that is read. */
static inline const char *
key_in_order(const struct load *load, uint64_t i)
{
	return load->keys[load->order[i % load->samples]];
}

/** The first word of a value. */
static inline uint64_t
head_of(const void *value)
{
	uint64_t head;

	memcpy(&head, value, sizeof(head));
	return head;
}

/** Use the value of a scan; @p copy has room for it. What the scan adds up. */
static inline uint64_t
used(enum use use, void *copy, const void *value, size_t size)
{
	if (use == SUM)
		return load_sum(value, size);
	return head_of(use == COPY_OUT ? memcpy(copy, value, size) : value);
}

#endif
