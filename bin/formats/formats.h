/* SPDX-License-Identifier: BSD-2-Clause */
/* The formats of other systems, from which records are imported and to which they are
 * exported: one row for each format and direction. */
#ifndef CACHEX_FORMATS_FORMATS_H
#define CACHEX_FORMATS_FORMATS_H

#include <stdbool.h>

#include "formats/loaded.h"
#include "image/image.h"
#include "lmdbcache.h"

/* ---- in ---------------------------------------------------------------------- */

/** How files become values. */
struct lc__incoming_how {
	struct lc__image_options images; /* how they are decoded */
	bool raw;       /* keep images and unknown members as bytes, not as tensors */
	int raw_dtype;  /* what raw bits in .npy files are; LC__NPY_ANY_DTYPE */
	const char *id; /* the field that has the cache_id (MDS); NULL for the format's
	                      own way */
	uint64_t limit; /* bytes of one record, inflated and decoded */
};

struct lc__incoming_format {
	const char *name; /* "safetensors", as --format has it */
	const char *what; /* "safetensors files", for messages and --help */

	/** Is it of this format, by its name and its first bytes? For a directory first
	 *  is NULL, and the format looks into it. For a file these are 4,096 bytes, or
	 *  all if it is shorter. Fails if the directory cannot be read. */
	lc_status (*is)(const char *path, const void *first, size_t size, bool *is);
	/** Open; checks what can be checked before records are read. Errors name the
	 *  file or directory, as those of next() and load() do. */
	lc_status (
	    *open)(const char *path, const struct lc__incoming_how *how, void **out);
	/**
	 * Go to the next record: its cache_id, borrowed until the next call. LC_END after
	 * the last one. Another failure concerns a part of the file (a shard, the id of a
	 * record): the next call continues after it, or returns LC_END if nothing can be
	 * read after it.
	 */
	lc_status (*next)(void *file, lc_id *id);
	/** The record that next() went to, decoded; @p out is all zero. A failure
	 *  concerns this record only. This call may be left out; after a failure of
	 *  next() it must be. */
	lc_status (*load)(void *file, struct lc__loaded *out);
	/** Records in all, 0 if that is not known. NULL: never known. */
	uint64_t (*count)(const void *file);
	/** Metadata of the file, as the members of a JSON object without brackets; empty
	 *  if there is none; borrowed. NULL: the format has no metadata. */
	lc_id (*metadata)(const void *file);
	void (*close)(void *file);
};

/** The formats. */
extern const struct lc__incoming_format lc__incoming_lmdb, lc__incoming_mds,
    lc__incoming_npz, lc__incoming_safetensors, lc__incoming_webdataset;

/** Every format, NULL at the end. */
extern const struct lc__incoming_format *const lc__incoming_formats[];

/** The format with this name, or NULL. */
const struct lc__incoming_format *lc__incoming_named(const char *name);
/** The format of a file or directory, or NULL (also for a .npy file, an image, or a
 *  directory of these). LC_NO_FILE, LC_PERMISSION, LC_IO. */
LC_CHECKED lc_status lc__incoming_of(const char *path,
    const struct lc__incoming_format **out);

/* ---- one file in an archive or a database, as a value ------------------------ */

/** The kind of a file. */
enum lc__payload_kind { LC__PAYLOAD_OTHER, LC__PAYLOAD_NPY, LC__PAYLOAD_IMAGE };

/** By its first bytes. */
enum lc__payload_kind lc__payload_kind_of(const void *bytes, size_t size);

/**
 * A .npy file or an image as a tensor. With how->raw, images and all other bytes stay
 * bytes; without it other bytes are LC_UNSUPPORTED. Takes ownership of @p bytes, which
 * are empty afterwards in any case.
 * @param out memory of the tensor goes here; its value is not touched
 * @param part the value, owned by the caller
 */
LC_CHECKED lc_status lc__payload_load(struct lc__buf *bytes,
    const struct lc__incoming_how *how, struct lc__loaded *out, lc_value **part);

/* ---- out --------------------------------------------------------------------- */

/** Where and how files are written. */
struct lc__outgoing_how {
	bool bits;              /* dtypes that the format cannot name as raw bits */
	bool force;             /* replace existing files */
	bool dry_run;           /* check and count everything, write nothing */
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

	/** Begin; nothing is visible at the target before finish(), or, in a directory,
	 *  before a file is complete. LC_EXISTS if the target exists and how->force is
	 *  not set. */
	lc_status (
	    *begin)(const char *path, const struct lc__outgoing_how *how, void **out);
	/** If not NULL, called once with all records before the first put(); the data of
	 *  their tensors must not be read. */
	lc_status (*plan)(void *file, lc_id id, const lc_value *value);
	/** Write a record. LC_UNSUPPORTED, with the cache_id, if the format cannot hold
	 *  it: then the export ends. */
	lc_status (*put)(void *file, lc_id id, const lc_value *value);
	/** Sync all files and put them in place. Frees the file, also on failure; @p
	 *  bytes gets the size of all files. */
	lc_status (*finish)(void *file, uint64_t *bytes);
	/** Give up: what is not yet in place is removed. */
	void (*discard)(void *file);
};

/** The formats. */
extern const struct lc__outgoing_format lc__outgoing_lmdb, lc__outgoing_mds,
    lc__outgoing_npy, lc__outgoing_npz, lc__outgoing_safetensors, lc__outgoing_webdataset;

/** Every format, NULL at the end. */
extern const struct lc__outgoing_format *const lc__outgoing_formats[];

/** The format with this name, or the one implied by the name of a target; or NULL. */
const struct lc__outgoing_format *lc__outgoing_named(const char *name);
const struct lc__outgoing_format *lc__outgoing_of(const char *path);

#endif
