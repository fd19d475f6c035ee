/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes before a tensor's data in a .npy file, alone or in an archive. */
#ifndef CACHEX_FORMATS_NPY_FILE_H
#define CACHEX_FORMATS_NPY_FILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "lmdbcache.h"

#define LC__NPY_SUFFIX ".npy"

/** All zero but bits is empty. It serves one file after another. */
struct lc__npy_file {
	bool bits;             /* bf16 and f8 as raw bits */
	struct lc__buf name;   /* of the file, ended by a NUL */
	struct lc__buf header; /* the tensor's data follows */
};

/** Begin the file NAME.npy. LC_UNSUPPORTED for a dtype that .npy lacks; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__npy_file_begin(struct lc__npy_file *file, const char *name,
    const lc_tensor *tensor);

/** The name with its suffix; valid until the next file is begun. */
static inline const char *
lc__npy_file_name(const struct lc__npy_file *file)
{
	return (const char *)file->name.data;
}

void lc__npy_file_free(struct lc__npy_file *file);

#endif
