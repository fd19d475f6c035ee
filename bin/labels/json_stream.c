/* SPDX-License-Identifier: BSD-2-Clause */
#include "labels/json_stream.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"

enum {
	WINDOW = 1 << 16,
	DEPTH = 2048   /* jansson's */
};

struct stream {
	int fd;
	const char *path;
	unsigned char window[WINDOW];
	size_t at, have;
	uint64_t start;      /* of the window in the file */
	lc_status status;    /* of reading */
	struct lc__buf text; /* of the element */
	const char *const *names;
	bool seen[LC__JSON_MEMBERS];
	lc__json_found found;
	void *ctx;
};

static uint64_t
position(const struct stream *s)
{
	return s->start + s->at;
}

static lc_status
malformed(const struct stream *s, const char *what)
{
	if (s->status != LC_OK)
		return s->status;
	return lc__error(LC_CORRUPT, 0, "%s: byte %llu: %s", s->path,
	    (unsigned long long)position(s), what);
}

/* ---- bytes -------------------------------------------------------------------- */

static bool
refill(struct stream *s)
{
	size_t got = 0;

	s->start += s->have;
	s->at = s->have = 0;
	if (s->status == LC_OK)
		s->status = lc__read_full(s->fd, s->window, WINDOW, &got, s->path);
	if (s->status == LC_OK)
		s->have = got;
	return s->have > 0;
}

/* The next byte, -1 at the end. */
static int
peek(struct stream *s)
{
	return s->at < s->have || refill(s) ? s->window[s->at] : -1;
}

static bool
is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The next byte that is no blank. */
static int
peek_token(struct stream *s)
{
	while (is_blank(peek(s)))
		s->at++;
	return peek(s);
}

static bool
accept(struct stream *s, char c)
{
	if (peek_token(s) != c)
		return false;
	s->at++;
	return true;
}

/* ---- values -------------------------------------------------------------------- */

/* What a byte outside of strings is. */
enum class { PLAIN, BLANK, QUOTE, OPEN, CLOSE };

static enum class
class_of(int c)
{
	switch (c) {
	case ' ': case '\t': case '\n': case '\r':
		return BLANK;
	case '"':
		return QUOTE;
	case '{': case '[':
		return OPEN;
	case '}': case ']':
		return CLOSE;
	default:
		return PLAIN;
	}
}

/* A value is taken off up to its end. */
struct taking {
	struct stream *s;
	struct lc__buf *out;  /* or NULL */
	uint64_t first;       /* where it began */
	size_t depth;
	char open[DEPTH];     /* what closes each */
};

static void
put(struct taking *t, const void *bytes, size_t size)
{
	if (t->out != NULL)
		lc__buf_append(t->out, bytes, size);
}

/* A string with its quotes. */
static bool
take_string(struct taking *t)
{
	struct stream *s = t->s;
	size_t skip = 1;

	/* skip: the first quote, or a byte behind \, ends nothing. */
	while (peek(s) != -1 && position(s) - t->first <= LC__JSON_ELEMENT_MAX) {
		const unsigned char *from = s->window + s->at;
		const size_t left = s->have - s->at;
		size_t n = skip;
		while (n < left && from[n] != '"' && from[n] != '\\')
			n++;
		put(t, from, n < left ? n + 1 : left);
		s->at += n < left ? n + 1 : left;
		if (n < left && from[n] == '"')
			return true;
		skip = n < left;
	}
	return false;
}

static void
take_plain(struct taking *t)
{
	struct stream *s = t->s;
	size_t at = s->at;

	while (at < s->have && class_of(s->window[at]) == PLAIN)
		at++;
	put(t, s->window + s->at, at - s->at);
	s->at = at;
}

static bool
is_scalar(int c)
{
	return c != -1 && class_of(c) == PLAIN && c != ',' && c != ':';
}

/* Blanks go, but "1 2" must not become 12. */
static void
take_blanks(struct taking *t)
{
	const struct lc__buf *out = t->out;
	const int next = peek_token(t->s);

	if (out != NULL && out->size > 0 && is_scalar(out->data[out->size - 1]) &&
	    is_scalar(next))
		put(t, " ", 1);
}

static bool
take_open(struct taking *t, char c)
{
	if (t->depth == DEPTH)
		return false;
	t->open[t->depth++] = c == '{' ? '}' : ']';
	put(t, &c, 1);
	t->s->at++;
	return true;
}

static bool
take_close(struct taking *t, char c)
{
	if (t->depth == 0 || t->open[t->depth - 1] != c)
		return false;
	t->depth--;
	put(t, &c, 1);
	t->s->at++;
	return true;
}

static bool
take_part(struct taking *t, int c)
{
	switch (class_of(c)) {
	case BLANK:
		take_blanks(t);
		return true;
	case QUOTE:
		return take_string(t);
	case OPEN:
		return take_open(t, (char)c);
	case CLOSE:
		return take_close(t, (char)c);
	default:
		take_plain(t);
		return true;
	}
}

