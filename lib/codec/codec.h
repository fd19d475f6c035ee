/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The codecs, which compress the bytes of tensors. Each is a row of a table in codec.c.
 * They do not depend on records and do no I/O; the bytes that they decode are untrusted.
 */
#ifndef LC_CODEC_CODEC_H
#define LC_CODEC_CODEC_H

#include <stdbool.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** The smallest and largest lc_settings.level. */
#define LC__LEVEL_MIN (-65537)
#define LC__LEVEL_MAX 12

/** LC_INVALID, naming @p operation, unless codec and level are valid.
 *  LC_CODEC_DEFAULT is valid. */
LC_CHECKED lc_status lc__codec_check(const char *operation, lc_codec codec, int level);

/**
 * Code a tensor. @p out, whose memory is reused, holds the bytes on success.
 * @param codec  any but LC_CODEC_DEFAULT; LC_CODEC_AUTO tries those that support the
 *               dtype on a sample
 * @param used   the codec that was used; LC_CODEC_NONE if the tensor does not shrink by a
 *               twentieth: then @p out is empty
 * @return LC_OK; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__codec_encode(lc_codec codec, int level, const lc_tensor *tensor,
    struct lc__buf *out, lc_codec *used);

/**
 * Can @p size bytes of a codec decode to a tensor of @p nbytes? Each codec has a largest
 * ratio, so that a damaged shape cannot ask for memory out of proportion to the stored
 * bytes. Check this before allocating.
 */
bool lc__codec_holds(lc_codec codec, size_t size, size_t nbytes);

/**
 * Decode into tensor->nbytes bytes at @p out, 64-byte aligned. False if the bytes were
 * not made by lc__codec_encode(); every bound is checked. Uses dtype and nbytes of @p
 * tensor, not its data. @p codec must not be NONE, AUTO or DEFAULT.
 */
bool lc__codec_decode(lc_codec codec, const void *in, size_t size,
    const lc_tensor *tensor, void *out);

#endif
