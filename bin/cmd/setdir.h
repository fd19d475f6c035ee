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

/** The words of --format, of get and of put. */
#define VALUE_FORMATS "auto|npy|raw|json|npz|set"
enum value_format {
	FORMAT_AUTO,
	FORMAT_NPY,
	FORMAT_RAW,
	FORMAT_JSON,
	FORMAT_NPZ,
	FORMAT_SET
};

/** True if the path is a directory, or is written as one. */
bool setdir_is(const char *path);

/**
 * Read a directory; without value.json the names of its .npy files are the paths
 * of the parts. Every file in it must belong to the value.
 * @param raw_dtype  as for lc__loaded_npy(), for files that value.json does not describe
 * @param out        all zero; to be freed with lc__loaded_free(), also on failure
 */
LC_CHECKED lc_status setdir_read(const char *dir, int raw_dtype, struct lc__loaded *out);

/**
 * Write a value into a directory. The directory must not exist or be empty; with
 * @p force it may also be one that get has written, which is replaced. It appears when
 * all of it is written. Reports; an exit status, EXIT_USAGE for what exists.
 */
int setdir_write(const char *dir, const lc_value *value, bool force);

#endif
