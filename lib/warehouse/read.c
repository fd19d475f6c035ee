/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads samples from the shards of a warehouse. */
#include "warehouse/read.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "format/twh1.h"
#include "warehouse/verify.h"
#include "warehouse/warehouse.h"

/* The word: offset of the cache_id in its row, its size, and two flags. */
#define KNOWN ((uint64_t)1 << 63)
#define DECODE ((uint64_t)1 << 62) /* its row must be read again: another shape */
#define SIZE_SHIFT 40
#define SIZE_MASK (((uint64_t)1 << 20) - 1)
#define OFFSET_MASK (((uint64_t)1 << SIZE_SHIFT) - 1)

lc_status
lc__wshard_bad_row(const struct lc__wshard *shard, uint64_t i)
{
	return lc__error(LC_CORRUPT, 0, "%s: metadata of sample %llu is damaged",
	    shard->path, (unsigned long long)i);
}

void
lc__sample_copy(const lc_sample *sample, void *const out[3])
{
	const lc_tensor *parts[3] = { &sample->image, &sample->boxes, &sample->mask };

	for (int i = 0; i < 3; i++)
		if (out[i] != NULL && parts[i]->nbytes > 0)
			memcpy(out[i], parts[i]->data, parts[i]->nbytes);
}

/* ---- remembering samples --------------------------------------------------------- */

void
lc__known_store(struct lc__wshard *shard, uint64_t i, const lc_sample *sample)
{
	const lc_tensor *image = &sample->image, *form = &shard->form.image;
	uint64_t word = KNOWN, offset;

	if (shard->known == NULL)
		return;
	if (sample->id.size > 0) {
		offset = (uint64_t)((const char *)sample->id.data -
		    (const char *)sample->meta.data);
		if (offset > OFFSET_MASK || sample->id.size > SIZE_MASK)
			word |= DECODE;
		else
			word |= offset | sample->id.size << SIZE_SHIFT;
	}
	if (image->ndim != form->ndim ||
	    memcmp(image->shape, form->shape, form->ndim * sizeof(*form->shape)) != 0)
		word |= DECODE;
	atomic_store_explicit(&shard->known[i], word, memory_order_relaxed);
}

uint64_t
lc__known_load(const struct lc__wshard *shard, uint64_t i)
{
	return shard->known == NULL
	    ? KNOWN
	    : atomic_load_explicit(&shard->known[i], memory_order_relaxed);
}

bool
lc__known_decodes(uint64_t word)
{
	return (word & DECODE) != 0;
}

bool
lc__known_id(uint64_t word, lc_id row, lc_id *out)
{
	const uint64_t offset = word & OFFSET_MASK;
	const uint64_t size = word >> SIZE_SHIFT & SIZE_MASK;

	if (offset > row.size || size > row.size - offset)
		return false;
	out->data = size > 0 ? (const char *)row.data + offset : NULL;
	out->size = (size_t)size;
	return true;
}

/* ---- reading ---------------------------------------------------------------- */

static lc_status
verify(struct lc__wshard *shard, struct lc__sample_range range, uint64_t i,
    struct lc__cost *cost)
{
	if (lc__range_good(shard, range))
		return LC_OK;
	if (shard->supplier != NULL)
		return lc__range_supply(shard, range, i, cost);
	return lc__range_verify(shard, range, shard->twh1.file + range.from, i, cost);
}

/* Verify the offsets before using them. */
static lc_status
verify_sample(struct lc__wshard *shard, uint64_t i, struct lc__cost *cost)
{
	const struct lc__twh1 *t = &shard->twh1;
	lc_id row;

	return_if_error(verify(shard, lc__image_range(t, i), i, cost));
	return_if_error(verify(shard, lc__boxes_range(t, i), i, cost));
	return_if_error(verify(shard, lc__mask_range(t, i), i, cost));
	if (t->rows == NULL)
		return LC_OK;
	return_if_error(verify(shard, lc__offsets_range(t, i), i, cost));
	if (!lc__twh1_row_at(t, i, &row))
		return lc__wshard_bad_row(shard, i);
	return verify(shard, lc__row_range(t, row), i, cost);
}

