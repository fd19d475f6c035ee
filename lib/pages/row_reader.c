/* SPDX-License-Identifier: BSD-2-Clause */
#include "pages/row_reader.h"

#include "base/error.h"
#include "pages/page_walk.h"

typedef unsigned long long ull;

/* A key in a page or from the caller. */
struct key {
	const unsigned char *bytes;
	uint32_t size;
};

static int
compare(const struct lc__row_place *place, const struct key *a, const struct key *b)
{
	return place->key_size != 0
	    ? lc__key_compare_integers(a->bytes, b->bytes, place->key_size)
	    : lc__key_compare_bytes(a->bytes, a->size, b->bytes, b->size);
}

/* ---- nodes ---------------------------------------------------------------- */

static __attribute__((noinline, cold)) lc_status
bad_node(const struct lc__tree_page *page, uint32_t i)
{
	return lc__error(LC_CORRUPT, 0,
	    "page %llu: node %u: %u bytes of key at offset %u", (ull)page->number, i,
	    lc__node_offset(page, i) <= page->size - NODE_HEADER
		? lc__native16(page->bytes + lc__node_offset(page, i) + NODE_KEY_SIZE)
		: 0,
	    lc__node_offset(page, i));
}

/* Node @p i of a page and its key; false unless both are inside the page. */
static bool
node_at(const struct lc__row_place *place, const struct lc__tree_page *page, uint32_t i,
    const unsigned char **node, struct key *key)
{
	const uint32_t offset = lc__node_offset(page, i);

	if (offset < PAGE_HEADER || offset > page->size - NODE_HEADER)
		return false;
	*node = page->bytes + offset;
	key->bytes = *node + NODE_HEADER;
	key->size = lc__native16(*node + NODE_KEY_SIZE);
	return key->size <= page->size - NODE_HEADER - offset &&
	    (place->key_size == 0 || key->size == place->key_size);
}

/* In a leaf, the first node with a key >= the given one, or the position after the last;
 * in a branch, the last node with a key <= it. The first key of a branch counts as minus
 * infinity. */
static lc_status
search(const struct lc__row_place *place, const struct lc__tree_page *page,
    const struct key *sought, uint32_t *out)
{
	uint32_t low = page->branch, high = page->nodes;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const unsigned char *node;
		struct key key;
		int order;

		if (!node_at(place, page, middle, &node, &key))
			return bad_node(page, middle);
		order = compare(place, &key, sought);
		if (order < 0 || (order == 0 && page->branch))
			low = middle + 1;
		else
			high = middle;
	}
	*out = page->branch ? low - 1 : low;
	return LC_OK;
}

/* ---- pages ---------------------------------------------------------------- */

static lc_status
open_page(struct lc__row_place *place, uint64_t number, unsigned level, bool whole)
{
	if (number < META_PAGES || number >= place->map.pages)
		return lc__error(LC_CORRUPT, 0, "page %llu of the file's %llu",
		    (ull)number, (ull)place->map.pages);
	place->pages_read++;
	return_if_error(lc__tree_page_open(place->map.bytes, place->map.page_size, number,
	    level + 1 < place->depth, &place->level[level].page));
	return whole ? lc__tree_page_check(&place->level[level].page) : LC_OK;
}

static lc_status
open_child(struct lc__row_place *place, unsigned level, bool whole)
{
	const struct lc__tree_page *page = &place->level[level].page;
	const uint32_t offset = lc__node_offset(page, place->level[level].node);

	if (offset < PAGE_HEADER || offset > page->size - NODE_HEADER)
		return bad_node(page, place->level[level].node);
	return open_page(place, lc__node_child(page->bytes + offset), level + 1, whole);
}

/* Is a node's key on the right side of a bound? */
static lc_status
check_bound(const struct lc__row_place *place, uint32_t node, unsigned bound_level,
    uint32_t bound_node, bool below)
{
	const struct lc__tree_page *leaf = &place->level[place->depth - 1].page;
	const struct lc__tree_page *above = &place->level[bound_level].page;
	const unsigned char *at;
	struct key key, bound;
	int order;

	if (!node_at(place, leaf, node, &at, &key))
		return bad_node(leaf, node);
	if (!node_at(place, above, bound_node, &at, &bound))
		return bad_node(above, bound_node);
	order = compare(place, &key, &bound);
	if (below ? order < 0 : order >= 0)
		return LC_OK;
	return lc__error(LC_CORRUPT, 0, "page %llu: node %u: key out of order",
	    (ull)leaf->number, node);
}

