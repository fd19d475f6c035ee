/* SPDX-License-Identifier: BSD-2-Clause */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "interrupt.h"
#include "report.h"

static void
forget(struct output *output)
{
	interrupt_keep();
	free(output->path);
	free(output->temporary);
	memset(output, 0, sizeof(*output));
}

/* A link keeps pointing at its file, which is what gets replaced. */
static char *
follow_link(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : strdup(path);
}

/* Devices and pipes are written to as they are. */
static bool
is_special(const char *path, mode_t *mode)
{
	struct stat st;

	*mode = 0;
	if (stat(path, &st) == -1)
		return false;
	*mode = st.st_mode & 07777;
	return !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static int
open_temporary(struct output *output, mode_t mode)
{
	const mode_t mask = umask(077);
	int fd;

	umask(mask);
	if (asprintf(&output->temporary, "%s.tmp.XXXXXX", output->path) < 0) {
		output->temporary = NULL;
		return -1;
	}
	fd = interrupt_mkstemp(output->temporary);
	if (fd == -1)
		return -1;
	(void)fchmod(fd, mode ? mode : 0666 & ~mask);
	return fd;
}

int
output_open(struct output *output, const char *path)
{
	mode_t mode;
	int fd;

	memset(output, 0, sizeof(*output));
	if (path == NULL || strcmp(path, "-") == 0) {
		output->stream = stdout;
		return EXIT_DONE;
	}
	output->path = follow_link(path);
	if (output->path == NULL)
		return report_errno(path);
	if (is_special(output->path, &mode))
		fd = open(output->path, O_WRONLY | O_CLOEXEC);
	else
		fd = open_temporary(output, mode);
	output->stream = fd == -1 ? NULL : fdopen(fd, "w");
	if (output->stream != NULL)
		return EXIT_DONE;
	report_errno(path);
	if (fd != -1)
		close(fd);
	forget(output);
	return EXIT_SYSTEM;
}

static int
put_in_place(const struct output *output)
{
	if (rename(output->temporary, output->path) == -1)
		return -1;
	interrupt_keep();
	return lc__sync_parent(output->path) == LC_OK ? 0 : -1;
}

int
output_commit(struct output *output)
{
	int result = fflush(output->stream);
	int saved;

	if (output->path == NULL) {
		forget(output);
		return report_finish(EXIT_DONE);
	}
	if (result == 0 && output->temporary != NULL)
		result = fsync(fileno(output->stream));
	saved = errno;
	if (fclose(output->stream) == 0)
		errno = saved;
	else
		result = -1;
	if (result == 0 && output->temporary != NULL)
		result = put_in_place(output);
	if (result == 0) {
		forget(output);
		return EXIT_DONE;
	}
	report_errno(output->path);
	output->stream = NULL;
	output_discard(output);
	return EXIT_SYSTEM;
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

bool
output_is_terminal(const struct output *output)
{
	return isatty(fileno(output->stream));
}
