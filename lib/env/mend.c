/* SPDX-License-Identifier: BSD-2-Clause */
#include "env/mend.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/listdir.h"
#include "env/env_private.h"
#include "env/locks.h"

#define COPY_STEP ((size_t)1 << 20)

struct lc__mend {
	char *dir;       /* the module */
	char *data;      /* its data.mdb */
	char *part;      /* recover.part */
	char *copy;      /* data.mdb there */
	char *lock;      /* lock.mdb there */
	struct stat old; /* of data */
	int dir_fd;      /* the directory's lock */
	int lock_fd;     /* the lock on lock.mdb */
};

/* ---- the copy ------------------------------------------------------------- */

static lc_status
step(const lc_progress *progress, uint64_t done, uint64_t size)
{
	if (progress != NULL && progress->step != NULL &&
	    progress->step(progress->ctx, done, size) != 0)
		return lc__error(LC_CANCELLED, 0, "recover: cancelled");
	return LC_OK;
}

static lc_status
copy_bytes(const struct lc__mend *m, int from, int to, const lc_progress *progress)
{
	const uint64_t size = (uint64_t)m->old.st_size;
	unsigned char *bytes = malloc(COPY_STEP);
	lc_status status = LC_OK;
	uint64_t done = 0;
	size_t got = 1;

	if (bytes == NULL)
		return lc__no_memory(m->copy);
	while (status == LC_OK && got > 0 && done < size) {
		const uint64_t left = size - done;

		status = lc__read_full(from, bytes,
		    left < COPY_STEP ? (size_t)left : COPY_STEP, &got, m->data);
		if (status == LC_OK)
			status = lc__write_full(to, bytes, got, m->copy);
		done += got;
		if (status == LC_OK)
			status = step(progress, done, size);
	}
	free(bytes);
	return status;
}

