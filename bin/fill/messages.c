/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/messages.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void
end_line(struct lc__messages *m)
{
	if (m->open_size == 0)
		return;
	m->open[m->open_size] = '\0';
	m->open_size = 0;
	if (m->line != NULL)
		m->line(m->ctx, m->child, m->open);
}

/* A return ends a line too: progress bars write nothing else for a long time. */
static bool
ends_line(char c)
{
	return c == '\n' || c == '\r';
}

static void
add_lines(struct lc__messages *m, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (ends_line(text[i]) || m->open_size + 1 == sizeof(m->open))
			end_line(m);
		if (!ends_line(text[i]))
			m->open[m->open_size++] = text[i] == '\0' ? ' ' : text[i];
	}
}

static void
keep_last(struct lc__messages *m, const char *text, size_t size)
{
	size_t kept;

	if (size > sizeof(m->last)) {
		text += size - sizeof(m->last);
		size = sizeof(m->last);
	}
	kept = sizeof(m->last) - size;
	if (kept > m->last_size)
		kept = m->last_size;
	memmove(m->last, m->last + m->last_size - kept, kept);
	memcpy(m->last + kept, text, size);
	m->last_size = kept + size;
}

void
lc__messages_add(struct lc__messages *m, const char *text, size_t size)
{
	add_lines(m, text, size);
	keep_last(m, text, size);
}

void
lc__messages_end(struct lc__messages *m)
{
	end_line(m);
}

void
lc__messages_last_line(const struct lc__messages *m, char *out, size_t room)
{
	size_t end = m->last_size, start;

	while (end > 0 && (ends_line(m->last[end - 1]) || m->last[end - 1] == ' '))
		end--;
	for (start = end; start > 0 && !ends_line(m->last[start - 1]); start--)
		;
	snprintf(out, room, "%.*s", (int)(end - start), m->last + start);
	for (; *out != '\0'; out++)
		if ((unsigned char)*out < ' ' || *out == 0x7f)
			*out = ' ';
}
