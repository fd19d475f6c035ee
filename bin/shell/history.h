/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines that were typed, in this session and in earlier ones: a file with a line each,
 * $XDG_STATE_HOME/cachex/history or ~/.local/state/cachex/history, that only its owner may
 * read. Several shells may append to it at the same time.
 */
#ifndef CACHEX_SHELL_HISTORY_H
#define CACHEX_SHELL_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#define SHELL_HISTORY_MOST 2000 /* lines that the file keeps */

/** Zero-initialised is empty. */
struct shell_history {
	char **lines;
	size_t n, room;
	char *path; /* of the file, NULL if there is none */
	int fd;     /* to append to it, -1 if that is not possible */
};

/** Read the file, if @p keep, and open it to append. A failure is a note: there is then no
 *  file. */
void shell_history_open(struct shell_history *history, bool keep);

/**
 * Append a line, unless it is empty, begins with a blank, or is the last one again. True if
 * it was appended. A lack of memory or of room on the disk drops it.
 */
bool shell_history_add(struct shell_history *history, const char *line);

void shell_history_close(struct shell_history *history);

#endif
