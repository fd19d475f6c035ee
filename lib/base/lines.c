/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"

#define STEP ((size_t)256 << 10) /* bytes read at once */

/* Make room for STEP more bytes and the NUL after a last line. Lines that were returned
 * are dropped first; then the room doubles, and after a long line it shrinks again. */
static lc_status
make_room(struct lc__lines *lines)
{
	size_t room = lines->room;
	char *data;

	if (lines->at > 0)
		memmove(lines->data, lines->data + lines->at, lines->end - lines->at);
	lines->end -= lines->at;
	lines->at = 0;
	if (lines->end < STEP)
		room = 2 * STEP;
	else if (room - lines->end <= STEP)
		room = room <= SIZE_MAX / 2 ? room * 2 : SIZE_MAX;
	if (room == lines->room)
		return LC_OK;
	data = realloc(lines->data, room);
	if (data == NULL)
		return lc__no_memory(lines->path);
	lines->data = data;
	lines->room = room;
	return LC_OK;
}

static lc_status
read_more(struct lc__lines *lines)
{
	const uint64_t done = lines->offset + (lines->end - lines->at);
	size_t want = STEP;
	ssize_t got;

	return_if_error(make_room(lines));
	if (lines->bounded && lines->size - done < want)
		want = (size_t)(lines->size - done);
	do {
		if (lines->wait != NULL)
			return_if_error(lines->wait(lines->ctx));
		got = want > 0 ? read(lines->fd, lines->data + lines->end, want) : 0;
	} while (got == -1 && errno == EINTR);
	if (got == -1)
		return lc__error_sys(errno, "%s: read", lines->path);
	if (got == 0 && want > 0 && lines->bounded)
		return lc__error(LC_CHANGED, 0, "%s: became shorter while it was read",
		    lines->path);
	lines->ended = got == 0;
	lines->end += (size_t)got;
	return LC_OK;
}

/*
 * Bytes up to the end of the line, without it. A line that is too long is not read to its
 * end.
 */
static lc_status
find_end(struct lc__lines *lines, size_t *size, bool *newline)
{
	const char *found = NULL;
	size_t seen = 0;

	for (;;) {
		const size_t left = lines->end - lines->at;

		if (left > seen)
			found = memchr(lines->data + lines->at + seen,
			    lines->null ? '\0' : '\n', left - seen);
		seen = left;
		if (found != NULL || lines->ended ||
		    (lines->limit > 0 && seen > lines->limit))
			break;
		return_if_error(read_more(lines));
	}
	*newline = found != NULL;
	*size = found != NULL ? (size_t)(found - lines->data) - lines->at : seen;
	return LC_OK;
}

static void
advance(struct lc__lines *lines, size_t bytes)
{
	lines->at += bytes;
	lines->offset += bytes;
}

lc_status
lc__lines_skip(struct lc__lines *lines)
{
	while (lines->skipping) {
		size_t size;
		bool newline;

		return_if_error(find_end(lines, &size, &newline));
		advance(lines, size + newline);
		lines->skipping = !newline && !(lines->ended && lines->at == lines->end);
	}
	return LC_OK;
}

lc_status
lc__lines_next(struct lc__lines *lines, struct lc__text_line *out)
{
	size_t size, mark = 0;
	bool newline;

	return_if_error(lc__lines_skip(lines));
	return_if_error(find_end(lines, &size, &newline));
	if (size == 0 && !newline)
		return LC_END;
	lines->number++;
	if (lines->limit > 0 && size > lines->limit) {
		const bool mib = lines->limit % ((size_t)1 << 20) == 0;

		advance(lines, size + newline);
		lines->skipping = !newline;
		return lc__error(LC_INVALID, 0, "%s: line %llu is longer than %zu %s",
		    lines->path, (unsigned long long)lines->number,
		    mib ? lines->limit >> 20 : lines->limit, mib ? "MiB" : "bytes");
	}
	if (lines->skip_mark && lines->offset == 0)
		mark = lc__utf8_mark(lines->data + lines->at, size);
	out->text = lines->data + lines->at + mark;
	out->size = size - mark;
	out->newline = newline;
	advance(lines, size + newline);
	/* Where the newline was, or after the last line, where make_room() left room. */
	out->text[out->size] = '\0';
	return LC_OK;
}

lc_status
lc__lines_seek(struct lc__lines *lines, uint64_t offset, uint64_t number)
{
	if (lseek(lines->fd, (off_t)offset, SEEK_SET) == -1)
		return lc__error_sys(errno, "%s: seek", lines->path);
	lines->at = lines->end = 0;
	lines->ended = lines->skipping = false;
	lines->offset = offset;
	lines->number = number;
	return LC_OK;
}

void
lc__lines_free(struct lc__lines *lines)
{
	free(lines->data);
	lines->data = NULL;
	lines->room = lines->at = lines->end = 0;
}

bool
lc__text_line_is_blank(const struct lc__text_line *line)
{
	for (size_t i = 0; i < line->size; i++)
		if (line->text[i] != ' ' && line->text[i] != '\t' &&
		    line->text[i] != '\r')
			return false;
	return true;
}
