/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sample of WebDataset: the names of its files, their values, and the value that they
 * make together.
 *
 * One member whose extension has no dot is the sample's value itself. Of several the
 * names make a map: "seg" for "seg.png", "png" for "png" alone, and where names have
 * dots, "a.b.npy", maps in it, or lists for 0 … n-1, as lc__parts makes them. A
 * member that is kept as bytes or has no type keeps its whole extension. Where that gives two
 * members one name, or one that is part of another, the map is flat, and the names
 * are the whole extensions.
 */
#ifndef CACHEX_FORMATS_WEBDATASET_SAMPLE_H
#define CACHEX_FORMATS_WEBDATASET_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/formats.h"
#include "lmdbcache.h"

/* ---- names: "dir/0001.seg.png" is the member "seg.png" of the sample "dir/0001" ---- */

/** The type of a file by its last extension. */
enum lc__wds_type {
	LC__WDS_OTHER,
	LC__WDS_NPY,
	LC__WDS_IMAGE,   /* jpg, jpeg, png, webp, tif, tiff */
	LC__WDS_TEXT,    /* txt, text, transcript */
	LC__WDS_JSON,    /* json, jsn */
	LC__WDS_INTEGER, /* cls, cls2, class, count, index, inx, id */
	LC__WDS_NPZ,
	LC__WDS_BYTES, /* bin */
	LC__WDS_PICKLE /* pyd, pickle, pkl, pth: a program, not data */
};

/** By the last extension of "seg.PNG", whatever its case. */
enum lc__wds_type lc__wds_type_of(const char *extension);

/**
 * Find the first dot of the last component.
 * @param key_size  of the key before it; the extension comes after it
 * @return false if there is none, or nothing before it: such a file belongs to no
 * sample
 */
bool lc__wds_split(const char *name, size_t *key_size);

/** Is it a file about the archive, "__name__" or below a directory of such a name? */
bool lc__wds_is_meta(const char *name);

/* ---- values ------------------------------------------------------------------ */

/**
 * Read a file by the type of its extension. Pickled data is never loaded; with
 * how->raw it is kept as bytes, as are images and files of no type above.
 * @param bytes  empty afterwards in any case
 * @param out    memory of tensors goes here; its value is not touched
 * @param part   the value, owned by the caller
 * @return LC_OK; LC_UNSUPPORTED; LC_CORRUPT and LC_INVALID for bytes that are
 * not of the type that the extension claims; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__wds_load(const char *extension, struct lc__buf *bytes,
    const struct lc__incoming_how *how, struct lc__loaded *out, lc_value **part);

/** The members of a sample. All zero is empty. */
struct lc__wds_sample {
	struct lc__wds_member *members; /* in their order */
	size_t count, room;
};

/** The most members that a sample has. */
#define LC__WDS_MEMBERS 65536

/** Add a member; @p value is owned from then on, also on failure. */
LC_CHECKED lc_status lc__wds_sample_add(struct lc__wds_sample *sample,
    const char *extension, lc_value *value);

/** Make the value. LC_INVALID for an extension that occurs twice, whatever its
 *  case. Empties @p sample. */
LC_CHECKED lc_status lc__wds_sample_build(struct lc__wds_sample *sample, lc_value **out);

void lc__wds_sample_free(struct lc__wds_sample *sample);

#endif
