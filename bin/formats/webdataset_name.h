/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the names of WebDataset's files say: "dir/0001.seg.png" is the member
 * "seg.png" of the sample "dir/0001", and a png.
 */
#ifndef CACHEX_FORMATS_WEBDATASET_NAME_H
#define CACHEX_FORMATS_WEBDATASET_NAME_H

#include <stdbool.h>
#include <stddef.h>

/** What a file's last extension says that it holds. */
enum lc__wds_type {
	LC__WDS_OTHER,
	LC__WDS_NPY,
	LC__WDS_IMAGE,   /* jpg, jpeg, png, webp, tif, tiff */
	LC__WDS_TEXT,    /* txt, text, transcript */
	LC__WDS_JSON,    /* json, jsn */
	LC__WDS_INTEGER, /* cls, cls2, class, count, index, inx, id */
	LC__WDS_NPZ,
	LC__WDS_BYTES,   /* bin */
	LC__WDS_PICKLE   /* pyd, pickle, pkl, pth: a program, not data */
};

/** By the last extension of "seg.PNG", whatever its case. */
enum lc__wds_type lc__wds_type_of(const char *extension);

/**
 * Find the first dot of the last component.
 * @param key_size  of what is before it; what is behind it is the extension
 * @return false if there is none, or nothing is before it: such a file is in no
 * sample
 */
bool lc__wds_split(const char *name, size_t *key_size);

/** Is it a file about the archive, "__name__" or below a directory of such a name? */
bool lc__wds_is_meta(const char *name);

#endif
