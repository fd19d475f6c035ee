/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that know safetensors share. */
#ifndef CACHEX_FORMATS_SAFETENSORS_ROW_H
#define CACHEX_FORMATS_SAFETENSORS_ROW_H

#include "formats/safetensors.h"

/** A tensor, small: a header may have two million. */
struct lc__safetensors_row {
	uint64_t begin, end; /* of its data */
	size_t name;         /* where it begins in table->names */
	size_t dims;         /* and its shape in table->dims, in elements */
	uint32_t name_size;
	uint8_t dtype;       /* lc_dtype */
	uint8_t ndim;        /* rank */
};

/** "F32", NULL if the format has no name for it. */
const char *lc__safetensors_dtype_name(lc_dtype dtype);
/** The dtype of a name; false if none here has it. */
bool lc__safetensors_dtype_of(const char *name, size_t size, lc_dtype *out);

/** Append a row, its name and shape; the place is the caller's. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__safetensors_append(struct lc__safetensors *table, lc_id name,
    const lc_tensor *type, struct lc__safetensors_row **out);

/** Make the index of names. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__safetensors_index(struct lc__safetensors *table);
/** The first name that is there twice, or false. */
bool lc__safetensors_twice(const struct lc__safetensors *table, lc_id *out);

#endif
