/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"

#define STEP ((size_t)1 << 20) /* bytes written or read at once */
#define WHAT "temporary file"

/* Where the file system has no files without a name, one whose name goes at once. */
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
		const lc_status status = lc__error_sys(errno, "%s: " WHAT, dir);
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
	return size > 0 ? lc__write_full(spill->fd, spill->wait.data, size, WHAT) : LC_OK;
}

lc_status
lc__spill_write(struct lc__spill *spill, const void *data, size_t size)
{
	spill->size += size;
	if (spill->wait.size + size > STEP)
		return_if_error(lc__spill_flush(spill));
	if (size >= STEP)
		return lc__write_full(spill->fd, data, size, WHAT);
	if (size > 0 && lc__buf_append(&spill->wait, data, size) == NULL)
		return lc__no_memory(NULL);
	return LC_OK;
}

/* The bytes in the file, in steps. */
static lc_status
copy(const struct lc__spill *spill, unsigned char *step, struct lc__out_file *to)
{
	size_t got = STEP;

	if (lseek(spill->fd, 0, SEEK_SET) == -1)
		return lc__error_sys(errno, WHAT ": seek");
	while (got == STEP) {
		return_if_error(lc__read_full(spill->fd, step, STEP, &got, WHAT));
		return_if_error(lc__out_file_write(to, step, got));
	}
	return LC_OK;
}

lc_status
lc__spill_move(struct lc__spill *spill, struct lc__out_file *to)
{
	unsigned char *step = malloc(STEP);
	lc_status status;

	if (step == NULL)
		return lc__no_memory(NULL);
	status = lc__spill_flush(spill);
	if (status == LC_OK)
		status = copy(spill, step, to);
	free(step);
	return_if_error(status);
	if (ftruncate(spill->fd, 0) == -1 || lseek(spill->fd, 0, SEEK_SET) == -1)
		return lc__error_sys(errno, WHAT ": truncate");
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
