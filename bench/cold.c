/* SPDX-License-Identifier: BSD-2-Clause */
#include "cold.h"

#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pages of the file that are in the page cache. */
static size_t
resident(int fd, size_t size, const char *path)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t pages = (size + page - 1) / page;
	unsigned char *there = malloc(pages);
	void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	size_t n = 0;

	if (there == NULL || map == MAP_FAILED || mincore(map, size, there) != 0)
		err(1, "%s", path);
	for (size_t i = 0; i < pages; i++)
		n += there[i] & 1;
	munmap(map, size);
	free(there);
	return n;
}

/* Pages that the system has just looked at stay for a moment. */
#define TRIES 100
#define PAUSE_US 2000

void
cold_drop(const char *path)
{
	const int fd = open(path, O_RDWR);
	struct stat st;
	size_t left = 1;

	if (fd < 0 || fdatasync(fd) != 0 || fstat(fd, &st) != 0)
		err(1, "%s", path);
	for (int i = 0; i < TRIES && left != 0; i++) {
		if (i > 0)
			usleep(PAUSE_US);
		if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
			err(1, "%s", path);
		left = resident(fd, (size_t)st.st_size, path);
	}
	if (left != 0)
		errx(1, "%s: %zu pages stay in memory", path, left);
	close(fd);
}
