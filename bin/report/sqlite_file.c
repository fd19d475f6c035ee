/* SPDX-License-Identifier: BSD-2-Clause */
/* Which files a new database may replace; their headers are read without SQLite. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "report/sqlite.h"

#define HEADER 100 /* bytes of a database's header */

static lc_status
check_header(int fd, const char *path)
{
	unsigned char header[HEADER];
	static const unsigned char application[4] = { 'C', 'X', 'W', 'H' };
	size_t got;

	return_if_error(lc__read_full(fd, header, sizeof(header), &got, path));
	if (got == 0 || (got == HEADER &&
	    memcmp(header, "SQLite format 3", 16) == 0 &&
	    memcmp(header + 68, application, 4) == 0))
		return LC_OK;
	return lc__error(LC_INVALID, 0, "%s: is no database of a warehouse and "
	    "stays", path);
}

/* SQLite would play the old file's journal back into the new one. */
static lc_status
check_journals_of(const char *path, const char *real)
{
	static const char *const suffixes[] = { "-journal", "-wal" };
	struct stat st;

	for (size_t i = 0; i < 2; i++) {
		char *name;
		int found;
		if (asprintf(&name, "%s%s", real, suffixes[i]) < 0)
			return lc__no_memory(NULL);
		found = stat(name, &st) == 0;
		free(name);
		if (found)
			return lc__error(LC_BUSY, 0, "%s: somebody writes it: "
			    "there is a %s beside it", path, suffixes[i]);
	}
	return LC_OK;
}

/* A journal stands beside the file itself, not beside a link to it. */
static lc_status
check_journals(const char *path)
{
	char *real = realpath(path, NULL);
	const lc_status status = check_journals_of(path, real ? real : path);

	free(real);
	return status;
}

lc_status
lc__sqlite_may_replace(const char *path)
{
	struct stat st;
	lc_status status;
	int fd;

	return_if_error(check_journals(path));
	if (stat(path, &st) == -1)
		return lc__error_sys(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return lc__error(LC_INVALID, 0, "%s: is no file", path);
	fd = lc__open(path, O_RDONLY);
	if (fd == -1)
		return lc__error_sys(errno, "%s", path);
	status = check_header(fd, path);
	close(fd);
	return status;
}