lc_status
lc__wshard_sample(struct lc__wshard *shard, uint64_t i, struct lc__cost *cost,
    lc_sample *out)
{
	const uint64_t word = lc__known_load(shard, i);
	lc_id row = { NULL, 0 }, id;
	lc_sample sample;

	if (shard->good != NULL && (word == 0 || shard->always || shard->ranged))
		return_if_error(verify_sample(shard, i, cost));
	if (word == 0) {
		return_if_error(lc__twh1_sample(&shard->twh1, shard->path, i, &sample));
		lc__known_store(shard, i, &sample);
		*out = sample;
		return LC_OK;
	}
	if (shard->twh1.rows != NULL && !lc__twh1_row_at(&shard->twh1, i, &row))
		return lc__wshard_bad_row(shard, i);
	if (lc__known_decodes(word)) {
		/* Its row gives the image another shape. */
		sample = shard->form;
		lc__twh1_place(&shard->twh1, i, &sample);
		if (!lc__twh1_read_row(&shard->twh1.info, row, &sample))
			return lc__wshard_bad_row(shard, i);
		*out = sample;
		return LC_OK;
	}
	if (!lc__known_id(word, row, &id))
		return lc__wshard_bad_row(shard, i);
	*out = shard->form;
	lc__twh1_place(&shard->twh1, i, out);
	out->meta = row;
	out->id = id;
	return LC_OK;
}

/* ---- prefetching ----------------------------------------------------------------- */

#define PIECE ((uint64_t)512 << 10)
#define WINDOW ((uint64_t)8 << 20) /* bytes of images ahead of a sequential reader */

/* In pieces, since Linux limits the size of one request. Without a file (@p fd is -1),
 * for pages of the map. */
static void
ask(const struct lc__wshard *shard, int fd, struct lc__sample_range range)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (uint64_t from = range.from; from < range.to; from += PIECE) {
		const uint64_t left = range.to - from;
		const uint64_t to = from + (left < PIECE ? left : PIECE);

		if (fd == -1)
			(void)madvise((void *)(shard->twh1.file + (from & ~(page - 1))),
			    (size_t)(to - (from & ~(page - 1))), MADV_WILLNEED);
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

/* Rows are not prefetched: they are small, and their positions are not verified yet. */
static void
ask_samples(const struct lc__wshard *shard, int fd, uint64_t from, uint64_t to)
{
	const struct lc__twh1 *t = &shard->twh1;

	ask(shard, fd, join(lc__image_range(t, from), lc__image_range(t, to - 1)));
	ask(shard, fd, join(lc__boxes_range(t, from), lc__boxes_range(t, to - 1)));
	ask(shard, fd, join(lc__mask_range(t, from), lc__mask_range(t, to - 1)));
}

/* Prefetch samples [from, to) of one shard. If a file cannot be opened, that is reported
 * when it is read: this call succeeds, and keeps the last error. */
static void
ask_shard(struct lc__shardset *set, size_t i, uint64_t from, uint64_t to)
{
	const lc_error before = *lc_last_error();
	struct lc__wshard *shard;
	struct lc__wtaken file;

	if (lc__shardset_take(set, i, &shard) != LC_OK) {
		lc__error_raise(&before);
		return;
	}
	if (set->mode == LC_WAREHOUSE_MAP) {
		ask_samples(shard, -1, from, to);
	} else if (lc__wfiles_take(&set->files, &shard->file, shard->path, &file) ==
	    LC_OK) {
		ask_samples(shard, file.fd, from, to);
		lc__wfiles_give(&set->files, &file);
	} else {
		lc__error_raise(&before);
	}
	lc__shardset_give(set, shard);
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
		const size_t i = lc__shardset_find(set, first, &at);

		here = lc__setparts_samples(&set->said, i) - at;
		if (here > n)
			here = n;
		ask_shard(set, i, at, at + here);
		first += here;
		n -= here;
	}
}

