/* SPDX-License-Identifier: BSD-2-Clause */
#include "shell/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"

#define BLANKS " \t\r\n"
#define ESCAPED_IN_QUOTES "\"\\$`"

static bool
is_one_of(char c, const char *bytes)
{
	return c != '\0' && strchr(bytes, c) != NULL;
}

/* The word at line[*at]; its end is put into *at. */
static void
take_word(const char *line, size_t *at, struct words *words, struct lc__buf *text)
{
	const char *p = line + *at;
	char quote = '\0';

	for (; *p != '\0' && (quote != '\0' || !is_one_of(*p, BLANKS)); p++) {
		if (quote == '\0' && (*p == '\'' || *p == '"')) {
			quote = *p;
		} else if (quote != '\0' && *p == quote) {
			quote = '\0';
		} else if (*p == '\\' && quote == '\0') {
			words->continues = p[1] == '\0';
			if (p[1] != '\0')
				lc__buf_append(text, ++p, 1);
		} else if (*p == '\\' && quote == '"' &&
		    is_one_of(p[1], ESCAPED_IN_QUOTES)) {
			lc__buf_append(text, ++p, 1);
		} else {
			lc__buf_append(text, p, 1);
		}
	}
	words->quote = quote;
	words->open = *p == '\0';
	lc__buf_append(text, "", 1);
	*at = (size_t)(p - line);
}

bool
words_split(const char *line, struct words *out)
{
	size_t at = 0;

	for (;;) {
		struct lc__buf text = { 0 };
		const size_t start = at += strspn(line + at, BLANKS);
		const char first = line[at];

		out->comment = first == '#';
		if (first == '\0' || first == '#')
			return true;
		out->open = false;
		/* A backslash before the end of the line is not a word. */
		if (first == '\\' && line[at + 1] == '\0') {
			out->continues = true;
			return true;
		}
		take_word(line, &at, out, &text);
		if (text.failed ||
		    lc__array_reserve(&out->items, &out->room, out->n + 1, NULL) !=
			LC_OK) {
			lc__buf_free(&text);
			return false;
		}
		out->items[out->n++] = (struct word){ (char *)text.data, start,
			!is_one_of(first, "'\"\\") };
		if (out->unsupported == '\0' && is_one_of(first, "|<>;&"))
			out->unsupported = first;
	}
}

char *
words_quote(const char *text, char quote)
{
	struct lc__buf out = { 0 };

	for (const char *p = text; *p != '\0'; p++) {
		if (quote == '\'' && *p == '\'')
			lc__buf_append(&out, "'\\'", 3);
		else if (quote == '"'   ? is_one_of(*p, ESCAPED_IN_QUOTES)
			: quote == '\0' ? is_one_of(*p, BLANKS "'\"\\") ||
			    (p == text && is_one_of(*p, "#|<>;&@~"))
					: false)
			lc__buf_append(&out, "\\", 1);
		lc__buf_append(&out, p, 1);
	}
	lc__buf_append(&out, "", 1);
	if (out.failed)
		lc__buf_free(&out);
	return (char *)out.data;
}

void
words_free(struct words *words)
{
	for (size_t i = 0; i < words->n; i++)
		free(words->items[i].text);
	free(words->items);
	memset(words, 0, sizeof(*words));
}
