/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores that commands open, and what ls and verify do with one instead of a module. */
#ifndef CACHEX_CMD_STORES_H
#define CACHEX_CMD_STORES_H

#include <stdbool.h>

#include "lmdbcache.h"
#include "objects/objects.h"

/** What the options below set. */
extern lc_store_options store_options;
extern int store_path_style, store_single_publisher;

/** The rows of options of commands that open a store; the second for those that publish. */
/* clang-format off */
#define STORE_OPTIONS \
	{ "", "endpoint", OPT_TEXT, &store_options.endpoint, .value = "URL", \
	    .help = "of a server of S3: http://HOST:PORT or https://HOST; default " \
		    "AWS_ENDPOINT_URL_S3, or Amazon's" }, \
	{ "", "region", OPT_TEXT, &store_options.region, .value = "NAME", \
	    .help = "of S3; default AWS_REGION, or us-east-1" }, \
	{ "", "profile", OPT_TEXT, &store_options.profile, .value = "NAME", \
	    .help = "of ~/.aws/credentials and ~/.aws/config; default AWS_PROFILE" }, \
	{ "", "path-style", OPT_CHOICE, &store_path_style, .value = "auto|yes|no", \
	    .help = "is the bucket in the path? auto: with an endpoint" }, \
	{ "", "ca-file", OPT_TEXT, &store_options.ca_file, .value = "FILE", \
	    .help = "certificates of authorities for https; default AWS_CA_BUNDLE" }
#define STORE_SINGLE_PUBLISHER \
	{ "", "single-publisher", OPT_FLAG, &store_single_publisher, \
	    .help = "one process at a time pushes and publishes: use a store of S3 that " \
		    "has no conditional puts" }

/** How the shards of a generation are fetched, for commands that read one. */
extern struct store_fetch {
	const char *cache;         /* NULL: ROOT/.copies */
	uint64_t cache_size, generation, ahead; /* 0: 16 GiB, the newest, the default */
} store_fetch;

#define STORE_FETCH_OPTIONS \
	{ "", "cache", OPT_DIR, &store_fetch.cache, .value = "DIR", \
	    .help = "of a store: where copies of its shards are kept; default ROOT/.copies" }, \
	{ "", "generation", OPT_COUNT, &store_fetch.generation, .value = "N", .least = 1, \
	    .help = "of a store: read this one; default the newest" }, \
	{ "", "fetch-ahead", OPT_COUNT, &store_fetch.ahead, .value = "N", .least = 1, \
	    .most = 65536, \
	    .help = "of a store: shards that are fetched before they are needed; default 4" }
#define STORE_CACHE_SIZE \
	{ "", "cache-size", OPT_SIZE, &store_fetch.cache_size, .value = "SIZE", .least = 1, \
	    .help = "of a store: what the copies take on the disk, at most; default 16G" }
/* clang-format on */

/** Open a generation of a store as a source. Reports; an exit status. */
int store_source(const char *url, const lc_source_options *how, lc_source **out);

/** Open a store with these options: lc__objects_open(). */
LC_CHECKED lc_status store_open(const char *url, bool there, struct lc__objects **out);

/** List generations and runs or, with the text of a number, the parts of that generation.
 *  An exit status. */
int store_ls(const char *url, const char *generation);

/** Look at all that generations and receipts name; with @p deep read it. An exit status. */
int store_verify(const char *url, bool deep);

#endif
