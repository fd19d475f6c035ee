/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A value as a directory: a .npy file for each tensor, and value.json with the
 * structure, the plain data and the names of the files.
 */
#ifndef CACHEX_CMD_SETDIR_H
#define CACHEX_CMD_SETDIR_H

#include <stdbool.h>

#include "formats/loaded.h"
#include "lmdbcache.h"

/** The words for --format of get and put. */
#define VALUE_FORMATS "auto|npy|raw|json|npz|set"
enum value_format {
	FORMAT_AUTO,
	FORMAT_NPY,
	FORMAT_RAW,
	FORMAT_JSON,
	FORMAT_NPZ,
	FORMAT_SET
};

/** Whether the path is a directory, or ends as a directory's does. */
bool setdir_is(const char *path);

/**
 * Read a value from a directory. Without value.json the names of .npy files are the
 * paths of the parts. Every file in the directory must belong to the value.
 * @param raw_dtype  as for lc__loaded_npy(), for files that value.json does not
 *                   describe
 * @param out        all zero; free with lc__loaded_free(), also after a failure
 */
LC_CHECKED lc_status setdir_read(const char *dir, int raw_dtype, struct lc__loaded *out);

/**
 * Write a value into a directory, which must not exist or be empty; @p force also
 * allows a directory that get has written, and replaces it. The directory appears when
 * it is complete. Reports errors; returns an exit status, EXIT_USAGE if the directory
 * exists.
 */
int setdir_write(const char *dir, const lc_value *value, bool force);

#endif
