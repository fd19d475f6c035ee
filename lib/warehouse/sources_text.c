/* SPDX-License-Identifier: BSD-2-Clause */
/* A list of sources as text. A list has exactly one text: other spellings and orders are
 * refused. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "warehouse/sources.h"

#define MAGIC "# cachex sources "
#define VERSION 1
#define SHORTEST_LINE (sizeof("m - - - x\n") - 1)

/* ---- writing --------------------------------------------------------------- */

static bool
is_plain(unsigned char c)
{
	return c >= 0x20 && c != 0x7f && c != '\\';
}

void
lc__sources_put_path(const char *path, struct lc__buf *out)
{
	if (*path == '\0')
		lc__buf_append(out, ".", 1);
	for (; *path != '\0'; path++) {
		const unsigned char c = (unsigned char)*path;
		if (is_plain(c))
			lc__buf_append(out, &c, 1);
		else if (c == '\\' || c == '\n')
			lc__buf_append(out, c == '\n' ? "\\n" : "\\\\", 2);
		else
			lc__buf_printf(out, "\\x%02x", c);
	}
}

static void
put_file(const struct lc__source_file *f, struct lc__buf *out)
{
	const unsigned long long high = f->hash[0], low = f->hash[1];

	if (f->missing)
		lc__buf_printf(out, "m - - - ");
	else if (f->directory)
		lc__buf_printf(out, "d %016llx%016llx - %lld ", high, low,
		    (long long)f->mtime_ns);
	else
		lc__buf_printf(out, "f %016llx%016llx %llu %lld ", high, low,
		    (unsigned long long)f->size, (long long)f->mtime_ns);
	lc__sources_put_path(f->path, out);
	lc__buf_append(out, "\n", 1);
}

lc_status
lc__sources_format(const struct lc__sources *sources, struct lc__buf *out)
{
	lc__buf_printf(out, MAGIC "%d %lld\n", VERSION, (long long)sources->since_ns);
	for (size_t i = 0; i < sources->n; i++)
		put_file(&sources->files[i], out);
	return out->failed ? lc__no_memory("sources") : LC_OK;
}

/* ---- reading --------------------------------------------------------------- */

/* A line that is parsed from the left. */
struct cursor {
	char *at, *end; /* *end is a NUL in the place of the newline */
};

/* All digits up to another character; each number has exactly one text. */
static bool
take_number(struct cursor *c, uint64_t limit, uint64_t *out)
{
	const char *start = c->at;

	for (*out = 0; *c->at >= '0' && *c->at <= '9'; c->at++)
		if (__builtin_mul_overflow(*out, 10, out) ||
		    __builtin_add_overflow(*out, *c->at - '0', out))
			return false;
	return c->at > start && *out <= limit && (*start != '0' || c->at == start + 1);
}

