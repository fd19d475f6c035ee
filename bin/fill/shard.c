/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/shard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/json_scan.h"

#define STEP ((size_t)256 << 10) /* bytes read at once */

struct lc__shard {
	char *path;
	enum lc__shard_kind kind;
	int fd;
	uint64_t size;       /* of the file when it was opened */
	uint64_t read;       /* bytes of it read so far: where the buffer ends */
	unsigned char *data; /* the buffer */
	size_t room;
	size_t first, end;   /* what of it is to be given out */
	uint64_t line;       /* of what begins at first */
};

enum lc__shard_kind
lc__shard_kind_of(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot != NULL && (strcmp(dot, ".jsonl") == 0 ||
	    strcmp(dot, ".ndjson") == 0) ? LC__SHARD_JSONL : LC__SHARD_TEXT;
}

const char *
lc__shard_key(enum lc__shard_kind kind)
{
	return kind == LC__SHARD_JSONL ? "json" : kind == LC__SHARD_FILES ? "path" :
	    "text";
}

/* ---- opening ---------------------------------------------------------------- */

/* Does a line begin there? */
static lc_status
check_place(const struct lc__shard *s, const struct lc__line_place *at)
{
	char before = '\n';

	if (at->offset > s->size)
		return lc__error(LC_STALE, 0, "%s: has %llu bytes, and %llu of them "
		    "are done", s->path, (unsigned long long)s->size,
		    (unsigned long long)at->offset);
	if (at->offset > 0 && at->offset < s->size &&
	    pread(s->fd, &before, 1, (off_t)at->offset - 1) == -1)
		return lc__error_sys(errno, "%s: read", s->path);
	return before == '\n' ? LC_OK : lc__error(LC_STALE, 0,
	    "%s: no line begins at byte %llu, where to go on", s->path,
	    (unsigned long long)at->offset);
}

static lc_status
start(struct lc__shard *s, const struct lc__line_place *at)
{
	struct stat st;

	return_if_error(lc__open_regular(s->path, &s->fd));
	if (fstat(s->fd, &st) == -1)
		return lc__error_sys(errno, "%s: stat", s->path);
	s->size = (uint64_t)st.st_size;
	return_if_error(check_place(s, at));
	if (lseek(s->fd, (off_t)at->offset, SEEK_SET) == -1)
		return lc__error_sys(errno, "%s: seek", s->path);
	s->read = at->offset;
	s->line = at->line;
	return LC_OK;
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
	s->fd = -1;
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
	if (s->fd != -1)
		close(s->fd);
	free(s->data);
	free(s->path);
	free(s);
}

/* ---- lines ------------------------------------------------------------------ */

/* Room for STEP more bytes behind the end: what was given out goes, or it grows; what a
 * long line took is given back behind it. */
static lc_status
make_room(struct lc__shard *s)
{
	size_t room = s->room;
	unsigned char *data;

	if (s->first > 0)
		memmove(s->data, s->data + s->first, s->end - s->first);
	s->end -= s->first;
	s->first = 0;
	if (s->end <= STEP)
		room = 2 * STEP;
	else if (room - s->end < STEP)
		room *= 2;
	if (room == s->room)
		return LC_OK;
	data = realloc(s->data, room);
	if (data == NULL)
		return lc__no_memory(s->path);
	s->data = data;
	s->room = room;
	return LC_OK;
}

/* More bytes behind the end; none at the end of the file. */
static lc_status
read_more(struct lc__shard *s)
{
	const uint64_t left = s->size - s->read;
	const size_t wanted = left < STEP ? (size_t)left : STEP;
	size_t got;

	return_if_error(make_room(s));
	return_if_error(lc__read_full(s->fd, s->data + s->end, wanted, &got,
	    s->path));
	if (got < wanted)
		return lc__error(LC_CHANGED, 0, "%s: became shorter while it was "
		    "read", s->path);
	s->end += got;
	s->read += got;
	return LC_OK;
}

/* Find the end of the line that begins at first; what of it is too long is forgotten.
 * LC_END if there is no line. */
static lc_status
find_end(struct lc__shard *s, size_t *size, bool *newline, bool *too_long)
{
	size_t looked = 0;
	const unsigned char *found = NULL;

	*too_long = false;
	for (;;) {
		if (s->first + looked < s->end)
			found = memchr(s->data + s->first + looked, '\n',
			    s->end - s->first - looked);
		if (found != NULL || s->read == s->size)
			break;
		looked = s->end - s->first;
		if (looked > LC__LINE_MAX) {
			*too_long = true;
			s->first = s->end;
			looked = 0;
		}
		return_if_error(read_more(s));
	}
	*newline = found != NULL;
	*size = found != NULL ? (size_t)(found - s->data) - s->first :
	    s->end - s->first;
	*too_long |= *size > LC__LINE_MAX;
	return *size > 0 || *newline || *too_long ? LC_OK : LC_END;
}

/* Take the next line off, whatever it holds. */
static lc_status
take_line(struct lc__shard *s, struct lc__line *out)
{
	bool newline = false, too_long = false;
	size_t size = 0;

	out->behind = (struct lc__line_place){ s->size, s->line };
	return_if_error(find_end(s, &size, &newline, &too_long));
	out->data = s->data + s->first;
	out->size = too_long ? 0 : size;
	if (newline && out->size > 0 && out->data[size - 1] == '\r')
		out->size--;
	if (s->line == 0) {
		const size_t mark = lc__utf8_mark(out->data, out->size);
		out->data += mark;
		out->size -= mark;
	}
	s->first += size + newline;
	out->number = s->line++;
	out->behind = (struct lc__line_place){ s->read - (s->end - s->first), s->line };
	return too_long ? lc__error(LC_INVALID, 0, "%s: line %llu is longer than "
	    "64 MiB", s->path, (unsigned long long)out->number + 1) : LC_OK;
}

static bool
is_blank(const struct lc__line *line)
{
	size_t i = 0;

	while (i < line->size && (line->data[i] == ' ' || line->data[i] == '\t' ||
	    line->data[i] == '\r'))
		i++;
	return i == line->size;
}

/* One object and nothing else, to its end. */
static lc_status
check_json(const struct lc__line *line)
{
	struct lc__json_members members;
	struct lc__json_member member;
	lc_status status = lc__json_object(line->data, line->size, &members);

	while (status == LC_OK)
		status = lc__json_next(&members, &member);
	return status == LC_END ? LC_OK : status;
}

static lc_status
check_kind(const struct lc__shard *s, const struct lc__line *line)
{
	const unsigned long long number = line->number + 1;
	lc_error why;

	if (s->kind == LC__SHARD_FILES && memchr(line->data, '\0', line->size))
		return lc__error(LC_INVALID, 0, "%s: line %llu has a NUL byte, "
		    "which no path has", s->path, number);
	if (s->kind != LC__SHARD_JSONL || check_json(line) == LC_OK)
		return LC_OK;
	why = *lc_last_error();
	return lc__error(LC_INVALID, 0, "%s: line %llu: %s", s->path, number,
	    why.text);
}

lc_status
lc__shard_next(struct lc__shard *shard, struct lc__line *out)
{
	do
		return_if_error(take_line(shard, out));
	while (shard->kind != LC__SHARD_TEXT && is_blank(out));
	return check_kind(shard, out);
}
