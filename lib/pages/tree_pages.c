/* SPDX-License-Identifier: BSD-2-Clause */
/* The pages of one B-tree: layout, order, depth, counts. */
#include "base/error.h"
#include "pages/page_layout.h"
#include "pages/page_walk.h"

typedef unsigned long long ull;

static lc_status walk_page(struct lc__page_walk *walk, struct lc__walk_tree *tree,
    uint64_t number, unsigned level);

static const unsigned char *
page_at(const struct lc__page_walk *walk, uint64_t number)
{
	return walk->map + number * walk->report->meta.page_size;
}

/* The bytes of a node on its page, padded to an even number. */
static uint64_t
node_size(const struct lc__tree_page *page, uint32_t offset)
{
	const unsigned char *node = page->bytes + offset;
	uint64_t size = NODE_HEADER + (uint64_t)lc__native16(node + NODE_KEY_SIZE);

	if (!page->branch)
		size += lc__native16(node + NODE_FLAGS) & NODE_OVERFLOW
		    ? sizeof(uint64_t)
		    : lc__native32(node + NODE_SIZE);
	return (size + 1) & ~(uint64_t)1;
}

lc_status
lc__walk_claim(struct lc__page_walk *walk, uint64_t page, uint64_t count)
{
	if (walk->used == NULL)
		return LC_OK;
	while (count > 0) {
		uint64_t *const word = &walk->used[page / 64];
		const unsigned shift = page % 64;
		const uint64_t n = count < 64 - shift ? count : 64 - shift;
		const uint64_t bits = (n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1)
		    << shift;
		const uint64_t twice = *word & bits;

		if (twice != 0)
			return lc__error(LC_CORRUPT, 0, "page %llu: used twice",
			    (ull)(page - shift + (unsigned)__builtin_ctzll(twice)));
		*word |= bits;
		page += n;
		count -= n;
	}
	return LC_OK;
}

/* The nodes are out of order on the page: do they fill upper..size without gap or
 * overlap? */
static lc_status
check_tiling(const struct lc__tree_page *page)
{
	uint64_t starts[PAGE_SIZE_MAX / 2 / 64]; /* a bit for each even offset */
	uint32_t at = page->upper;
	uint32_t found = 0;

	memset(starts, 0, page->size / 16);
	for (uint32_t i = 0; i < page->nodes; i++) {
		const uint32_t unit = lc__node_offset(page, i) / 2;
		starts[unit / 64] |= (uint64_t)1 << unit % 64;
	}
	while (at < page->size && (starts[at / 2 / 64] >> (at / 2 % 64) & 1)) {
		at += (uint32_t)node_size(page, at);
		found++;
	}
	if (at != page->size || found != page->nodes)
		return lc__error(LC_CORRUPT, 0,
		    "page %llu: its nodes do not fill it: gap or overlap at byte %u",
		    (ull)page->number, at);
	return LC_OK;
}

lc_status
lc__tree_page_check(const struct lc__tree_page *page)
{
	uint32_t end = page->size;
	bool in_order = true; /* the usual case after appends: each node before the last
	                       * one */

	for (uint32_t i = 0; i < page->nodes; i++) {
		const uint32_t offset = lc__node_offset(page, i);
		uint64_t size;

		if (offset < page->upper || offset > page->size - NODE_HEADER ||
		    (offset & 1) != 0)
			return lc__error(LC_CORRUPT, 0, "page %llu: node %u: offset %u",
			    (ull)page->number, i, offset);
		size = node_size(page, offset);
		if (size > page->size - offset)
			return lc__error(LC_CORRUPT, 0,
			    "page %llu: node %u: %llu bytes at offset %u",
			    (ull)page->number, i, (ull)size, offset);
		in_order &= offset + size == end;
		end = offset;
	}
	if (in_order && end == page->upper)
		return LC_OK;
	return check_tiling(page);
}

lc_status
lc__tree_page_open(const unsigned char *map, uint32_t size, uint64_t number, bool branch,
    struct lc__tree_page *out)
{
	const unsigned char *bytes = map + number * size;
	const unsigned flags = lc__native16(bytes + PAGE_FLAGS);
	const uint32_t lower = lc__native16(bytes + PAGE_LOWER);
	const uint32_t upper = lc__native16(bytes + PAGE_UPPER);

