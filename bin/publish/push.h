/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts that are pushed to a store: shards by their content, then the manifest of the part,
 * then its receipt. Each appears whole, and names only what is there: whoever is killed on
 * the way leaves objects that nothing names, and the same push ends the work.
 */
#ifndef CACHEX_PUBLISH_PUSH_H
#define CACHEX_PUBLISH_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "format/manifest.h"
#include "lmdbcache.h"
#include "objects/objects.h"
#include "publish/receipt.h"

/** A part that a source has. */
struct lc__push_part {
	char *name;        /* malloc'ed */
	char *fingerprint; /* hex, "" if not known; malloc'ed */
	bool finished;     /* it is whole: it can be pushed */
	uint64_t records;
	bool has_lines;
	uint64_t lines; /* see struct lc__receipt */
};

/** Where parts come from. */
struct lc__push_source {
	struct lc__push_part *parts;
	size_t n, room;
	char *options; /* of the recipe, JSON text; malloc'ed */
	void *ctx;
	/**
	 * Have the shards of a part, which has records, in a directory.
	 * @param run   the run's id
	 * @param dir   gets it, malloc'ed
	 * @param out   gets their entries, whose paths are from there, and what is said of
	 *              them all; to be freed
	 * @return LC_OK; LC_BUSY if another process makes them now; what lc_export() does.
	 */
	lc_status (*make)(void *ctx, const char *run, size_t part, char **dir,
	    struct lc__manifest *out);
	/** They are not needed any more. */
	void (*done)(void *ctx, const char *dir);
	void (*close)(void *ctx);
};

/** What became of a part. */
enum lc__pushed {
	LC__PUSHED_PUT,        /* its receipt is there now, and was not before */
	LC__PUSHED_THERE,      /* its receipt was there */
	LC__PUSHED_KEPT,       /* one that says something else was there, and stays */
	LC__PUSHED_UNFINISHED, /* it is whole neither here nor there */
	LC__PUSHED_BUSY,       /* another process makes its shards now */
	LC__PUSHED_CONFLICT    /* one that says something else is there */
};
#define LC__PUSHED_KINDS 6

struct lc__push {
	struct lc__objects *store;
	const struct lc__push_source *source;
	const char *producer; /* of the recipe */
	bool check;      /* make parts that have a receipt too, and put what is damaged */
	bool first_wins; /* a receipt that says something else is kept */
	unsigned threads; /* objects at once, from 1 */
	const lc_progress *progress;
	/** Called for each part, in order; for a conflict with it as the last error. */
	void (*told)(void *ctx, size_t part, enum lc__pushed what);
	void *ctx;
};

struct lc__push_result {
	char run[LC__RUN_ID];
	uint64_t parts[LC__PUSHED_KINDS]; /* how many of each kind */
	uint64_t objects, bytes;          /* shards that were put */
};

/**
 * Push the parts that are finished. A conflict does not stop it.
 * @return LC_OK, also with conflicts; LC_UNSUPPORTED, before anything is stored, by a store
 * that cannot keep its promises; else what stopped it.
 */
LC_CHECKED lc_status lc__push_run(const struct lc__push *push,
    struct lc__push_result *out);

/**
 * Does a part of the recipe, with its id set, have a receipt? A damaged one does not count.
 */
LC_CHECKED lc_status lc__push_is_made(struct lc__objects *store,
    const struct lc__parts_recipe *recipe, uint64_t part, bool *made);

/* ---- sources --------------------------------------------------------------------------- */

/**
 * The inputs of a module, each an export of its own.
 * @param how      the options; the order and input are set here
 * @param staging  where shards are made, a directory for each part; borrowed
 * @return LC_OK; LC_INVALID for a module without inputs; else as lc_inputs().
 */
LC_CHECKED lc_status lc__push_module(lc_cache *cache, const lc_export_options *how,
    const char *staging, struct lc__push_source *out);

/** The options of the recipe of a module that is exported so, malloc'ed; NULL without
 *  memory. */
char *lc__push_options(const lc_export_options *how);

/**
 * A directory of shards with its manifest. Each series is a part, named by its directory, and
 * "." where that is the set's own. Of a manifest of parts, each series of each manifest that
 * it names is one: "../a" and "../a/b.shards" of ../a/manifest.json. Those of a set that was
 * pulled are the parts, and have the names, that they had in the store.
 * @return LC_OK; LC_INVALID for a set without shards, or whose export has not ended; as
 * lc__manifest_parse_any() and lc__manifest_read_part(); LC_NO_FILE.
 */
LC_CHECKED lc_status lc__push_shards(const char *dir, struct lc__push_source *out);

/** The manifest of a directory of shards, which may be one of parts. */
LC_CHECKED lc_status lc__push_read_manifest(const char *dir, struct lc__manifest *out);
/** Add a part; the name is copied. */
LC_CHECKED lc_status lc__push_source_add(struct lc__push_source *source, const char *name,
    struct lc__push_part **out);
void lc__push_source_close(struct lc__push_source *source);

#endif
