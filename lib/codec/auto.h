/* SPDX-License-Identifier: BSD-2-Clause */
/* The choice of a codec for a tensor. */
#ifndef LC_CODEC_AUTO_H
#define LC_CODEC_AUTO_H

#include "base/buf.h"
#include "lmdbcache.h"

/**
 * Choose by coding a sample of the tensor, or all of it if it is small.
 * @param without  codecs to leave out, a bit (1 << codec) each
 * @param scratch  overwritten
 * @return LC_OK, *out being LC_CODEC_NONE if nothing shrinks the sample enough;
 * LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__codec_choose(const lc_tensor *tensor, int level,
    unsigned without, struct lc__buf *scratch, lc_codec *out);

/** Is a tensor of @p raw bytes that codes to @p coded smaller by a twentieth? */
static inline int
lc__codec_shrinks(size_t raw, size_t coded)
{
	return coded <= raw - raw / 20 && coded < raw;
}

#endif
