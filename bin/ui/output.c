/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/newfile.h"
#include "ui/interrupt.h"
#include "ui/report.h"

static void
forget(struct output *output)
{
	interrupt_keep();
	free(output->path);
	free(output->temporary);
	memset(output, 0, sizeof(*output));
}

static bool
is_stdout(const char *path)
{
	return path == NULL || strcmp(path, "-") == 0;
}

/*
 * Not a struct lc__newfile: interrupt.c must know the name of the temporary file before
 * the file exists, to remove it if a signal ends the process; the file gets the
 * permissions of the one that it replaces; and a failed write is reported by its errno,
 * not by the error record. With a newfile all of this would still be needed here, around
 * it.
 */
static int
open_temporary(struct output *output)
{
	struct stat st;
	const mode_t mode = lstat(output->path, &st) == 0 && S_ISREG(st.st_mode)
	    ? st.st_mode & 07777
	    : 0;
	int fd;

	if (asprintf(&output->temporary, "%s" LC__NEWFILE_END, output->path) < 0) {
		output->temporary = NULL;
		return -1;
	}
	fd = interrupt_create(output->temporary, mode ? 0600 : 0666);
	if (fd == -1) {
		free(output->temporary);
		output->temporary = NULL;
	}
	if (fd != -1 && mode != 0)
		(void)fchmod(fd, mode);
	return fd;
}

const char *
output_name(const char *path)
{
	return is_stdout(path) ? "standard output" : path;
}

static int
exists(const char *path)
{
	return report_usage("%s: exists; -f replaces it", path);
}

static int
begin(struct output *output, const char *path, bool special, bool force)
{
	struct stat st;
	int fd;

	if (!special && !force && lstat(path, &st) == 0)
		return exists(path);
	output->force = force;
	output->path = strdup(path);
	if (output->path == NULL)
		return report_errno(path);
	fd = special ? open(path, O_WRONLY | O_CLOEXEC) : open_temporary(output);
	output->stream = fd == -1 ? NULL : fdopen(fd, "w");
	if (output->stream != NULL)
		return EXIT_DONE;
	report_errno(path);
	if (fd != -1)
		close(fd);
	output_discard(output);
	return EXIT_SYSTEM;
}

int
output_open(struct output *output, const char *path, bool force)
{
	memset(output, 0, sizeof(*output));
	if (is_stdout(path)) {
		output->stream = stdout;
		return EXIT_DONE;
	}
	return begin(output, path, lc__is_special(path), force);
}

int
output_add(struct output *output, const char *path, bool force)
{
	memset(output, 0, sizeof(*output));
	return begin(output, path, false, force);
}

bool
output_failed(struct output *output)
{
	if (output->path == NULL)
		return report_output_failed();
	if (ferror(output->stream) && output->sys == 0)
		output->sys = errno;
	return ferror(output->stream);
}

/* Keep the first failure; -1 is one, with errno. */
static void
note_failure(struct output *output, int result)
{
	if (result != 0 && output->sys == 0)
		output->sys = errno;
}

static void
put_in_place(struct output *output)
{
	int renamed = -1;

	/* A file that appeared meanwhile is not replaced, where the file system can
	 * tell. */
	if (!output->force)
		renamed = renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->path,
		    RENAME_NOREPLACE);
	if (output->force || (renamed == -1 && (errno == EINVAL || errno == ENOSYS)))
		renamed = rename(output->temporary, output->path);
	note_failure(output, renamed);
	if (output->sys != 0)
		return;
	interrupt_keep();
	if (lc__sync_parent(output->path) != LC_OK)
		output->sys = lc_last_error()->sys;
}

int
output_commit(struct output *output)
{
	int status;

	if (output->path == NULL) {
		forget(output);
		return report_finish(EXIT_DONE);
	}
	if (!output_failed(output))
		note_failure(output, fflush(output->stream));
	if (output->sys == 0 && output->temporary != NULL)
		note_failure(output, fsync(fileno(output->stream)));
	note_failure(output, fclose(output->stream));
	output->stream = NULL;
	if (output->sys == 0 && output->temporary != NULL)
		put_in_place(output);
	if (output->sys == 0) {
		forget(output);
		return EXIT_DONE;
	}
	errno = output->sys;
	status = errno == EEXIST ? exists(output->path) : report_errno(output->path);
	output_discard(output);
	return status;
}

void
output_discard(struct output *output)
{
	if (output->path != NULL && output->stream != NULL)
		fclose(output->stream);
	if (output->temporary != NULL)
		unlink(output->temporary);
	forget(output);
}

int
output_end(struct output *output, int status)
{
	if (status == EXIT_DONE)
		return output_commit(output);
	output_discard(output);
	return status;
}

bool
output_is_terminal(const struct output *output)
{
	return isatty(fileno(output->stream));
}
