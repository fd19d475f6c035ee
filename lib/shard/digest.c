/* SPDX-License-Identifier: BSD-2-Clause */
#include "shard/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/sha256.h"

#define BUFFER ((size_t)256 << 10)

static lc_status
digest(int fd, const char *path, struct lc__workers *workers,
    struct lc__sha256 *sha, unsigned char *buf, char out[65])
{
	size_t got;

	do {
		return_if_error(lc__read_full(fd, buf, BUFFER, &got, path));
		return_if_error(lc__sha256_update(sha, buf, got));
		return_if_error(lc__workers_step(workers, got));
	} while (got == BUFFER);
	return lc__sha256_hex(sha, out);
}

lc_status
lc__file_sha256(const char *path, struct lc__workers *workers, char out[65])
{
	struct lc__sha256 *sha = lc__sha256_new();
	unsigned char *buf = malloc(BUFFER);
	int fd = -1;
	lc_status status;

	if (sha == NULL || buf == NULL)
		status = lc__error(LC_NO_MEMORY, 0, "%s: out of memory", path);
	else if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) == -1)
		status = lc__error_sys(errno, "%s: open", path);
	else
		status = digest(fd, path, workers, sha, buf, out);
	if (fd != -1)
		close(fd);
	free(buf);
	lc__sha256_free(sha);
	return status;
}
