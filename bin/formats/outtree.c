/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/outtree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"

static lc_status
check_empty(const char *path)
{
	const struct dirent *entry;
	struct lc__dir dir;
	lc_status status;

	return_if_error(lc__dir_open(path, &dir));
	status = lc__dir_next(&dir, &entry);
	if (status == LC_OK && entry != NULL)
		status = lc__error(LC_EXISTS, 0, "%s: exists, and is not empty", path);
	lc__dir_close(&dir);
	return status;
}

static lc_status
make_top(struct lc__out_tree *tree)
{
	struct stat st;

	if (stat(tree->path, &st) == -1) {
		if (errno != ENOENT)
			return lc__error_sys(errno, "%s: stat", tree->path);
		tree->new = true;
		return tree->how.dry_run ? LC_OK : lc__make_dirs(tree->path);
	}
	if (!S_ISDIR(st.st_mode))
		return lc__error(LC_INVALID, 0, "%s: exists, and is no directory",
		    tree->path);
	return tree->how.force ? LC_OK : check_empty(tree->path);
}

lc_status
lc__out_tree_begin(const char *path, const struct lc__outgoing_how *how,
    struct lc__out_tree *out)
{
	struct lc__out_tree tree = { .path = strdup(path), .how = *how };
	lc_status status;

	if (tree.path == NULL)
		return lc__no_memory(path);
	status = make_top(&tree);
	if (status == LC_OK)
		*out = tree;
	else
		free(tree.path);
	return status;
}

/* A directory below the tree. One that is a link may lead out of it; the tree itself may
 * be one, for the user has named it. */
static lc_status
make_one(const struct lc__out_tree *tree, const char *path)
{
	struct stat st;

	if (!tree->how.dry_run) {
		if (mkdir(path, 0777) == 0)
			return LC_OK;
		if (errno != EEXIST)
			return lc__error_sys(errno, "%s: mkdir", path);
	}
	if (lstat(path, &st) == -1)
		return tree->how.dry_run && errno == ENOENT
		    ? LC_OK
		    : lc__error_sys(errno, "%s: stat", path);
	if (S_ISLNK(st.st_mode))
		return lc__error(LC_IO, 0,
		    "%s: exists, and is a symbolic link, through "
		    "which nothing is written",
		    path);
	return S_ISDIR(st.st_mode)
	    ? LC_OK
	    : lc__error(LC_IO, 0, "%s: exists, and is no directory", path);
}

/* The directories of a path below the tree, which need no sync of their own. */
static lc_status
make_below(const struct lc__out_tree *tree, char *path)
{
	const size_t top = strlen(tree->path);
	lc_status status = LC_OK;

	for (char *p = path + top; status == LC_OK && (p = strchr(p, '/')) != NULL; p++) {
		if (p == path + top)
			continue;
		*p = '\0';
		status = make_one(tree, path);
		*p = '/';
	}
	return status;
}

/* Most files stand in the same directory as the one before. */
static lc_status
make_dir_of(struct lc__out_tree *tree, const char *path)
{
	const size_t size = (size_t)(strrchr(path, '/') - path);
	char *copy;
	lc_status status;

	if (tree->made != NULL && strlen(tree->made) == size &&
	    memcmp(tree->made, path, size) == 0)
		return LC_OK;
	copy = strdup(path);
	if (copy == NULL)
		return lc__no_memory(path);
	status = make_below(tree, copy);
	copy[size] = '\0';
	free(tree->made);
	tree->made = status == LC_OK ? copy : NULL;
	if (status != LC_OK)
		free(copy);
	return status;
}

lc_status
lc__out_tree_open(struct lc__out_tree *tree, const char *name, struct lc__out_file *out)
{
	char *path = lc__path_join(tree->path, name);
	lc_status status;

	if (path == NULL)
		return lc__no_memory(name);
	status = make_dir_of(tree, path);
	if (status == LC_OK)
		status = lc__out_file_open(path, &tree->how, out);
	free(path);
	return status;
}

lc_status
lc__out_tree_place(struct lc__out_tree *tree, struct lc__out_file *file)
{
	const uint64_t size = file->size;

	return_if_error(lc__out_file_place(file));
	tree->files++;
	tree->bytes += size;
	return LC_OK;
}

/* One sync of the file system: with many files it takes a fraction of a sync each, and
 * it covers the directories. */
static lc_status
sync_all(const char *path)
{
	const int fd = lc__open(path, O_RDONLY | O_DIRECTORY);
	lc_status status = LC_OK;

	if (fd == -1)
		return lc__error_sys(errno, "%s: open", path);
	if (syncfs(fd) == -1)
		status = lc__error_sys(errno, "%s: syncfs", path);
	close(fd);
	return status;
}

static void
release(struct lc__out_tree *tree)
{
	free(tree->path);
	free(tree->made);
	memset(tree, 0, sizeof(*tree));
}

lc_status
lc__out_tree_finish(struct lc__out_tree *tree, uint64_t *bytes)
{
	const lc_status status = tree->how.dry_run ? LC_OK : sync_all(tree->path);

	if (status == LC_OK)
		*bytes = tree->bytes;
	release(tree);
	return status;
}

/* Directories with something in them stay. */
static int
remove_empty(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)at;
	if (type == FTW_DP)
		(void)rmdir(path);
	return 0;
}

void
lc__out_tree_discard(struct lc__out_tree *tree)
{
	if (tree->path != NULL && tree->new && !tree->how.dry_run) {
		lc__fds_hold();
		(void)nftw(tree->path, remove_empty, 16, FTW_DEPTH | FTW_PHYS);
		lc__fds_release();
	}
	release(tree);
}
