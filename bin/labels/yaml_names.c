/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/yaml_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { NAME = 256 };

/* What is being read. */
struct reader {
	const char *at;
	struct lc__strings *out;
	lc_status status;  /* of adding */
	char name[NAME];   /* the last that was read */
};

static void
skip(struct reader *r, const char *what)
{
	r->at += strspn(r->at, what);
}

static bool
accept(struct reader *r, char c)
{
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

/* Behind the end of this line, and of those that are blank or comments. */
static void
next_line(struct reader *r)
{
	const char *line;

	do {
		r->at += strcspn(r->at, "\n");
		accept(r, '\n');
		line = r->at;
		skip(r, " \t\r");
	} while (*r->at == '\n' || *r->at == '#');
	r->at = line;
}

static bool
is_line_end(struct reader *r)
{
	skip(r, " \t\r");
	return *r->at == '\0' || *r->at == '\n' || *r->at == '#';
}

/* 'a''b' or "a\"b"; other escapes are not understood. */
static bool
take_quoted(struct reader *r, char quote)
{
	size_t n = 0;

	r->at++;
	while (*r->at != '\0' && *r->at != '\n' && n < NAME - 1) {
		char c = *r->at++;
		if (c == quote && (quote == '"' || *r->at != quote)) {
			r->name[n] = '\0';
			return true;
		}
		if (c == quote) {
			r->at++;
		} else if (c == '\\' && quote == '"') {
			c = *r->at;
			if (c != '"' && c != '\\')
				return false;
			r->at++;
		}
		r->name[n++] = c;
	}
	return false;
}

/* Up to one of @p stops, a comment or the end of the line. */
static bool
take_plain(struct reader *r, const char *stops)
{
	size_t n = 0;

	while (*r->at != '\0' && *r->at != '\n' && strchr(stops, *r->at) == NULL &&
	    !(*r->at == '#' && n > 0 && r->name[n - 1] == ' ')) {
		if (n == NAME - 1)
			return false;
		r->name[n++] = *r->at++;
	}
	while (n > 0 && strchr(" \t\r", r->name[n - 1]) != NULL)
		n--;
	r->name[n] = '\0';
	return n > 0 && strchr("[]{}&*!|>%@`", r->name[0]) == NULL &&
	    strstr(r->name, ": ") == NULL;
}

static bool
take_name(struct reader *r, const char *stops)
{
	skip(r, " \t");
	if (*r->at == '"' || *r->at == '\'')
		return take_quoted(r, *r->at);
	return take_plain(r, stops);
}

static bool
take_id(struct reader *r, size_t *id)
{
	const size_t digits = strspn(r->at, "0123456789");

	*id = strtoul(r->at, NULL, 10);
	if (digits == 0 || digits > 6 || *id > LC__YAML_CLASS_MAX)
		return false;
	r->at += digits;
	return accept(r, ':');
}

static bool
set_name(struct reader *r, size_t id)
{
	while (r->status == LC_OK && r->out->n <= id)
		r->status = lc__strings_add(r->out, NULL);
	if (r->status != LC_OK || r->out->items[id] != NULL)
		return false;
	r->out->items[id] = strdup(r->name);
	if (r->out->items[id] == NULL)
		r->status = lc__no_memory(NULL);
	return r->status == LC_OK;
}

/* In brackets, also over lines: "[a, b]", "{0: a, 1: b}". */
static bool
read_flow(struct reader *r, char end)
{
	size_t id = 0;

	for (size_t n = 0; skip(r, " \t\r\n"), !accept(r, end); n++) {
		if (end == ']' ? (id = n) > LC__YAML_CLASS_MAX : !take_id(r, &id))
			return false;
		if (!take_name(r, end == ']' ? ",]" : ",}") || !set_name(r, id))
			return false;
		skip(r, " \t\r\n");
		if (*r->at != end && !accept(r, ','))
			return false;
	}
	return is_line_end(r);
}

/* Lines "- a" with any indent, or "  0: a". */
static bool
read_block(struct reader *r)
{
	size_t id = 0, n = 0;

	for (;; n++) {
		const char *line = r->at;
		skip(r, " ");
		if (*r->at == '\0' || (r->at == line && *r->at != '-'))
			return true;
		if (accept(r, '-') ? (id = n) > LC__YAML_CLASS_MAX :
		    !take_id(r, &id))
			return false;
		if (!take_name(r, "") || !is_line_end(r) || !set_name(r, id))
			return false;
		next_line(r);
	}
}

static bool
read_names(struct reader *r)
{
	skip(r, " \t");
	if (accept(r, '['))
		return read_flow(r, ']');
	if (accept(r, '{'))
		return read_flow(r, '}');
	if (!is_line_end(r))
		return false;
	next_line(r);
	return read_block(r);
}

lc_status
lc__yaml_names(const char *text, struct lc__strings *out)
{
	static const char key[] = "names:";
	struct reader r = { .at = text, .out = out };

	while (*r.at != '\0' && strncmp(r.at, key, sizeof(key) - 1) != 0)
		next_line(&r);
	if (*r.at == '\0')
		return LC_OK;
	r.at += sizeof(key) - 1;
	if (!read_names(&r))
		lc__strings_free(out);
	return r.status;
}
