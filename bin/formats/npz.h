/* SPDX-License-Identifier: BSD-2-Clause */
/* NumPy's .npz: a zip archive of .npy files. Bytes in, a stream out. */
#ifndef CACHEX_FORMATS_NPZ_H
#define CACHEX_FORMATS_NPZ_H

#include <stdbool.h>
#include <stdio.h>

#include "formats/loaded.h"
#include "lmdbcache.h"

/** True if the bytes begin as zip archives do. */
bool lc__npz_is(const void *bytes, size_t size);

/**
 * Read an archive whose members are named PATH.npy, compressed or not, as the
 * value that lc__parts makes of those paths. No member inflates beyond what its
 * .npy header says, nor all of them beyond @p limit bytes.
 * @param raw_dtype  as for lc__loaded_npy()
 * @param out        all zero; to be freed with lc__loaded_free(), also on failure
 * @return LC_OK; LC_CORRUPT for a damaged archive or member; LC_UNSUPPORTED for a
 * member that is no .npy file, is encrypted, or has no tensor's dtype; LC_INVALID
 * for names that make no value; LC_NO_MEMORY. The error names the member.
 */
LC_CHECKED lc_status lc__npz_read(const void *bytes, size_t size, int raw_dtype,
    uint64_t limit, struct lc__loaded *out);

/**
 * Can lc__npz_write() write the value so that lc__npz_read() gives it back?
 * @param bits  dtypes that .npy cannot name, such as bf16, are raw bits
 * @return LC_OK; LC_UNSUPPORTED, with the path of what it cannot hold: plain data,
 * tuples, tagged values, pairs, empty parts, names with dots or backslashes, maps that read as lists.
 */
LC_CHECKED lc_status lc__npz_check(const lc_value *value, bool bits);

/**
 * Write a value that lc__npz_check() takes, members stored as they are. The same
 * value makes the same bytes.
 * @return LC_OK; LC_IO if @p out takes no more; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__npz_write(FILE *out, const lc_value *value, bool bits);

#endif
