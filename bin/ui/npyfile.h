/* SPDX-License-Identifier: BSD-2-Clause */
/* .npy as the tool reads and writes it. */
#ifndef CACHEX_UI_NPYFILE_H
#define CACHEX_UI_NPYFILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** A tensor and the memory that it lies in, one or both of these. */
struct decoded {
	lc_tensor tensor;
	struct lc__buf file; /* the file's bytes */
	void *owned;         /* malloc'ed; NULL if the tensor lies in `file` */
};

void decoded_free(struct decoded *decoded);

/** True if the bytes begin as .npy files do. */
bool npy_is(const struct lc__buf *file);

/**
 * Fill out->tensor from out->file. @p dtype is an lc_dtype that the file must
 * have, which also names raw bits, or -1. The error names the file.
 */
LC_CHECKED lc_status npy_decode(struct decoded *out, const char *name, int dtype);

/**
 * Write a tensor as .npy; reports a dtype that it lacks; an exit status. With
 * @p bits bf16 and f8 are written as raw bits.
 */
int npy_write(FILE *out, const lc_tensor *tensor, bool bits);

#endif
