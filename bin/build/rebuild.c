/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/rebuild.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"

#define REBUILD_NAME ".rebuild"

lc_status
lc__rebuild_note(const char *warehouse, bool wanted)
{
	char *path = lc__path_join(warehouse, REBUILD_NAME);
	lc_status status = LC_OK;

	if (path == NULL)
		return lc__no_memory("build");
	if (wanted)
		status = lc__write_file_atomic(path, "", 0);
	else if (unlink(path) == -1 && errno != ENOENT)
		status = lc__error_sys(errno, "%s: remove", path);
	free(path);
	return status;
}

bool
lc__rebuild_noted(const char *warehouse)
{
	char *path = lc__path_join(warehouse, REBUILD_NAME);
	const bool noted = path != NULL && access(path, F_OK) == 0;

	free(path);
	return noted;
}
