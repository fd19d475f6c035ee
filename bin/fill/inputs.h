/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills a module from input shards: each is a declared input, whose lines go to producers
 * in batches; the results become chunks, in the order of the lines. A chunk ends after
 * `chunk` records, before a record with which its tensors would exceed LC__CHUNK_TENSORS,
 * or after one that alone exceeds it: that depends only on the records. So the same
 * shards give the same chunks, whichever process computes them, and when.
 *
 * Batches are handed out in the order of the chunks to come: the first chunk of each
 * input, then the second one. So only a few chunks are in progress at once, and the order
 * for readers keeps growing.
 */
#ifndef CACHEX_FILL_INPUTS_H
#define CACHEX_FILL_INPUTS_H

#include "fill/fill.h"
#include "fill/shard.h"
#include "lmdbcache.h"

#define LC__FINGERPRINT 16 /* bytes: the hash's canonical form, big-endian */

/** @param size  the file's size
 *  @return also LC_INVALID if it is not a regular file. */
LC_CHECKED lc_status lc__fingerprint(const char *path, unsigned char out[LC__FINGERPRINT],
    uint64_t *size);

/** Bytes of the tensors of a chunk. */
#define LC__CHUNK_TENSORS ((uint64_t)64 << 20)

/** The most inputs that are held, and files that are open, at once. */
#define LC__INPUTS_OPEN 16

struct lc__inputs_shard {
	const char *path; /* also the input's name */
	enum lc__shard_kind kind;
	bool elsewhere; /* another process fills it: it is declared and never opened */
};

/** The result. Failed items and bad lines that occur again, because their input stopped
 *  before them and the run was repeated, count again. */
struct lc__inputs_filled {
	uint64_t items;    /* given to producers */
	uint64_t recalled; /* results from before a run was killed that were not stored */
	uint64_t stored;   /* records that were committed */
	uint64_t failed;   /* items */
	uint64_t bad;      /* lines of the wrong kind or without a valid id */
	uint64_t bytes;    /* of the tensors stored */
	uint64_t chunks;   /* committed */
	uint64_t declared; /* inputs; the members below are for those filled here
	                            * */
	uint64_t shard_bytes;      /* bytes of all shards */
	uint64_t shard_before;     /* bytes of shards that were done before */
	uint64_t shard_done;       /* bytes of shards that are done now */
	uint64_t inputs, finished; /* finished now, including by others or before */
	uint64_t stopped;          /* inputs that stopped before their end */
	/* Inputs that stopped because of a bad line or file. */
	uint64_t unread;
	uint64_t left; /* inputs held by others */
	struct lc__produced produced;
};

struct lc__inputs_fill {
	lc_cache *cache; /* NULL with dry_run if the module does not exist */
	const struct lc__producers *producers;
	struct lc__demands demands; /* of new values */
	const struct lc__inputs_shard *shards;
	size_t n;
	uint64_t batch, batch_bytes; /* as in struct lc__fill */
	uint64_t chunk;              /* records */
	bool skip_failed;            /* continue after failures and bad lines, which are
	                              * then final; else their input stops */
	bool dry_run;                /* count what is left in items and bad */
	/** Append the id of a line, which may be in use already. LC_INVALID: the line is
	 *  bad. NULL: "SHARD:LINE", and ids are assumed to be new. */
	lc_status (*name)(void *ctx, const struct lc__inputs_shard *shard,
	    const struct lc__line *line, struct lc__buf *out);
	void (*back)(void *ctx, const struct lc__items *batch); /* as in struct lc__fill,
	                                                         * unless no producer was
	                                                         * asked for any of the
	                                                         * batch */
	/** Called for each item that failed, and for each bad line. May be NULL. */
	void (*failed)(void *ctx, const struct lc__item *item);
	/** Called for each input that stops before its end, with the reason. May be
	 *  NULL. */
	void (*stopped)(void *ctx, const char *name, const char *why);
	lc_status (*idle)(void *ctx, const struct lc__inputs_filled *so_far);
	void *ctx;
	struct lc__failures *failures;
};

/**
 * Declare the inputs, those filled elsewhere without a fingerprint, and run. What was
 * committed is durable, whatever the status; the same call continues after it. An input
 * that another writer holds is skipped, and tried again at the end.
 * @return LC_OK, even if items failed and inputs stopped; else what stopped the run:
 * statuses of lc_inputs_declare() and lc__produce(); LC_NO_SPACE, LC_IO and others of
 * commits; LC_NO_FILE for a missing shard.
 */
LC_CHECKED lc_status lc__inputs_run(const struct lc__inputs_fill *fill,
    struct lc__inputs_filled *out);

#endif
