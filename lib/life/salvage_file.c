/* SPDX-License-Identifier: BSD-2-Clause */
/* The damaged file as bytes: reads it, finds its page size and its meta pages. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "life/salvage.h"
#include "pages/page_layout.h"

/* How much to read at once while reading the file from start to end. */
#define AHEAD ((uint64_t)1 << 20)

/* Fill the window with the bytes at an offset. */
static lc_status
read_window(struct lc__salvage_file *f, uint64_t at, size_t size)
{
	size_t done = 0;

	return_if_error(lc__array_reserve(&f->window, &f->window_room, size, "salvage"));
	f->window_size = 0;
	while (done < size) {
		const ssize_t n = pread(f->fd, f->window + done, size - done,
		    (off_t)(at + done));

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return lc__error_sys(errno, "%s: read", f->path);
		if (n == 0)
			return lc__error(LC_IO, 0, "%s: cut short while it was read",
			    f->path);
		done += (size_t)n;
	}
	f->window_at = at;
	f->window_size = size;
	return LC_OK;
}

lc_status
lc__salvage_at(struct lc__salvage_file *f, uint64_t at, uint64_t size,
    const unsigned char **out)
{
	const uint64_t window_end = f->window_at + f->window_size;
	uint64_t wanted = size;

	if (at > f->size || size > f->size - at)
		return lc__error(LC_CORRUPT, 0, "%s: ends before byte %llu", f->path,
		    (unsigned long long)(at + size));
	if (f->fd == -1) {
		*out = f->bytes + at;
		return LC_OK;
	}
	if (at < f->window_at || at + size > window_end) {
		/* Read ahead if these bytes followed the last ones. */
		if (at >= f->window_at && at <= window_end && size < AHEAD)
			wanted = f->size - at < AHEAD ? f->size - at : AHEAD;
		return_if_error(read_window(f, at, (size_t)wanted));
	}
	*out = f->window + (at - f->window_at);
	return LC_OK;
}

lc_status
lc__salvage_step(struct lc__salvage *s, uint64_t bytes)
{
	s->done += bytes;
	return lc__progress_step(s->progress, s->done,
	    s->done > s->total ? s->done : s->total, "salvage");
}

/* ---- the size of a page --------------------------------------------------- */

/* The page size in a meta page; 0 if there is none. */
static lc_status
named_size(struct lc__salvage_file *f, uint64_t at, uint32_t *out)
{
	const unsigned char *page;
	uint32_t size;

	*out = 0;
	if (at + META_END > f->size)
		return LC_OK;
	return_if_error(lc__salvage_at(f, at, META_END, &page));
	size = lc__native32(page + META_FREE_TREE + TREE_PAD);
	if (lc__native32(page + META_MAGIC) == PAGE_MAGIC && size >= PAGE_SIZE_MIN &&
	    size <= PAGE_SIZE_MAX && (size & (size - 1)) == 0)
		*out = size;
	return LC_OK;
}

/* Count the pages that contain their own number, if this is the page size. A wrong size
 * gives only a few: its page n starts at a page of another number. */
static lc_status
count_pages(struct lc__salvage_file *f, uint32_t size, uint64_t *out)
{
	const uint64_t most = 65536;
	const unsigned char *page;

	*out = 0;
	for (uint64_t n = 1; n < most && n * size + PAGE_HEADER <= f->size; n++) {
		unsigned flags;

		return_if_error(lc__salvage_at(f, n * size, PAGE_HEADER, &page));
		flags = lc__native16(page + PAGE_FLAGS);
		*out += lc__native64(page) == n &&
		    (flags == PAGE_BRANCH || flags == PAGE_LEAF ||
			flags == PAGE_OVERFLOW);
	}
	return LC_OK;
}

static lc_status
find_page_size(struct lc__salvage *s)
{
	struct lc__salvage_file *f = s->file;
	uint64_t best = 0, count;
	uint32_t first, second;

	/* Both meta pages agree in all files that are not damaged. */
	return_if_error(named_size(f, 0, &first));
	if (first != 0) {
		return_if_error(named_size(f, first, &second));
		if (second == first) {
			s->page_size = first;
			return LC_OK;
		}
	}
	for (uint32_t size = PAGE_SIZE_MIN; size <= PAGE_SIZE_MAX; size *= 2) {
		return_if_error(count_pages(f, size, &count));
		return_if_error(named_size(f, size, &second));
		count += (size == first) + (size == second);
		if (count > best) {
			best = count;
			s->page_size = size;
		}
	}
	return best > 0 ? LC_OK
			: lc__error(LC_NOT_MODULE, 0,
			      "%s: does not contain a page of a module", f->path);
}

/* ---- the meta pages ------------------------------------------------------- */

static void
read_meta(const struct lc__salvage *s, unsigned n, const unsigned char *page,
    struct lc__salvage_meta *out)
{
	out->txnid = lc__native64(page + META_TXNID);
	out->last_page = lc__native64(page + META_LAST_PAGE);
	out->free_root = lc__native64(page + META_FREE_TREE + TREE_ROOT);
	out->free_entries = lc__native64(page + META_FREE_TREE + TREE_ENTRIES);
	out->main_root = lc__native64(page + META_MAIN_TREE + TREE_ROOT);
	out->main_entries = lc__native64(page + META_MAIN_TREE + TREE_ENTRIES);
	/* Transaction n writes page n & 1; in a new file both are 0. */
	out->good = lc__native32(page + META_MAGIC) == PAGE_MAGIC &&
	    lc__native32(page + META_VERSION) == PAGE_DATA_VERSION &&
	    lc__native32(page + META_FREE_TREE + TREE_PAD) == s->page_size &&
	    lc__native16(page + PAGE_FLAGS) == PAGE_META &&
	    (out->txnid == 0 || (out->txnid & 1) == n);
}

lc_status
lc__salvage_read_metas(struct lc__salvage *s)
{
	return_if_error(find_page_size(s));
	s->pages = (s->file->size + s->page_size - 1) / s->page_size;
	for (unsigned n = 0; n < META_PAGES; n++) {
		const unsigned char *page;

		if ((uint64_t)n * s->page_size + META_END > s->file->size)
			continue;
		return_if_error(
		    lc__salvage_at(s->file, (uint64_t)n * s->page_size, META_END, &page));
		read_meta(s, n, page, &s->meta[n]);
	}
	return LC_OK;
}
