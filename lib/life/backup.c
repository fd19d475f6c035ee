/* SPDX-License-Identifier: BSD-2-Clause */
/* backup: a consistent copy of a module while others read and write it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "store/cache.h"
#include "store/flush.h"

/* Where a copy grows, and what it is called when it is whole. */
struct target {
	char *dir;  /* ROOT/MODULE_ID */
	char *part; /* unfinished */
	char *data; /* finished */
};

static void
free_target(struct target *target)
{
	free(target->dir);
	free(target->part);
	free(target->data);
}

static lc_status
name_target(const struct lc_cache *cache, const char *root,
    struct target *target)
{
	target->dir = lc__path_join(root, cache->module_id);
	if (target->dir != NULL) {
		target->part = lc__path_join(target->dir, "backup.part");
		target->data = lc__path_join(target->dir, "data.mdb");
	}
	if (target->part == NULL || target->data == NULL)
		return lc__error(LC_NO_MEMORY, 0, "backup: out of memory");
	return LC_OK;
}

/* Copy into the unfinished file and make it durable. */
static lc_status
fill(struct lc_cache *cache, const struct target *target, bool compact)
{
	const int fd = lc__open(target->part,
	    O_WRONLY | O_CREAT | O_TRUNC, 0666);
	lc_status status;

	if (fd == -1)
		return lc__error_sys(errno, "%s: create", target->part);
	status = lc__env_copy(cache->env, fd, compact);
	if (status == LC_OK && fsync(fd) == -1)
		status = lc__error_sys(errno, "%s: fsync", target->part);
	if (close(fd) == -1 && status == LC_OK)
		status = lc__error_sys(errno, "%s: close", target->part);
	return status;
}

/* A link, not a rename: it refuses to replace a module made meanwhile. */
static lc_status
finish(const struct target *target)
{
	if (link(target->part, target->data) == -1)
		return lc__error_sys(errno, "%s: link", target->data);
	if (unlink(target->part) == -1)
		return lc__error_sys(errno, "%s: remove", target->part);
	return_if_error(lc__sync_dir(target->dir));
	return lc__sync_parent(target->dir);
}

static lc_status
copy_module(struct lc_cache *cache, const struct target *target, bool compact)
{
	struct stat st;
	lc_status status;

	if (stat(target->data, &st) == 0)
		return lc__error(LC_INVALID, 0,
		    "%s: exists; a backup replaces nothing", target->data);
	return_if_error(lc__make_dirs(target->dir));
	status = fill(cache, target, compact);
	if (status == LC_OK)
		status = finish(target);
	if (status != LC_OK)
		(void)unlink(target->part);
	return status;
}

lc_status
lc_backup(lc_cache *cache, const char *root, unsigned flags)
{
	struct target target = { NULL, NULL, NULL };
	lc_status status;

	if (root == NULL || *root == '\0')
		return lc__error(LC_INVALID, 0, "backup: no root");
	if (flags & ~LC_BACKUP_COMPACT)
		return lc__error(LC_INVALID, 0, "backup: unknown flag");
	return_if_error(lc__flush_all(cache));
	status = name_target(cache, root, &target);
	if (status == LC_OK)
		status = copy_module(cache, &target,
		    (flags & LC_BACKUP_COMPACT) != 0);
	free_target(&target);
	return status;
}
