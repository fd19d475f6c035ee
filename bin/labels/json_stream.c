/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/json_stream.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/json_scan.h"

/* So much is read at once. */
#define WINDOW ((size_t)1 << 16)

struct stream {
	struct lc__json_scan scan; /* first: read_more() gets it */
	int fd;
	const char *path;
	char *window;
	size_t room;
	bool too_large;   /* an element is */
	lc_status status; /* of reading */
	const char *const *names;
	bool seen[LC__JSON_MEMBERS];
	lc__json_found found;
	void *ctx;
};

static lc_status
malformed(struct stream *s, const char *what)
{
	if (s->status != LC_OK)
		return s->status;
	return lc__error(LC_CORRUPT, 0, "%s: byte %llu: %s", s->path,
	    (unsigned long long)lc__json_offset(&s->scan), what);
}

/* What the scanner found wrong. */
static lc_status
malformed_value(struct stream *s)
{
	if (s->too_large)
		return malformed(s, "a value is too large");
	return malformed(s,
	    lc__json_peek(&s->scan) == -1 ? "the file ends within a value"
					  : s->scan.wrong);
}

/* lc__json_scan.more: read the next part of the file. */
static bool
read_more(struct lc__json_scan *scan)
{
	struct stream *s = (struct stream *)scan;
	const char *const keep = scan->keep != NULL ? scan->keep : scan->at;
	const size_t kept = (size_t)(scan->end - keep),
		     dropped = (size_t)(keep - scan->begin);
	const size_t at = (size_t)(scan->at - keep);
	size_t got;

	if (kept > LC__JSON_ELEMENT_MAX)
		s->too_large = true;
	if (s->too_large || s->status != LC_OK)
		return false;
	if (kept > 0)
		memmove(s->window, keep, kept);
	s->status = lc__array_reserve(&s->window, &s->room, kept + WINDOW, s->path);
	got = 0;
	if (s->status == LC_OK)
		s->status = lc__read_full(s->fd, s->window + kept, WINDOW, &got, s->path);
	if (s->status != LC_OK)
		got = 0;
	scan->before += dropped;
	scan->begin = s->window;
	scan->at = s->window + at;
	scan->end = s->window + kept + got;
	if (scan->keep != NULL)
		scan->keep = s->window;
	return got > 0;
}

/* ---- the outermost object ------------------------------------------------------ */

static lc_status
take_element(struct stream *s, size_t member)
{
	struct lc__json_scan *const scan = &s->scan;
	struct lc__json_element element = { .member = member };
	size_t size;

	(void)lc__json_peek(scan);
	element.offset = lc__json_offset(scan);
	scan->keep = scan->at;
	if (!lc__json_skip_unchecked(scan))
		return malformed_value(s);
	element.text = scan->keep;
	size = (size_t)(scan->at - scan->keep);
	scan->keep = NULL;
	if (size > LC__JSON_ELEMENT_MAX)
		return malformed(s, "a value is too large");
	element.size = (uint32_t)size;
	return s->status == LC_OK ? s->found(s->ctx, &element) : s->status;
}

static lc_status
take_list(struct stream *s, size_t member)
{
	char what[64];

	snprintf(what, sizeof(what), "%.40s is not a list", s->names[member]);
	if (!lc__json_accept(&s->scan, '['))
		return malformed(s, what);
	if (lc__json_accept(&s->scan, ']'))
		return LC_OK;
	do
		return_if_error(take_element(s, member));
	while (lc__json_accept(&s->scan, ','));
	return lc__json_accept(&s->scan, ']') ? LC_OK : malformed(s, "neither , nor ]");
}

/* A name and which of those that are asked for it is, LC__JSON_MEMBERS for others. */
static lc_status
take_name(struct stream *s, size_t *member)
{
	struct lc__json_scan *const scan = &s->scan;
	struct lc__json_slice name;
	bool good;

	*member = LC__JSON_MEMBERS;
	if (lc__json_peek(scan) != '"')
		return malformed(s, "no name of a member");
	scan->keep = scan->at;
	good = lc__json_skip_string(scan);
	name = (struct lc__json_slice){ scan->keep + 1,
		(size_t)(scan->at - scan->keep) - 2 };
	scan->keep = NULL;
	if (!good)
		return malformed_value(s);
	for (size_t i = 0; s->names[i] != NULL; i++)
		if (lc__json_name_is(name, s->names[i]))
			*member = i;
	return lc__json_accept(scan, ':') ? LC_OK : malformed(s, "no : after a name");
}

static lc_status
take_member(struct stream *s)
{
	size_t member;

	return_if_error(take_name(s, &member));
	if (member == LC__JSON_MEMBERS)
		return lc__json_skip_unchecked(&s->scan) ? LC_OK : malformed_value(s);
	if (s->seen[member])
		return malformed(s, "a member is there again");
	s->seen[member] = true;
	return take_list(s, member);
}

static lc_status
take_object(struct stream *s)
{
	struct lc__json_scan *const scan = &s->scan;

	/* The whole of the mark is in the first window, for a file that has more. */
	if (read_more(scan))
		scan->at += lc__utf8_mark(scan->at, (size_t)(scan->end - scan->at));
	if (!lc__json_accept(scan, '{'))
		return malformed(s, "not an object");
	if (!lc__json_accept(scan, '}')) {
		do
			return_if_error(take_member(s));
		while (lc__json_accept(scan, ','));
		if (!lc__json_accept(scan, '}'))
			return malformed(s, "neither , nor }");
	}
	return lc__json_peek(scan) == -1 && s->status == LC_OK
	    ? LC_OK
	    : malformed(s, "something follows the object");
}

lc_status
lc__json_stream(int fd, const char *path, const char *const *names, size_t needed,
    lc__json_found found, void *ctx)
{
	struct stream s = {
		.scan = { .more = read_more },
		.fd = fd,
		.path = path,
		.names = names,
		.found = found,
		.ctx = ctx,
	};
	lc_status status = take_object(&s);

	for (size_t i = 0; i < needed && status == LC_OK; i++)
		if (!s.seen[i])
			status = lc__error(LC_CORRUPT, 0, "%s: no member %s", path,
			    names[i]);
	free(s.window);
	return status;
}