/* A number or a word outside of everything: up to what cannot belong to it. */
static bool
take_scalar(struct taking *t)
{
	int c;

	while (c = peek(t->s), is_scalar(c) && position(t->s) - t->first <=
	    LC__JSON_ELEMENT_MAX) {
		put(t, t->s->window + t->s->at, 1);
		t->s->at++;
	}
	return position(t->s) > t->first;
}

static const char *
what_is_wrong(const struct taking *t)
{
	if (peek(t->s) == -1)
		return "the file ends within a value";
	if (t->depth == DEPTH)
		return "nested too deep";
	if (position(t->s) - t->first > LC__JSON_ELEMENT_MAX)
		return "a value is too large";
	return "not JSON";
}

/* One value; into @p out if it is wanted, else it may be as long as it likes. */
static lc_status
take_value(struct stream *s, struct lc__buf *out)
{
	struct taking t = { .s = s, .out = out };
	int c = peek_token(s);
	bool good;

	t.first = position(s);
	if (c == ',' || c == ':')
		return malformed(s, "no value");
	if (is_scalar(c))
		return take_scalar(&t) ? LC_OK : malformed(s, "no value");
	do {
		c = peek(s);
		if (out == NULL)
			t.first = position(s);
		good = c != -1 && position(s) - t.first <=
		    LC__JSON_ELEMENT_MAX && take_part(&t, c);
	} while (good && t.depth > 0);
	return good ? LC_OK : malformed(s, what_is_wrong(&t));
}

/* ---- the outermost object ------------------------------------------------------ */

static lc_status
take_element(struct stream *s, size_t member)
{
	struct lc__json_element element = { .member = member };

	(void)peek_token(s);
	element.offset = position(s);
	s->text.size = 0;
	return_if_error(take_value(s, &s->text));
	if (s->text.failed)
		return lc__error(LC_NO_MEMORY, 0, "%s: out of memory", s->path);
	element.length = (uint32_t)(position(s) - element.offset);
	element.text = (const char *)s->text.data;
	element.size = s->text.size;
	return s->found(s->ctx, &element);
}

static lc_status
take_list(struct stream *s, size_t member)
{
	char what[64];

	snprintf(what, sizeof(what), "%.40s is not a list", s->names[member]);
	if (!accept(s, '['))
		return malformed(s, what);
	if (accept(s, ']'))
		return LC_OK;
	do
		return_if_error(take_element(s, member));
	while (accept(s, ','));
	return accept(s, ']') ? LC_OK : malformed(s, "neither , nor ]");
}

/* Which of the names that are asked for; LC__JSON_MEMBERS for others. Nobody writes these
 * with escapes. */
static size_t
find_name(const struct stream *s)
{
	const char *text = (const char *)s->text.data;

	for (size_t i = 0; s->names[i] != NULL; i++) {
		const size_t size = strlen(s->names[i]);
		if (s->text.size == size + 2 &&
		    memcmp(text + 1, s->names[i], size) == 0)
			return i;
	}
	return LC__JSON_MEMBERS;
}

static lc_status
take_member(struct stream *s)
{
	size_t member;

	if (peek_token(s) != '"')
		return malformed(s, "no name of a member");
	s->text.size = 0;
	return_if_error(take_value(s, &s->text));
	if (s->text.failed)
		return lc__error(LC_NO_MEMORY, 0, "%s: out of memory", s->path);
	member = find_name(s);
	if (!accept(s, ':'))
		return malformed(s, "no : behind a name");
	if (member == LC__JSON_MEMBERS)
		return take_value(s, NULL);
	if (s->seen[member])
		return malformed(s, "a member stands there again");
	s->seen[member] = true;
	return take_list(s, member);
}

static lc_status
take_object(struct stream *s)
{
	/* The whole of the mark is in the first window, for a file that has more. */
	if (peek(s) != -1)
		s->at += lc__utf8_mark(s->window, s->have);
	if (!accept(s, '{'))
		return malformed(s, "not an object");
	if (!accept(s, '}')) {
		do
			return_if_error(take_member(s));
		while (accept(s, ','));
		if (!accept(s, '}'))
			return malformed(s, "neither , nor }");
	}
	return peek_token(s) == -1 && s->status == LC_OK ? LC_OK :
	    malformed(s, "something behind the object");
}

lc_status
lc__json_stream(int fd, const char *path, const char *const *names,
    size_t needed, lc__json_found found, void *ctx)
{
	struct stream s = { .fd = fd, .path = path, .names = names,
		.found = found, .ctx = ctx };
	lc_status status = take_object(&s);

	for (size_t i = 0; i < needed && status == LC_OK; i++)
		if (!s.seen[i])
			status = lc__error(LC_CORRUPT, 0, "%s: no member %s", path,
			    names[i]);
	lc__buf_free(&s.text);
	return status;
}
