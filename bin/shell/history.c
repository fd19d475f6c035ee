/* SPDX-License-Identifier: BSD-2-Clause */
#include "shell/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/lines.h"
#include "base/newfile.h"
#include "ui/report.h"

#define LONGEST ((size_t)1 << 20) /* bytes of a line of the file */

/* By the XDG specification a relative path does not count. NULL without a home directory. */
static char *
choose_path(void)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char *path = NULL;

	if (state != NULL && *state == '/')
		return asprintf(&path, "%s/cachex/history", state) < 0 ? NULL : path;
	if (home == NULL || *home == '\0')
		return NULL;
	return asprintf(&path, "%s/.local/state/cachex/history", home) < 0 ? NULL : path;
}

static bool
remember(struct shell_history *history, const char *line)
{
	char *copy = strdup(line);

	if (copy == NULL ||
	    lc__array_reserve(&history->lines, &history->room, history->n + 1, NULL) !=
		LC_OK) {
		free(copy);
		return false;
	}
	history->lines[history->n++] = copy;
	return true;
}

/* Forget all but the newest lines. True if there were more. */
static bool
keep_newest(struct shell_history *history)
{
	const size_t over = history->n > SHELL_HISTORY_MOST
	    ? history->n - SHELL_HISTORY_MOST
	    : 0;

	for (size_t i = 0; i < over; i++)
		free(history->lines[i]);
	history->n -= over;
	if (over > 0)
		memmove(history->lines, history->lines + over,
		    history->n * sizeof(*history->lines));
	return over > 0;
}

static bool
read_lines(struct shell_history *history, int fd)
{
	struct lc__lines lines = { .fd = fd, .path = history->path, .limit = LONGEST };
	struct lc__text_line line;
	lc_status status;

	while ((status = lc__lines_next(&lines, &line)) == LC_OK || status == LC_INVALID)
		if (status == LC_OK && line.size > 0 && strlen(line.text) == line.size &&
		    !remember(history, line.text))
			break;
	lc__lines_free(&lines);
	return status == LC_END;
}

/* Write the file anew with the lines that are kept. */
static bool
rewrite(const struct shell_history *history)
{
	struct lc__newfile file = LC__NEWFILE_NONE;

	if (lc__newfile_open(history->path, 0600, &file) != LC_OK)
		return false;
	for (size_t i = 0; i < history->n; i++)
		if (dprintf(file.fd, "%s\n", history->lines[i]) < 0) {
			lc__newfile_discard(&file);
			return false;
		}
	return lc__newfile_replace(&file) == LC_OK;
}

/* -1 with errno. Its directory is made. */
static int
open_file(const struct shell_history *history)
{
	char *slash = strrchr(history->path, '/');
	lc_status made;

	*slash = '\0';
	made = lc__make_dirs(history->path);
	*slash = '/';
	if (made != LC_OK) {
		errno = lc_last_error()->sys;
		return -1;
	}
	return lc__open(history->path,
	    O_RDWR | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK, 0600);
}

void
shell_history_open(struct shell_history *history, bool keep)
{
	struct stat st;

	memset(history, 0, sizeof(*history));
	history->fd = -1;
	history->path = keep ? choose_path() : NULL;
	if (history->path == NULL)
		return;
	history->fd = open_file(history);
	if (history->fd != -1 && fstat(history->fd, &st) == 0 && !S_ISREG(st.st_mode)) {
		close(history->fd);
		history->fd = -1;
		errno = EINVAL;
	}
	if (history->fd == -1) {
		report_note("%s: %s; lines are not kept", history->path, strerror(errno));
		return;
	}
	/* One that another program made may be open to all. */
	(void)fchmod(history->fd, 0600);
	if (read_lines(history, history->fd) && keep_newest(history) &&
	    rewrite(history)) {
		close(history->fd);
		history->fd = open_file(history);
	}
}

bool
shell_history_add(struct shell_history *history, const char *line)
{
	if (*line == '\0' || *line == ' ' || *line == '\t' ||
	    (history->n > 0 && strcmp(history->lines[history->n - 1], line) == 0))
		return false;
	if (!remember(history, line))
		return false;
	/* One write: lines of shells that run at the same time do not mix. */
	if (history->fd != -1 && dprintf(history->fd, "%s\n", line) < 0) {
		report_note("%s: %s; lines are not kept", history->path, strerror(errno));
		close(history->fd);
		history->fd = -1;
	}
	return true;
}

void
shell_history_close(struct shell_history *history)
{
	for (size_t i = 0; i < history->n; i++)
		free(history->lines[i]);
	free(history->lines);
	free(history->path);
	if (history->fd != -1)
		close(history->fd);
	memset(history, 0, sizeof(*history));
	history->fd = -1;
}
