/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"

#define BUFFER ((size_t)256 << 10)

/* ---- opening ------------------------------------------------------------------- */

bool
lc__out_is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

static void
free_file(struct lc__out_file *file)
{
	if (file->stream && file->fd != -1)
		close(file->fd);
	lc__newfile_discard(&file->new);
	free(file->path);
	free(file->buffer);
	*file = (struct lc__out_file)LC__OUT_FILE_NONE;
}

lc_status
lc__out_file_open(const char *path, const struct lc__outgoing_how *how,
    struct lc__out_file *out)
{
	struct lc__out_file file = LC__OUT_FILE_NONE;
	struct stat st;
	lc_status status;

	if (lc__out_is_stdout(path)) {
		path = "standard output";
		file.stream = true;
	} else if (lstat(path, &st) == -1) {
		if (errno != ENOENT)
			return lc__error_sys(errno, "%s: stat", path);
	} else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		return lc__error(LC_INVALID, 0, "%s: exists and is not a regular file",
		    path);
	} else if (!how->force) {
		return lc__error(LC_EXISTS, 0, "%s: exists", path);
	}
	file.force = how->force;
	file.path = strdup(path);
	if (!how->dry_run)
		file.buffer = malloc(BUFFER);
	if (file.path == NULL || (file.buffer == NULL && !how->dry_run)) {
		status = lc__no_memory(path);
	} else if (how->dry_run) {
		status = LC_OK;
	} else if (file.stream) {
		file.fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
		status = file.fd != -1 ? LC_OK : lc__error_sys(errno, "%s: open", path);
	} else {
		status = lc__newfile_open(path, 0666, &file.new);
		file.fd = file.new.fd;
	}
	if (status == LC_OK)
		*out = file;
	else
		free_file(&file);
	return status;
}

/* ---- writing ------------------------------------------------------------------- */

static lc_status
flush(struct lc__out_file *file)
{
	const size_t used = file->used;

	file->used = 0;
	return used > 0 ? lc__write_full(file->fd, file->buffer, used, file->path)
			: LC_OK;
}

lc_status
lc__out_file_write(struct lc__out_file *file, const void *data, size_t size)
{
	if (file->fd == -1) {
		file->size += size;
		return LC_OK;
	}
	if (size > BUFFER - file->used)
		return_if_error(flush(file));
	file->size += size;
	if (size >= BUFFER) {
		return_if_error(lc__write_full(file->fd, data, size, file->path));
	} else if (size > 0) {
		memcpy(file->buffer + file->used, data, size);
		file->used += size;
	}
	if (!file->stream)
		lc__write_behind(file->fd, &file->started, file->size - file->used);
	return LC_OK;
}

lc_status
lc__out_file_rewrite(struct lc__out_file *file, uint64_t offset, const void *data,
    size_t size)
{
	ssize_t n;

	if (file->fd == -1)
		return LC_OK;
	return_if_error(flush(file));
	for (size_t done = 0; done < size; done += (size_t)n) {
		n = pwrite(file->fd, (const char *)data + done, size - done,
		    (off_t)(offset + done));
		if (n == -1 && errno != EINTR)
			return lc__error_sys(errno, "%s: write", file->path);
		if (n == -1)
			n = 0;
	}
	return LC_OK;
}

/* ---- ending -------------------------------------------------------------------- */

static lc_status
end(struct lc__out_file *file, bool sync)
{
	lc_status status = LC_OK;

	if (file->fd != -1) {
		status = flush(file);
		file->new.unsynced = !sync;
		if (status == LC_OK && file->stream) {
			if (close(file->fd) == -1)
				status = lc__error_sys(errno, "%s: close", file->path);
			file->fd = -1;
		} else if (status == LC_OK && file->force) {
			status = lc__newfile_replace(&file->new);
		} else if (status == LC_OK) {
			/* A file that has appeared there meanwhile is not replaced
			 * either. */
			status = lc__newfile_add(&file->new);
			if (status == LC_EXISTS)
				status = lc__error(LC_EXISTS, 0, "%s: exists",
				    file->path);
		}
	}
	free_file(file);
	return status;
}

lc_status
lc__out_file_finish(struct lc__out_file *file)
{
	return end(file, true);
}

lc_status
lc__out_file_place(struct lc__out_file *file)
{
	return end(file, false);
}

void
lc__out_file_discard(struct lc__out_file *file)
{
	free_file(file);
}

/* ---- directories ---------------------------------------------------------------- */

/* Make the directory and those above it, or check that it can be used. */
static lc_status
make_top(struct lc__out_tree *tree)
{
	const struct dirent *entry;
	struct lc__dir dir;
	struct stat st;
	lc_status status;

	if (stat(tree->path, &st) == -1) {
		if (errno != ENOENT)
			return lc__error_sys(errno, "%s: stat", tree->path);
		tree->new = true;
		return tree->how.dry_run ? LC_OK : lc__make_dirs(tree->path);
	}
	if (!S_ISDIR(st.st_mode))
		return lc__error(LC_INVALID, 0, "%s: exists and is not a directory",
		    tree->path);
	if (tree->how.force)
		return LC_OK;
	return_if_error(lc__dir_open(tree->path, &dir));
	status = lc__dir_next(&dir, &entry);
	if (status == LC_OK && entry != NULL)
		status = lc__error(LC_EXISTS, 0, "%s: exists, and is not empty",
		    tree->path);
	lc__dir_close(&dir);
	return status;
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

/* Open a directory below the tree. It must not be a link, which may lead out of the tree;
 * the tree itself may be one, because the user named it. */
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
	    : lc__error(LC_IO, 0, "%s: exists and is not a directory", path);
}

