/* SPDX-License-Identifier: BSD-2-Clause */
/* The subcommands of cachex warehouse, and what they share. */
#ifndef CACHEX_CMD_WAREHOUSE_H
#define CACHEX_CMD_WAREHOUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/stores.h"
#include "lmdbcache.h"
#include "ui/command.h"

/* ---- The rows of the subcommands of `cachex warehouse`, each in warehouse_WORD.c --------- */

extern const struct command warehouse_inspect, warehouse_verify, warehouse_list,
    warehouse_compare, warehouse_use, warehouse_prune, warehouse_report;

/* ---- The versions in a warehouse --------------------------------------------------- */

struct version {
	char *name;   /* name, "v20261121-0123456789ab", malloc'ed */
	bool current; /* `current` points to it */
	/* The version has a manifest, which could be read. A version that is neither
	 * this nor damaged is the rest of a removal that was stopped. */
	bool finished;
	bool damaged; /* the version has a manifest, which could not be read */
	char key[65]; /* version key, if the manifest has a valid one */
	uint64_t samples, shards, bytes; /* bytes of the shards */
	uint64_t created_at_ms;
};

struct versions {
	struct version *all; /* by time, oldest first; those without a manifest last */
	size_t n;
};

/** List the versions. Reports errors; returns an exit status, EXIT_NO if a version is
 *  damaged or lacks a shard whose size its manifest does not have. Free @p out also
 *  after a failure. */
int versions_read(const char *warehouse, struct versions *out);

void versions_free(struct versions *versions);

/** Refuse the URL of a store, which has no versions. Reports; returns an exit
 *  status. */
int warehouse_refuse_url(const char *warehouse);

/**
 * Open a warehouse only to look at it: also if its sources have changed or its limits
 * are exceeded.
 */
LC_CHECKED lc_status warehouse_open_to_look(const char *path, lc_verify_mode verify,
    lc_warehouse **out);

/** A warehouse that is examined, in a directory or a store. All zero: none. */
struct warehouse_look {
	lc_warehouse *warehouse;
	struct store_look store; /* the generation of a store that it is, or zeros */
};

/**
 * Open the warehouse at a path, or a generation by the URL of its store, which is read
 * through the cache of copies.
 */
LC_CHECKED lc_status warehouse_look(const char *name, lc_verify_mode verify,
    struct warehouse_look *out);
/** The status of opening @p path, with advice if it is the directory of a store. */
lc_status warehouse_hint(const char *path, lc_status status);
void warehouse_look_end(struct warehouse_look *look);

/* ---- The state of a warehouse's sources, for the subcommands that report it -------- */

/** The words of the option, in the order of lc_warehouse_sources. */
#define WAREHOUSE_SOURCES "stat|content|ignore"

/** Options for how sources are compared; their values go to an int and to a
 *  const char *. */
/* clang-format off */
#define WAREHOUSE_SOURCES_OPTIONS(sources, dataset) \
	{ "", "sources", OPT_CHOICE, &(sources), .value = WAREHOUSE_SOURCES, \
	    .help = "compare sizes and times of the sources, compare the contents, or " \
	    "do not check them" }, \
	{ "", "dataset", OPT_DIR, &(dataset), .value = "DIR", \
	    .help = "where the sources are now" }
/* clang-format on */

struct warehouse_sources {
	bool listed;     /* the warehouse has a list of its sources */
	bool seen;       /* the sources were compared */
	lc_status found; /* LC_OK, LC_STALE, or why the sources could not be compared */
	char text[1000]; /* text of a failure */
};

/**
 * Compare the sources as @p options says; each difference goes to its progress.
 * @return not LC_OK if something else than the sources is wrong, or if it was stopped.
 */
LC_CHECKED lc_status warehouse_sources_look(lc_warehouse *warehouse,
    const lc_warehouse_options *options, struct warehouse_sources *out);

#endif