/* Private until it replaces the old file, whose owner and mode it then gets. */
static lc_status
make_copy(struct lc__mend *m, const lc_progress *progress)
{
	const int from = lc__open(m->data, O_RDONLY | O_NOFOLLOW);
	lc_status status = LC_OK;
	int to = -1;

	if (from == -1)
		return lc__error_sys(errno, "%s: open", m->data);
	if (fstat(from, &m->old) == -1)
		status = lc__error_sys(errno, "%s: stat", m->data);
	else if (!S_ISREG(m->old.st_mode))
		status = lc__error(LC_NOT_MODULE, 0, "%s: not a file", m->data);
	else if (mkdir(m->part, 0700) == -1)
		status = lc__error_sys(errno, "%s: mkdir", m->part);
	if (status == LC_OK) {
		to = lc__open(m->copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
		status = to == -1 ? lc__error_sys(errno, "%s: create", m->copy)
				  : copy_bytes(m, from, to, progress);
	}
	if (to != -1 && close(to) == -1 && status == LC_OK)
		status = lc__error_sys(errno, "%s: close", m->copy);
	close(from);
	return status;
}

/* Remove files left by this process or by one that was killed, which may also have left
 * lock.mdb.tmp.XXXXXX; links are not followed. */
static void
remove_copy(const struct lc__mend *m)
{
	const lc_error kept = *lc_last_error();
	const struct dirent *entry;
	struct lc__dir dir;

	/* Usually these are all, and reading a directory needs memory. */
	(void)unlink(m->copy);
	(void)unlink(m->lock);
	if (rmdir(m->part) == 0)
		return;
	if (lc__dir_of(lc__open(m->part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), m->part,
		&dir) == LC_OK) {
		while (lc__dir_next(&dir, &entry) == LC_OK && entry != NULL)
			(void)unlinkat(dir.fd, entry->d_name, 0);
		lc__dir_close(&dir);
	}
	(void)rmdir(m->part);
	/* An earlier failure of the caller stays the error. */
	(void)lc__error_raise(&kept);
}

/* ---- locks ---------------------------------------------------------------- */

/* A lock on lock.mdb does not show whether this process has it open, and closing the file
 * would release LMDB's lock: so ask the registry first. */
static lc_status
lock_all(struct lc__mend *m, const char *dir)
{
	struct stat st;

	return_if_error(lc__lock_directory(dir, &m->dir_fd));
	if (stat(m->data, &st) == -1)
		return lc__error_sys(errno, "%s: open", m->data);
	if (lc__env_is_open(&st))
		return lc__error(LC_BUSY, 0, "%s: this process has the module open", dir);
	return lc__lock_others_out(dir, dir, &m->lock_fd);
}

lc_status
lc__mend_begin(const char *dir, const lc_progress *progress, struct lc__mend **out)
{
	struct lc__mend *m = calloc(1, sizeof(*m));
	lc_status status;

	if (m == NULL)
		return lc__no_memory(dir);
	m->dir_fd = m->lock_fd = -1;
	m->dir = lc__path_join(dir, "");
	m->data = lc__path_join(dir, "data.mdb");
	m->part = lc__path_join(dir, LC__MEND_NAME);
	if (m->part != NULL) {
		m->copy = lc__path_join(m->part, "data.mdb");
		m->lock = lc__path_join(m->part, "lock.mdb");
	}
	if (m->dir == NULL || m->data == NULL || m->copy == NULL || m->lock == NULL)
		status = lc__no_memory(dir);
	else
		status = lock_all(m, dir);
	if (status == LC_OK) {
		remove_copy(m);
		status = make_copy(m, progress);
	}
	if (status == LC_OK)
		*out = m;
	else
		lc__mend_end(m);
	return status;
}

const char *
lc__mend_dir(const struct lc__mend *m)
{
	return m->part;
}

void
lc__mend_end(struct lc__mend *m)
{
	if (m == NULL)
		return;
	if (m->lock_fd != -1)
		remove_copy(m);
	if (m->lock_fd != -1)
		close(m->lock_fd);
	lc__unlock_directory(m->dir_fd);
	free(m->dir);
	free(m->data);
	free(m->part);
	free(m->copy);
	free(m->lock);
	free(m);
}

/* ---- replacing the old file ------------------------------------------------------ */

static lc_status
finish_copy(const struct lc__mend *m)
{
	const int fd = lc__open(m->copy, O_RDWR | O_NOFOLLOW);
	lc_status status;

	if (fd == -1)
		return lc__error_sys(errno, "%s: open", m->copy);
	status = lc__copy_owner(&m->old, fd, m->copy);
	if (status == LC_OK && fsync(fd) == -1)
		status = lc__error_sys(errno, "%s: fsync", m->copy);
	if (close(fd) == -1 && status == LC_OK)
		status = lc__error_sys(errno, "%s: close", m->copy);
	return status;
}

/* On a file system without links, copy the old file. */
static lc_status
copy_old(const struct lc__mend *m, const char *name)
{
	const int from = lc__open(m->data, O_RDONLY | O_NOFOLLOW);
	lc_status status;
	int to;

	if (from == -1)
		return lc__error_sys(errno, "%s: open", m->data);
	to = lc__open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (to == -1)
		status = lc__error_sys(errno, "%s: create", name);
	else
		status = copy_bytes(m, from, to, NULL);
	if (status == LC_OK)
		status = lc__copy_owner(&m->old, to, name);
	if (status == LC_OK && fsync(to) == -1)
		status = lc__error_sys(errno, "%s: fsync", name);
	if (to != -1 && close(to) == -1 && status == LC_OK)
		status = lc__error_sys(errno, "%s: close", name);
	if (status != LC_OK && to != -1)
		(void)unlink(name);
	close(from);
	return status;
}

/* Give data.mdb a second name; LC_EXISTS if another file has that name. */
static lc_status
keep_as(const struct lc__mend *m, const char *name)
{
	struct stat st;

	if (lstat(name, &st) == 0)
		/* It may be from a recovery that was killed before it ended. */
		return st.st_dev == m->old.st_dev && st.st_ino == m->old.st_ino
		    ? LC_OK
		    : LC_EXISTS;
	if (link(m->data, name) == 0)
		return LC_OK;
	if (errno == EEXIST)
		return LC_EXISTS;
	if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK)
		return copy_old(m, name);
	return lc__error_sys(errno, "%s: link", name);
}

lc_status
lc__mend_replace(struct lc__mend *m, uint64_t *kept)
{
	char *name = NULL;
	lc_status status;

	return_if_error(finish_copy(m));
	/* The old file gets the first free name. */
	*kept = 0;
	do {
		free(name);
		if (asprintf(&name, "%s.damaged-%" PRIu64, m->data, ++*kept) < 0)
			return lc__no_memory(m->data);
		status = keep_as(m, name);
	} while (status == LC_EXISTS && *kept < 999999);
	if (status == LC_EXISTS)
		status = lc__error(LC_IO, 0, "%s.damaged-*: too many files; remove some",
		    m->data);
	if (status == LC_OK) {
		status = lc__sync_dir(m->dir);
		if (status == LC_OK && rename(m->copy, m->data) == -1)
			status = lc__error_sys(errno, "%s: rename", m->copy);
		if (status != LC_OK)
			(void)unlink(name);
	}
	/* Sync both: a strict system keeps the new name when the old one is removed for
	 * good. */
	if (status == LC_OK)
		status = lc__sync_dir(m->dir);
	if (status == LC_OK)
		status = lc__sync_dir(m->part);
	free(name);
	return status;
}
