/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys and a function for tests of computing what is missing. */
#ifndef T_COMPUTING_H
#define T_COMPUTING_H

#include <pthread.h>
#include <stdbool.h>

#include "lmdbcache.h"

#define KEYS 64

/** What a function was asked for, and what it shall do. */
struct job {
	unsigned calls;
	size_t n, missing[KEYS]; /* of the last call */
	lc_cache *cache;
	lc_status result;
};

/** Before any other: make the names of the keys. */
void make_names(void);
lc_id key_of(unsigned i);
/** Which key an id is. */
unsigned key_number(const lc_id *id);
void list_keys(lc_id *ids, const unsigned *keys, size_t n);

/** Does a view hold the sample of a key? */
bool is_sample(const lc_view *view, unsigned key);
/** Set the sample of a key as a result. */
void set_sample(lc_results *results, size_t j, const lc_id *id);
/** Count a call in a job. */
void note(struct job *job, const size_t *missing, size_t n);
/** An lc_compute_fn whose ctx is a job. */
lc_status compute_samples(void *ctx, const lc_id *keys, const size_t *missing,
    size_t n, lc_results *results);

/** A thread that computes key 0, until it is told to go on. */
struct slow {
	lc_cache *cache; /* set by the caller */
	int asked[2];    /* pipe: a byte when the function is called */
	int told[2];     /* pipe: a byte when it may go on */
	pthread_t thread;
};

/** Start the thread; on return the function runs in it. */
void slow_start(struct slow *slow);
/** Let it go on, and await its end. */
void slow_finish(struct slow *slow);

lc_counters counters_of(lc_cache *cache);

/** Ask for these keys and expect their samples; the function's positions are in
 *  the job. */
void expect_samples(lc_cache *cache, const unsigned *keys, size_t n,
    struct job *job);
/** The function was called once, for these positions. */
void expect_asked(const struct job *job, const size_t *missing, size_t n);

/** A root with a module "m" of keys 0 to 3, of which key 2 is damaged. */
const char *make_damaged(const lc_options *options);

#endif
