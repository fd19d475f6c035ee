/* SPDX-License-Identifier: BSD-2-Clause */
#include "scratch.h"

#include <err.h>
#include <ftw.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[4096];
static pid_t janitor;
static int alive = -1; /* the janitor sees it close when this process ends */

void
scratch_remove(const char *path)
{
	const pid_t pid = fork();

	if (pid == 0) {
		execlp("rm", "rm", "-rf", path, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* A process that outlives this one, also when it is killed, and tidies up. */
static void
start_janitor(void)
{
	int fds[2];
	char byte;

	if (pipe(fds) != 0 || (janitor = fork()) < 0)
		err(1, "%s", root);
	if (janitor != 0) {
		close(fds[0]);
		alive = fds[1];
		return;
	}
	close(fds[1]);
	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	while (read(fds[0], &byte, 1) > 0)
		;
	execlp("rm", "rm", "-rf", root, (char *)NULL);
	_exit(127);
}

static long
type_of(const char *dir, uint64_t *free_bytes)
{
	struct statfs fs;

	if (statfs(dir, &fs) != 0)
		err(1, "%s", dir);
	*free_bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	return (long)fs.f_type;
}

const char *
scratch_make(uint64_t bytes)
{
	const char *dir = getenv("BENCH_DIR");
	uint64_t free_bytes;

	if (dir == NULL || *dir == '\0')
		dir = ".";
	if (type_of(dir, &free_bytes) == TMPFS_MAGIC)
		errx(1, "%s: a file system in memory; set BENCH_DIR to a disk", dir);
	if (free_bytes < bytes)
		errx(1, "%s: %.1f GB are free, %.1f GB are needed; set BENCH_DIR",
		    dir, (double)free_bytes / 1e9, (double)bytes / 1e9);
	snprintf(root, sizeof(root), "%s/bench-data.XXXXXX", dir);
	if (mkdtemp(root) == NULL)
		err(1, "%s", root);
	start_janitor();
	return root;
}

void
scratch_end(void)
{
	close(alive);
	waitpid(janitor, NULL, 0);
}

const char *
scratch_filesystem(void)
{
	static char number[32];
	uint64_t unused;
	const long type = type_of(root, &unused);

	switch (type) {
	case EXT4_SUPER_MAGIC:
		return "ext4";
	case XFS_SUPER_MAGIC:
		return "xfs";
	case BTRFS_SUPER_MAGIC:
		return "btrfs";
	case OVERLAYFS_SUPER_MAGIC:
		return "overlayfs";
	default:
		snprintf(number, sizeof(number), "file system 0x%lx", type);
		return number;
	}
}

static double allocated_sum, size_sum;

static int
add_file(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)path;
	(void)where;
	if (type == FTW_F) {
		allocated_sum += (double)st->st_blocks * 512;
		size_sum += (double)st->st_size;
	}
	return 0;
}

static void
add_up(const char *dir)
{
	allocated_sum = size_sum = 0;
	if (nftw(dir, add_file, 16, FTW_PHYS) != 0)
		err(1, "%s", dir);
}

double
scratch_allocated(const char *dir)
{
	add_up(dir);
	return allocated_sum;
}

double
scratch_size(const char *dir)
{
	add_up(dir);
	return size_sum;
}
