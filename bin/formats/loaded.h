/* SPDX-License-Identifier: BSD-2-Clause */
/* A value that was read from files, and the memory that its tensors lie in. */
#ifndef CACHEX_FORMATS_LOADED_H
#define CACHEX_FORMATS_LOADED_H

#include "base/buf.h"
#include "lmdbcache.h"

struct lc__loaded {
	lc_value *value; /* the root, NULL while there is none */
	void **blocks;   /* malloc'ed memory of tensors */
	size_t count, room; /* how many; allocated */
};

/** Take @p block over; it is freed at once on LC_NO_MEMORY. NULL is harmless. */
LC_CHECKED lc_status lc__loaded_own(struct lc__loaded *loaded, void *block);

/**
 * Take the bytes of a .npy file over and read its tensor.
 * @param raw_dtype  the dtype of raw bits (V2, V1), or LC__NPY_ANY_DTYPE; it does
 *                   not matter to a file that names its own
 * @return as lc__npy_read(). @p file is empty afterwards in any case.
 */
LC_CHECKED lc_status lc__loaded_npy(struct lc__loaded *loaded,
    struct lc__buf *file, int raw_dtype, lc_tensor *out);

/** Free the value and the memory. */
void lc__loaded_free(struct lc__loaded *loaded);

#endif
