/* SPDX-License-Identifier: BSD-2-Clause */
#include "dying.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static unsigned die_at; /* 0: never */
static _Atomic unsigned step;
static bool die_halfway, files_count;

void
dying_begin(unsigned at, bool halfway, enum dying_steps steps)
{
	step = 0;
	die_halfway = halfway;
	files_count = steps == DYING_FILES;
	die_at = at;
}

void
dying_end(void)
{
	die_at = 0;
}

static void
die(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

static bool
is_last(void)
{
	return die_at > 0 && ++step == die_at;
}

/* These take the places of those of the C library. */
#pragma GCC visibility push(default)

ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
	if (is_last()) {
		if (die_halfway)
			syscall(SYS_pwrite64, fd, data, size / 2, offset);
		die();
	}
	return syscall(SYS_pwrite64, fd, data, size, offset);
}

ssize_t
writev(int fd, const struct iovec *parts, int n)
{
	if (is_last()) {
		if (die_halfway)
			syscall(SYS_write, fd, parts[0].iov_base, parts[0].iov_len / 2);
		die();
	}
	return syscall(SYS_writev, fd, parts, n);
}

int
fdatasync(int fd)
{
	if (is_last())
		die();
	return (int)syscall(SYS_fdatasync, fd);
}

/* ---- other files ------------------------------------------------------------------ */

ssize_t
write(int fd, const void *data, size_t size)
{
	if (files_count && is_last()) {
		if (die_halfway)
			syscall(SYS_write, fd, data, size / 2);
		die();
	}
	return syscall(SYS_write, fd, data, size);
}

int
fsync(int fd)
{
	if (files_count && is_last())
		die();
	return (int)syscall(SYS_fsync, fd);
}

int
ftruncate(int fd, off_t size)
{
	if (files_count && is_last())
		die();
	return (int)syscall(SYS_ftruncate, fd, size);
}

int
rename(const char *from, const char *to)
{
	if (files_count && is_last())
		die();
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int
link(const char *from, const char *to)
{
	if (files_count && is_last())
		die();
	return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int
unlink(const char *path)
{
	if (files_count && is_last())
		die();
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int
rmdir(const char *path)
{
	if (files_count && is_last())
		die();
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

int
fchmod(int fd, mode_t mode)
{
	if (files_count && is_last())
		die();
	return (int)syscall(SYS_fchmod, fd, mode);
}

#pragma GCC visibility pop
