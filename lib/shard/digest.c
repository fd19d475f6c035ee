/* SPDX-License-Identifier: BSD-2-Clause */
#include "shard/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"

#define BUFFER ((size_t)256 << 10)

lc_status
lc__digest_begin(struct lc__digest *digest, bool no_sha256)
{
	if (!no_sha256)
		return lc__checksum_new("sha256", &digest->sha256);
	digest->xxh3 = lc__hash128_new();
	return digest->xxh3 != NULL ? LC_OK : lc__no_memory(NULL);
}

lc_status
lc__digest_update(struct lc__digest *digest, const void *data, size_t size)
{
	if (digest->sha256 != NULL)
		return lc__checksum_update(digest->sha256, data, size);
	lc__hash128_update(digest->xxh3, data, size);
	return LC_OK;
}

lc_status
lc__digest_end(struct lc__digest *digest, struct lc__digest_text *out)
{
	memset(out, 0, sizeof(*out));
	if (digest->sha256 != NULL)
		return lc__checksum_hex(digest->sha256, out->sha256);
	lc__hash128_hex(digest->xxh3, out->xxh3);
	return LC_OK;
}

void
lc__digest_free(struct lc__digest *digest)
{
	lc__checksum_free(digest->sha256);
	lc__hash128_free(digest->xxh3);
	memset(digest, 0, sizeof(*digest));
}

static lc_status
read_all(int fd, const char *path, struct lc__team *team, struct lc__digest *digest,
    unsigned char *buf)
{
	size_t got;

	do {
		return_if_error(lc__read_full(fd, buf, BUFFER, &got, path));
		return_if_error(lc__digest_update(digest, buf, got));
		return_if_error(lc__team_step(team, got));
	} while (got == BUFFER);
	return LC_OK;
}

lc_status
lc__file_digest(const char *path, bool no_sha256, struct lc__team *team,
    struct lc__digest_text *out)
{
	struct lc__digest digest = { NULL, NULL };
	unsigned char *buf = malloc(BUFFER);
	int fd = -1;
	lc_status status = lc__digest_begin(&digest, no_sha256);

	if (buf == NULL && status == LC_OK)
		status = lc__no_memory(path);
	if (status == LC_OK && (fd = lc__open(path, O_RDONLY | O_NONBLOCK)) == -1)
		status = lc__error_sys(errno, "%s: open", path);
	if (status == LC_OK)
		status = read_all(fd, path, team, &digest, buf);
	if (status == LC_OK)
		status = lc__digest_end(&digest, out);
	if (fd != -1)
		close(fd);
	free(buf);
	lc__digest_free(&digest);
	return status;
}
