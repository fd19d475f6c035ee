/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/json_parse.h"

#include <errno.h>

#include "base/bytes.h"

json_t *
lc__json_parse(const char *text, size_t size, size_t flags, json_error_t *error)
{
	const size_t mark = lc__utf8_mark(text, size);
	json_t *json = NULL;

	/*
	 * Every allocation function that fails sets errno. Where its buffer for a token
	 * cannot grow, jansson goes on without the end of that token, and the next number
	 * clears errno. What looks bad for that reason is good when it is parsed again; a
	 * key or text that stays short in an otherwise good value is not noticed.
	 */
	for (int i = 0; i < 2 && json == NULL; i++) {
		errno = 0;
		json = json_loadb(text + mark, size - mark, flags, error);
		if (errno == ENOMEM) {
			json_decref(json);
			json = NULL;
			/* Where json_error_code() looks for it. */
			error->text[sizeof(error->text) - 1] =
			    (char)json_error_out_of_memory;
			break;
		}
	}
	return json;
}
