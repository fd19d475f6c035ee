/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NumPy's .npy format, versions 1 to 3: header text, then the elements. Bytes in, bytes
 * out; the caller reads the file. Errors do not name a file: use lc__error_prefix().
 */
#ifndef LC_FORMAT_NPY_H
#define LC_FORMAT_NPY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "lmdbcache.h"

/**
 * The largest header text that is read. Every version 1 header fits; NumPy
 * itself stops at 10,000, and rank 16 needs about 400.
 */
#define LC__NPY_MAX_HEADER 65536

/** lc__npy_read()'s dtype: take the one in the header. */
#define LC__NPY_ANY_DTYPE (-1)

/** The content of a header. */
struct lc__npy_info {
	lc_dtype dtype;  /* element type; undefined if raw */
	bool raw;        /* '|V1' to '|V64', '<f1': bits of a type without a name in .npy
	                  * */
	size_t item;     /* bytes of an element */
	bool big_endian; /* false where an element is one byte, or raw but for V2 */
	bool fortran;    /* the first index runs fastest */
	uint32_t ndim;   /* rank */
	uint64_t shape[LC_MAX_NDIM]; /* the first ndim entries are valid */
	size_t data_offset;          /* of the first element in the file */
	size_t nbytes;               /* of all elements */
};

/**
 * Read the header at the start of @p bytes; the elements need not follow. Accepts the
 * dictionary in every form that writers are known to print: any order, quotes and
 * spacing, Python 2's L and u. Refuses the rest of Python's syntax (comments, escapes,
 * hexadecimal) and repeated keys.
 * @return LC_OK; LC_CORRUPT for a malformed or cut header; LC_VERSION for a version above
 * 3; LC_UNSUPPORTED for a dtype, rank or size that a tensor cannot have.
 */
LC_CHECKED lc_status lc__npy_decode_header(const void *bytes, size_t size,
    struct lc__npy_info *out);

/**
 * Read a whole file as a tensor, in C order and little-endian. What follows the last
 * element is ignored, as in NumPy.
 * @param dtype  LC__NPY_ANY_DTYPE, or the dtype that the file must hold. Raw elements
 *               need one of their size: ml_dtypes writes bfloat16 as '<V2' and float8 as
 *               '<V1' or '<f1', NumPy a void of 12 bytes as '|V12'
 * @param out    points into @p bytes if these are in order already, unaligned if @p bytes
 *               is; else to *owned
 * @param owned  NULL, or 64-byte aligned memory that the caller frees with free()
 * @return as lc__npy_decode_header(); LC_CORRUPT if elements are missing; LC_UNSUPPORTED
 * for raw elements without a dtype; LC_INVALID if @p dtype is not that of the file;
 * LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__npy_read(const void *bytes, size_t size, int dtype,
    lc_tensor *out, void **owned);

/**
 * Append the header that numpy.save() writes for a C-order array, so that header and
 * tensor->data together are the file.
 * @param raw  write dtypes that .npy cannot name as bits: bf16 as '<V2', f8 as '<V1', c32
 *             as '<V4', opaque dtypes as '|V12'; without it they are LC_UNSUPPORTED
 * @return LC_OK, LC_UNSUPPORTED, LC_INVALID for a bad tensor, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__npy_encode_header(const lc_tensor *tensor, bool raw,
    struct lc__buf *out);

#endif
