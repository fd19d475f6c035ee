/* SPDX-License-Identifier: BSD-2-Clause */
#include "fail_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include "fail_count.h"

static struct fail_count calls;
static atomic_int cause;
static const char *_Atomic first;
static const char *_Atomic only;

void
fail_io(long n, int error, bool and_on)
{
	fail_count_start(&calls, 0, false);
	atomic_store(&cause, error);
	atomic_store(&first, NULL);
	fail_count_start(&calls, n, and_on);
}

void
fail_io_only(const char *name)
{
	atomic_store(&only, name);
}

long
fail_io_hits(void)
{
	return atomic_load(&calls.hits);
}

const char *
fail_io_name(void)
{
	return atomic_load(&first);
}

static bool
fails(const char *name)
{
	const char *wanted = atomic_load(&only);
	long nth;

	if (wanted != NULL && strcmp(wanted, name) != 0)
		return false;
	nth = fail_count_next(&calls);
	if (nth == 0)
		return false;
	if (nth == 1)
		atomic_store(&first, name);
	errno = atomic_load(&cause);
	return true;
}

/* The function and its stand-in, which fails or calls it. */
#define WRAP(type, name, failed, parameters, arguments) \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters \
	{ \
		return fails(#name) ? failed : __real_##name arguments; \
	}

WRAP(ssize_t, read, -1, (int fd, void *data, size_t size), (fd, data, size))
WRAP(ssize_t, pread, -1, (int fd, void *data, size_t size, off_t at), (fd, data, size, at))
WRAP(ssize_t, write, -1, (int fd, const void *data, size_t size), (fd, data, size))
WRAP(ssize_t, pwrite, -1, (int fd, const void *data, size_t size, off_t at),
    (fd, data, size, at))
WRAP(int, fsync, -1, (int fd), (fd))
WRAP(int, fdatasync, -1, (int fd), (fd))
WRAP(int, ftruncate, -1, (int fd, off_t size), (fd, size))
WRAP(int, fallocate, -1, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
WRAP(off_t, lseek, -1, (int fd, off_t at, int from), (fd, at, from))
WRAP(int, flock, -1, (int fd, int operation), (fd, operation))
WRAP(int, fchmod, -1, (int fd, mode_t mode), (fd, mode))
WRAP(int, fstat, -1, (int fd, struct stat *out), (fd, out))
WRAP(int, stat, -1, (const char *path, struct stat *out), (path, out))
WRAP(int, lstat, -1, (const char *path, struct stat *out), (path, out))
WRAP(int, fstatat, -1, (int dir, const char *path, struct stat *out, int flags),
    (dir, path, out, flags))
WRAP(int, statvfs, -1, (const char *path, struct statvfs *out), (path, out))
WRAP(int, access, -1, (const char *path, int mode), (path, mode))
WRAP(int, mkdir, -1, (const char *path, mode_t mode), (path, mode))
WRAP(int, rename, -1, (const char *from, const char *to), (from, to))
WRAP(int, renameat2, -1, (int from_dir, const char *from, int to_dir, const char *to,
    unsigned flags), (from_dir, from, to_dir, to, flags))
WRAP(int, link, -1, (const char *from, const char *to), (from, to))
WRAP(int, symlink, -1, (const char *to, const char *path), (to, path))
WRAP(int, unlink, -1, (const char *path), (path))
WRAP(int, unlinkat, -1, (int dir, const char *path, int flags), (dir, path, flags))
WRAP(int, rmdir, -1, (const char *path), (path))
WRAP(char *, realpath, NULL, (const char *path, char *out), (path, out))
WRAP(DIR *, opendir, NULL, (const char *path), (path))
WRAP(DIR *, fdopendir, NULL, (int fd), (fd))
WRAP(struct dirent *, readdir, NULL, (DIR *dir), (dir))
WRAP(void *, mmap, MAP_FAILED, (void *at, size_t size, int access, int flags, int fd,
    off_t from), (at, size, access, flags, fd, from))
WRAP(int, mkstemp, -1, (char *path), (path))
WRAP(int, mkostemp, -1, (char *path, int flags), (path, flags))

int __real_open(const char *path, int flags, ...);
int __real_openat(int dir, const char *path, int flags, ...);
int __real_close(int fd);
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_close(int fd);

static mode_t
mode_of(int flags, va_list ap)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ?
	    va_arg(ap, mode_t) : 0;
}

int
__wrap_open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return fails("open") ? -1 : __real_open(path, flags, mode);
}

int
__wrap_openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return fails("openat") ? -1 : __real_openat(dir, path, flags, mode);
}

int
__wrap_close(int fd)
{
	const int result = __real_close(fd);

	return fails("close") ? -1 : result;
}
