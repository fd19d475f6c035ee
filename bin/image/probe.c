/* SPDX-License-Identifier: BSD-2-Clause */
/* What a header says, without the pixels. */
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "image/sink.h"
#include "image/transform.h"

struct probe {
	struct lc__sink sink; /* first */
	struct lc__image_header picture;
};

static lc_status
begin(struct lc__sink *sink, const struct lc__image_header *picture)
{
	((struct probe *)sink)->picture = *picture;
	return LC_OK;
}

lc_status
lc__image_probe(const void *bytes, size_t size, const char *name,
    struct lc__transformed *out)
{
	/* No memory depends on the size: any is good. */
	struct probe probe = {
		.sink = { .max_pixels = UINT64_MAX, .header_only = true, .begin = begin }
	};

	if (lc__image_read(bytes, size, &probe.sink) != LC_OK)
		return lc__error_prefix("%s", name);
	memset(out, 0, sizeof(*out));
	out->stored_width = probe.picture.stored_width;
	out->stored_height = probe.picture.stored_height;
	out->orientation = probe.picture.orientation;
	out->deep = probe.picture.deep;
	return LC_OK;
}
