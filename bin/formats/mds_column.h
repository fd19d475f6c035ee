/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a column of MDS holds, by its encoding: "str", "int", "float32",
 * "ndarray:float16:16,128,128", "jpeg" … Bytes in, values out; errors name no column.
 */
#ifndef CACHEX_FORMATS_MDS_COLUMN_H
#define CACHEX_FORMATS_MDS_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "formats/formats.h"
#include "formats/loaded.h"
#include "lmdbcache.h"

enum lc__mds_kind {
	LC__MDS_BYTES,
	LC__MDS_STR,
	LC__MDS_INT,     /* 64 bits */
	LC__MDS_NUMBER,  /* of a dtype */
	LC__MDS_ARRAY,   /* dtype and shape in the encoding or in each sample */
	LC__MDS_STR_INT, /* digits */
	LC__MDS_STR_FLOAT,
	LC__MDS_STR_DECIMAL,
	LC__MDS_JSON,
	LC__MDS_IMAGE,  /* JPEG or PNG */
	LC__MDS_PIXELS, /* width, height, mode and pixels */
	LC__MDS_IMAGES, /* a list of them */
	LC__MDS_PIXELS_LIST,
	LC__MDS_JPEGS, /* such a list without the word before it */
	LC__MDS_PICKLE /* programs of Python's: never read */
};

struct lc__mds_encoding {
	enum lc__mds_kind kind;
	bool has_dtype, has_shape; /* of an array: what the encoding says */
	lc_tensor type;            /* that, or of a number its dtype */
};

/** LC_OK; LC_UNSUPPORTED for an encoding that is not known here; LC_CORRUPT for the
 *  dtype or shape of an array that cannot be. */
LC_CHECKED lc_status lc__mds_encoding_parse(const char *text,
    struct lc__mds_encoding *out);
/** Append its text, of those that are written: bytes, str, int, numbers, arrays, json. */
void lc__mds_encoding_text(const struct lc__mds_encoding *encoding, struct lc__buf *out);
/** Bytes in each sample; 0 if they differ. */
uint64_t lc__mds_encoding_size(const struct lc__mds_encoding *encoding);
/** Does an array of MDS have the dtype? */
bool lc__mds_has_dtype(lc_dtype dtype);

/** Of which kinds lc__mds_decode() makes values; those of images are the caller's. */
static inline bool
lc__mds_is_image(enum lc__mds_kind kind)
{
	return kind >= LC__MDS_IMAGE && kind <= LC__MDS_JPEGS;
}

/**
 * The value of a column in a sample. Numbers of all dtypes become integers and floats;
 * numbers as text become integers if they fit, and decimals stay text.
 * @param loaded for the memory of tensors
 * @param out the value, owned by the caller
 * @return LC_OK; LC_CORRUPT; LC_UNSUPPORTED for a rank above that of tensors;
 * LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__mds_decode(const struct lc__mds_encoding *encoding,
    const void *bytes, size_t size, struct lc__loaded *loaded, lc_value **out);

/** The tensor of an array in a sample; its data is borrowed from @p bytes. */
LC_CHECKED lc_status lc__mds_array(const struct lc__mds_encoding *encoding,
    const void *bytes, size_t size, lc_tensor *out);
/** Append what comes before a tensor's data. */
void lc__mds_array_head(const struct lc__mds_encoding *encoding, const lc_tensor *tensor,
    struct lc__buf *out);

/** An image without a format of its own. */
struct lc__mds_pixels {
	uint32_t width, height;
	uint32_t channels; /* one byte each: L, LA, RGB, RGBA */
	const void *data;  /* row by row */
};
/** LC_UNSUPPORTED for another mode. */
LC_CHECKED lc_status lc__mds_pixels(const void *bytes, size_t size,
    struct lc__mds_pixels *out);

/** The elements of a list of images, one after the other. */
struct lc__mds_list {
	const unsigned char *sizes, *data; /* of those that are left */
	uint32_t left;                     /* how many */
};
LC_CHECKED lc_status lc__mds_list(enum lc__mds_kind kind, const void *bytes, size_t size,
    struct lc__mds_list *out);
/** The next one; false at the end. */
bool lc__mds_list_next(struct lc__mds_list *list, const void **out, size_t *size);

/**
 * The value of such a column in a sample: a tensor, a list of them, or with how->raw
 * the bytes that are there.
 * @param loaded  for the memory of tensors
 * @param out     owned by the caller
 */
LC_CHECKED lc_status lc__mds_image(enum lc__mds_kind kind, const void *bytes, size_t size,
    const struct lc__incoming_how *how, struct lc__loaded *loaded, lc_value **out);

#endif