/* Threads that race prefetch twice or not at all, which is harmless. */
void
lc__ahead_follow(struct lc__shardset *set, struct lc__stream *stream,
    const struct lc__wshard *shard, uint64_t i)
{
	uint64_t window, asked;

	if (atomic_exchange_explicit(&stream->next, i + 1, memory_order_relaxed) != i)
		return;
	window = 1 + WINDOW / (shard->twh1.sizes.image + 1);
	asked = atomic_load_explicit(&stream->asked, memory_order_relaxed);
	if (asked > i + window / 2 && asked <= i + 1 + window)
		return;
	if (asked <= i || asked > i + 1 + window)
		asked = i + 1;
	lc__ahead_ask(set, asked, i + 1 + window - asked);
	atomic_store_explicit(&stream->asked, i + 1 + window, memory_order_relaxed);
}

/* ---- for the caller ----------------------------------------------------------------- */

static lc_status
no_such_sample(const struct lc_warehouse *w, uint64_t i)
{
	return lc__error(LC_NOT_FOUND, 0, "%s: no sample %llu; there are %llu samples",
	    w->dir, (unsigned long long)i, (unsigned long long)w->set.samples);
}

/* A sample in place keeps its shard open. */
static lc_status
sample_in_place(struct lc__shardset *set, struct lc__wshard *shard, uint64_t at,
    lc_sample *out)
{
	const lc_status status = lc__wshard_sample(shard, at, &set->cost, out);

	if (status == LC_OK && set->shards == NULL)
		out->keeps = shard;
	else
		lc__shardset_give(set, shard);
	return status;
}

lc_status
lc_warehouse_sample(lc_warehouse *w, uint64_t i, lc_sample *out)
{
	struct lc__wshard *shard;
	lc_status status;
	uint64_t at;

	if (i >= w->set.samples)
		return no_such_sample(w, i);
	lc__cost_add(&w->set.cost, LC__COST_SAMPLES, 1);
	return_if_error(
	    lc__shardset_take(&w->set, lc__shardset_find(&w->set, i, &at), &shard));
	if (w->set.mode != LC_WAREHOUSE_STREAM)
		return sample_in_place(&w->set, shard, at, out);
	lc__ahead_follow(&w->set, &w->stream, shard, i);
	status = lc__stream_sample(&w->stream, &w->set, shard, at, out);
	lc__shardset_give(&w->set, shard);
	return status;
}

void
lc_warehouse_release(lc_warehouse *w, lc_sample *sample)
{
	if (w->set.mode == LC_WAREHOUSE_STREAM)
		lc__stream_release(&w->stream, sample);
	if (sample->keeps != NULL)
		lc__shardset_give(&w->set, sample->keeps);
	/* So that a second release is harmless, and a use after it is detected. */
	sample->image.data = sample->boxes.data = sample->mask.data = NULL;
	sample->id = sample->meta = (lc_id){ NULL, 0 };
	sample->keeps = NULL;
}

static lc_status
copy(struct lc_warehouse *w, struct lc__wshard *shard, uint64_t at, void *const out[3])
{
	lc_sample sample;

	if (w->set.mode == LC_WAREHOUSE_STREAM)
		return lc__stream_copy(&w->stream, &w->set, shard, at, out);
	return_if_error(lc__wshard_sample(shard, at, &w->set.cost, &sample));
	lc__sample_copy(&sample, out);
	return LC_OK;
}

lc_status
lc_warehouse_copy(lc_warehouse *w, uint64_t i, void *image, void *boxes, void *mask)
{
	void *const out[3] = { image, boxes, mask };
	struct lc__wshard *shard;
	lc_status status;
	uint64_t at;

	if (i >= w->set.samples)
		return no_such_sample(w, i);
	lc__cost_add(&w->set.cost, LC__COST_SAMPLES, 1);
	return_if_error(
	    lc__shardset_take(&w->set, lc__shardset_find(&w->set, i, &at), &shard));
	if (w->set.mode == LC_WAREHOUSE_STREAM)
		lc__ahead_follow(&w->set, &w->stream, shard, i);
	status = copy(w, shard, at, out);
	lc__shardset_give(&w->set, shard);
	return status;
}

void
lc_warehouse_prefetch(lc_warehouse *w, uint64_t first, uint64_t n)
{
	lc__ahead_ask(&w->set, first, n);
}
