/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * safetensors: the size of a header, 64 bits little-endian; the header, a JSON object
 * that has name, dtype, shape and place of every tensor; and then nothing but the
 * tensors, without holes. Bytes in, bytes out; reading files is the caller's part.
 * Errors name no file: put it before them with lc__error_prefix().
 */
#ifndef CACHEX_FORMATS_SAFETENSORS_H
#define CACHEX_FORMATS_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** Bytes before the header. */
#define LC__SAFETENSORS_PREFIX 8
/** The largest header that the format allows. */
#define LC__SAFETENSORS_MAX_HEADER 100000000

/** One tensor. */
struct lc__safetensor {
	lc_id name;     /* UTF-8, any length; borrowed from the table */
	lc_tensor type; /* without its data */
	uint64_t begin; /* of the data, counted from the end of the header */
};

struct lc__safetensors_row;

/** All tensors of a file. All zero is empty. */
struct lc__safetensors {
	struct lc__safetensors_row *rows;
	size_t count, room;
	uint32_t *by_name; /* positions in the order of names, once they are placed */
	size_t by_name_room;
	struct lc__buf names, dims;
	uint64_t data_size;      /* bytes of all tensors, once they are placed */
	struct lc__buf metadata; /* the members of __metadata__ as JSON, without brackets:
	                            "a":"b","c":"d" */
};

/** Do these first bytes look like safetensors? */
bool lc__safetensors_is(const void *bytes, size_t size);

/**
 * The size of the header by the 8 bytes before it.
 * @return LC_OK; LC_CORRUPT if it is above the limit or does not fit in the file.
 */
LC_CHECKED lc_status lc__safetensors_header_size(const void *prefix, uint64_t file_size,
    size_t *out);

/**
 * Read a header, which @p data_size bytes follow. Sorts the tensors by their offsets.
 * Members of a tensor other than dtype, shape and data_offsets are skipped.
 * @param out empty; to be freed with lc__safetensors_free(), also on failure
 * @return LC_OK; LC_CORRUPT, with the tensor, for a violation of the format's rules;
 * LC_UNSUPPORTED for a dtype, rank or size that tensors of a module cannot have;
 * LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__safetensors_decode(const void *header, size_t size,
    uint64_t data_size, struct lc__safetensors *out);

/**
 * Note a tensor that is to be written; its data is not touched.
 * @return LC_OK; LC_UNSUPPORTED for a dtype or name that the format lacks;
 * LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__safetensors_add(struct lc__safetensors *table, lc_id name,
    const lc_tensor *type);

/**
 * Note a string of __metadata__ that is to be written, after those noted before.
 * @return LC_OK; LC_INVALID if it is there already; LC_UNSUPPORTED for what is not UTF-8;
 * LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__safetensors_note(struct lc__safetensors *table, lc_id name,
    lc_id text);

/**
 * Place all tensors as the format's own writer does, and append what comes before
 * their data, which begins at a multiple of 8 bytes.
 * @return LC_OK; LC_INVALID if two have one name; LC_UNSUPPORTED if the header is
 * larger than the format allows; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__safetensors_encode(struct lc__safetensors *table,
    struct lc__buf *out);

/** The tensor at a position; i < table->count. */
struct lc__safetensor lc__safetensors_at(const struct lc__safetensors *table, size_t i);

/** The position of the tensor of this name, once they are placed. */
bool lc__safetensors_find(const struct lc__safetensors *table, lc_id name, size_t *out);

void lc__safetensors_free(struct lc__safetensors *table);

#endif
