/* SPDX-License-Identifier: BSD-2-Clause */
/* shrink: a copy without free pages takes the place of data.mdb. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/newfile.h"
#include "env/dirlock.h"
#include "env/env_private.h"
#include "env/replace.h"

/* The files of a module that is being shrunk. */
struct shrink {
	struct lc__env *env;
	char *data;       /* data.mdb */
	struct stat before, after;
};

static lc_status
fill_copy(struct shrink *s, int fd)
{
	return_if_error(lc__env_copy(s->env, fd, true));
	return_if_error(lc__env_copy_owner(&s->before, fd, s->data));
	if (fstat(fd, &s->after) == -1)
		return lc__error_sys(errno, "%s: stat", s->data);
	return LC_OK;
}

static lc_status
shrink_alone(struct shrink *s)
{
	struct lc__newfile copy;
	lc_status status;

	s->data = lc__path_join(s->env->path, "data.mdb");
	if (s->data == NULL)
		return lc__no_memory("shrink");
	if (lstat(s->data, &s->before) == -1)
		return lc__error_sys(errno, "%s: stat", s->data);
	return_if_error(lc__env_check_pages(s->env, NULL, NULL));
	lc__newfile_tidy(s->data);
	return_if_error(lc__newfile_open(s->data, 0600, &copy));
	status = fill_copy(s, copy.fd);
	if (status == LC_OK)
		return lc__newfile_replace(&copy);
	lc__newfile_discard(&copy);
	return status;
}

lc_status
lc__env_shrink(const char *dir, const lc_options *options,
    uint64_t *bytes_before, uint64_t *bytes_after)
{
	struct shrink s = { .env = NULL };
	int dir_fd = -1, lock_fd = -1;
	lc_status status;

	return_if_error(lc__dir_lock(dir, true, &dir_fd));
	status = lc__env_open_alone(dir, options, &s.env);
	if (status == LC_OK)
		status = lc__env_lock_others_out(s.env->path, s.env->dir, &lock_fd);
	if (status == LC_OK)
		status = shrink_alone(&s);
	lc__env_close(s.env);
	/* Now: closing it gives up LMDB's lock of this process too. */
	if (lock_fd != -1)
		close(lock_fd);
	lc__dir_unlock(dir_fd);
	free(s.data);
	if (status == LC_OK) {
		*bytes_before = (uint64_t)s.before.st_size;
		*bytes_after = (uint64_t)s.after.st_size;
	}
	return status;
}
