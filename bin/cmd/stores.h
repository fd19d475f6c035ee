/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores that commands open, and what ls and verify do with one instead of a module. */
#ifndef CACHEX_CMD_STORES_H
#define CACHEX_CMD_STORES_H

#include <stdbool.h>

#include "format/manifest.h"
#include "lmdbcache.h"
#include "objects/objects.h"
#include "remote/generations.h"

/** The values that the options below set. */
extern lc_store_options store_options;
extern int store_path_style, store_single_publisher;
extern uint64_t store_retry_s;

/** Rows of options for commands that open a store; the second for those that
 *  publish. */
/* clang-format off */
#define STORE_OPTIONS \
	{ "", "endpoint", OPT_TEXT, &store_options.endpoint, .value = "URL", \
	    .help = "URL of an S3 server: http://HOST:PORT or https://HOST; default " \
		    "AWS_ENDPOINT_URL_S3, or Amazon's" }, \
	{ "", "region", OPT_TEXT, &store_options.region, .value = "NAME", \
	    .help = "region of S3; default AWS_REGION, or us-east-1" }, \
	{ "", "profile", OPT_TEXT, &store_options.profile, .value = "NAME", \
	    .help = "profile in ~/.aws/credentials and ~/.aws/config; default AWS_PROFILE" }, \
	{ "", "path-style", OPT_CHOICE, &store_path_style, .value = "auto|yes|no", \
	    .help = "put the bucket into the path; auto: if an endpoint is given" }, \
	{ "", "ca-file", OPT_TEXT, &store_options.ca_file, .value = "FILE", \
	    .help = "certificates of authorities for https; default AWS_CA_BUNDLE" }, \
	{ "", "retry-for", OPT_COUNT, &store_retry_s, .value = "SECONDS", .most = 86400, \
	    .help = "a server of S3 that is gone is asked again for so long; default 60" }
#define STORE_SINGLE_PUBLISHER \
	{ "", "single-publisher", OPT_FLAG, &store_single_publisher, \
	    .help = "use an S3 store without conditional puts; only one process at a " \
		    "time may push and publish" }

/** Options for fetching the shards of a generation, of commands that read one. */
extern struct store_fetch {
	const char *cache;         /* directory; NULL: ROOT/.copies */
	/* 0 means 16 GiB; the newest; the default. */
	uint64_t cache_size, generation, ahead;
} store_fetch;

#define STORE_GENERATION_OPTIONS \
	{ "", "cache", OPT_DIR, &store_fetch.cache, .value = "DIR", \
	    .help = "for a store: directory of copies of its shards; default ROOT/.copies" }, \
	{ "", "generation", OPT_COUNT, &store_fetch.generation, .value = "N", .least = 1, \
	    .help = "for a store: generation to read, as URL@N; default the newest" }
#define STORE_FETCH_OPTIONS \
	STORE_GENERATION_OPTIONS, \
	{ "", "fetch-ahead", OPT_COUNT, &store_fetch.ahead, .value = "N", .least = 1, \
	    .most = 65536, \
	    .help = "for a store: shards to fetch before they are needed; default 4" }
#define STORE_CACHE_SIZE \
	{ "", "cache-size", OPT_SIZE, &store_fetch.cache_size, .value = "SIZE", .least = 1, \
	    .help = "for a store: maximum size of the copies on disk; default 16G" }
/** Options of commands that examine a generation. */
#define STORE_LOOK_OPTIONS STORE_GENERATION_OPTIONS, STORE_CACHE_SIZE, STORE_OPTIONS
/* clang-format on */

/** Split "URL@7", which names generation 7. Returns the URL without it, malloc'ed, or
 *  NULL without memory. If there is no number, *generation does not change. */
char *store_generation_of(const char *text, uint64_t *generation);

/** Whether a path is the directory of a store, which is then to be read by its URL. */
bool store_is_directory(const char *path);

/** Open a generation of a store as a source. Reports errors; returns an exit status. */
int store_source(const char *url, const lc_source_options *how, lc_source **out);

/** A generation that is examined. All zero: none. */
struct store_look {
	lc_source *source;
	lc_warehouse *warehouse; /* belongs to the source, and is closed with it */
};

/**
 * Open a generation of a store as a warehouse that keeps few shards open at a time.
 * @param ranges  read rows by ranges of objects, and keep no shard on disk
 * @return as lc_source_open_store().
 */
LC_CHECKED lc_status store_look(const char *url, bool ranges, struct store_look *out);
void store_look_end(struct store_look *look);

/** Open a store with these options, as lc__objects_open(). */
LC_CHECKED lc_status store_open(const char *url, bool there, struct lc__objects **out);

/** List generations and runs or, if a number is given as text, the parts of that
 *  generation. Returns an exit status. */
int store_ls(const char *url, const char *generation);

/** Call @p fn for each generation, oldest first. */
LC_CHECKED lc_status store_generations(const char *url,
    lc_status (*fn)(void *ctx, const struct lc__generation *generation,
	const struct lc__manifest *manifest, bool newest),
    void *ctx);

/** Check that all objects named by generations and receipts exist; with @p deep also
 *  read them. Returns an exit status. */
int store_verify(const char *url, bool deep);

/**
 * Read all objects that a generation names and compare their SHA-256.
 * @param damage  called for each damage, which is the last error then
 * @return LC_OK, also if there is damage; LC_NO_FILE if the generation does not exist.
 */
LC_CHECKED lc_status store_verify_generation(const char *url, void (*damage)(void *ctx),
    void *ctx);

/** Check the shard with this name and SHA-256 in the same way. LC_CORRUPT if it is
 *  damaged. */
LC_CHECKED lc_status store_verify_shard(const char *url, const char *object,
    const char *sha256);

#endif
