/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/ahead.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "warehouse/verify.h"

#define PIECE ((uint64_t)512 << 10)
#define WINDOW ((uint64_t)8 << 20) /* bytes of images ahead of a sequential reader */

/* Pages of the map that may be had. */
static void
ask_map(const struct lc__wshard *shard, uint64_t from, uint64_t to)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	from &= ~(page - 1);
	(void)madvise((void *)(shard->twh1.file + from), (size_t)(to - from),
	    MADV_WILLNEED);
}

/* In pieces, as Linux cuts what is asked for in one call. */
static void
ask(const struct lc__wshard *shard, int fd, struct lc__sample_range range)
{
	for (uint64_t from = range.from; from < range.to; from += PIECE) {
		const uint64_t left = range.to - from;
		const uint64_t to = from + (left < PIECE ? left : PIECE);

		if (fd == -1)
			ask_map(shard, from, to);
		else
			(void)posix_fadvise(fd, (off_t)from, (off_t)(to - from),
			    POSIX_FADV_WILLNEED);
	}
}

/* From the first byte of one part to the last byte of another of the same kind. */
static struct lc__sample_range
join(struct lc__sample_range first, struct lc__sample_range last)
{
	return (struct lc__sample_range){ first.from, last.to };
}

/* Rows are left out: they are small, and where they are is not verified yet. */
static void
ask_samples(const struct lc__wshard *shard, int fd, uint64_t from, uint64_t to)
{
	const struct lc__twh1 *t = &shard->twh1;

	ask(shard, fd, join(lc__image_range(t, from), lc__image_range(t, to - 1)));
	ask(shard, fd, join(lc__boxes_range(t, from), lc__boxes_range(t, to - 1)));
	ask(shard, fd, join(lc__mask_range(t, from), lc__mask_range(t, to - 1)));
}

/* Samples [from, to) of one shard. A file that cannot be opened is told of when it
 * is read: this call succeeds, and leaves the last error alone. */
static void
ask_shard(struct lc__shardset *set, struct lc__wshard *shard, uint64_t from, uint64_t to)
{
	const lc_error before = *lc_last_error();
	struct lc__wtaken file;

	if (set->mode == LC_WAREHOUSE_MAP) {
		ask_samples(shard, -1, from, to);
	} else if (lc__wfiles_take(&set->files, &shard->file, shard->path, &file) ==
	    LC_OK) {
		ask_samples(shard, file.fd, from, to);
		lc__wfiles_give(&set->files, &file);
	} else {
		lc__error_raise(&before);
	}
}

void
lc__ahead_ask(struct lc__shardset *set, uint64_t first, uint64_t n)
{
	if (set->mode == LC_WAREHOUSE_MEMORY || first >= set->samples)
		return;
	if (n > set->samples - first)
		n = set->samples - first;
	while (n > 0) {
		uint64_t at, here;
		struct lc__wshard *shard = lc__shardset_find(set, first, &at);

		here = shard->twh1.info.samples - at;
		if (here > n)
			here = n;
		ask_shard(set, shard, at, at + here);
		first += here;
		n -= here;
	}
}

/* Threads that race ask twice or not at all, and nothing else comes of it. */
void
lc__ahead_follow(struct lc__shardset *set, struct lc__stream *stream, uint64_t i)
{
	uint64_t at, window, asked;
	const struct lc__wshard *shard;

	if (atomic_exchange_explicit(&stream->next, i + 1, memory_order_relaxed) != i)
		return;
	shard = lc__shardset_find(set, i, &at);
	window = 1 + WINDOW / (shard->twh1.sizes.image + 1);
	asked = atomic_load_explicit(&stream->asked, memory_order_relaxed);
	if (asked > i + window / 2 && asked <= i + 1 + window)
		return;
	if (asked <= i || asked > i + 1 + window)
		asked = i + 1;
	lc__ahead_ask(set, asked, i + 1 + window - asked);
	atomic_store_explicit(&stream->asked, i + 1 + window, memory_order_relaxed);
}
