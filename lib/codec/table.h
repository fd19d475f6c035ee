/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of codecs. */
#ifndef LC_CODEC_TABLE_H
#define LC_CODEC_TABLE_H

#include <stdbool.h>

#include "base/buf.h"
#include "lmdbcache.h"

struct lc__codec {
	const char *name;

	/** Times that its bytes are fewer at most. */
	unsigned most;

	/** Can tensors of that dtype be coded? */
	bool (*fits)(lc_dtype dtype);

	/** Code a tensor that has bytes into @p out, which is empty. It stays so if these
	 *  elements cannot be coded. LC_OK; LC_NO_MEMORY. */
	lc_status (*encode)(const lc_tensor *tensor, int level, struct lc__buf *out);

	/** As lc__codec_decode(), for a dtype that fits. */
	bool (*decode)(const void *in, size_t size, const lc_tensor *tensor, void *out);
};

/** A row a codec; LC_CODEC_NONE has no functions. */
extern const struct lc__codec lc__codecs[LC_CODEC_COUNT];

#endif
