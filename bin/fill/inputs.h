/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills a module from input shards: each is a declared input, whose lines go to
 * producers in batches and come back as chunks, in the order of the lines.
 *
 * A chunk ends after `chunk` records, or before a record with which its tensors would
 * take more than LC__CHUNK_TENSORS, or behind one with which they do: that follows from
 * the records alone. Whoever made them when, the same shards give the same chunks.
 *
 * Batches are given out in the order of the chunks to come: the first chunk of each
 * input, then the second one. So few chunks are under way at once, and the order that
 * readers follow grows all the time.
 */
#ifndef CACHEX_FILL_INPUTS_H
#define CACHEX_FILL_INPUTS_H

#include "fill/fill.h"
#include "fill/shard.h"
#include "lmdbcache.h"

#define LC__FINGERPRINT 16 /* bytes: the hash's canonical form, big-endian */

/** @param size  gets the file's size; LC_INVALID if it is not a regular file. */
LC_CHECKED lc_status lc__fingerprint(const char *path, unsigned char out[LC__FINGERPRINT],
    uint64_t *size);

/** Bytes of the tensors of a chunk. */
#define LC__CHUNK_TENSORS ((uint64_t)64 << 20)

/** Inputs that are held and files that are open at once. */
#define LC__INPUTS_OPEN 16

struct lc__inputs_shard {
	const char *path; /* also the input's name */
	enum lc__shard_kind kind;
	bool elsewhere; /* another one fills it: it is declared and never opened */
};

/** What was done. Failed items and bad lines that come again, because their input
 *  stopped before them and the run was repeated, count again. */
struct lc__inputs_filled {
	uint64_t items; /* given to producers */
	uint64_t
	    recalled;    /* that came back before a run was killed, and were not stored */
	uint64_t stored; /* records that were committed */
	uint64_t failed; /* items */
	uint64_t bad;    /* lines that are none of their kind or have no good id */
	uint64_t bytes;  /* of the tensors stored */
	uint64_t chunks; /* committed */
	uint64_t declared;         /* inputs; what follows is of those filled here */
	uint64_t shard_bytes;      /* of all shards */
	uint64_t shard_before;     /* of them, those that were done before */
	uint64_t shard_done;       /* of them, those that are done now */
	uint64_t inputs, finished; /* now, also by others or before */
	uint64_t stopped;          /* inputs that stopped before their end */
	uint64_t unread;           /* of them, for a line or file that is bad */
	uint64_t left;             /* inputs that others hold */
	struct lc__produced produced;
};

struct lc__inputs_fill {
	lc_cache *cache; /* NULL with dry_run: a module that is not there */
	const struct lc__producers *producers;
	struct lc__demands demands; /* of new values */
	const struct lc__inputs_shard *shards;
	size_t n;
	uint64_t batch, batch_bytes; /* as in struct lc__fill */
	uint64_t chunk;              /* records */
	bool skip_failed;            /* go on behind what fails and bad lines, for good;
	                                    else their input stops */
	bool dry_run;                /* count what is left in items and bad */
	/** Append the id of a line, which may be in use already. LC_INVALID: the line is bad.
	 *  NULL: "SHARD:LINE", and ids are taken to be new. */
	lc_status (*name)(void *ctx, const struct lc__inputs_shard *shard,
	    const struct lc__line *line, struct lc__buf *out);
	void (*back)(void *ctx, const struct lc__items *batch); /* as in struct lc__fill,
	                                    unless no producer was asked for any of it */
	/** Told of each item that failed, and of each bad line. NULL for nobody. */
	void (*failed)(void *ctx, const struct lc__item *item);
	/** Told of each input that stops before its end, and why. NULL for nobody. */
	void (*stopped)(void *ctx, const char *name, const char *why);
	lc_status (*idle)(void *ctx, const struct lc__inputs_filled *so_far);
	void *ctx;
	struct lc__failures *failures;
};

/**
 * Declare the inputs, those filled elsewhere without a fingerprint, and run. What was
 * committed is durable, whatever this returns; the same call goes on behind it. An input
 * that another writer holds is passed over, and asked for again at the end.
 * @return LC_OK, also when items failed and inputs stopped; else what stopped it all:
 * what lc_inputs_declare() and lc__produce() return; LC_NO_SPACE, LC_IO and others of
 * commits; LC_NO_FILE for a shard that is not there.
 */
LC_CHECKED lc_status lc__inputs_run(const struct lc__inputs_fill *fill,
    struct lc__inputs_filled *out);

#endif
