/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded by tool_refused.sh: a call about one file fails with EIO.
 * CACHEX_TEST_REFUSE has the call, "stat", "open", "readlink", "read", "write" or
 * "seek", a blank, and how the file's path ends; "pipe" is every pipe.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
refused(const char *call, const char *path)
{
	const char *wanted = getenv("CACHEX_TEST_REFUSE");
	const size_t n = strlen(call);
	size_t size, end;

	if (wanted == NULL || strncmp(wanted, call, n) != 0 || wanted[n] != ' ')
		return false;
	wanted += n + 1;
	size = strlen(path);
	end = strlen(wanted);
	if (size < end || strcmp(path + size - end, wanted) != 0)
		return false;
	errno = EIO;
	return true;
}

static bool
refused_fd(const char *call, int fd)
{
	char name[40], path[4096];
	ssize_t n;

	if (getenv("CACHEX_TEST_REFUSE") == NULL)
		return false;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = '\0';
	/* "pipe:[number]" is every pipe. */
	if (strncmp(path, "pipe:", 5) == 0)
		path[4] = '\0';
	return refused(call, path);
}

#define REAL(name) \
	static __typeof__(&name) real; \
	if (real == NULL) \
		*(void **)&real = dlsym(RTLD_NEXT, #name)

int
stat(const char *restrict path, struct stat *restrict st)
{
	REAL(stat);
	return refused("stat", path) ? -1 : real(path, st);
}

int
lstat(const char *restrict path, struct stat *restrict st)
{
	REAL(lstat);
	return refused("stat", path) ? -1 : real(path, st);
}

int
fstatat(int dir, const char *restrict path, struct stat *restrict st, int flags)
{
	REAL(fstatat);
	return refused("stat", path) ? -1 : real(dir, path, st, flags);
}

int
openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	REAL(openat);
	va_start(ap, flags);
	mode = (flags & O_CREAT) != 0 ? (mode_t)va_arg(ap, int) : 0;
	va_end(ap);
	return refused("open", path) ? -1 : real(dir, path, flags, mode);
}

ssize_t
readlink(const char *restrict path, char *restrict out, size_t room)
{
	REAL(readlink);
	return refused("readlink", path) ? -1 : real(path, out, room);
}

ssize_t
read(int fd, void *data, size_t size)
{
	REAL(read);
	return refused_fd("read", fd) ? -1 : real(fd, data, size);
}

ssize_t
write(int fd, const void *data, size_t size)
{
	REAL(write);
	return refused_fd("write", fd) ? -1 : real(fd, data, size);
}

/* Asking where a file is, is no seek. */
off_t
lseek(int fd, off_t offset, int whence)
{
	REAL(lseek);
	return whence != SEEK_CUR && refused_fd("seek", fd) ? -1 : real(fd, offset, whence);
}

int
fseek(FILE *file, long offset, int whence)
{
	REAL(fseek);
	return refused_fd("seek", fileno(file)) ? -1 : real(file, offset, whence);
}

/* It has no way to say so. */
void
rewind(FILE *file)
{
	REAL(rewind);
	if (!refused_fd("seek", fileno(file)))
		real(file);
}
