/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Modules that are written while record_io records, and what must be in them after a
 * loss of power.
 *
 * The recorded program does everything through the calls of the first half: each marks
 * in the log what it is about to do and what it was promised. The second half reads the
 * marks back and holds a state of the disk against them.
 */
#ifndef T_POWER_H
#define T_POWER_H

#include "lmdbcache.h"
#include "replay_io.h"
#include "sample.h"

/** Different ids a place. */
#define POWER_KEYS 40
/** Modules that there can be; place i is the module "m" in the root "r<i>". */
#define POWER_PLACES 4

/* ---- the recorded program ------------------------------------------------------ */

/** A handle on a place. */
struct power {
	const char *dir;  /* the recorded directory */
	unsigned place;
	bool full;        /* LC_DURABLE_FULL */
	lc_cache *cache;
};

void power_open(struct power *p, const char *dir, unsigned place,
    const lc_options *options);
/** Put a sample of some size under the key, in a version that no other put has. */
void power_put(struct power *p, unsigned key, struct sample_range sizes);
void power_delete(struct power *p, unsigned key);
/** n puts and deletes of random keys. */
void power_change(struct power *p, unsigned n, struct sample_range sizes);
void power_flush(struct power *p);
void power_close(struct power *p);
/** Delete everything. */
void power_clear(struct power *p);
/** Rewrite every chunk that can be. */
void power_compact(struct power *p);
/** Replace the file of the module, which nobody has open; p is a handle that was. */
void power_shrink(const struct power *p);
/** Change a setting. */
void power_set(struct power *p, int value);
/** Copy the module to another place, with the flags of lc_backup(). */
void power_backup(struct power *p, unsigned place, unsigned flags);
/** Declare the inputs "a" and "b". */
void power_declare(struct power *p);
/** Commit n keys from the first one on as the next chunk of an input; each key once. */
void power_fill(struct power *p, const char *input, unsigned first, unsigned n,
    struct sample_range sizes);
/** Make the module "m" in the root "src", whose samples have one shape, and export it
 *  into "out". Once a recording. */
void power_export(const char *dir);

/* ---- the check -------------------------------------------------------------------- */

struct power_model;

struct power_model *power_model_new(const struct replay_log *log);
void power_model_free(struct power_model *model);

/**
 * Is a state what was promised? States come in the order of replay_states(). NULL if
 * it is, or what is wrong, valid until the next call.
 */
const char *power_model_check(struct power_model *model,
    const struct replay_state *state);

#endif
