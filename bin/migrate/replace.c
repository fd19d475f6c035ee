/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces the file of records by the new one, and keeps the original. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/newfile.h"
#include "migrate/migration.h"

/* ---- the new file ------------------------------------------------------------------ */

lc_status
lc__migration_take_mode(const struct lc__migration *run, int fd, const char *path)
{
	struct stat st;

	if (fstat(run->in, &st) == -1)
		return lc__error_sys(errno, "%s: stat", run->how->file);
	if (fchmod(fd, st.st_mode & 07777) == -1)
		return lc__error_sys(errno, "%s: mode", path);
	/* Only root may change the owner of a file. */
	if (fchown(fd, st.st_uid, st.st_gid) == -1 && errno != EPERM)
		return lc__error_sys(errno, "%s: owner", path);
	return LC_OK;
}

/*
 * The new file is not created by base/newfile.h: its name is not random and it stays when
 * the process ends, since a later run finds it by this name and continues it, from the
 * offset in the state. It replaces the old file only after the state says so.
 */
lc_status
lc__migration_begin_file(struct lc__migration *run, uint64_t size)
{
	struct lc__stage2_state *state = &run->state;
	const struct lc__stage2_counts counts = state->counts;
	lc_status status = LC_OK;

	/* The backup's name is stored in the state first: after a kill the file there is
	 * known to be ours. The lines of the present step are not done yet. */
	if (*state->backup == '\0') {
		return_if_error(lc__backup_choose(state->file, 1, run->how->backup,
		    state->backup, sizeof(state->backup)));
		state->counts = run->before;
		status = lc__stage2_store(run->state_cache, state);
		state->counts = counts;
	}
	return_if_error(status);
	return_if_error(lc__backup_make(state->file, state->backup));

	if (unlink(run->temporary) == -1 && errno != ENOENT)
		return lc__error_sys(errno, "%s: remove", run->temporary);
	run->out = lc__open(run->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (run->out == -1)
		return lc__error_sys(errno, "%s: create", run->temporary);
	return_if_error(lc__migration_take_mode(run, run->out, run->temporary));
	return_if_error(lc__sync_parent(run->temporary));
	return lc__backup_copy(run->in, run->how->file, size, run->out, run->temporary);
}

lc_status
lc__migration_check_unchanged(const struct lc__migration *run, char stamp[LC__STAMP_ROOM])
{
	lc_status status;
	int fd;

	return_if_error(lc__open_regular(run->state.file, &fd));
	status = lc__stage2_stamp(fd, run->how->file, stamp);
	close(fd);
	if (status != LC_OK || strcmp(stamp, run->state.stamp) == 0)
		return status;
	return lc__error(LC_CHANGED, 0,
	    "%s: the file was changed during the migration; the "
	    "finished steps stay; run the migration again",
	    run->how->file);
}

lc_status
lc__migration_swap(struct lc__migration *run)
{
	struct lc__stage2_state *state = &run->state;
	char stamp[LC__STAMP_ROOM];

	/* The new file is complete on disk before the state says so. */
	if (state->phase == LC__STAGE2_LINES && state->rewriting) {
		if (ftruncate(run->out, (off_t)state->out) == -1 || fsync(run->out) == -1)
			return lc__error_sys(errno, "%s: sync", run->temporary);
		return_if_error(
		    lc__stage2_stamp(run->out, run->temporary, state->renewed));
		state->phase = LC__STAGE2_SWAP;
		return_if_error(lc__stage2_store(run->state_cache, state));
	}
	if (state->phase == LC__STAGE2_SWAP) {
		/* After a kill that followed the rename, the stamp is already the new
		 * one. */
		if (*state->stamp != '\0' && strcmp(state->stamp, state->renewed) != 0) {
			return_if_error(lc__migration_check_unchanged(run, stamp));
			if (rename(run->temporary, state->file) == -1)
				return lc__error_sys(errno, "%s: rename to %s",
				    run->temporary, run->how->file);
			return_if_error(lc__sync_parent(state->file));
		}
		strcpy(state->stamp, state->renewed);
		*state->renewed = '\0';
		memcpy(state->original, state->backup, sizeof(state->original));
		state->original_generation = state->generation;
		state->rewriting = 0;
		run->done->rewritten = true;
		run->changed = true;
	}
	state->phase = LC__STAGE2_FILL;
	return run->changed ? lc__stage2_store(run->state_cache, state) : LC_OK;
}

/* ---- the original ------------------------------------------------------------------ */

#define COPY_STEP ((size_t)1 << 20)

enum found { NOTHING, ITSELF, ANOTHER };

/* If the file under a name cannot be identified, fail: do not replace a file on a
 * guess. */
static lc_status
look(const char *file, const char *name, enum found *out)
{
	struct stat a, b;

	if (lstat(name, &b) == -1) {
		*out = NOTHING;
		return errno == ENOENT ? LC_OK : lc__error_sys(errno, "%s: stat", name);
	}
	if (stat(file, &a) == -1)
		return lc__error_sys(errno, "%s: stat", file);
	*out = a.st_dev == b.st_dev && a.st_ino == b.st_ino ? ITSELF : ANOTHER;
	return LC_OK;
}

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static lc_status
find_dir(const char *path, struct stat *out)
{
	const size_t size = (size_t)(last_part(path) - path);
	char *dir = size > 0 ? strndup(path, size) : strdup(".");
	lc_status status = LC_OK;

	if (dir == NULL)
		return lc__no_memory(path);
	if (stat(dir, out) == -1)
		status = lc__error_sys(errno, "%s: stat", dir);
	free(dir);
	return status;
}

/* Compare names, not files: another link to the file is a backup. */
static lc_status
check_name(const char *wanted, const char *taken)
{
	struct stat a, b;

	if (strcmp(last_part(wanted), last_part(taken)) != 0)
		return LC_OK;
	return_if_error(find_dir(wanted, &a));
	return_if_error(find_dir(taken, &b));
	if (a.st_dev != b.st_dev || a.st_ino != b.st_ino)
		return LC_OK;
	return lc__error(LC_INVALID, 0, "%s: the backup needs a name of its own", wanted);
}

lc_status
lc__backup_check(const char *wanted, const char *file, const char *temporary)
{
	if (wanted == NULL)
		return LC_OK;
	return_if_error(check_name(wanted, file));
	return check_name(wanted, temporary);
}

bool
lc__backup_name(const char *file, unsigned stage, unsigned n, char *out, size_t room)
{
	const int size = n == 1
	    ? snprintf(out, room, "%s.stage%u.backup", file, stage)
	    : snprintf(out, room, "%s.stage%u.backup.%u", file, stage, n);

	return size >= 0 && (size_t)size < room;
}

lc_status
lc__backup_choose(const char *file, unsigned stage, const char *wanted, char *out,
    size_t room)
{
	enum found found;
	bool fits;

	for (unsigned n = 1;; n++) {
		fits = wanted == NULL ? lc__backup_name(file, stage, n, out, room)
				      : (size_t)snprintf(out, room, "%s", wanted) < room;
		if (!fits)
			return lc__error(LC_INVALID, 0,
			    "%s: the backup's name is too long", file);
		return_if_error(look(file, out, &found));
		if (found != ANOTHER)
			return LC_OK;
		if (wanted != NULL)
			return lc__error(LC_EXISTS, 0,
			    "%s: exists, and is not a backup of this migration", wanted);
	}
}

/* Without seeking: the caller continues to read elsewhere. */
static lc_status
copy_step(int from, const char *from_path, uint64_t at, size_t want, char *bytes, int to,
    const char *to_path, size_t *got)
{
	ssize_t n;

	do
		n = pread(from, bytes, want, (off_t)at);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return lc__error_sys(errno, "%s: read", from_path);
	if (n == 0)
		return lc__error(LC_CHANGED, 0, "%s: the file became shorter", from_path);
	*got = (size_t)n;
	return lc__write_full(to, bytes, (size_t)n, to_path);
}

lc_status
lc__backup_copy(int from, const char *from_path, uint64_t size, int to,
    const char *to_path)
{
	char *bytes = malloc(COPY_STEP);
	lc_status status = LC_OK;
	size_t got;

	if (bytes == NULL)
		return lc__no_memory(to_path);
	for (uint64_t at = 0; at < size && status == LC_OK; at += got) {
		got = 0;
		status = copy_step(from, from_path, at,
		    size - at < COPY_STEP ? (size_t)(size - at) : COPY_STEP, bytes, to,
		    to_path, &got);
	}
	free(bytes);
	return status;
}

static lc_status
copy(const char *file, const char *backup)
{
	struct lc__newfile to = LC__NEWFILE_NONE;
	struct stat st;
	lc_status status;
	int from;

	return_if_error(lc__open_regular(file, &from));
	status = lc__newfile_open(backup, 0600, &to);
	if (status == LC_OK && fstat(from, &st) == -1)
		status = lc__error_sys(errno, "%s: stat", file);
	if (status == LC_OK)
		status = lc__backup_copy(from, file, (uint64_t)st.st_size, to.fd, backup);
	if (status == LC_OK && fchmod(to.fd, st.st_mode & 07777) == -1)
		status = lc__error_sys(errno, "%s: mode", backup);
	close(from);
	if (status == LC_OK)
		return lc__newfile_replace(&to);
	lc__newfile_discard(&to);
	return status;
}

lc_status
lc__backup_make(const char *file, const char *backup)
{
	enum found found;

	return_if_error(look(file, backup, &found));
	if (found == NOTHING && link(file, backup) == -1) {
		/* Links are not supported, or another file system, or too many links. */
		if (errno == ENOENT)
			return lc__error_sys(errno, "%s: link", backup);
		return_if_error(copy(file, backup));
	}
	return lc__sync_parent(backup);
}
