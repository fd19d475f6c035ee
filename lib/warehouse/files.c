/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

static lc_status
open_file(const char *path, int *fd, struct stat *st)
{
	/* O_NONBLOCK: a FIFO is to be refused, not waited for. */
	*fd = lc__open(path, O_RDONLY | O_NONBLOCK);
	if (*fd == -1)
		return lc__error_sys(errno, "%s: open", path);
	if (fstat(*fd, st) == 0 && S_ISREG(st->st_mode))
		return LC_OK;
	close(*fd);
	return lc__error(LC_NOT_MODULE, 0, "%s: not a regular file", path);
}

lc_status
lc__wfile_open(const char *path, struct lc__wfile *file, int *fd)
{
	struct stat st;

	return_if_error(open_file(path, fd, &st));
	file->device = st.st_dev;
	file->inode = st.st_ino;
	file->size = (uint64_t)st.st_size;
	file->slot = -1;
	return LC_OK;
}

static lc_status
open_again(const struct lc__wfile *file, const char *path, int *fd)
{
	struct stat st;
	const lc_status status = open_file(path, fd, &st);

	if (status == LC_NO_FILE || status == LC_NOT_MODULE)
		return lc__error(LC_CORRUPT, 0,
		    "%s: is gone since the warehouse was opened", path);
	return_if_error(status);
	if (st.st_dev == file->device && st.st_ino == file->inode &&
	    (uint64_t)st.st_size == file->size)
		return LC_OK;
	close(*fd);
	return lc__error(LC_CORRUPT, 0,
	    "%s: is another file than when the warehouse was opened", path);
}

/* The free or least recently used place, NULL if all are in use. */
static struct lc__wslot *
choose_slot(struct lc__wfiles *files)
{
	struct lc__wslot *best = NULL;

	for (struct lc__wslot *s = files->slots; s < files->slots + LC__WFILES_OPEN;
	     s++) {
		if (s->file == NULL)
			return s;
		if (atomic_load(&s->users) == 0 && (best == NULL || s->used < best->used))
			best = s;
	}
	return best;
}

static void
empty_slot(struct lc__wslot *slot)
{
	if (slot->file == NULL)
		return;
	slot->file->slot = -1;
	slot->file = NULL;
	close(slot->fd);
}

static void
use_slot(struct lc__wfiles *files, int slot, struct lc__wtaken *out)
{
	atomic_fetch_add(&files->slots[slot].users, 1);
	files->slots[slot].used = ++files->clock;
	out->slot = slot;
	out->fd = files->slots[slot].fd;
}

/* Keep a descriptor that was just opened, unless somebody else did meanwhile. */
static void
keep(struct lc__wfiles *files, struct lc__wfile *file, struct lc__wtaken *out)
{
	struct lc__wslot *slot;

	if (!lc__trylock(&files->lock))
		return;
	slot = file->slot == -1 ? choose_slot(files) : NULL;
	if (slot != NULL) {
		empty_slot(slot);
		slot->file = file;
		slot->fd = out->fd;
		file->slot = (int)(slot - files->slots);
		use_slot(files, file->slot, out);
	}
	lc__tryunlock(&files->lock);
}

lc_status
lc__wfiles_take(struct lc__wfiles *files, struct lc__wfile *file, const char *path,
    struct lc__wtaken *out)
{
	out->slot = -1;
	if (lc__trylock(&files->lock)) {
		if (file->slot != -1)
			use_slot(files, file->slot, out);
		lc__tryunlock(&files->lock);
	}
	if (out->slot != -1)
		return LC_OK;
	return_if_error(open_again(file, path, &out->fd));
	keep(files, file, out);
	return LC_OK;
}

void
lc__wfiles_give(struct lc__wfiles *files, struct lc__wtaken *taken)
{
	if (taken->slot == -1)
		close(taken->fd);
	else
		atomic_fetch_sub_explicit(&files->slots[taken->slot].users, 1,
		    memory_order_release);
}

void
lc__wfiles_close(struct lc__wfiles *files)
{
	for (int i = 0; i < LC__WFILES_OPEN; i++)
		empty_slot(&files->slots[i]);
}
