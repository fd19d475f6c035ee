/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values as producers write them: MessagePack's own kinds have their usual meaning, and
 * names of maps are strings; {"$tensor": "f32[3,4]", "data": bytes} is a tensor,
 * {"$tuple": [...]} a tuple. Other names must not begin with a dollar.
 */
#ifndef CACHEX_FILL_VALUE_MPACK_H
#define CACHEX_FILL_VALUE_MPACK_H

#include "base/buf.h"
#include "base/mpack.h"
#include "lmdbcache.h"

/** Reads many values; all zero is new. */
struct lc__value_reader {
	struct lc__tokens in; /* what is left of the present value */
	unsigned depth;
	struct lc__buf names;  /* of the maps that are being read, each with a NUL */
	lc_tensor type;        /* the text of type: values usually have one type */
	const char *type_text; /* borrowed; NULL for none */
	size_t type_size;
};

/**
 * Read the object in exactly these bytes. Data of tensors is borrowed from them, at any
 * address.
 * @return LC_OK; LC_INVALID with the part that is wrong and why; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__value_mpack_read(struct lc__value_reader *reader,
    const void *bytes, size_t size, lc_value **out);

/** Call it before bytes that were read are freed. */
void lc__value_reader_forget(struct lc__value_reader *reader);
void lc__value_reader_free(struct lc__value_reader *reader);

#endif
