/* SPDX-License-Identifier: BSD-2-Clause */
/* Values that are read from files: the memory of their tensors, and their parts. */
#ifndef CACHEX_FORMATS_LOADED_H
#define CACHEX_FORMATS_LOADED_H

#include "base/buf.h"
#include "lmdbcache.h"

/** A value, and the memory that its tensors lie in. */
struct lc__loaded {
	lc_value *value;    /* the root, NULL while there is none */
	void **blocks;      /* malloc'ed memory of tensors */
	size_t count, room; /* how many; allocated */
};

/** Take @p block over; it is freed at once on LC_NO_MEMORY. NULL is harmless. */
LC_CHECKED lc_status lc__loaded_own(struct lc__loaded *loaded, void *block);

/**
 * Take the bytes of a .npy file over and read its tensor.
 * @param raw_dtype  the dtype of raw bits (V2, V1), or LC__NPY_ANY_DTYPE; it does not
 *                   matter to a file that names its own
 * @return as lc__npy_read(). @p file is empty afterwards in any case.
 */
LC_CHECKED lc_status lc__loaded_npy(struct lc__loaded *loaded, struct lc__buf *file,
    int raw_dtype, lc_tensor *out);

/** Free the value and the memory. */
void lc__loaded_free(struct lc__loaded *loaded);

/**
 * Parts under dotted paths, in any order, that become one value: the members of a .npz,
 * the files of a directory, the fields of a command line. All zero is empty.
 */
struct lc__parts {
	struct lc__part_node *root; /* NULL while there is none */
};

/**
 * Put a part at a path, which value/path.h describes. Takes ownership of @p part, also on
 * failure; NULL means that memory for it ran out.
 * @return LC_OK; LC_INVALID for an invalid path, a path that occurs twice, or one that
 * leads through a part; LC_NO_MEMORY. The error does not name the path.
 */
LC_CHECKED lc_status lc__parts_add(struct lc__parts *parts, const char *path,
    lc_value *part);

/**
 * Make the value: maps in the order in which their names came first; where the
 * names are 0, 1 … n-1, in any order, a list. Nothing at all is an empty map.
 * Empties @p parts.
 */
LC_CHECKED lc_status lc__parts_build(struct lc__parts *parts, lc_value **out);

void lc__parts_free(struct lc__parts *parts);

#endif