/* Make the directories of a path below the tree, which need no sync of their own. Most
 * files are in the same directory as the one before. */
static lc_status
make_dir_of(struct lc__out_tree *tree, const char *path)
{
	const size_t size = (size_t)(strrchr(path, '/') - path);
	lc_status status = LC_OK;
	char *copy;

	if (tree->made != NULL && strlen(tree->made) == size &&
	    memcmp(tree->made, path, size) == 0)
		return LC_OK;
	copy = strdup(path);
	if (copy == NULL)
		return lc__no_memory(path);
	for (char *p = copy + strlen(tree->path);
	     status == LC_OK && (p = strchr(p, '/')) != NULL; p++) {
		if (p == copy + strlen(tree->path))
			continue;
		*p = '\0';
		status = make_one(tree, copy);
		*p = '/';
	}
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

static void
free_tree(struct lc__out_tree *tree)
{
	free(tree->path);
	free(tree->made);
	memset(tree, 0, sizeof(*tree));
}

lc_status
lc__out_tree_finish(struct lc__out_tree *tree, uint64_t *bytes)
{
	lc_status status = LC_OK;
	int fd = -1;

	/* One sync of the whole file system: with many files it is much faster than a
	 * sync of each, and it includes the directories. */
	if (!tree->how.dry_run) {
		fd = lc__open(tree->path, O_RDONLY | O_DIRECTORY);
		if (fd == -1)
			status = lc__error_sys(errno, "%s: open", tree->path);
		else if (syncfs(fd) == -1)
			status = lc__error_sys(errno, "%s: syncfs", tree->path);
	}
	if (fd != -1)
		close(fd);
	if (status == LC_OK)
		*bytes = tree->bytes;
	free_tree(tree);
	return status;
}

/* Directories that contain something stay. */
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
	free_tree(tree);
}

/* ---- bytes that wait ------------------------------------------------------------- */

#define SPILL_STEP ((size_t)1 << 20) /* bytes written or read at once */
#define SPILL "temporary file"

/* If the file system has no files without a name, make one with a name and remove the
 * name. */
static int
named_once(const char *dir)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s/.cachex-XXXXXX", dir) < 0) {
		errno = ENOMEM;
		return -1;
	}
	lc__fds_hold();
	fd = mkostemp(path, O_CLOEXEC);
	lc__fds_release();
	if (fd != -1)
		(void)unlink(path);
	free(path);
	return fd;
}

lc_status
lc__spill_open(const char *dir, struct lc__spill *out)
{
	int fd;

	if (dir == NULL)
		dir = getenv("TMPDIR");
	if (dir == NULL || *dir == '\0')
		dir = "/tmp";
	fd = lc__open(dir, O_TMPFILE | O_RDWR, 0600);
	if (fd == -1 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT))
		fd = named_once(dir);
	if (fd == -1) {
		const lc_status status = lc__error_sys(errno, "%s: " SPILL, dir);
		/* LC_NO_FILE would say that an input is missing. */
		return status == LC_NO_FILE ? lc__error_as(LC_IO) : status;
	}
	*out = (struct lc__spill){ .fd = fd };
	return LC_OK;
}

lc_status
lc__spill_flush(struct lc__spill *spill)
{
	const size_t size = spill->wait.size;

	spill->wait.size = 0;
	return size > 0 ? lc__write_full(spill->fd, spill->wait.data, size, SPILL)
			: LC_OK;
}

lc_status
lc__spill_write(struct lc__spill *spill, const void *data, size_t size)
{
	spill->size += size;
	if (spill->wait.size + size > SPILL_STEP)
		return_if_error(lc__spill_flush(spill));
	if (size >= SPILL_STEP)
		return lc__write_full(spill->fd, data, size, SPILL);
	if (size > 0 && lc__buf_append(&spill->wait, data, size) == NULL)
		return lc__no_memory(NULL);
	return LC_OK;
}

lc_status
lc__spill_move(struct lc__spill *spill, struct lc__out_file *to)
{
	unsigned char *step = malloc(SPILL_STEP);
	size_t got = SPILL_STEP;
	lc_status status;

	if (step == NULL)
		return lc__no_memory(NULL);
	status = lc__spill_flush(spill);
	if (status == LC_OK && lseek(spill->fd, 0, SEEK_SET) == -1)
		status = lc__error_sys(errno, SPILL ": seek");
	while (status == LC_OK && got == SPILL_STEP) {
		status = lc__read_full(spill->fd, step, SPILL_STEP, &got, SPILL);
		if (status == LC_OK)
			status = lc__out_file_write(to, step, got);
	}
	free(step);
	return_if_error(status);
	if (ftruncate(spill->fd, 0) == -1 || lseek(spill->fd, 0, SEEK_SET) == -1)
		return lc__error_sys(errno, SPILL ": truncate");
	spill->size = 0;
	return LC_OK;
}

void
lc__spill_close(struct lc__spill *spill)
{
	if (spill->fd != -1)
		close(spill->fd);
	lc__buf_free(&spill->wait);
	*spill = (struct lc__spill)LC__SPILL_NONE;
}
