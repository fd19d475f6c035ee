/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading files and directories of other systems: one row a format. */
#ifndef CACHEX_FORMATS_INCOMING_H
#define CACHEX_FORMATS_INCOMING_H

#include <stdbool.h>

#include "formats/loaded.h"
#include "image/image.h"
#include "lmdbcache.h"

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

	/** Is it one, by its name and its first bytes? A directory has none: first is
	 *  NULL, and the format looks into it. Of a file these are 4,096 bytes, or all
	 *  if it has less. Fails where the directory cannot be read. */
	lc_status (*is)(const char *path, const void *first, size_t size, bool *is);
	/** Open; checks what can be checked before records are read. Errors name the
	 *  file or directory, as those of next() and load() do. */
	lc_status (
	    *open)(const char *path, const struct lc__incoming_how *how, void **out);
	/** Go to the next record: its cache_id, borrowed until the next call.
	 *  LC_END after the last one. Another failure concerns a part of the file
	 *  (a shard, the id of a record): the next call goes to what follows it, and
	 *  returns LC_END where nothing can be read after it. */
	lc_status (*next)(void *file, lc_id *id);
	/** The record that next() went to, decoded; @p out is all zero. A failure is one
	 *  of this record only. Need not be called, nor may it be after next() failed. */
	lc_status (*load)(void *file, struct lc__loaded *out);
	/** Records in all, 0 if that is not known. NULL: never known. */
	uint64_t (*count)(const void *file);
	/** What the file says of itself, the members of a JSON object without brackets,
	 *  empty for nothing; borrowed from it. NULL: the format has no such thing. */
	lc_id (*metadata)(const void *file);
	void (*close)(void *file);
};

/** The formats. */
extern const struct lc__incoming_format lc__incoming_lmdb, lc__incoming_mds,
    lc__incoming_npz, lc__incoming_safetensors, lc__incoming_webdataset;

/** Every format, NULL at the end. */
extern const struct lc__incoming_format *const lc__incoming_formats[];

/** The format of this name, NULL if there is none. */
const struct lc__incoming_format *lc__incoming_named(const char *name);
/** The format of a file or directory, NULL if it is of none (a .npy, an image or a
 *  directory of such is of none). LC_NO_FILE, LC_PERMISSION, LC_IO. */
LC_CHECKED lc_status lc__incoming_of(const char *path,
    const struct lc__incoming_format **out);

/* ---- one file in an archive or a database, as a value ------------------------ */

/** The kind of a file. */
enum lc__payload_kind { LC__PAYLOAD_OTHER, LC__PAYLOAD_NPY, LC__PAYLOAD_IMAGE };

/** By its first bytes. */
enum lc__payload_kind lc__payload_kind_of(const void *bytes, size_t size);

/**
 * A .npy file or an image as a tensor; with how->raw images as bytes, and anything
 * else too, which otherwise is LC_UNSUPPORTED. Takes @p bytes over, which are empty
 * afterwards in any case.
 * @param out   memory of the tensor goes here; its value is not touched
 * @param part  the value, owned by the caller
 */
LC_CHECKED lc_status lc__payload_load(struct lc__buf *bytes,
    const struct lc__incoming_how *how, struct lc__loaded *out, lc_value **part);

#endif
