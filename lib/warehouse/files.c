/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fd.h"
#include "format/twh1.h"

#define PIECE ((size_t)4 << 20)  /* read at a time */
#define LARGEST_BLOCK (1u << 30) /* of checksums, twh1(5) */
#define SMALLEST_TABLE 40u       /* a checksum section of no block */

/* ---- files, some of which are open ----------------------------------------------- */

static lc_status
open_file(const char *path, int *fd, struct stat *st)
{
	/* O_NONBLOCK: refuse a FIFO instead of waiting for it. */
	*fd = lc__open(path, O_RDONLY | O_NONBLOCK);
	if (*fd == -1)
		return lc__error_sys(errno, "%s: open", path);
	if (fstat(*fd, st) == 0 && S_ISREG(st->st_mode))
		return LC_OK;
	close(*fd);
	return lc__error(LC_NOT_MODULE, 0, "%s: not a regular file", path);
}

lc_status
lc__wfile_open(const char *path, struct lc__wfile *file, int *fd)
{
	struct stat st;

	return_if_error(open_file(path, fd, &st));
	file->device = st.st_dev;
	file->inode = st.st_ino;
	file->size = (uint64_t)st.st_size;
	file->slot = -1;
	return LC_OK;
}

static lc_status
open_again(const struct lc__wfile *file, const char *path, int *fd)
{
	struct stat st;
	const lc_status status = open_file(path, fd, &st);

	if (status == LC_NO_FILE || status == LC_NOT_MODULE)
		return lc__error(LC_CORRUPT, 0,
		    "%s: was removed after the warehouse was opened", path);
	return_if_error(status);
	if (st.st_dev == file->device && st.st_ino == file->inode &&
	    (uint64_t)st.st_size == file->size)
		return LC_OK;
	close(*fd);
	return lc__error(LC_CORRUPT, 0, "%s: was replaced after the warehouse was opened",
	    path);
}

static void
empty_slot(struct lc__wslot *slot)
{
	if (slot->file == NULL)
		return;
	slot->file->slot = -1;
	slot->file = NULL;
	close(slot->fd);
}

static void
use_slot(struct lc__wfiles *files, int slot, struct lc__wtaken *out)
{
	atomic_fetch_add(&files->slots[slot].users, 1);
	files->slots[slot].used = ++files->clock;
	out->slot = slot;
	out->fd = files->slots[slot].fd;
}

/* Keep a descriptor that was just opened, unless another thread has meanwhile. */
static void
keep(struct lc__wfiles *files, struct lc__wfile *file, struct lc__wtaken *out)
{
	struct lc__wslot *slot = NULL;

	if (!lc__trylock(&files->lock))
		return;
	/* A free slot, or the least recently used one; NULL if all are in use. */
	for (int i = 0; i < LC__WFILES_OPEN && file->slot == -1; i++) {
		struct lc__wslot *s = &files->slots[i];

		if (s->file == NULL) {
			slot = s;
			break;
		}
		if (atomic_load(&s->users) == 0 && (slot == NULL || s->used < slot->used))
			slot = s;
	}
	if (slot != NULL) {
		empty_slot(slot);
		slot->file = file;
		slot->fd = out->fd;
		file->slot = (int)(slot - files->slots);
		use_slot(files, file->slot, out);
	}
	lc__tryunlock(&files->lock);
}

lc_status
lc__wfiles_take(struct lc__wfiles *files, struct lc__wfile *file, const char *path,
    struct lc__wtaken *out)
{
	out->slot = -1;
	if (lc__trylock(&files->lock)) {
		if (file->slot != -1)
			use_slot(files, file->slot, out);
		lc__tryunlock(&files->lock);
	}
	if (out->slot != -1)
		return LC_OK;
	return_if_error(open_again(file, path, &out->fd));
	keep(files, file, out);
	return LC_OK;
}

void
lc__wfiles_give(struct lc__wfiles *files, struct lc__wtaken *taken)
{
	if (taken->slot == -1)
		close(taken->fd);
	else
		atomic_fetch_sub_explicit(&files->slots[taken->slot].users, 1,
		    memory_order_release);
}

