/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/shape.h"

#include <string.h>

#include "base/error.h"
#include "ui/size.h"

lc_status
shape_parse(const char *text, uint32_t *ndim, uint64_t shape[LC_MAX_NDIM])
{
	const char *p = text;
	uint32_t n = 0;

	while (*p != '\0' || n > 0) {
		const size_t size = strcspn(p, ",");
		char word[24] = "";
		if (n == LC_MAX_NDIM)
			return lc__error(LC_INVALID, 0,
			    "more than %d dimensions", LC_MAX_NDIM);
		if (size < sizeof(word))
			memcpy(word, p, size);
		if (!count_parse(word, &shape[n++]))
			return lc__error(LC_INVALID, 0,
			    "not a shape: '%s' (as in 3,640,640)", text);
		p += size;
		if (*p++ == '\0')
			break;
	}
	*ndim = n;
	return LC_OK;
}