	if (lc__native64(bytes + PAGE_NUMBER) != number)
		return lc__error(LC_CORRUPT, 0, "page %llu: calls itself page %llu",
		    (ull)number, (ull)lc__native64(bytes + PAGE_NUMBER));
	if (flags != (branch ? PAGE_BRANCH : PAGE_LEAF))
		return lc__error(LC_CORRUPT, 0,
		    "page %llu: flags 0x%x where a %s was expected", (ull)number, flags,
		    branch ? "branch" : "leaf");
	/* A branch has at least two children, a leaf at least one key. */
	if (lower < PAGE_HEADER + (branch ? 4 : 2) || (lower & 1) != 0 || upper < lower ||
	    upper > size || (upper & 1) != 0)
		return lc__error(LC_CORRUPT, 0, "page %llu: free space from %u to %u",
		    (ull)number, lower, upper);
	out->bytes = bytes;
	out->number = number;
	out->size = size;
	out->upper = upper;
	out->nodes = (lower - PAGE_HEADER) / 2;
	out->branch = branch;
	return LC_OK;
}

static lc_status
check_key_size(struct lc__walk_tree *tree, uint64_t page, uint32_t i, uint32_t size)
{
	if (size < 1 || size > NODE_KEY_MAX)
		return lc__error(LC_CORRUPT, 0, "page %llu: node %u: key of %u bytes",
		    (ull)page, i, size);
	if (!(tree->record->flags & TREE_INTEGER_KEYS))
		return LC_OK;
	if (tree->key_size == 0 && (size == 4 || size == 8))
		tree->key_size = size;
	if (size != tree->key_size)
		return lc__error(LC_CORRUPT, 0,
		    "page %llu: node %u: integer key of %u bytes", (ull)page, i, size);
	return LC_OK;
}

/*
 * Keys are visited in order: keys of leaves ascend, and a key of a branch is above all
 * keys to its left and not above any to its right.
 */
static lc_status
next_key(struct lc__walk_tree *tree, const struct lc__tree_page *page, uint32_t i,
    const unsigned char *key, uint32_t size)
{
	int order;

	return_if_error(check_key_size(tree, page->number, i, size));
	if (tree->last_key != NULL) {
		order = tree->record->flags & TREE_INTEGER_KEYS
		    ? lc__key_compare_integers(tree->last_key, key, size)
		    : lc__key_compare_bytes(tree->last_key, tree->last_size, key, size);
		if (order > 0 || (order == 0 && !tree->last_separates))
			return lc__error(LC_CORRUPT, 0,
			    "page %llu: node %u: key out of order", (ull)page->number, i);
	}
	tree->last_key = key;
	tree->last_size = size;
	tree->last_separates = page->branch;
	return LC_OK;
}

/* The header of overflow pages, which liblmdb uses to free and copy them. */
static lc_status
check_run(const unsigned char *bytes, uint64_t number, uint64_t at_least, uint64_t limit,
    uint64_t *pages)
{
	*pages = lc__native32(bytes + PAGE_RUN);
	if (lc__native64(bytes + PAGE_NUMBER) != number)
		return lc__error(LC_CORRUPT, 0, "page %llu: calls itself page %llu",
		    (ull)number, (ull)lc__native64(bytes + PAGE_NUMBER));
	if (lc__native16(bytes + PAGE_FLAGS) != PAGE_OVERFLOW)
		return lc__error(LC_CORRUPT, 0,
		    "page %llu: flags 0x%x where an overflow page was expected",
		    (ull)number, lc__native16(bytes + PAGE_FLAGS));
	if (*pages < at_least || *pages > limit)
		return lc__error(LC_CORRUPT, 0,
		    "page %llu: %llu overflow pages for a value of %llu", (ull)number,
		    (ull)*pages, (ull)at_least);
	return LC_OK;
}

