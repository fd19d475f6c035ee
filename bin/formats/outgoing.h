/* SPDX-License-Identifier: BSD-2-Clause */
/* Records on their way out into files of other systems: one row a format. */
#ifndef CACHEX_FORMATS_OUTGOING_H
#define CACHEX_FORMATS_OUTGOING_H

#include <stdbool.h>

#include "lmdbcache.h"

/** Where and how files are written. */
struct lc__outgoing_how {
	bool bits;    /* bf16 and f8 as raw bits where the format cannot name them */
	bool force;   /* replace existing files */
	bool dry_run; /* check and count everything, write nothing */
	uint64_t shard_bytes;   /* of a file in a series */
	uint64_t shard_records; /* and records in it; 0 for any number */
	/** The directory below the target that a record goes to, "bucket_1024x1024";
	 *  NULL: there are none. Valid until the next call. */
	lc_status (*group)(void *ctx, lc_id id, const lc_value *value, const char **out);
	void *group_ctx;
	const char *const *metadata; /* of safetensors: "NAME=TEXT" */
	size_t n_metadata;
};

struct lc__outgoing_format {
	const char *name;   /* "safetensors", as --format has it */
	const char *suffix; /* ".safetensors"; NULL if no ending chooses it */
	const char *what;   /* "one safetensors file", for --help */
	bool streams;       /* can be written to "-", standard output */

	/** Begin; nothing is seen at the target before finish(), or, in a directory,
	 *  before a file is whole. LC_EXISTS if something is there and how->force is
	 *  not set. */
	lc_status (
	    *begin)(const char *path, const struct lc__outgoing_how *how, void **out);
	/** If not NULL, called with all records once before the first put(), with tensors'
	 *  data not to be touched. */
	lc_status (*plan)(void *file, lc_id id, const lc_value *value);
	/** Write a record. LC_UNSUPPORTED, with the cache_id, for what the format cannot
	 *  hold: then the export ends. */
	lc_status (*put)(void *file, lc_id id, const lc_value *value);
	/** All on disk and in place. Frees the file, also on failure; @p bytes gets the
	 *  size of all files. */
	lc_status (*finish)(void *file, uint64_t *bytes);
	/** Give up: what was not in place goes. */
	void (*discard)(void *file);
};

/** The formats. */
extern const struct lc__outgoing_format lc__outgoing_lmdb, lc__outgoing_mds,
    lc__outgoing_npy, lc__outgoing_npz, lc__outgoing_safetensors, lc__outgoing_webdataset;

/** Every format, NULL at the end. */
extern const struct lc__outgoing_format *const lc__outgoing_formats[];

/** The format of this name, or the one that a target's name implies; NULL if none. */
const struct lc__outgoing_format *lc__outgoing_named(const char *name);
const struct lc__outgoing_format *lc__outgoing_of(const char *path);

#endif
