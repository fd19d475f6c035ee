/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that the program at the other end of the pipe shares: the reader's threads put the
 * tensors of a batch there, and a frame says only where they are. cachex-read(1) has the
 * protocol: a byte on standard input gives the oldest frame back.
 *
 * The memory is a file, cut into blocks of whole pages, one for each tensor of a batch.
 * A block that is free is used again; so the file stays as large as what is held at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "cmd/read.h"
#include "ui/interrupt.h"
#include "ui/report.h"

/* The longest that a wait lasts before it checks for signals, in ms. */
#define SLICE_MS 100

struct block {
	unsigned char *memory;
	uint64_t offset; /* offset in the file */
	size_t size;
	bool used;
};

struct read_shared {
	int fd;
	pthread_mutex_t lock; /* guards the members from here to `error` */
	struct block *blocks;
	size_t n_blocks, blocks_room;
	uint64_t end; /* end of the last block in the file */
	int error;    /* errno of the first block that could not be allocated */

	/* Frames that the other side has not given back, oldest first. */
	const lc_batch **held;
	size_t n_held, held_room;
	bool ended; /* standard input has ended */
};

/* ---- blocks ------------------------------------------------------------------------- */

/* The smallest free block that is large enough, or NULL. */
static struct block *
find_free_locked(const struct read_shared *s, size_t size)
{
	struct block *best = NULL;

	for (size_t i = 0; i < s->n_blocks; i++) {
		struct block *b = &s->blocks[i];

		if (!b->used && b->size >= size && (best == NULL || b->size < best->size))
			best = b;
	}
	return best;
}

/* If all free blocks are too small, give the memory of the largest back to the
 * system. */
static void
drop_free_locked(struct read_shared *s)
{
	struct block *largest = NULL;

	for (size_t i = 0; i < s->n_blocks; i++) {
		struct block *b = &s->blocks[i];

		if (!b->used && (largest == NULL || b->size > largest->size))
			largest = b;
	}
	if (largest == NULL)
		return;
	munmap(largest->memory, largest->size);
	(void)fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	    (off_t)largest->offset, (off_t)largest->size);
	*largest = s->blocks[--s->n_blocks];
}

/* Add a block at the end of the file. Its memory is allocated at once: if the file
 * system were full, the first access would end the process. NULL with s->error set. */
static struct block *
new_block_locked(struct read_shared *s, size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const uint64_t whole = lc__round_up(size, page);
	struct block block = { .offset = s->end, .size = whole };

	if (lc__array_reserve(&s->blocks, &s->blocks_room, s->n_blocks + 1, "read") !=
	    LC_OK)
		return NULL;
	if (fallocate(s->fd, 0, (off_t)s->end, (off_t)whole) == -1) {
		s->error = errno;
		return NULL;
	}
	block.memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd,
	    (off_t)s->end);
	if (block.memory == MAP_FAILED) {
		s->error = errno;
		return NULL;
	}
	s->end += whole;
	s->blocks[s->n_blocks] = block;
	return &s->blocks[s->n_blocks++];
}

static void *
allocate(void *ctx, size_t size)
{
	struct read_shared *s = ctx;
	struct block *block;
	void *memory = NULL;

	pthread_mutex_lock(&s->lock);
	block = find_free_locked(s, size);
	if (block == NULL) {
		drop_free_locked(s);
		block = new_block_locked(s, size);
	}
	if (block != NULL) {
		block->used = true;
		memory = block->memory;
	}
	pthread_mutex_unlock(&s->lock);
	return memory;
}

static void
give_back(void *ctx, void *memory, size_t size)
{
	struct read_shared *s = ctx;

	(void)size;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n_blocks; i++)
		if (s->blocks[i].memory == memory)
			s->blocks[i].used = false;
	pthread_mutex_unlock(&s->lock);
}

uint64_t
read_shared_offset(struct read_shared *s, const void *memory)
{
	uint64_t offset = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n_blocks; i++)
		if (s->blocks[i].memory == memory)
			offset = s->blocks[i].offset;
	pthread_mutex_unlock(&s->lock);
	return offset;
}

/* ---- frames that the other side reads ----------------------------------------------- */

