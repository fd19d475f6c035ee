/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/json_slim.h"

#include <stdbool.h>
#include <string.h>

/* Behind the string that begins at text[at]. */
static size_t
skip_string(const char *text, size_t size, size_t at)
{
	for (at++; at < size && text[at] != '"'; at++)
		at += text[at] == '\\';
	return at < size ? at + 1 : size;
}

/* Behind the list or object that begins at text[at]. */
static size_t
skip_nested(const char *text, size_t size, size_t at)
{
	size_t depth = 0;

	while (at < size) {
		const char c = text[at];
		if (c == '"') {
			at = skip_string(text, size, at);
			continue;
		}
		at++;
		if (c == '[' || c == '{')
			depth++;
		else if ((c == ']' || c == '}') && --depth == 0)
			break;
	}
	return at;
}

/* The name before a value; one with escapes could be any. */
static bool
is_kept(const char *name, size_t size, const char *keep)
{
	return (size == strlen(keep) + 2 &&
	    memcmp(name + 1, keep, size - 2) == 0) ||
	    memchr(name, '\\', size) != NULL;
}

void
lc__json_slim(const char *text, size_t size, const char *keep,
    struct lc__buf *out)
{
	const char *name = text;
	size_t named = 0, done = 0, at = 0;

	/* The object itself is looked into; done is what went to out. */
	while (at < size && text[at] != '{')
		at++;
	at++;
	while (at < size) {
		const char c = text[at];
		if (c == '"') {
			name = text + at;
			at = skip_string(text, size, at);
			named = (size_t)(text + at - name);
		} else if (c == '[' || c == '{') {
			const size_t end = skip_nested(text, size, at);
			if (!is_kept(name, named, keep)) {
				lc__buf_append(out, text + done, at - done);
				lc__buf_append(out, "[]", 2);
				done = end;
			}
			at = end;
		} else {
			at++;
		}
	}
	lc__buf_append(out, text + done, size - done);
}
