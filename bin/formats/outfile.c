/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"

#define BUFFER ((size_t)256 << 10)
#define AHEAD ((uint64_t)16 << 20) /* bytes after which the disk begins to write them */

/* ---- opening ------------------------------------------------------------------- */

bool
lc__out_is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

static lc_status
check_place(const char *path, bool force)
{
	struct stat st;

	if (lstat(path, &st) == -1)
		return errno == ENOENT ? LC_OK : lc__error_sys(errno, "%s: stat", path);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return lc__error(LC_INVALID, 0, "%s: exists, and is no regular file",
		    path);
	return force ? LC_OK : lc__error(LC_EXISTS, 0, "%s: exists", path);
}

static lc_status
take_stdout(struct lc__out_file *file)
{
	file->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	return file->fd == -1 ? lc__error_sys(errno, "%s: open", file->path) : LC_OK;
}

static void
release(struct lc__out_file *file)
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
	lc_status status;

	if (lc__out_is_stdout(path)) {
		path = "standard output";
		file.stream = true;
	} else {
		return_if_error(check_place(path, how->force));
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
		status = take_stdout(&file);
	} else {
		status = lc__newfile_open(path, 0666, &file.new);
		file.fd = file.new.fd;
	}
	if (status == LC_OK)
		*out = file;
	else
		release(&file);
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

/* Large files reach the disk while they are written, not all in the end. */
static void
start_disk(struct lc__out_file *file)
{
	const uint64_t written = file->size - file->used;

	if (file->stream || written - file->started < AHEAD)
		return;
	(void)sync_file_range(file->fd, (off_t)file->started,
	    (off_t)(written - file->started), SYNC_FILE_RANGE_WRITE);
	file->started = written;
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
	start_disk(file);
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
close_stdout(struct lc__out_file *file)
{
	const int fd = file->fd;

	file->fd = -1;
	return close(fd) == 0 ? LC_OK : lc__error_sys(errno, "%s: close", file->path);
}

/* A file that came there meanwhile is not replaced either. */
static lc_status
put_in_place(struct lc__out_file *file)
{
	lc_status status;

	if (file->force)
		return lc__newfile_replace(&file->new);
	status = lc__newfile_add(&file->new);
	return status == LC_EXISTS ? lc__error(LC_EXISTS, 0, "%s: exists", file->path)
				   : status;
}

static lc_status
end(struct lc__out_file *file, bool sync)
{
	lc_status status = LC_OK;

	if (file->fd != -1) {
		status = flush(file);
		file->new.unsynced = !sync;
		if (file->stream && status == LC_OK)
			status = close_stdout(file);
		else if (status == LC_OK)
			status = put_in_place(file);
	}
	release(file);
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
	release(file);
}
