/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that a record becomes in a WebDataset, so that an import gives it back:
 *
 *   a tensor             KEY.npy, a part of a value KEY.PATH.npy
 *   a string             KEY.txt, KEY.PATH.txt
 *   bytes                KEY.jpg, .png, .webp or .tif if they are such an image, otherwise
 *                        KEY.bin; a part KEY.PATH, or KEY.PATH.bin if KEY.PATH ends with
 *                        the extension of a type
 *   other plain data     KEY.json, KEY.PATH.json; also maps that hold neither tensors
 *                        nor bytes
 *
 * In a record of several files a part whose name is the extension of its own type gets no
 * second one: KEY.cls for an integer named cls, KEY.txt, KEY.json, KEY.npy.
 */
#ifndef CACHEX_FORMATS_WEBDATASET_LAYOUT_H
#define CACHEX_FORMATS_WEBDATASET_LAYOUT_H

#include <stdbool.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** How a part is written. */
enum lc__wds_form { LC__WDS_AS_NPY, LC__WDS_AS_TEXT, LC__WDS_AS_BYTES, LC__WDS_AS_JSON };

/** One file of a record. */
struct lc__wds_file {
	size_t name; /* where its name begins in the names */
	enum lc__wds_form form;
	const lc_value *value; /* borrowed from the record */
};

/** All files of a record; all zero is empty, and each layout replaces the last. */
struct lc__wds_files {
	struct lc__wds_file *files;
	size_t count, room;
	struct lc__buf names; /* each ended by a NUL */
};

/**
 * Lay a record out.
 * @return LC_OK; LC_UNSUPPORTED, with the cache_id, for one that would not come back:
 * a cache_id that is cut at a dot or cannot be the name of a file, tuples,
 * tagged values and pairs with tensors, names that cannot be an extension; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__wds_layout(lc_id id, const lc_value *value,
    struct lc__wds_files *out);

/** Name @p i, "dir/0001.seg.npy". */
const char *lc__wds_file_name(const struct lc__wds_files *files, size_t i);

/**
 * The bytes of a file: those put into @p head, then @p data, which is borrowed from the
 * record. Dtypes that .npy cannot name are LC_UNSUPPORTED without @p bits.
 */
LC_CHECKED lc_status lc__wds_file_bytes(const struct lc__wds_file *file, bool bits,
    struct lc__buf *head, const void **data, size_t *size);

void lc__wds_files_free(struct lc__wds_files *files);

#endif
