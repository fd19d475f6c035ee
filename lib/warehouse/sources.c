/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of the sources of a build: building it, and hashing the files that it
 * names. */
#include "warehouse/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/hash.h"
#include "format/manifest.h"

bool
lc__sources_path_ok(const char *path, bool directory)
{
	if (*path == '\0')
		return directory;
	if (*path == '/')
		return !directory && lc__manifest_path_ok(path + 1);
	return lc__manifest_path_ok(path);
}

lc_status
lc__sources_add(struct lc__sources *sources, const struct lc__source_file *file)
{
	struct lc__source_file copy = *file;
	char *path;

	if (!lc__sources_path_ok(file->path, file->directory))
		return lc__error(LC_INVALID, 0,
		    "sources: %s is not a path relative to the root or an absolute one",
		    lc__quote_id(file->path, strlen(file->path)));
	return_if_error(lc__array_reserve(&sources->files, &sources->room, sources->n + 1,
	    "sources"));
	return_if_error(lc__array_reserve(&sources->owned, &sources->room_owned,
	    sources->n_owned + 1, "sources"));
	path = strdup(file->path);
	if (path == NULL)
		return lc__no_memory("sources");
	if (file->missing)
		copy = (struct lc__source_file){ .missing = true };
	copy.path = path;
	sources->owned[sources->n_owned++] = path;
	sources->files[sources->n++] = copy;
	return LC_OK;
}

static int
compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* By path; for one path, the entry that makes the comparison find a difference comes
 * first. */
static int
by_path(const void *a, const void *b)
{
	const struct lc__source_file *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	if (order == 0)
		order = (y->missing - x->missing) * 2 + x->directory - y->directory;
	if (order == 0)
		order = (x->mtime_ns > y->mtime_ns) - (x->mtime_ns < y->mtime_ns);
	if (order == 0)
		order = compare_numbers(x->hash[0], y->hash[0]);
	if (order == 0)
		order = compare_numbers(x->hash[1], y->hash[1]);
	return order;
}

void
lc__sources_sort(struct lc__sources *sources)
{
	struct lc__source_file *files = sources->files;
	size_t kept = 0;

	if (sources->n == 0)
		return;
	qsort(files, sources->n, sizeof(*files), by_path);
	for (size_t i = 1; i < sources->n; i++)
		if (strcmp(files[i].path, files[kept].path) != 0)
			files[++kept] = files[i];
	sources->n = kept + 1;
}

bool
lc__sources_equal(const struct lc__sources *a, const struct lc__sources *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct lc__source_file *x = &a->files[i], *y = &b->files[i];
		if (strcmp(x->path, y->path) != 0 || x->directory != y->directory ||
		    x->missing != y->missing || x->size != y->size ||
		    x->hash[0] != y->hash[0] || x->hash[1] != y->hash[1])
			return false;
	}
	return true;
}

static lc_status
hash_files(const struct lc__sources *sources, struct lc__checksum *sha)
{
	struct lc__buf line = { 0 };
	lc_status status = LC_OK;

	for (size_t i = 0; i < sources->n && status == LC_OK; i++) {
		const struct lc__source_file *f = &sources->files[i];
		const char *path;

		if (f->directory || f->missing)
			continue;
		/* For a file outside of the root only its name counts. */
		path = *f->path == '/' ? strrchr(f->path, '/') : f->path;
		line.size = 0;
		lc__buf_printf(&line, "%016llx%016llx %llu ",
		    (unsigned long long)f->hash[0], (unsigned long long)f->hash[1],
		    (unsigned long long)f->size);
		lc__sources_put_path(path, &line);
		lc__buf_append(&line, "\n", 1);
		status = line.failed ? lc__no_memory("sources")
				     : lc__checksum_update(sha, line.data, line.size);
	}
	lc__buf_free(&line);
	return status;
}

lc_status
lc__sources_fingerprint(const struct lc__sources *sources, char out[65])
{
	struct lc__checksum *sha;
	lc_status status;

	if (lc__checksum_new("sha256", &sha) != LC_OK)
		return lc__error_prefix("sources");
	status = hash_files(sources, sha);
	if (status == LC_OK)
		status = lc__checksum_hex(sha, out);
	lc__checksum_free(sha);
	return status;
}

void
lc__sources_free(struct lc__sources *sources)
{
	for (size_t i = 0; i < sources->n_owned; i++)
		free(sources->owned[i]);
	free(sources->owned);
	free(sources->files);
	lc__buf_free(&sources->text);
	memset(sources, 0, sizeof(*sources));
}

/* ---- the content and time of a source ----------------------------------------------- */

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
hash_open(int fd, const char *path, uint64_t hash[2], uint64_t *size)
{
	struct lc__hash128 *state = lc__hash128_new();
	void *piece = malloc(PIECE);
	lc_status status = LC_OK;
	size_t got;

	if (state == NULL || piece == NULL)
		status = lc__no_memory(path);
	*size = 0;
	do {
		if (status == LC_OK)
			status = lc__read_full(fd, piece, PIECE, &got, path);
		if (status == LC_OK) {
			lc__hash128_update(state, piece, got);
			*size += got;
		}
	} while (status == LC_OK && got == PIECE);
	if (status == LC_OK)
		lc__hash128_end(state, hash);
	free(piece);
	lc__hash128_free(state);
	return status;
}

/* A list may name anything: only regular files are read, and opening does not block. */
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
		status = lc__error(LC_INVALID, 0, "%s: is not a regular file", path);
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
