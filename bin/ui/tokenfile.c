/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/tokenfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "order/token.h"
#include "ui/report.h"

#define REMEDY "; --restart begins anew"

/* Is it a token at all? Whose it is the stream finds out. */
static int
check(struct tokenfile *file, const struct lc__buf *bytes)
{
	struct lc__token token;
	lc_status status = LC_CORRUPT;

	if (bytes->size == LC_TOKEN_SIZE)
		status = lc__token_decode(bytes->data, &token);
	if (status == LC_VERSION)
		return report_error(EXIT_DATA, "%s: a token of a newer version" REMEDY, file->path);
	if (status != LC_OK)
		return report_error(EXIT_DATA, "%s: is no token, or is damaged" REMEDY, file->path);
	memcpy(file->bytes, bytes->data, LC_TOKEN_SIZE);
	file->loaded = true;
	return EXIT_DONE;
}

/* It is replaced by a new file: that takes a directory to write to. */
int
tokenfile_check(const struct tokenfile *file)
{
	const char *slash = strrchr(file->path, '/');
	char *dir = slash == NULL ? strdup(".") :
	    strndup(file->path, (size_t)(slash - file->path) + 1);
	const int status = dir != NULL && access(dir, W_OK | X_OK) == 0 ?
	    EXIT_DONE : report_errno(file->path);

	free(dir);
	return status;
}

int
tokenfile_load(struct tokenfile *file)
{
	struct lc__buf bytes = { 0 };
	lc_status read;
	int status;

	if (access(file->path, F_OK) == -1 && errno == ENOENT)
		return EXIT_DONE;
	read = lc__read_regular(file->path, 4096, &bytes);
	if (read == LC_OK || read == LC_INVALID)
		status = check(file, &bytes);
	else
		status = report_status(read);
	lc__buf_free(&bytes);
	return status;
}

int
tokenfile_refused(const struct tokenfile *file, lc_status status,
    const char *source)
{
	switch (status) {
	case LC_OTHER_CACHE:
		return report_error(EXIT_DATA, "%s: is not of %s: name its own source" REMEDY,
		    file->path, source);
	case LC_OTHER_ORDER:
		return report_error(EXIT_DATA, "%s: is of another order or seed: give the "
		    "options that it was made with" REMEDY, file->path);
	case LC_CHANGED:
		return report_error(EXIT_NO, "%s: what was read has changed in %s since" REMEDY,
		    file->path, source);
	case LC_INVALID:
		return report_error(EXIT_USAGE, "%s: %s", file->path, lc_last_error()->text);
	default:
		return report_status(status);
	}
}

/* What went to a file must be on disk before the token says so. */
static int
sync_output(void)
{
	struct stat st;

	if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
	    fdatasync(STDOUT_FILENO) == -1)
		return report_errno("standard output");
	return EXIT_DONE;
}

static int
save(struct tokenfile *file, lc_stream *stream, uint64_t next)
{
	const int status = sync_output();
	lc_status saved;

	if (status != EXIT_DONE)
		return status;
	saved = lc_stream_token(stream, next, file->bytes);
	if (saved == LC_OK)
		saved = lc__write_file_atomic(file->path, file->bytes, LC_TOKEN_SIZE);
	file->since = 0;
	return saved == LC_OK ? EXIT_DONE : report_status(saved);
}

int
tokenfile_step(struct tokenfile *file, lc_stream *stream, uint64_t next)
{
	if (file->path == NULL || ++file->since < file->every)
		return EXIT_DONE;
	return save(file, stream, next);
}

int
tokenfile_finish(struct tokenfile *file, lc_stream *stream, uint64_t next)
{
	if (file->path == NULL || file->since == 0)
		return EXIT_DONE;
	return save(file, stream, next);
}
