/* SPDX-License-Identifier: BSD-2-Clause */
/* Shards of input lines, and the position of a fill in them. */
#include "fill/shard.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/json_scan.h"
#include "base/lines.h"
#include "base/mpack.h"
#include "lmdbcache.h"

/* ---- cursors ----------------------------------------------------------------------- */

void
lc__cursor_encode(const struct lc__line_place *place, struct lc__buf *out)
{
	lc__mpack_map(out, 2);
	lc__mpack_str(out, "offset");
	lc__mpack_uint(out, place->offset);
	lc__mpack_str(out, "line");
	lc__mpack_uint(out, place->line);
}

static bool
take_member(struct lc__tokens *in, const char *name, uint64_t *out)
{
	struct lc__mpack_token token;

	if (!lc__token_expect(in, LC__TOKEN_STR, &token) || token.size != strlen(name) ||
	    memcmp(token.bytes, name, token.size) != 0 ||
	    !lc__token_expect(in, LC__TOKEN_UINT, &token))
		return false;
	*out = token.number;
	return true;
}

lc_status
lc__cursor_decode(lc_id cursor, struct lc__line_place *out)
{
	struct lc__tokens in = { cursor.data,
		(const unsigned char *)cursor.data + cursor.size };
	struct lc__line_place place = { 0, 0 };
	struct lc__mpack_token token;

	/* Each line has at least one byte. */
	if (cursor.size > 0 &&
	    (!lc__token_expect(&in, LC__TOKEN_MAP, &token) || token.size != 2 ||
		!take_member(&in, "offset", &place.offset) ||
		!take_member(&in, "line", &place.line) || in.at != in.end ||
		place.line > place.offset || place.offset > INT64_MAX))
		return lc__error(LC_CORRUPT, 0,
		    "its cursor was not written by cachex fill");
	*out = place;
	return LC_OK;
}

/* ---- lines ------------------------------------------------------------------------- */

struct lc__shard {
	char *path;
	enum lc__shard_kind kind;
	uint64_t size; /* size of the file when it was opened, up to which it is read */
	struct lc__lines lines;
};

enum lc__shard_kind
lc__shard_kind_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot != NULL && (strcmp(dot, ".jsonl") == 0 || strcmp(dot, ".ndjson") == 0)
	    ? LC__SHARD_JSONL
	    : LC__SHARD_TEXT;
}

const char *
lc__shard_key(enum lc__shard_kind kind)
{
	return kind == LC__SHARD_JSONL ? "json"
	    : kind == LC__SHARD_FILES  ? "path"
				       : "text";
}

/* ---- opening ---------------------------------------------------------------- */

/* Does a line begin there? */
static lc_status
check_place(const struct lc__shard *s, const struct lc__line_place *at)
{
	char before = '\n';

	if (at->offset > s->size)
		return lc__error(LC_STALE, 0, "%s: has %llu bytes, but %llu are filled",
		    s->path, (unsigned long long)s->size, (unsigned long long)at->offset);
	if (at->offset > 0 && at->offset < s->size &&
	    pread(s->lines.fd, &before, 1, (off_t)at->offset - 1) == -1)
		return lc__error_sys(errno, "%s: read", s->path);
	return before == '\n'
	    ? LC_OK
	    : lc__error(LC_STALE, 0,
		  "%s: no line begins at byte %llu, the position to continue", s->path,
		  (unsigned long long)at->offset);
}

static lc_status
start(struct lc__shard *s, const struct lc__line_place *at)
{
	struct stat st;

	return_if_error(lc__open_regular(s->path, &s->lines.fd));
	if (fstat(s->lines.fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", s->path);
	s->size = (uint64_t)st.st_size;
	return_if_error(check_place(s, at));
	s->lines.bounded = true;
	s->lines.size = s->size;
	s->lines.limit = LC__LINE_MAX;
	s->lines.skip_mark = true;
	return lc__lines_seek(&s->lines, at->offset, at->line);
}

lc_status
lc__shard_open(const char *path, enum lc__shard_kind kind,
    const struct lc__line_place *at, struct lc__shard **out)
{
	struct lc__shard *s = calloc(1, sizeof(*s));
	lc_status status;

	if (s == NULL || (s->path = strdup(path)) == NULL) {
		free(s);
		return lc__no_memory(path);
	}
	s->kind = kind;
	s->lines.fd = -1;
	s->lines.path = s->path;
	status = start(s, at);
	if (status == LC_OK)
		*out = s;
	else
		lc__shard_close(s);
	return status;
}

void
lc__shard_close(struct lc__shard *s)
{
	if (s == NULL)
		return;
	if (s->lines.fd != -1)
		close(s->lines.fd);
	lc__lines_free(&s->lines);
	free(s->path);
	free(s);
}

/* ---- lines ------------------------------------------------------------------ */

/* Read the next line, whatever it contains. A line that is too long is skipped to its end
 * and reported. */
static lc_status
take_line(struct lc__shard *s, struct lc__line *out)
{
	struct lc__text_line line = { .text = NULL };
	lc_status status = lc__lines_next(&s->lines, &line);

	if (status == LC_INVALID) {
		const lc_error why = *lc_last_error();

		return_if_error(lc__lines_skip(&s->lines));
		status = lc__error_raise(&why);
	}
	out->behind = (struct lc__line_place){ s->lines.offset, s->lines.number };
	if (status != LC_OK && status != LC_INVALID)
		return status;
	out->number = s->lines.number - 1;
	out->data = (const unsigned char *)line.text;
	out->size = line.size;
	if (line.newline && out->size > 0 && out->data[out->size - 1] == '\r')
		out->size--;
	return status;
}

static lc_status
check_kind(const struct lc__shard *s, const struct lc__line *line)
{
	const unsigned long long number = line->number + 1;
	struct lc__json_members members;
	struct lc__json_member member;
	lc_status status;
	lc_error why;

	if (s->kind == LC__SHARD_FILES && memchr(line->data, '\0', line->size))
		return lc__error(LC_INVALID, 0,
		    "%s: line %llu has a NUL byte and is not a path", s->path, number);
	if (s->kind != LC__SHARD_JSONL)
		return LC_OK;
	/* Exactly one object, to its end. */
	status = lc__json_object(line->data, line->size, &members);
	while (status == LC_OK)
		status = lc__json_next(&members, &member);
	if (status == LC_END)
		return LC_OK;
	why = *lc_last_error();
	return lc__error(LC_INVALID, 0, "%s: line %llu: %s", s->path, number, why.text);
}

lc_status
lc__shard_next(struct lc__shard *shard, struct lc__line *out)
{
	size_t i;

	/* Blank lines are skipped, unless the shard is text. */
	do {
		return_if_error(take_line(shard, out));
		i = 0;
		while (i < out->size &&
		    (out->data[i] == ' ' || out->data[i] == '\t' || out->data[i] == '\r'))
			i++;
	} while (shard->kind != LC__SHARD_TEXT && i == out->size);
	return check_kind(shard, out);
}