static lc_status
check_overflow(struct lc__page_walk *walk, struct lc__walk_tree *tree, uint32_t i,
    const unsigned char *reference, struct lc__walk_entry *entry)
{
	const uint32_t page_size = walk->report->meta.page_size;
	const uint64_t first = lc__native64(reference);
	uint64_t pages = lc__overflow_pages(entry->size, page_size);

	if (first < META_PAGES || first > walk->report->meta.last_page)
		return lc__error(LC_CORRUPT, 0,
		    "page %llu: node %u: value on page %llu of %llu", (ull)entry->page, i,
		    (ull)first, (ull)walk->report->meta.last_page);
	if (first >= walk->end || pages > walk->end - first)
		return lc__error(LC_CORRUPT, 0,
		    "page %llu: node %u: %s%llu pages from %llu leave the file's %llu",
		    (ull)entry->page, i,
		    walk->end == walk->file_pages ? "truncated: " : "", (ull)pages,
		    (ull)first, (ull)walk->end);
	if (walk->options->thorough || tree->read_values) {
		return_if_error(check_run(page_at(walk, first), first, pages,
		    walk->end - first, &pages));
		entry->value = page_at(walk, first) + PAGE_HEADER;
	}
	tree->counted.overflow_pages += pages;
	return lc__walk_claim(walk, first, pages);
}

static lc_status
walk_entry(struct lc__page_walk *walk, struct lc__walk_tree *tree,
    const struct lc__tree_page *page, uint32_t i)
{
	const unsigned char *node = page->bytes + lc__node_offset(page, i);
	const uint32_t key_size = lc__native16(node + NODE_KEY_SIZE);
	const unsigned char *data = node + NODE_HEADER + key_size;
	struct lc__walk_entry entry = {
		.key = node + NODE_HEADER,
		.key_size = key_size,
		.flags = lc__native16(node + NODE_FLAGS),
		.size = lc__native32(node + NODE_SIZE),
		.page = page->number,
	};

	return_if_error(next_key(tree, page, i, entry.key, key_size));
	if (entry.flags == NODE_OVERFLOW) {
		return_if_error(check_overflow(walk, tree, i, data, &entry));
	} else {
		/* At least two nodes fit on any page, else a page could not be split. */
		const uint64_t most = ((page->size - PAGE_HEADER) / 2 & ~1u) - 2;

		if (NODE_HEADER + key_size + entry.size > most)
			return lc__error(LC_CORRUPT, 0,
			    "page %llu: node %u: value of %llu bytes on a leaf",
			    (ull)page->number, i, (ull)entry.size);
		entry.value = data;
	}
	if (entry.flags > NODE_OVERFLOW &&
	    (entry.flags != NODE_TREE || tree->entry == NULL))
		return lc__error(LC_CORRUPT, 0, "page %llu: node %u: flags 0x%x",
		    (ull)page->number, i, entry.flags);
	return tree->entry != NULL ? tree->entry(walk, &entry) : LC_OK;
}

static lc_status
walk_child(struct lc__page_walk *walk, struct lc__walk_tree *tree,
    const struct lc__tree_page *page, uint32_t i, unsigned level)
{
	const unsigned char *node = page->bytes + lc__node_offset(page, i);
	const uint64_t child = lc__node_child(node);

	/* The first key of a branch page counts as minus infinity, whatever its bytes. */
	if (i > 0)
		return_if_error(next_key(tree, page, i, node + NODE_HEADER,
		    lc__native16(node + NODE_KEY_SIZE)));
	else if (lc__native16(node + NODE_KEY_SIZE) > NODE_KEY_MAX)
		return check_key_size(tree, page->number, i,
		    lc__native16(node + NODE_KEY_SIZE));
	if (child < META_PAGES || child > walk->report->meta.last_page)
		return lc__error(LC_CORRUPT, 0,
		    "page %llu: node %u: child page %llu of %llu", (ull)page->number, i,
		    (ull)child, (ull)walk->report->meta.last_page);
	return walk_page(walk, tree, child, level - 1);
}

/* Would this many further pages be too many? */
static bool
exceeds_budget(const struct lc__page_walk *walk, uint64_t pages)
{
	const struct lc__pages_options *options = walk->options;

	return options->max_pages != 0 && !options->thorough &&
	    walk->report->tree_pages + pages > options->max_pages;
}

/* The pages of a tree that the walk will visit, as its record counts them. */
static uint64_t
pages_to_walk(const struct lc__walk_tree *tree)
{
	const struct lc__pages_tree *record = tree->record;
	const uint64_t most = UINT64_MAX / 4;

	/* A record is untrusted. */
	if (record->branch_pages > most || record->leaf_pages > most ||
	    record->overflow_pages > most)
		return most;
	return record->branch_pages + record->leaf_pages +
	    (tree->read_values ? record->overflow_pages : 0);
}

