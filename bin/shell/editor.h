/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines typed at a terminal: by libedit with history and completion, or as the terminal hands
 * them over where libedit is not there. One editor in a process.
 */
#ifndef CACHEX_SHELL_EDITOR_H
#define CACHEX_SHELL_EDITOR_H

#include "shell/complete.h"
#include "shell/history.h"

enum editor_result {
	EDITOR_LINE,
	EDITOR_INTERRUPTED, /* Ctrl-C: what was typed does not count */
	EDITOR_END,         /* Ctrl-D on an empty line, or the terminal is gone */
};

/** Begin with these lines as history; @p completer stays the caller's until the end. From now on
 *  SIGINT only interrupts what waits, also one that comes between two lines. */
void editor_open(const struct shell_history *history, const struct completer *completer);

/** Read a line without its end; valid until the next call. @p prompt is shown before it. */
enum editor_result editor_read(const char *prompt, char **out);

/** Add a line to the history. */
void editor_add(const char *line);

void editor_close(void);

#endif
