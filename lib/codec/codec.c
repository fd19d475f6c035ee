/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/codec.h"

#include <string.h>

#include "base/error.h"
#include "codec/auto.h"
#include "codec/table.h"

/* ---- names ---------------------------------------------------------------------- */

const char *
lc_codec_name(lc_codec codec)
{
	if (codec == LC_CODEC_AUTO)
		return "auto";
	if (codec == LC_CODEC_DEFAULT)
		return "default";
	return (unsigned)codec < LC_CODEC_COUNT ? lc__codecs[codec].name : NULL;
}

lc_status
lc_codec_parse(const char *name, lc_codec *out)
{
	for (unsigned i = 0; i <= LC_CODEC_DEFAULT; i++) {
		const char *known = lc_codec_name((lc_codec)i);
		if (known != NULL && strcmp(name, known) == 0) {
			*out = (lc_codec)i;
			return LC_OK;
		}
	}
	return lc__error(LC_INVALID, 0, "unknown codec '%s'", name);
}

lc_status
lc__codec_check(const char *operation, lc_codec codec, int level)
{
	if (lc_codec_name(codec) == NULL)
		return lc__error(LC_INVALID, 0, "%s: unknown codec %d", operation,
		    (int)codec);
	if (level < LC__LEVEL_MIN || level > LC__LEVEL_MAX)
		return lc__error(LC_INVALID, 0, "%s: level %d is not one of %d to %d",
		    operation, level, LC__LEVEL_MIN, LC__LEVEL_MAX);
	return LC_OK;
}

/* ---- coding --------------------------------------------------------------------- */

/* Code with one codec; *used is LC_CODEC_NONE if that does not shrink the tensor. */
static lc_status
encode_with(lc_codec codec, int level, const lc_tensor *tensor,
    struct lc__buf *out, lc_codec *used)
{
	out->size = 0;
	*used = LC_CODEC_NONE;
	if (codec == LC_CODEC_NONE || !lc__codecs[codec].fits(tensor->dtype))
		return LC_OK;
	return_if_error(lc__codecs[codec].encode(tensor, level, out));
	if (out->size > 0 && lc__codec_shrinks(tensor->nbytes, out->size))
		*used = codec;
	else
		out->size = 0;
	return LC_OK;
}

/* What fits the sample may still not fit the whole: then the next best. */
static lc_status
encode_auto(int level, const lc_tensor *tensor, struct lc__buf *out,
    lc_codec *used)
{
	unsigned without = 0;
	lc_codec codec;

	do {
		return_if_error(lc__codec_choose(tensor, level, without, out, &codec));
		return_if_error(encode_with(codec, level, tensor, out, used));
		without |= 1u << codec;
	} while (*used != codec);
	return LC_OK;
}

lc_status
lc__codec_encode(lc_codec codec, int level, const lc_tensor *tensor,
    struct lc__buf *out, lc_codec *used)
{
	out->size = 0;
	out->failed = false;
	*used = LC_CODEC_NONE;
	if (tensor->nbytes == 0)
		return LC_OK;
	if (codec == LC_CODEC_AUTO)
		return encode_auto(level, tensor, out, used);
	return encode_with(codec, level, tensor, out, used);
}

bool
lc__codec_holds(lc_codec codec, size_t size, size_t nbytes)
{
	if ((unsigned)codec >= LC_CODEC_COUNT)
		return false;
	if (codec == LC_CODEC_NONE)
		return size == nbytes;
	return nbytes / lc__codecs[codec].most <= size;
}

bool
lc__codec_decode(lc_codec codec, const void *in, size_t size,
    const lc_tensor *tensor, void *out)
{
	if ((unsigned)codec >= LC_CODEC_COUNT || codec == LC_CODEC_NONE ||
	    !lc__codecs[codec].fits(tensor->dtype) || tensor->nbytes == 0 ||
	    tensor->nbytes % lc_dtype_size(tensor->dtype) != 0)
		return false;
	return lc__codecs[codec].decode(in, size, tensor, out);
}
