/* SPDX-License-Identifier: BSD-2-Clause */
#include "migrate/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"

#define FIRST_ROOM ((size_t)1 << 20)

lc_status
lc__text_lines_seek(struct lc__text_lines *lines, uint64_t offset, uint64_t number)
{
	if (lseek(lines->fd, (off_t)offset, SEEK_SET) == -1)
		return lc__error_sys(errno, "%s: seek", lines->path);
	lines->at = lines->size = 0;
	lines->ended = false;
	lines->offset = offset;
	lines->number = number;
	return LC_OK;
}

/* Room behind what is there: what has been returned goes, else the buffer grows. */
static lc_status
make_room(struct lc__text_lines *lines)
{
	const size_t left = lines->size - lines->at;
	size_t room = lines->room;
	char *data;

	if (lines->at > 0)
		memmove(lines->data, lines->data + lines->at, left);
	lines->at = 0;
	lines->size = left;
	if (left < room)
		return LC_OK;
	if (room > LC__TEXT_LINE_MAX)
		return lc__error(LC_INVALID, 0, "%s:%llu: the line is longer than %zu MiB",
		    lines->path, (unsigned long long)lines->number + 1, LC__TEXT_LINE_MAX >> 20);
	room = room == 0 ? FIRST_ROOM : room * 2;
	data = realloc(lines->data, room);
	if (data == NULL)
		return lc__no_memory(lines->path);
	lines->data = data;
	lines->room = room;
	return LC_OK;
}

static lc_status
read_more(struct lc__text_lines *lines)
{
	size_t want, got;

	return_if_error(make_room(lines));
	want = lines->room - lines->size;
	return_if_error(lc__read_full(lines->fd, lines->data + lines->size, want, &got,
	    lines->path));
	lines->size += got;
	lines->ended = got < want;
	return LC_OK;
}

lc_status
lc__text_lines_next(struct lc__text_lines *lines, struct lc__record_line *out)
{
	size_t seen = 0;
	char *newline = NULL;

	for (;;) {
		const size_t left = lines->size - lines->at;
		if (left > seen)
			newline = memchr(lines->data + lines->at + seen, '\n', left - seen);
		if (newline != NULL || lines->ended)
			break;
		seen = left;
		return_if_error(read_more(lines));
	}
	if (lines->at == lines->size)
		return LC_END;
	out->text = lines->data + lines->at;
	out->ended = newline != NULL;
	out->size = newline != NULL ? (size_t)(newline - out->text) :
	    lines->size - lines->at;
	lines->at += out->size + out->ended;
	if (lines->offset == 0) {
		const size_t mark = lc__utf8_mark(out->text, out->size);
		out->text += mark;
		out->size -= mark;
		lines->offset = mark;
	}
	lines->offset += out->size + out->ended;
	lines->number++;
	return LC_OK;
}

void
lc__text_lines_free(struct lc__text_lines *lines)
{
	free(lines->data);
	lines->data = NULL;
	lines->room = lines->at = lines->size = 0;
}

bool
lc__record_line_is_blank(const struct lc__record_line *line)
{
	for (size_t i = 0; i < line->size; i++)
		if (line->text[i] != ' ' && line->text[i] != '\t' && line->text[i] != '\r')
			return false;
	return true;
}
