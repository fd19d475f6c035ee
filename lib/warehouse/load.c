/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "format/twh1.h"

#define PIECE ((size_t)4 << 20)  /* read at a time */
#define LARGEST_BLOCK (1u << 30) /* of checksums, twh1(5) */
#define SMALLEST_TABLE 40u       /* a checksum section of no block */

lc_status
lc__load_range(int fd, const char *path, uint64_t from, uint64_t size, void *out)
{
	unsigned char *at = out;

	while (size > 0) {
		const ssize_t n = pread(fd, at, size < PIECE ? size : PIECE, (off_t)from);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return lc__error_sys(errno, "%s: read", path);
		if (n == 0)
			return lc__error(LC_CORRUPT, 0, "%s: ends at byte %llu", path,
			    (unsigned long long)from);
		at += n;
		from += (uint64_t)n;
		size -= (uint64_t)n;
	}
	return LC_OK;
}

static lc_status
reserve(const char *path, uint64_t size, int protection, int flags, unsigned char **out)
{
	void *memory = size == 0 || size > SIZE_MAX
	    ? MAP_FAILED
	    : mmap(NULL, (size_t)size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags,
		  -1, 0);

	if (memory == MAP_FAILED)
		return lc__error(LC_NO_MEMORY, 0, "%s: out of memory for %llu bytes",
		    path, (unsigned long long)size);
	*out = memory;
	return LC_OK;
}

void
lc__load_free(unsigned char *memory, uint64_t size)
{
	if (memory != NULL)
		munmap(memory, (size_t)size);
}

/* ---- sections -------------------------------------------------------------- */

/* A shard on its way into memory. */
struct filling {
	int fd;
	const char *path;
	unsigned char *memory;
	uint64_t size;
};

/* Read what lies between two offsets, as far as there is such. */
static lc_status
fill(const struct filling *f, uint64_t from, uint64_t to)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (to > f->size)
		to = f->size;
	if (from >= to)
		return LC_OK;
	if (mprotect(f->memory + (from & ~(page - 1)),
		(size_t)(to - (from & ~(page - 1))), PROT_READ | PROT_WRITE) == -1)
		return lc__error(LC_NO_MEMORY, 0, "%s: out of memory for %llu bytes",
		    f->path, (unsigned long long)(to - from));
	return lc__load_range(f->fd, f->path, from, to - from, f->memory + from);
}

/* The checksums, if their section is as long as it must be; *block gets the bytes
 * a block, or 1 where that makes no sense: lc__twh1_parse() says what is wrong. */
static lc_status
fill_table(const struct filling *f, uint64_t at, uint64_t *block)
{
	uint32_t said;

	if (at == 0 || at > f->size || f->size - at < SMALLEST_TABLE)
		return LC_OK;
	return_if_error(fill(f, at, at + SMALLEST_TABLE));
	said = lc__get32(f->memory + at + 4);
	if (said == 0 || (said & (said - 1)) != 0 || said > LARGEST_BLOCK ||
	    f->size - at != lc__twh1_table_size(lc__twh1_blocks(at, said)))
		return LC_OK;
	*block = said;
	return fill(f, at, f->size);
}

/* Row offsets, and what else their blocks have. */
static lc_status
fill_offsets(const struct filling *f, uint64_t at, uint64_t samples, uint64_t block,
    uint64_t limit)
{
	const uint64_t head = LC__TWH1_META_HEADER + 8;

	if (at == 0 || at > f->size || f->size - at < head ||
	    samples > (f->size - at - head) / 8)
		return LC_OK;
	return fill(f, at & ~(block - 1),
	    lc__round_up(at + head + 8 * samples, block) < limit
		? lc__round_up(at + head + 8 * samples, block)
		: limit);
}

static lc_status
fill_all(const struct filling *f)
{
	const unsigned char *header = f->memory;
	uint64_t block = 1, table;

	return_if_error(fill(f, 0, LC__TWH1_HEADER));
	if (f->size < LC__TWH1_HEADER || lc__get32(header + 4) < 2)
		return LC_OK;
	table = lc__get64(header + 72);
	return_if_error(fill_table(f, table, &block));
	return fill_offsets(f, lc__get64(header + 64), lc__get64(header + 32), block,
	    table != 0 && table < f->size ? table : f->size);
}

lc_status
lc__load_sections(int fd, const char *path, uint64_t size, unsigned char **memory)
{
	struct filling f = { fd, path, NULL, size };
	lc_status status;

	return_if_error(reserve(path, size, PROT_READ, MAP_NORESERVE, &f.memory));
	status = fill_all(&f);
	if (status == LC_OK)
		*memory = f.memory;
	else
		lc__load_free(f.memory, size);
	return status;
}

/* ---- everything ------------------------------------------------------------ */

static lc_status
read_pieces(const struct filling *f, struct lc__team *team)
{
	for (uint64_t from = 0; from < f->size; from += PIECE) {
		const uint64_t left = f->size - from;
		const uint64_t n = left < PIECE ? left : PIECE;

		return_if_error(
		    lc__load_range(f->fd, f->path, from, n, f->memory + from));
		return_if_error(lc__team_step(team, n));
	}
	return LC_OK;
}

lc_status
lc__load_all(int fd, const char *path, uint64_t size, struct lc__team *team,
    unsigned char **memory)
{
	struct filling f = { fd, path, NULL, size };
	lc_status status;

	return_if_error(reserve(path, size, PROT_READ | PROT_WRITE, 0, &f.memory));
	(void)madvise(f.memory, (size_t)size, MADV_HUGEPAGE);
	(void)posix_fadvise(fd, 0, (off_t)size, POSIX_FADV_SEQUENTIAL);
	status = read_pieces(&f, team);
	/* Nobody is to write what checksums have been compared with. */
	if (status == LC_OK && mprotect(f.memory, (size_t)size, PROT_READ) == -1)
		status = lc__error_sys(errno, "%s: mprotect", path);
	if (status == LC_OK)
		*memory = f.memory;
	else
		lc__load_free(f.memory, size);
	return status;
}
