/* SPDX-License-Identifier: BSD-2-Clause */
/* backup: a consistent copy of a module while others read and write it. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/newfile.h"
#include "env/share.h"
#include "store/cache.h"
#include "store/flush.h"

/* Copy into an unfinished file and put it in place, unless a module was made there
 * meanwhile. */
static lc_status
fill(struct lc_cache *cache, const char *data, bool compact)
{
	struct lc__newfile file;
	lc_status status;

	lc__newfile_tidy(data);
	return_if_error(lc__newfile_open(data, 0666, &file));
	lc__share_new_path(data, file.fd);
	status = lc__env_copy(cache->env, file.fd, compact);
	if (status == LC_OK)
		return lc__newfile_add(&file);
	lc__newfile_discard(&file);
	return status;
}

static lc_status
copy_module(struct lc_cache *cache, const char *dir, const char *data, bool compact)
{
	struct stat st;
	lc_status status = LC_EXISTS;

	if (lstat(data, &st) == -1) {
		return_if_error(lc__make_dirs(dir));
		return_if_error(lc__sync_parent(dir));
		lc__share_copy(lc__env_dir(cache->env), dir);
		status = fill(cache, data, compact);
	}
	if (status == LC_EXISTS)
		return lc__error(LC_INVALID, 0, "%s: exists; a backup replaces nothing",
		    data);
	return status;
}

lc_status
lc_backup(lc_cache *cache, const char *root, unsigned flags)
{
	char *dir, *data;
	lc_status status;

	if (root == NULL || *root == '\0')
		return lc__error(LC_INVALID, 0, "backup: no root");
	if (flags & ~LC_BACKUP_COMPACT)
		return lc__error(LC_INVALID, 0, "backup: unknown flag");
	return_if_error(lc__flush_all(cache));
	dir = lc__path_join(root, cache->module_id);
	data = dir != NULL ? lc__path_join(dir, "data.mdb") : NULL;
	if (data == NULL)
		status = lc__no_memory("backup");
	else
		status = copy_module(cache, dir, data, (flags & LC_BACKUP_COMPACT) != 0);
	free(data);
	free(dir);
	return status;
}