/* The page of a subtree. Recursion ends at level 0: at most 32 levels. */
static lc_status
walk_page(struct lc__page_walk *walk, struct lc__walk_tree *tree, uint64_t number,
    unsigned level)
{
	struct lc__tree_page page;

	if (exceeds_budget(walk, 1))
		tree->cut = true;
	if (tree->cut)
		return LC_OK;
	if (number >= walk->end)
		return lc__error(LC_CORRUPT, 0, "truncated: page %llu of %llu is missing",
		    (ull)number, (ull)walk->report->meta.last_page);
	walk->report->tree_pages++;
	return_if_error(lc__walk_claim(walk, number, 1));
	return_if_error(lc__tree_page_open(walk->map, walk->report->meta.page_size,
	    number, level > 1, &page));
	return_if_error(lc__tree_page_check(&page));
	if (!page.branch) {
		tree->counted.leaf_pages++;
		tree->counted.entries += page.nodes;
	} else {
		tree->counted.branch_pages++;
	}
	for (uint32_t i = 0; i < page.nodes; i++) {
		if (!page.branch)
			return_if_error(walk_entry(walk, tree, &page, i));
		else
			return_if_error(walk_child(walk, tree, &page, i, level));
	}
	return LC_OK;
}

static lc_status
check_count(const char *what, uint64_t found, uint64_t recorded)
{
	if (found == recorded)
		return LC_OK;
	return lc__error(LC_CORRUPT, 0, "%llu %s, its record says %llu", (ull)found, what,
	    (ull)recorded);
}

static lc_status
check_counts(const struct lc__page_walk *walk, const struct lc__walk_tree *tree)
{
	const struct lc__pages_tree *found = &tree->counted, *record = tree->record;

	return_if_error(
	    check_count("branch pages", found->branch_pages, record->branch_pages));
	return_if_error(check_count("leaf pages", found->leaf_pages, record->leaf_pages));
	return_if_error(check_count("entries", found->entries, record->entries));
	/* Without the headers only the least number of pages is known. */
	if (!walk->options->thorough && !tree->read_values && found->overflow_pages > 0 &&
	    found->overflow_pages <= record->overflow_pages)
		return LC_OK;
	return check_count("overflow pages", found->overflow_pages,
	    record->overflow_pages);
}

lc_status
lc__walk_tree(struct lc__page_walk *walk, struct lc__walk_tree *tree)
{
	const struct lc__pages_tree *record = tree->record;
	const uint64_t last_page = walk->report->meta.last_page;

	if (record->root == PAGE_NONE) {
		if (record->depth != 0)
			return lc__error(LC_CORRUPT, 0, "no root but a depth of %u",
			    record->depth);
		return check_counts(walk, tree);
	}
	if (record->root < META_PAGES || record->root > last_page)
		return lc__error(LC_CORRUPT, 0, "root page %llu of %llu",
		    (ull)record->root, (ull)last_page);
	if (record->depth < 1 || record->depth > TREE_DEPTH_MAX)
		return lc__error(LC_CORRUPT, 0, "depth of %u", record->depth);
	tree->cut = exceeds_budget(walk, pages_to_walk(tree));
	return_if_error(walk_page(walk, tree, record->root, record->depth));
	walk->report->overflow_pages += tree->counted.overflow_pages;
	if (!tree->cut)
		return check_counts(walk, tree);
	walk->report->complete = false;
	return LC_OK;
}

lc_status
lc__pages_check_value(const void *base, uint32_t page_size, const void *value,
    size_t size)
{
	const uint64_t offset = (uint64_t)((const char *)value - (const char *)base);
	const uint64_t pages = lc__overflow_pages(size, page_size);
	uint64_t found;

	/* On a leaf these bytes are the offsets of its nodes. */
	if (offset % page_size != PAGE_HEADER)
		return LC_OK;
	return check_run((const unsigned char *)value - PAGE_HEADER, offset / page_size,
	    pages, pages, &found);
}

const void *
lc__pages_base(const void *leaf_value, uint32_t page_size)
{
	/* A map begins at a page of the machine, which is at least as large as liblmdb's
	 * page. */
	const unsigned char *page = (const unsigned char *)leaf_value -
	    (uintptr_t)leaf_value % page_size;

	return page - lc__native64(page + PAGE_NUMBER) * page_size;
}
