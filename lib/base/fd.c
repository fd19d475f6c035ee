/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <unistd.h>

#define FIRST_FREE 3 /* lower ones are standard input, output and error */

/* Descriptors that fill the closed ones among 0 to 2. */
static struct {
	pthread_mutex_t lock;
	unsigned holders;      /* calls of lc__fds_hold() without their release */
	bool ours[FIRST_FREE]; /* opened here; the last lc__fds_release() closes them */
} low = { .lock = PTHREAD_MUTEX_INITIALIZER };
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* The program may have opened a file of its own over ours: that one stays open. */
static void
give_back(void)
{
	for (int i = 0; i < FIRST_FREE; i++) {
		if (!low.ours[i])
			continue;
		low.ours[i] = false;
		if ((fcntl(i, F_GETFL) & O_PATH) != 0)
			close(i);
	}
}

/* The child has none of the threads that held them. A thread that was about to record a
 * descriptor leaves it open in the child, which is harmless. */
static void
after_fork_child(void)
{
	pthread_mutex_init(&low.lock, NULL);
	low.holders = 0;
	give_back();
}

static void
watch_forks(void)
{
	pthread_atfork(NULL, NULL, after_fork_child);
}

void
lc__fds_hold(void)
{
	const int sys = errno;

	pthread_once(&fork_once, watch_forks);
	pthread_mutex_lock(&low.lock);
	low.holders++;
	/*
	 * O_PATH: reads and writes fail there. The kernel assigns the lowest free number.
	 */
	for (int i = 0; i < FIRST_FREE; i++) {
		int fd;

		if (fcntl(i, F_GETFD) != -1)
			continue;
		fd = openat(AT_FDCWD, "/", O_PATH | O_CLOEXEC);
		if (fd >= FIRST_FREE)
			close(fd);
		else if (fd >= 0)
			low.ours[fd] = true;
	}
	pthread_mutex_unlock(&low.lock);
	errno = sys;
}

void
lc__fds_release(void)
{
	const int sys = errno;

	pthread_mutex_lock(&low.lock);
	if (--low.holders == 0)
		give_back();
	pthread_mutex_unlock(&low.lock);
	errno = sys;
}

/* The descriptor is still low: the program closed one of 0 to 2 just now, or "/" could
 * not be opened. */
static int
lift(int fd)
{
	int higher, sys;

	if (fd < 0 || fd >= FIRST_FREE)
		return fd;
	higher = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
	sys = errno;
	close(fd);
	errno = sys;
	return higher;
}

int
lc__openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list rest;
	int fd;

	if (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) {
		va_start(rest, flags);
		mode = va_arg(rest, mode_t);
		va_end(rest);
	}
	lc__fds_hold();
	fd = lift(openat(dir, path, flags | O_CLOEXEC, mode));
	lc__fds_release();
	return fd;
}

int
lc__open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list rest;

	if (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) {
		va_start(rest, flags);
		mode = va_arg(rest, mode_t);
		va_end(rest);
	}
	return lc__openat(AT_FDCWD, path, flags, mode);
}

FILE *
lc__fopen(const char *path, const char *mode)
{
	FILE *file;

	lc__fds_hold();
	file = fopen(path, mode);
	lc__fds_release();
	return file;
}

int
lc__pipe(int ends[2])
{
	int rc;

	lc__fds_hold();
	rc = pipe2(ends, O_CLOEXEC);
	if (rc == 0) {
		ends[0] = lift(ends[0]);
		ends[1] = lift(ends[1]);
	}
	lc__fds_release();
	if (rc == 0 && (ends[0] == -1 || ends[1] == -1)) {
		rc = -1;
		for (int i = 0; i < 2; i++)
			if (ends[i] != -1)
				close(ends[i]);
	}
	return rc;
}