static bool
take_time(struct cursor *c, int64_t *out)
{
	const bool negative = *c->at == '-';
	uint64_t v;

	c->at += negative;
	if (!take_number(c, (uint64_t)INT64_MAX + negative, &v) || (negative && v == 0))
		return false;
	*out = negative ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

static bool
take_text(struct cursor *c, const char *text)
{
	const size_t n = strlen(text);

	if (strncmp(c->at, text, n) != 0)
		return false;
	c->at += n;
	return true;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool
take_hash(struct cursor *c, uint64_t hash[2])
{
	for (int i = 0; i < 32; i++) {
		const int digit = hex_digit(*c->at);
		if (digit < 0)
			return false;
		hash[i / 16] = hash[i / 16] << 4 | (uint64_t)digit;
		c->at++;
	}
	return true;
}

/* What follows a backslash; a character that needs no escape is refused. */
static bool
take_escaped(struct cursor *c, char *out)
{
	int high, low;

	if (take_text(c, "\\")) {
		*out = '\\';
		return true;
	}
	if (take_text(c, "n")) {
		*out = '\n';
		return true;
	}
	if (!take_text(c, "x"))
		return false;
	high = hex_digit(c->at[0]);
	low = high < 0 ? -1 : hex_digit(c->at[1]);
	if (low < 0)
		return false;
	c->at += 2;
	*out = (char)(high << 4 | low);
	return *out != '\0' && *out != '\n' && *out != '\\' &&
	    !is_plain((unsigned char)*out);
}

/* The rest of the line, unescaped in place: the result is never longer. */
static bool
take_path(struct cursor *c, bool directory, const char **out)
{
	char *path = c->at, *to = path;

	if (directory && *path == '.' && path + 1 == c->end) {
		*out = c->end;
		return true;
	}
	while (c->at < c->end) {
		if (*c->at != '\\' && is_plain((unsigned char)*c->at)) {
			*to++ = *c->at++;
			continue;
		}
		if (*c->at++ != '\\' || !take_escaped(c, to))
			return false;
		to++;
	}
	*to = '\0';
	*out = path;
	return *path != '\0' && lc__sources_path_ok(path, directory);
}

/* NULL, or the mistake in the line. */
static const char *
take_file(struct cursor *c, struct lc__source_file *f)
{
	if (take_text(c, "m - - - ")) {
		f->missing = true;
	} else {
		f->directory = *c->at == 'd';
		if (!take_text(c, "d ") && !take_text(c, "f "))
			return "is not of a file or directory";
		if (!take_hash(c, f->hash) || !take_text(c, " "))
			return "has no hash";
		if (!(f->directory ? take_text(c, "-")
				   : take_number(c, INT64_MAX, &f->size)) ||
		    !take_text(c, " "))
			return "has no size";
		if (!take_time(c, &f->mtime_ns) || !take_text(c, " "))
			return "has no time";
	}
	return take_path(c, f->directory, &f->path) ? NULL : "has no valid path";
}

/* The next line, terminated by a NUL; false if there is no complete one. A NUL inside
 * does not end it: no field may contain one. */
static bool
next_line(struct lc__buf *text, size_t *at, struct cursor *c)
{
	char *start = (char *)text->data + *at;
	char *end = memchr(start, '\n', text->size - *at);

	if (end == NULL)
		return false;
	*end = '\0';
	*at += (size_t)(end - start) + 1;
	*c = (struct cursor){ start, end };
	return true;
}

static lc_status
bad_line(const char *name, size_t line, const char *what)
{
	return lc__error(LC_CORRUPT, 0, "%s: line %zu %s", name, line, what);
}

static lc_status
take_header(struct lc__buf *text, size_t *at, const char *name, int64_t *since_ns)
{
	struct cursor c;
	uint64_t version;

	if (text->size == 0 || !next_line(text, at, &c) || !take_text(&c, MAGIC) ||
	    !take_number(&c, INT64_MAX, &version) || version == 0)
		return lc__error(LC_CORRUPT, 0, "%s: is not a list of sources", name);
	if (version > VERSION)
		return lc__error(LC_VERSION, 0,
		    "%s: version %llu is newer than this library", name,
		    (unsigned long long)version);
	if (!take_text(&c, " ") || !take_time(&c, since_ns) || c.at != c.end)
		return bad_line(name, 1, "has no time");
	return LC_OK;
}

static lc_status
take_files(struct lc__buf *text, size_t at, const char *name, struct lc__sources *out)
{
	const char *wrong;
	struct cursor c;

	for (; next_line(text, &at, &c); out->n++) {
		struct lc__source_file *f = &out->files[out->n];
		wrong = take_file(&c, f);
		if (wrong == NULL && out->n > 0 && strcmp(f[-1].path, f->path) >= 0)
			wrong = "is not in order";
		if (wrong != NULL)
			return bad_line(name, out->n + 2, wrong);
	}
	return at == text->size ? LC_OK : bad_line(name, out->n + 2, "is cut off");
}

lc_status
lc__sources_parse(struct lc__buf *text, const char *name, struct lc__sources *out)
{
	struct lc__sources s = { .text = *text };
	size_t at = 0;
	lc_status status;

	*text = (struct lc__buf){ 0 };
	s.room = s.text.size / SHORTEST_LINE + 1;
	s.files = calloc(s.room, sizeof(*s.files));
	if (s.files == NULL)
		status = lc__no_memory(name);
	else
		status = take_header(&s.text, &at, name, &s.since_ns);
	if (status == LC_OK)
		status = take_files(&s.text, at, name, &s);
	if (status == LC_OK)
		*out = s;
	else
		lc__sources_free(&s);
	return status;
}
