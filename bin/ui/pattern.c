/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/pattern.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "ui/suggest.h"

enum field { NAME, PATH, STEM, DIR, EXT, FIELDS };

static const char *const names[FIELDS] = {
	[NAME] = "name",
	[PATH] = "path",
	[STEM] = "stem",
	[DIR] = "dir",
	[EXT] = "ext",
};

static enum field
field_of(const char *name, size_t size)
{
	int i = 0;

	while (
	    i < FIELDS && (strlen(names[i]) != size || memcmp(names[i], name, size) != 0))
		i++;
	return (enum field)i;
}

static void
explain_field(const char *name, size_t size, char *why, size_t room)
{
	struct suggest suggest;
	char word[64];

	snprintf(word, sizeof(word), "%.*s", (int)size, name);
	suggest_start(&suggest, word);
	for (int i = 0; i < FIELDS; i++)
		suggest_word(&suggest, names[i]);
	if (suggest_best(&suggest) != NULL)
		snprintf(why, room, "unknown {%s}; did you mean {%s}?", word,
		    suggest_best(&suggest));
	else
		snprintf(why, room,
		    "unknown {%s}; use {path}, {dir}, {name}, {stem} or {ext}", word);
}

bool
pattern_check(const char *pattern, char *why, size_t room)
{
	for (const char *p = pattern; *p != '\0'; p++) {
		const char *end;
		if (*p != '{' && *p != '}')
			continue;
		if (p[1] == *p) {
			p++;
			continue;
		}
		end = *p == '{' ? strchr(p, '}') : NULL;
		if (end == NULL) {
			snprintf(why, room, "a lone %c (write %c%c for a brace)", *p, *p,
			    *p);
			return false;
		}
		if (field_of(p + 1, (size_t)(end - p - 1)) == FIELDS) {
			explain_field(p + 1, (size_t)(end - p - 1), why, room);
			return false;
		}
		p = end;
	}
	return true;
}

/* The dot of the extension, the end of the name without one; ".x" has none. */
static const char *
find_dot(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name ? dot : name + strlen(name);
}

static void
append_field(struct lc__buf *out, enum field field, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *dot = find_dot(name);

	if (field == NAME)
		lc__buf_append(out, name, strlen(name));
	else if (field == PATH)
		lc__buf_append(out, path, strlen(path));
	else if (field == STEM)
		lc__buf_append(out, name, (size_t)(dot - name));
	else if (field == EXT)
		lc__buf_append(out, dot + (*dot == '.'), strlen(dot) - (*dot == '.'));
	else if (slash == NULL)
		lc__buf_append(out, ".", 1);
	else
		lc__buf_append(out, path, slash > path ? (size_t)(slash - path) : 1);
}

char *
pattern_fill(const char *pattern, const char *path)
{
	struct lc__buf out = { 0 };

	for (const char *p = pattern; *p != '\0'; p++) {
		const char *end = strchr(p, '}');
		if ((*p == '{' || *p == '}') && p[1] == *p) {
			lc__buf_append(&out, p++, 1);
		} else if (*p == '{' && end != NULL) {
			append_field(&out, field_of(p + 1, (size_t)(end - p - 1)), path);
			p = end;
		} else {
			lc__buf_append(&out, p, 1);
		}
	}
	lc__buf_append(&out, "", 1);
	if (out.failed)
		lc__buf_free(&out);
	return (char *)out.data;
}
