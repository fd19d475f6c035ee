/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pushes parts to a store: shards under the names of their content, then the manifest of
 * the part, then its receipt. Each appears whole, and names only existing objects: a
 * killed push leaves objects that nothing names, and the same push completes the work.
 */
#ifndef CACHEX_PUBLISH_PUSH_H
#define CACHEX_PUBLISH_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "format/manifest.h"
#include "lmdbcache.h"
#include "objects/objects.h"
#include "publish/receipt.h"

/** A part of a source. */
struct lc__push_part {
	char *name;        /* malloc'ed */
	char *fingerprint; /* hex, "" if not known; malloc'ed */
	bool finished;     /* it is complete and can be pushed */
	uint64_t records;
	bool has_lines;
	uint64_t lines; /* see struct lc__receipt */
};

/** The source of the parts. */
struct lc__push_source {
	struct lc__push_part *parts;
	size_t n, room;
	char *options; /* of the recipe, JSON text; malloc'ed */
	void *ctx;
	/**
	 * Make the shards of a part, which has records, in a directory.
	 * @param run  the run's id
	 * @param dir  the directory, malloc'ed
	 * @param out  the entries of the shards, with paths relative to it, and the
	 *             members for all of them; free it
	 * @return LC_OK; LC_BUSY if another process is making them; as lc_export().
	 */
	lc_status (*make)(void *ctx, const char *run, size_t part, char **dir,
	    struct lc__manifest *out);
	/** They are no longer needed. */
	void (*done)(void *ctx, const char *dir);
	void (*close)(void *ctx);
};

/** The result for a part. */
enum lc__pushed {
	LC__PUSHED_PUT,        /* its receipt was put */
	LC__PUSHED_THERE,      /* its receipt existed */
	LC__PUSHED_KEPT,       /* a receipt with different content existed, and stays */
	LC__PUSHED_UNFINISHED, /* it is incomplete here and not in the store */
	LC__PUSHED_BUSY,       /* another process is making its shards */
	LC__PUSHED_CONFLICT    /* a receipt with different content exists */
};
#define LC__PUSHED_KINDS 6

struct lc__push {
	struct lc__objects *store;
	const struct lc__push_source *source;
	const char *producer; /* of the recipe */
	bool check;           /* make parts that have a receipt too, and replace damaged
	                  * objects */
	bool first_wins;      /* keep a receipt with different content */
	unsigned threads;     /* objects put at once, from 1 */
	const lc_progress *progress;
	/** Called for each part, in order; for a conflict the last error describes it. */
	void (*told)(void *ctx, size_t part, enum lc__pushed what);
	void *ctx;
};

struct lc__push_result {
	char run[LC__RUN_ID];
	uint64_t parts[LC__PUSHED_KINDS]; /* how many of each kind */
	uint64_t objects, bytes;          /* shards that were put */
};

/**
 * Push the finished parts. A conflict does not stop it.
 * @return LC_OK, even with conflicts; LC_UNSUPPORTED, before anything is stored, for a
 * store that cannot keep its promises; else what stopped it.
 */
LC_CHECKED lc_status lc__push_run(const struct lc__push *push,
    struct lc__push_result *out);

/**
 * Does a part of the recipe, whose id is set, have a receipt? A damaged one does not
 * count.
 */
LC_CHECKED lc_status lc__push_is_made(struct lc__objects *store,
    const struct lc__parts_recipe *recipe, uint64_t part, bool *made);

/* ---- sources --------------------------------------------------------------------------- */

/**
 * The inputs of a module, each exported separately.
 * @param how      the options; order and input are set here
 * @param staging  where shards are made, in a directory for each part; borrowed
 * @return LC_OK; LC_INVALID for a module without inputs; else as lc_inputs().
 */
LC_CHECKED lc_status lc__push_module(lc_cache *cache, const lc_export_options *how,
    const char *staging, struct lc__push_source *out);

/** The options in the recipe of a module that is exported in this way, malloc'ed; NULL
 *  without memory. */
char *lc__push_options(const lc_export_options *how);

/**
 * A directory of shards with its manifest. Each series is a part, named by its directory,
 * and "." for that of the set itself. For a manifest of parts, each series of each
 * manifest that it names is one: "../a" and "../a/b.shards" of ../a/manifest.json. A set
 * that was pulled has the parts, and their names, that it had in the store.
 * @return LC_OK; LC_INVALID for a set without shards, or with an unfinished export; as
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