bool
lc__wfiles_forget(struct lc__wfiles *files, struct lc__wfile *file)
{
	if (!lc__trylock(&files->lock))
		return false;
	if (file->slot != -1)
		empty_slot(&files->slots[file->slot]);
	lc__tryunlock(&files->lock);
	return true;
}

void
lc__wfiles_close(struct lc__wfiles *files)
{
	for (int i = 0; i < LC__WFILES_OPEN; i++)
		empty_slot(&files->slots[i]);
}

/* ---- into memory --------------------------------------------------------------------- */

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

/* A shard being read into memory. */
struct filling {
	lc_status (*read)(void *ctx, uint64_t from, uint64_t size, void *out);
	void *ctx;
	const char *path;
	unsigned char *memory;
	uint64_t size;
};

/* Read the bytes between two offsets, if there are any. */
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
	return f->read(f->ctx, from, to - from, f->memory + from);
}

/* Read the checksums, if their section has the right length; *block is set to the block
 * size, or to 1 if it is invalid: then lc__twh1_parse() reports the mistake. */
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

/* Read the header, the row offsets with the rest of their blocks, and the checksums. */
static lc_status
fill_sections(const struct filling *f)
{
	const uint64_t head = LC__TWH1_META_HEADER + 8;
	const unsigned char *header = f->memory;
	uint64_t block = 1, samples, rows, table, to, limit;

	return_if_error(fill(f, 0, LC__TWH1_HEADER));
	if (f->size < LC__TWH1_HEADER || lc__get32(header + 4) < 2)
		return LC_OK;
	samples = lc__get64(header + 32);
	rows = lc__get64(header + 64);
	table = lc__get64(header + 72);
	return_if_error(fill_table(f, table, &block));

	if (rows == 0 || rows > f->size || f->size - rows < head ||
	    samples > (f->size - rows - head) / 8)
		return LC_OK;
	to = lc__round_up(rows + head + 8 * samples, block);
	limit = table != 0 && table < f->size ? table : f->size;
	return fill(f, rows & ~(block - 1), to < limit ? to : limit);
}

lc_status
lc__load_sections_by(lc_status (
			 *read)(void *ctx, uint64_t from, uint64_t size, void *out),
    void *ctx, const char *path, uint64_t size, unsigned char **memory)
{
	struct filling f = { read, ctx, path, NULL, size };
	lc_status status;

	return_if_error(reserve(path, size, PROT_READ, MAP_NORESERVE, &f.memory));
	status = fill_sections(&f);
	if (status == LC_OK)
		*memory = f.memory;
	else
		lc__load_free(f.memory, size);
	return status;
}

/* A file being read. */
struct opened {
	int fd;
	const char *path;
};

static lc_status
read_opened(void *ctx, uint64_t from, uint64_t size, void *out)
{
	const struct opened *file = ctx;

	return lc__load_range(file->fd, file->path, from, size, out);
}

lc_status
lc__load_sections(int fd, const char *path, uint64_t size, unsigned char **memory)
{
	struct opened file = { fd, path };

	return lc__load_sections_by(read_opened, &file, path, size, memory);
}

lc_status
lc__load_all(int fd, const char *path, uint64_t size, struct lc__team *team,
    unsigned char **memory)
{
	unsigned char *bytes = NULL;
	lc_status status = LC_OK;

	return_if_error(reserve(path, size, PROT_READ | PROT_WRITE, 0, &bytes));
	(void)madvise(bytes, (size_t)size, MADV_HUGEPAGE);
	(void)posix_fadvise(fd, 0, (off_t)size, POSIX_FADV_SEQUENTIAL);
	for (uint64_t from = 0; from < size && status == LC_OK; from += PIECE) {
		const uint64_t n = size - from < PIECE ? size - from : PIECE;

		status = lc__load_range(fd, path, from, n, bytes + from);
		if (status == LC_OK)
			status = lc__team_step(team, n);
	}
	/* Read-only: its checksums have been compared. */
	if (status == LC_OK && mprotect(bytes, (size_t)size, PROT_READ) == -1)
		status = lc__error_sys(errno, "%s: mprotect", path);
	if (status == LC_OK)
		*memory = bytes;
	else
		lc__load_free(bytes, size);
	return status;
}