/* The keys of a leaf are between those of the branches that led to it. */
static lc_status
check_leaf(const struct lc__row_place *place)
{
	const unsigned leaf = place->depth - 1;
	const uint32_t last = place->level[leaf].page.nodes - 1;
	unsigned from, to;

	for (from = leaf; from-- > 0;)
		if (place->level[from].node > 0)
			break;
	for (to = leaf; to-- > 0;)
		if (place->level[to].node + 1 < place->level[to].page.nodes)
			break;
	if (from < leaf)
		return_if_error(
		    check_bound(place, 0, from, place->level[from].node, false));
	if (to < leaf)
		return_if_error(
		    check_bound(place, last, to, place->level[to].node + 1, true));
	return LC_OK;
}

/* ---- moving to a row ------------------------------------------------------------- */

bool
lc__row_tree(const void *value, size_t size, struct lc__pages_tree *out)
{
	if (size != TREE_RECORD)
		return false;
	lc__walk_read_tree(value, out);
	return out->root == PAGE_NONE ||
	    (out->depth >= 1 && out->depth <= TREE_DEPTH_MAX);
}

/* Move to where a key is or would be, possibly after the last node of a leaf. */
static lc_status
descend(struct lc__row_place *place, const struct lc__pages_tree *tree,
    const struct key *key, bool whole)
{
	place->depth = tree->depth;
	return_if_error(open_page(place, tree->root, 0, whole));
	for (unsigned level = 0;; level++) {
		return_if_error(search(place, &place->level[level].page, key,
		    &place->level[level].node));
		if (level + 1 == place->depth)
			return check_leaf(place);
		return_if_error(open_child(place, level, whole));
	}
}

/* Move to the first node of the next leaf. */
static lc_status
next_leaf(struct lc__row_place *place)
{
	unsigned level = place->depth - 1;

	do {
		if (level == 0)
			return LC_END;
		level--;
	} while (place->level[level].node + 1 >= place->level[level].page.nodes);
	place->level[level].node++;
	for (; level + 1 < place->depth; level++) {
		return_if_error(open_child(place, level, true));
		place->level[level + 1].node = 0;
	}
	return check_leaf(place);
}

/* Move to the last node of the previous leaf. */
static lc_status
previous_leaf(struct lc__row_place *place)
{
	unsigned level = place->depth - 1;

	do {
		if (level == 0)
			return LC_END;
		level--;
	} while (place->level[level].node == 0);
	place->level[level].node--;
	for (; level + 1 < place->depth; level++) {
		return_if_error(open_child(place, level, false));
		place->level[level + 1].node = place->level[level + 1].page.nodes - 1;
	}
	return check_leaf(place);
}

lc_status
lc__row_seek(struct lc__row_place *place, const struct lc__pages_tree *tree,
    const void *key, uint32_t key_size)
{
	const struct key sought = { key, key_size };
	unsigned leaf;

	if (tree->root == PAGE_NONE)
		return LC_END;
	return_if_error(descend(place, tree, &sought, true));
	leaf = place->depth - 1;
	return place->level[leaf].node < place->level[leaf].page.nodes ? LC_OK
								       : next_leaf(place);
}

lc_status
lc__row_seek_back(struct lc__row_place *place, const struct lc__pages_tree *tree,
    const void *key, uint32_t key_size)
{
	const struct key sought = { key, key_size };
	const struct lc__tree_page *page;
	const unsigned char *at;
	struct key found;
	uint32_t node;

	if (tree->root == PAGE_NONE)
		return LC_END;
	return_if_error(descend(place, tree, &sought, false));
	page = &place->level[place->depth - 1].page;
	node = place->level[place->depth - 1].node;
	if (node < page->nodes) {
		if (!node_at(place, page, node, &at, &found))
			return bad_node(page, node);
		if (compare(place, &found, &sought) == 0)
			return LC_OK;
	}
	if (node == 0)
		return previous_leaf(place);
	place->level[place->depth - 1].node = node - 1;
	return LC_OK;
}

