/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/json_parse.h"

#include <errno.h>

#include "base/bytes.h"

json_t *
lc__json_parse(const char *text, size_t size, size_t flags, json_error_t *error)
{
	const size_t mark = lc__utf8_mark(text, size);
	json_t *json;

	/* Every allocation function that fails says so here. */
	errno = 0;
	json = json_loadb(text + mark, size - mark, flags, error);
	if (json == NULL && errno == ENOMEM)
		/* Where json_error_code() looks for it. */
		error->text[sizeof(error->text) - 1] = (char)json_error_out_of_memory;
	return json;
}
