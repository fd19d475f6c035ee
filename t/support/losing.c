/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded by tool_losing.sh: one file is lost while a program runs. CACHEX_TEST_LOSE has
 * how, a number N, and the file's path, with a blank between:
 *
 *   look N PATH   it is moved away before it is looked at or opened for the Nth time
 *   open N PATH   it is moved away before it is opened for the Nth time
 *   deny N PATH   it cannot be opened from the Nth time on: EACCES
 *
 * CACHEX_TEST_LOST is where it is moved to; of one that is denied an empty file is made
 * there. If the program does not ask for the file so often, nothing is there afterwards.
 * The tool's threads ask for different files, or one after the other.
 */
#include <dirent.h>
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

#define REAL(name) \
	static __typeof__(&name) real; \
	if (real == NULL) \
		*(void **)&real = dlsym(RTLD_NEXT, #name)

static const char *path; /* NULL: nothing is lost */
static bool by_look, denied;
static int left;         /* until it is lost: 1 for the next time */
static struct stat lost; /* what the file is */

static int
real_stat(int dir, const char *name, struct stat *st)
{
	REAL(fstatat);
	return real(dir, name, st, AT_SYMLINK_NOFOLLOW);
}

__attribute__((constructor)) static void
begin(void)
{
	const char *how = getenv("CACHEX_TEST_LOSE");
	char *end;

	if (how == NULL || strlen(how) < 6)
		return;
	by_look = strncmp(how, "look ", 5) == 0;
	denied = strncmp(how, "deny ", 5) == 0;
	left = (int)strtol(how + 5, &end, 10);
	if (*end == ' ' && real_stat(AT_FDCWD, end + 1, &lost) == 0)
		path = end + 1;
}

static bool
is_it(int dir, const char *name)
{
	const int sys = errno;
	struct stat st;
	const bool is = path != NULL && real_stat(dir, name, &st) == 0 &&
	    st.st_dev == lost.st_dev && st.st_ino == lost.st_ino;

	errno = sys;
	return is;
}

static void
looked_at(int dir, const char *name)
{
	const int sys = errno;

	if (by_look && is_it(dir, name) && --left == 0)
		rename(path, getenv("CACHEX_TEST_LOST"));
	errno = sys;
}

/* Whether the call is to fail. */
static bool
opened(int dir, const char *name)
{
	int fd;

	REAL(openat);
	if (!is_it(dir, name) || --left > 0)
		return false;
	if (!denied) {
		rename(path, getenv("CACHEX_TEST_LOST"));
		return false;
	}
	fd = real(AT_FDCWD, getenv("CACHEX_TEST_LOST"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	errno = EACCES;
	return true;
}

static mode_t
mode_of(int flags, va_list rest)
{
	return (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) != 0 ?
	    (mode_t)va_arg(rest, unsigned) : 0;
}

#define OPEN(name) \
	int \
	name(const char *file, int flags, ...) \
	{ \
		va_list rest; \
		mode_t mode; \
		REAL(name); \
		va_start(rest, flags); \
		mode = mode_of(flags, rest); \
		va_end(rest); \
		return opened(AT_FDCWD, file) ? -1 : real(file, flags, mode); \
	}
#define OPENAT(name) \
	int \
	name(int dir, const char *file, int flags, ...) \
	{ \
		va_list rest; \
		mode_t mode; \
		REAL(name); \
		va_start(rest, flags); \
		mode = mode_of(flags, rest); \
		va_end(rest); \
		return opened(dir, file) ? -1 : real(dir, file, flags, mode); \
	}
#define FOPEN(name) \
	FILE * \
	name(const char *restrict file, const char *restrict mode) \
	{ \
		REAL(name); \
		return opened(AT_FDCWD, file) ? NULL : real(file, mode); \
	}
#define STAT(name) \
	int \
	name(const char *restrict file, struct stat *restrict st) \
	{ \
		REAL(name); \
		looked_at(AT_FDCWD, file); \
		return real(file, st); \
	}

OPEN(open)
OPENAT(openat)
FOPEN(fopen)
STAT(stat)
STAT(lstat)
#ifdef __LP64__ /* the same calls under their other names */
OPEN(open64)
OPENAT(openat64)
FOPEN(fopen64)
#endif

DIR *
opendir(const char *file)
{
	REAL(opendir);
	return opened(AT_FDCWD, file) ? NULL : real(file);
}

int
fstatat(int dir, const char *restrict file, struct stat *restrict st, int flags)
{
	REAL(fstatat);
	looked_at(dir, file);
	return real(dir, file, st, flags);
}

int
access(const char *file, int mode)
{
	REAL(access);
	looked_at(AT_FDCWD, file);
	return real(file, mode);
}

ssize_t
readlink(const char *restrict file, char *restrict out, size_t room)
{
	REAL(readlink);
	looked_at(AT_FDCWD, file);
	return real(file, out, room);
}
