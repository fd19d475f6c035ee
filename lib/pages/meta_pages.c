/* SPDX-License-Identifier: BSD-2-Clause */
/* The two meta pages: which one is newer, and whether both are valid. */
#include <byteswap.h>
#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "pages/page_layout.h"
#include "pages/page_walk.h"
#include "pages/pages.h"

/* The source of the bytes: a descriptor, or memory if map is set. */
struct source {
	int fd;
	const unsigned char *map;
	uint64_t size;
	const char *path;
};

/* One reading of both meta pages. */
struct pair {
	unsigned char bytes[META_PAGES][META_END];
	uint32_t page_size; /* as page 0 states it */
	uint64_t file_size; /* taken after the bytes: a file only grows */
};

/* No file is this large; more would overflow the computations. */
static const uint64_t size_limit = (uint64_t)1 << 47;

static lc_status
read_at(const struct source *from, uint64_t offset, unsigned char *out, size_t size,
    size_t *got)
{
	ssize_t n;

	if (from->map != NULL) {
		const uint64_t left = offset < from->size ? from->size - offset : 0;
		*got = left < size ? (size_t)left : size;
		memcpy(out, from->map + (*got > 0 ? offset : 0), *got);
		return LC_OK;
	}
	do {
		n = pread(from->fd, out, size, (off_t)offset);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return lc__error_sys(errno, "%s: read", from->path);
	*got = (size_t)n;
	return LC_OK;
}

static lc_status
file_size(const struct source *from, uint64_t *out)
{
	struct stat st;

	if (from->map != NULL) {
		*out = from->size;
		return LC_OK;
	}
	if (fstat(from->fd, &st) != 0)
		return lc__error_sys(errno, "%s: stat", from->path);
	*out = (uint64_t)st.st_size;
	return LC_OK;
}

static bool
is_meta_page(const unsigned char *bytes, size_t size)
{
	return size == META_END && lc__native32(bytes + META_MAGIC) == PAGE_MAGIC &&
	    lc__native16(bytes + PAGE_FLAGS) == PAGE_META;
}

static bool
valid_page_size(uint32_t size)
{
	return size >= PAGE_SIZE_MIN && size <= PAGE_SIZE_MAX && (size & (size - 1)) == 0;
}

/* Page 0 is not a meta page: is this an LMDB file at all? */
static lc_status
judge_first_page(const struct source *from, const unsigned char *bytes, size_t size)
{
	unsigned char other[META_END];
	size_t got;

	if (size == META_END && lc__native32(bytes + META_MAGIC) == bswap_32(PAGE_MAGIC))
		return lc__error(LC_NOT_MODULE, 0,
		    "written on a machine of the other byte order");
	/* With 4-byte pointers the header of a page was 12 bytes. */
	if (size == META_END && lc__native32(bytes + META_MAGIC - 4) == PAGE_MAGIC)
		return lc__error(LC_NOT_MODULE, 0, "written on a 32-bit machine");
	if (size == META_END && lc__native32(bytes + META_MAGIC) == PAGE_MAGIC)
		return lc__error(LC_CORRUPT, 0, "page 0: flags 0x%x, not a meta page's",
		    lc__native16(bytes + PAGE_FLAGS));
	for (uint32_t at = PAGE_SIZE_MIN; at <= PAGE_SIZE_MAX; at *= 2) {
		return_if_error(read_at(from, at, other, sizeof(other), &got));
		if (is_meta_page(other, got) && lc__native64(other + PAGE_NUMBER) == 1)
			return lc__error(LC_CORRUPT, 0, "page 0: wrong magic number");
	}
	return lc__error(LC_NOT_MODULE, 0, "not an LMDB data file");
}

static lc_status
read_pair(const struct source *from, struct pair *out)
{
	size_t got;

	return_if_error(read_at(from, 0, out->bytes[0], META_END, &got));
	if (got == 0)
		return lc__error(LC_NOT_FOUND, 0, "empty file");
	if (!is_meta_page(out->bytes[0], got))
		return judge_first_page(from, out->bytes[0], got);
	out->page_size = lc__native32(out->bytes[0] + META_FREE_TREE + TREE_PAD);
	if (!valid_page_size(out->page_size))
		return lc__error(LC_CORRUPT, 0, "page 0: page size %u", out->page_size);
	return_if_error(read_at(from, out->page_size, out->bytes[1], META_END, &got));
	if (got < META_END)
		return lc__error(LC_CORRUPT, 0, "truncated: page 1 is missing");
	return file_size(from, &out->file_size);
}

void
lc__walk_read_tree(const unsigned char *bytes, struct lc__pages_tree *out)
{
	out->pad = lc__native32(bytes + TREE_PAD);
	out->flags = lc__native16(bytes + TREE_FLAGS);
	out->depth = lc__native16(bytes + TREE_DEPTH);
	out->branch_pages = lc__native64(bytes + TREE_BRANCH_PAGES);
	out->leaf_pages = lc__native64(bytes + TREE_LEAF_PAGES);
	out->overflow_pages = lc__native64(bytes + TREE_OVERFLOW_PAGES);
	out->entries = lc__native64(bytes + TREE_ENTRIES);
	out->root = lc__native64(bytes + TREE_ROOT);
}

/* Checks of both meta pages, the older one included. */
static lc_status
check_common(const struct pair *pair)
{
	const uint32_t version = lc__native32(pair->bytes[0] + META_VERSION);

	for (unsigned i = 0; i < META_PAGES; i++) {
		const unsigned char *b = pair->bytes[i];
		const uint32_t size = lc__native32(b + META_FREE_TREE + TREE_PAD);

		if (!is_meta_page(b, META_END))
			return lc__error(LC_CORRUPT, 0, "page %u: not a meta page", i);
		if (lc__native64(b + PAGE_NUMBER) != i)
			return lc__error(LC_CORRUPT, 0, "page %u: calls itself page %llu",
			    i, (unsigned long long)lc__native64(b + PAGE_NUMBER));
		if (lc__native32(b + META_VERSION) != version)
			return lc__error(LC_CORRUPT, 0,
			    "page %u: data version %u, page 0 has %u", i,
			    lc__native32(b + META_VERSION), version);
		if (size != pair->page_size)
			return lc__error(LC_CORRUPT, 0,
			    "page %u: page size %u, page 0 has %u", i, size,
			    pair->page_size);
	}
	if (version != PAGE_DATA_VERSION)
		return lc__error(LC_VERSION, 0, "LMDB data version %u, not %u", version,
		    PAGE_DATA_VERSION);
	return LC_OK;
}

/*
 * Every commit adds 1 to the number and writes the page of its parity, so the two differ
 * by 1; before the first commit (and in a compact copy of an empty file) both are 0.
 */
static lc_status
pick_newer(const struct pair *pair, unsigned *out)
{
	const uint64_t id[2] = { lc__native64(pair->bytes[0] + META_TXNID),
		lc__native64(pair->bytes[1] + META_TXNID) };
	const unsigned newer = id[1] > id[0];

	if ((id[0] | id[1]) != 0 &&
	    ((id[newer] & 1) != newer || id[newer] - id[!newer] != 1))
		return lc__error(LC_CORRUPT, 0,
		    "pages 0 and 1: transactions %llu and %llu do not follow each other",
		    (unsigned long long)id[0], (unsigned long long)id[1]);
	*out = newer;
	return LC_OK;
}

static lc_status
check_root(const char *what, const struct lc__pages_tree *tree,
    const struct lc__pages_meta *meta, uint64_t size)
{
	if (tree->root == PAGE_NONE)
		return LC_OK;
	if (tree->root < META_PAGES || tree->root > meta->last_page)
		return lc__error(LC_CORRUPT, 0, "%s: root page %llu of %llu", what,
		    (unsigned long long)tree->root, (unsigned long long)meta->last_page);
	if (tree->root >= size / meta->page_size)
		return lc__error(LC_CORRUPT, 0,
		    "truncated: root page %llu of the %s is past the end",
		    (unsigned long long)tree->root, what);
	return LC_OK;
}

/* liblmdb starts from the newer page. */
static lc_status
check_newer(const struct lc__pages_meta *meta, uint64_t size)
{
	const uint64_t page_limit = size_limit / meta->page_size;

	if (meta->last_page < META_PAGES - 1 || meta->last_page >= page_limit)
		return lc__error(LC_CORRUPT, 0, "meta page: last page %llu",
		    (unsigned long long)meta->last_page);
	if (meta->txnid == 0 && meta->last_page != META_PAGES - 1)
		return lc__error(LC_CORRUPT, 0,
		    "meta page: pages in use before the first transaction");
	if (meta->map_size < (meta->last_page + 1) * meta->page_size ||
	    meta->map_size > size_limit)
		return lc__error(LC_CORRUPT, 0, "meta page: map size %llu",
		    (unsigned long long)meta->map_size);
	return_if_error(check_root("free list", &meta->free_tree, meta, size));
	return check_root("main table", &meta->main_tree, meta, size);
}

static lc_status
judge_pair(const struct pair *pair, struct lc__pages_meta *out)
{
	const unsigned char *bytes;
	struct lc__pages_meta meta;
	unsigned newer = 0;

	return_if_error(check_common(pair));
	return_if_error(pick_newer(pair, &newer));
	bytes = pair->bytes[newer];
	meta.page_size = pair->page_size;
	meta.txnid = lc__native64(bytes + META_TXNID);
	meta.last_page = lc__native64(bytes + META_LAST_PAGE);
	meta.map_size = lc__native64(bytes + META_MAP_SIZE);
	lc__walk_read_tree(bytes + META_FREE_TREE, &meta.free_tree);
	lc__walk_read_tree(bytes + META_MAIN_TREE, &meta.main_tree);
	return_if_error(check_newer(&meta, pair->file_size));
	*out = meta;
	return LC_OK;
}

/*
 * Another process may be committing: one reading can mix two commits, or cut a page in
 * the middle. Two equal readings in a row are the content of the file. (The transaction
 * number is written last, so a half-written page still has its old number and is the
 * older of the two.)
 */
static lc_status
find_meta(const struct source *from, struct lc__pages_meta *out)
{
	enum { attempts = 50 };
	const struct timespec pause = { .tv_nsec = 200 * 1000 };
	struct pair pairs[2];
	lc_status status = LC_OK;

	memset(pairs, 0, sizeof(pairs));
	for (unsigned i = 0; i < attempts; i++) {
		struct pair *const now = &pairs[i % 2],
				   *const before = &pairs[(i + 1) % 2];

		memset(now, 0, sizeof(*now));
		status = read_pair(from, now);
		if (status != LC_OK && status != LC_CORRUPT && status != LC_NOT_MODULE)
			return status;
		if (i > 0 && memcmp(now->bytes, before->bytes, sizeof(now->bytes)) == 0) {
			if (status == LC_OK)
				status = judge_pair(now, out);
			/* Before damage is reported, it must be unchanged a little
			 * longer. */
			if (status == LC_OK || i >= 3)
				return status;
		}
		if (status != LC_OK)
			nanosleep(&pause, NULL);
	}
	return status != LC_OK
	    ? status
	    : lc__error(LC_BUSY, 0,
		  "other processes commit too fast to read the meta pages");
}

lc_status
lc__pages_check_header(int fd, const char *path, struct lc__pages_meta *out)
{
	const struct source from = { .fd = fd, .path = path };
	const lc_status status = find_meta(&from, out);

	/* The system's error has the path already. */
	if (status == LC_OK || lc_last_error()->sys != 0)
		return status;
	return lc__error_prefix("%s", path);
}

lc_status
lc__walk_find_meta(const unsigned char *map, uint64_t size, const char *path,
    struct lc__pages_meta *out)
{
	const struct source from = { .fd = -1, .map = map, .size = size, .path = path };

	return find_meta(&from, out);
}

/* ---- writing -------------------------------------------------------------------------- */

static void
put16(unsigned char *out, uint16_t v)
{
	memcpy(out, &v, sizeof(v));
}

static void
put32(unsigned char *out, uint32_t v)
{
	memcpy(out, &v, sizeof(v));
}

static void
put64(unsigned char *out, uint64_t v)
{
	memcpy(out, &v, sizeof(v));
}

static void
put_tree(unsigned char *out, const struct lc__pages_tree *tree)
{
	put32(out + TREE_PAD, tree->pad);
	put16(out + TREE_FLAGS, tree->flags);
	put16(out + TREE_DEPTH, tree->depth);
	put64(out + TREE_BRANCH_PAGES, tree->branch_pages);
	put64(out + TREE_LEAF_PAGES, tree->leaf_pages);
	put64(out + TREE_OVERFLOW_PAGES, tree->overflow_pages);
	put64(out + TREE_ENTRIES, tree->entries);
	put64(out + TREE_ROOT, tree->root);
}

void
lc__pages_put_metas(const struct lc__pages_meta *meta, unsigned char *pages)
{
	memset(pages, 0, (size_t)META_PAGES * meta->page_size);
	for (uint64_t id = meta->txnid - 1; id <= meta->txnid; id++) {
		unsigned char *page = pages + (id & 1) * meta->page_size;

		put64(page + PAGE_NUMBER, id & 1);
		put16(page + PAGE_FLAGS, PAGE_META);
		put32(page + META_MAGIC, PAGE_MAGIC);
		put32(page + META_VERSION, PAGE_DATA_VERSION);
		put64(page + META_MAP_SIZE, meta->map_size);
		put_tree(page + META_FREE_TREE, &meta->free_tree);
		put_tree(page + META_MAIN_TREE, &meta->main_tree);
		put64(page + META_LAST_PAGE, meta->last_page);
		put64(page + META_TXNID, id);
	}
}
