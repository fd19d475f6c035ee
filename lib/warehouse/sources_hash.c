/* SPDX-License-Identifier: BSD-2-Clause */
/* Content and time of a source. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "warehouse/dir_names.h"
#include "warehouse/sources_private.h"

#define PIECE ((size_t)64 << 10)

int64_t
lc__sources_mtime(const struct stat *st)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)st->st_mtim.tv_sec, 1000000000, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)st->st_mtim.tv_nsec, &ns))
		return st->st_mtim.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

static lc_status
hash_pieces(int fd, const char *path, struct lc__hash128 *state, void *piece,
    uint64_t *size)
{
	size_t got;

	*size = 0;
	do {
		return_if_error(lc__read_full(fd, piece, PIECE, &got, path));
		lc__hash128_update(state, piece, got);
		*size += got;
	} while (got == PIECE);
	return LC_OK;
}

static lc_status
hash_open(int fd, const char *path, uint64_t hash[2], uint64_t *size)
{
	struct lc__hash128 *state = lc__hash128_new();
	void *piece = malloc(PIECE);
	lc_status status;

	if (state == NULL || piece == NULL)
		status = lc__no_memory(path);
	else
		status = hash_pieces(fd, path, state, piece, size);
	if (status == LC_OK)
		lc__hash128_end(state, hash);
	free(piece);
	lc__hash128_free(state);
	return status;
}

/* A list may name anything: what is no regular file is not read, and opening it
 * waits for nobody. */
lc_status
lc__sources_hash_at(int dir, const char *path, uint64_t hash[2], uint64_t *size)
{
	const int fd = lc__openat(dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	lc_status status;

	if (fd == -1)
		return lc__error_sys(errno, "%s: open", path);
	if (fstat(fd, &st) == -1)
		status = lc__error_sys(errno, "%s: stat", path);
	else if (!S_ISREG(st.st_mode))
		status = lc__error(LC_INVALID, 0, "%s: is no regular file", path);
	else
		status = hash_open(fd, path, hash, size);
	close(fd);
	return status;
}

lc_status
lc__sources_hash_file(const char *path, uint64_t hash[2], uint64_t *size)
{
	return lc__sources_hash_at(AT_FDCWD, path, hash, size);
}

lc_status
lc__sources_hash_dir(const char *path, uint64_t hash[2])
{
	struct lc__dir_names names = { 0 };
	lc_status status = lc__dir_names_read(AT_FDCWD, path, &names);

	lc__dir_names_sort(&names);
	if (status == LC_OK)
		status = lc__dir_names_hash(&names, hash);
	lc__dir_names_free(&names);
	return status;
}