lc_status
lc__row_next(struct lc__row_place *place)
{
	const unsigned leaf = place->depth - 1;
	const struct lc__tree_page *page = &place->level[leaf].page;
	const uint32_t node = place->level[leaf].node + 1;
	const unsigned char *at;
	struct key last, key;

	if (node >= page->nodes)
		return next_leaf(place);
	if (!node_at(place, page, node - 1, &at, &last))
		return bad_node(page, node - 1);
	if (!node_at(place, page, node, &at, &key))
		return bad_node(page, node);
	if (compare(place, &last, &key) >= 0)
		return lc__error(LC_CORRUPT, 0, "page %llu: node %u: key out of order",
		    (ull)page->number, node);
	place->level[leaf].node = node;
	return LC_OK;
}

/* ---- the row -------------------------------------------------------------- */

static lc_status
overflow_value(const struct lc__row_place *place, const struct lc__tree_page *page,
    uint32_t i, const unsigned char *reference, struct lc__pages_row *out)
{
	const struct lc__page_map *map = &place->map;
	const uint64_t first = lc__native64(reference);
	const uint64_t pages = lc__overflow_pages(out->size, map->page_size);

	if (first < META_PAGES || first >= map->pages || pages > map->pages - first)
		return lc__error(LC_CORRUPT, 0,
		    "page %llu: node %u: %llu pages from %llu leave the file's %llu",
		    (ull)page->number, i, (ull)pages, (ull)first, (ull)map->pages);
	out->value = map->bytes + first * map->page_size + PAGE_HEADER;
	return LC_OK;
}

lc_status
lc__row_at(const struct lc__row_place *place, struct lc__pages_row *out)
{
	const struct lc__tree_page *page = &place->level[place->depth - 1].page;
	const uint32_t i = place->level[place->depth - 1].node;
	const unsigned char *node, *end = page->bytes + page->size;
	struct lc__pages_row row;
	struct key key;
	unsigned flags;

	if (!node_at(place, page, i, &node, &key))
		return bad_node(page, i);
	flags = lc__native16(node + NODE_FLAGS);
	row.key = key.bytes;
	row.key_size = key.size;
	row.size = lc__native32(node + NODE_SIZE);
	row.value = key.bytes + key.size;
	if (flags > NODE_OVERFLOW)
		return lc__error(LC_CORRUPT, 0, "page %llu: node %u: flags 0x%x",
		    (ull)page->number, i, flags);
	if ((flags == NODE_OVERFLOW ? sizeof(uint64_t) : row.size) >
	    (size_t)(end - row.value))
		return lc__error(LC_CORRUPT, 0,
		    "page %llu: node %u: value of %llu bytes leaves the page",
		    (ull)page->number, i, (ull)row.size);
	if (flags == NODE_OVERFLOW)
		return_if_error(overflow_value(place, page, i, row.value, &row));
	*out = row;
	return LC_OK;
}

lc_status
lc__row_find(struct lc__row_place *place, const struct lc__pages_tree *tree,
    const void *key, uint32_t key_size, struct lc__pages_row *out)
{
	const struct key sought = { key, key_size };
	struct lc__pages_row row;
	struct key found;
	unsigned leaf;

	if (tree->root == PAGE_NONE)
		return LC_NOT_FOUND;
	/* Every requested number is that of a row, but a name may have no row. */
	return_if_error(descend(place, tree, &sought, place->key_size == 0));
	leaf = place->depth - 1;
	if (place->level[leaf].node == place->level[leaf].page.nodes)
		return LC_NOT_FOUND;
	return_if_error(lc__row_at(place, &row));
	found = (struct key){ row.key, row.key_size };
	if (compare(place, &found, &sought) != 0)
		return LC_NOT_FOUND;
	*out = row;
	return LC_OK;
}
