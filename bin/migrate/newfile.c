/* SPDX-License-Identifier: BSD-2-Clause */
/* The new file, and what becomes of the old one. */
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
#include "migrate/backup.h"
#include "migrate/migration.h"

lc_status
lc__migration_take_mode(const struct lc__migration *run, int fd, const char *path)
{
	struct stat st;

	if (fstat(run->in, &st) == -1)
		return lc__error_sys(errno, "%s: stat", run->how->file);
	if (fchmod(fd, st.st_mode & 07777) == -1)
		return lc__error_sys(errno, "%s: mode", path);
	/* Only root may give a file away. */
	if (fchown(fd, st.st_uid, st.st_gid) == -1 && errno != EPERM)
		return lc__error_sys(errno, "%s: owner", path);
	return LC_OK;
}

/* The name goes into the state first: what stands there after a kill is ours then. The
 * lines of the step that is going on are not done yet. */
static lc_status
name_backup(struct lc__migration *run)
{
	struct lc__stage2_state *state = &run->state;
	const struct lc__stage2_counts counts = state->counts;
	lc_status status;

	return_if_error(lc__backup_choose(state->file, 1, run->how->backup, state->backup,
	    sizeof(state->backup)));
	state->counts = run->before;
	status = lc__stage2_store(run->state_cache, state);
	state->counts = counts;
	return status;
}

static lc_status
keep_original(struct lc__migration *run)
{
	if (*run->state.backup == '\0')
		return_if_error(name_backup(run));
	return lc__backup_make(run->state.file, run->state.backup);
}

lc_status
lc__migration_begin_file(struct lc__migration *run, uint64_t size)
{
	return_if_error(keep_original(run));
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
	    "%s: it was changed while it was migrated; what "
	    "was done stands, run it again",
	    run->how->file);
}

static lc_status
promise(struct lc__migration *run)
{
	if (ftruncate(run->out, (off_t)run->state.out) == -1 || fsync(run->out) == -1)
		return lc__error_sys(errno, "%s: sync", run->temporary);
	return_if_error(lc__stage2_stamp(run->out, run->temporary, run->state.renewed));
	run->state.phase = LC__STAGE2_SWAP;
	return lc__stage2_store(run->state_cache, &run->state);
}

static lc_status
swap(struct lc__migration *run)
{
	char stamp[LC__STAMP_ROOM];

	return_if_error(lc__migration_check_unchanged(run, stamp));
	if (rename(run->temporary, run->state.file) == -1)
		return lc__error_sys(errno, "%s: rename to %s", run->temporary,
		    run->how->file);
	return lc__sync_parent(run->state.file);
}

lc_status
lc__migration_swap(struct lc__migration *run)
{
	struct lc__stage2_state *state = &run->state;

	if (state->phase == LC__STAGE2_LINES && state->rewriting)
		return_if_error(promise(run));
	if (state->phase == LC__STAGE2_SWAP) {
		/* After a kill behind the rename the stamp is the new one already. */
		if (*state->stamp != '\0' && strcmp(state->stamp, state->renewed) != 0)
			return_if_error(swap(run));
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