/* Wait until standard input is readable, or for @p ms milliseconds. */
static bool
may_read(int ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, ms) == 1;
}

/* Read the bytes that are available, and release one batch for each. */
static int
take_back(struct read_shared *s)
{
	char bytes[256];
	const ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (n == -1)
		return errno == EINTR || errno == EAGAIN ? EXIT_DONE
							 : report_errno("standard input");
	if ((size_t)n > s->n_held)
		return report_error(EXIT_DATA,
		    "standard input returned %zd frames, but only %zu were held", n,
		    s->n_held);
	for (ssize_t i = 0; i < n; i++)
		lc_batch_release(s->held[i]);
	s->n_held -= (size_t)n;
	memmove(s->held, s->held + n, s->n_held * sizeof(*s->held));
	s->ended = n == 0;
	return EXIT_DONE;
}

int
read_shared_hold(struct read_shared *s, const lc_batch *batch)
{
	if (lc__array_reserve(&s->held, &s->held_room, s->n_held + 1, "read") != LC_OK) {
		lc_batch_release(batch);
		return report_no_memory();
	}
	s->held[s->n_held++] = batch;
	return !s->ended && may_read(0) ? take_back(s) : EXIT_DONE;
}

/* Wait until a batch is given back, or standard input ends. */
static int
wait_for_input(struct read_shared *s)
{
	while (!may_read(SLICE_MS))
		if (interrupt_pending())
			return interrupt_status();
	return take_back(s);
}

int
read_shared_wait(struct read_shared *s)
{
	if (!s->ended)
		return wait_for_input(s);
	return report_error(EXIT_SYSTEM,
	    "standard input ended with %zu frames held; write a byte to return a frame",
	    s->n_held);
}

int
read_shared_finish(struct read_shared *s)
{
	int status = EXIT_DONE;

	while (status == EXIT_DONE && s->n_held > 0 && !s->ended)
		status = wait_for_input(s);
	return status;
}

/* ---- opening and closing ------------------------------------------------------------- */

/* It must be a file of this process that can be read, written and mapped, and it must have
 * nothing in it that would be lost. */
static int
check_file(int fd)
{
	const int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags == -1 || fstat(fd, &st) == -1)
		return report_error(EXIT_USAGE, "--shared: descriptor %d: %s", fd,
		    strerror(errno));
	if (!S_ISREG(st.st_mode) || (flags & O_ACCMODE) != O_RDWR)
		return report_usage(
		    "--shared: descriptor %d is not memory or a file that is "
		    "open for reading and writing",
		    fd);
	if (st.st_size != 0)
		return report_usage("--shared: the file of descriptor %d is not empty",
		    fd);
	return EXIT_DONE;
}

int
read_shared_open(uint64_t fd, struct read_shared **out)
{
	struct read_shared *s;
	int status;

	if (fd <= STDERR_FILENO || fd > INT_MAX)
		return report_usage("--shared: %llu is not the number of a descriptor "
				    "above 2",
		    (unsigned long long)fd);
	status = check_file((int)fd);
	if (status != EXIT_DONE)
		return status;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return report_no_memory();
	s->fd = (int)fd;
	pthread_mutex_init(&s->lock, NULL);
	/* The other side must not shrink the file while it is mapped here. If the file
	 * has no seals, it is trusted to keep its size. */
	(void)fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK);
	*out = s;
	return EXIT_DONE;
}

void
read_shared_fill(struct read_shared *s, lc_reader_options *how)
{
	how->alloc = allocate;
	how->free = give_back;
	how->alloc_ctx = s;
}

int
read_shared_failed(const struct read_shared *s)
{
	return s->error == 0 ? EXIT_DONE
			     : report_error(EXIT_SYSTEM,
				   "--shared: descriptor %d: no memory for a batch: %s",
				   s->fd, strerror(s->error));
}

void
read_shared_release(struct read_shared *s)
{
	for (size_t i = 0; i < s->n_held; i++)
		lc_batch_release(s->held[i]);
	s->n_held = 0;
}

void
read_shared_close(struct read_shared *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n_blocks; i++)
		munmap(s->blocks[i].memory, s->blocks[i].size);
	pthread_mutex_destroy(&s->lock);
	free(s->blocks);
	free(s->held);
	free(s);
}
