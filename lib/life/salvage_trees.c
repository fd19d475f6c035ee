/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uses the trees to find out which pages the newest commit uses. A page reached by a walk
 * from its root is in use, a page in the free list is not. If the walk met damage, the
 * state of all other pages is unknown.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "life/salvage.h"
#include "pages/page_layout.h"

/* The record of a tree. */
struct tree {
	uint64_t root, entries, leaf_pages, branch_pages;
};

/* A walk over a tree. */
struct walk {
	struct lc__salvage *s;
	unsigned char *pages; /* one page for each level; malloc'ed */
	bool free_list;       /* values are lists of free pages */
	bool heeds_free;      /* a page of the free list is not in a tree */
	bool damaged;         /* something differs from what LMDB writes */
	struct tree found;    /* of the present tree, without its root */
	uint64_t last_key;    /* of the free list: the newest transaction */
	uint64_t budget;      /* pages that may still be visited */
};

static void
set_bit(unsigned char *bits, uint64_t i)
{
	bits[i / 8] |= (unsigned char)(1u << i % 8);
}

/* Mark a page as in use; false if that is impossible. */
static bool
reach(struct walk *w, uint64_t page)
{
	const struct lc__salvage *s = w->s;

	if (page < META_PAGES || page >= s->pages || lc__salvage_bit(s->reached, page)) {
		w->damaged = true;
		return false;
	}
	/* One of the two is wrong, but it is unknown which. */
	if (w->heeds_free && lc__salvage_bit(s->free, page)) {
		set_bit(s->disputed, page);
		w->damaged = true;
		return false;
	}
	set_bit(s->reached, page);
	return true;
}

/* Read a page of a tree into the memory of its level. */
static lc_status
load_page(struct walk *w, uint64_t page, unsigned level, unsigned char **out)
{
	const struct lc__salvage *s = w->s;
	const unsigned char *window;

	*out = w->pages + (size_t)level * s->page_size;
	return_if_error(
	    lc__salvage_at(s->file, page * s->page_size, s->page_size, &window));
	memcpy(*out, window, s->page_size);
	return LC_OK;
}

/* The child page of a node of a branch. */
static uint64_t
child_of(const unsigned char *node)
{
	return lc__native32(node + NODE_SIZE) |
	    (uint64_t)lc__native16(node + NODE_FLAGS) << 32;
}

static lc_status walk_page(struct walk *w, uint64_t page, unsigned level);

/* A list of free pages: their count, then their numbers. */
static lc_status
read_free(struct walk *w, uint64_t at, uint64_t size)
{
	struct lc__salvage *s = w->s;
	const unsigned char *bytes;
	uint64_t count;

	if (size < 8 || at > s->file->size || size > s->file->size - at) {
		w->damaged = true;
		return LC_OK;
	}
	return_if_error(lc__salvage_at(s->file, at, 8, &bytes));
	count = lc__native64(bytes);
	if (count > size / 8 - 1)
		w->damaged = true;
	for (uint64_t i = 0; i < count && !w->damaged; i++) {
		uint64_t page;

		return_if_error(lc__salvage_at(s->file, at + 8 + i * 8, 8, &bytes));
		page = lc__native64(bytes);
		/* Free pages at the end may be missing in the file. */
		if (page < META_PAGES)
			w->damaged = true;
		else if (page < s->pages && lc__salvage_bit(s->free, page))
			w->damaged = true;
		else if (page < s->pages)
			set_bit(s->free, page);
	}
	return LC_OK;
}

static struct tree
read_tree(const unsigned char *bytes)
{
	return (struct tree){
		.root = lc__native64(bytes + TREE_ROOT),
		.entries = lc__native64(bytes + TREE_ENTRIES),
		.leaf_pages = lc__native64(bytes + TREE_LEAF_PAGES),
		.branch_pages = lc__native64(bytes + TREE_BRANCH_PAGES),
	};
}

/* Walk a tree and compare it with its record. */
static lc_status
walk_tree(struct walk *w, const struct tree *tree, unsigned level)
{
	const struct tree before = w->found;

	memset(&w->found, 0, sizeof(w->found));
	if (tree->root != PAGE_NONE)
		return_if_error(walk_page(w, tree->root, level));
	if (w->found.entries != tree->entries ||
	    w->found.leaf_pages != tree->leaf_pages ||
	    w->found.branch_pages != tree->branch_pages)
		w->damaged = true;
	w->found = before;
	return LC_OK;
}

static lc_status
walk_node(struct walk *w, uint64_t page, const unsigned char *bytes, uint32_t offset,
    unsigned level)
{
	struct lc__salvage *s = w->s;
	const unsigned char *node = bytes + offset;
	const unsigned flags = lc__native16(node + NODE_FLAGS);
	const uint64_t size = lc__native32(node + NODE_SIZE);
	const uint32_t key_size = lc__native16(node + NODE_KEY_SIZE);
	const uint64_t value = (uint64_t)offset + NODE_HEADER + key_size;
	const uint64_t stored = flags == NODE_OVERFLOW ? 8 : size;
	uint64_t at = page * s->page_size + value;

	if (lc__native16(bytes + PAGE_FLAGS) == PAGE_BRANCH)
		return walk_page(w, child_of(node), level + 1);
	w->found.entries++;
	if (value > s->page_size || stored > s->page_size - value) {
		w->damaged = true;
		return LC_OK;
	}
	if (flags == NODE_OVERFLOW) {
		const uint64_t first = lc__native64(bytes + value);

		for (uint64_t i = 0; i < lc__overflow_pages(size, s->page_size); i++)
			if (!reach(w, first + i))
				return LC_OK;
		at = lc__salvage_value(s, first);
	}
	if (w->free_list) {
		if (key_size == 8 && lc__native64(node + NODE_HEADER) > w->last_key)
			w->last_key = lc__native64(node + NODE_HEADER);
		return read_free(w, at, size);
	}
	if (flags == NODE_TREE && size == TREE_RECORD) {
		const struct tree tree = read_tree(bytes + value);

		return walk_tree(w, &tree, level + 1);
	}
	return LC_OK;
}

/* The size of a node on its page. */
static uint64_t
node_size(const unsigned char *node, bool branch)
{
	uint64_t size = NODE_HEADER + (uint64_t)lc__native16(node + NODE_KEY_SIZE);

	if (!branch)
		size += lc__native16(node + NODE_FLAGS) == NODE_OVERFLOW
		    ? 8
		    : lc__native32(node + NODE_SIZE);
	return (size + 1) & ~(uint64_t)1;
}

/* Do the nodes fill the page from the end of its free space to its end, without
 * overlap? */
static bool
is_tiled(const struct lc__salvage *s, const unsigned char *bytes)
{
	const bool branch = lc__native16(bytes + PAGE_FLAGS) == PAGE_BRANCH;
	const uint32_t lower = lc__native16(bytes + PAGE_LOWER);
	const uint32_t upper = lc__native16(bytes + PAGE_UPPER);
	unsigned char starts[PAGE_SIZE_MAX / 8] = { 0 };
	uint64_t used = 0;

	if (lower < PAGE_HEADER || lower > upper || upper > s->page_size ||
	    lower % 2 != 0)
		return false;
	for (uint32_t i = PAGE_HEADER; i < lower; i += 2) {
		const uint32_t at = lc__native16(bytes + i);

		if (at < upper || at > s->page_size - NODE_HEADER ||
		    lc__salvage_bit(starts, at))
			return false;
		set_bit(starts, at);
		used += node_size(bytes + at, branch);
	}
	return used == s->page_size - upper;
}

static lc_status
walk_page(struct walk *w, uint64_t page, unsigned level)
{
	struct lc__salvage *s = w->s;
	unsigned char *bytes;
	uint32_t lower;
	unsigned flags;

	if (level >= 2 * TREE_DEPTH_MAX) {
		w->damaged = true;
		return LC_OK;
	}
	if (!reach(w, page))
		return LC_OK;
	if (page * s->page_size > s->file->size - s->page_size) {
		w->damaged = true;
		return LC_OK;
	}
	return_if_error(load_page(w, page, level, &bytes));
	flags = lc__native16(bytes + PAGE_FLAGS);
	lower = lc__native16(bytes + PAGE_LOWER);
	if (lc__native64(bytes) != page || !is_tiled(s, bytes))
		w->damaged = true;
	if ((flags != PAGE_LEAF && flags != PAGE_BRANCH) || lower > s->page_size) {
		w->damaged = true;
		return LC_OK;
	}
	set_bit(s->tree_pages, page);
	if (flags == PAGE_LEAF)
		w->found.leaf_pages++;
	else
		w->found.branch_pages++;
	for (uint32_t i = PAGE_HEADER; i + 2 <= lower; i += 2) {
		const uint32_t offset = lc__native16(bytes + i);

		if (offset < lower || offset > s->page_size - NODE_HEADER)
			w->damaged = true;
		else
			return_if_error(walk_node(w, page, bytes, offset, level));
	}
	return LC_OK;
}

/* ---- which commit --------------------------------------------------------- */

static void
forget_reached(struct lc__salvage *s)
{
	memset(s->reached, 0, (size_t)(s->pages / 8 + 1));
	memset(s->tree_pages, 0, (size_t)(s->pages / 8 + 1));
}

/* Read the free list of a meta page, unless it cannot be trusted: the newest entry of an
 * intact one belongs to the transaction itself. */
static lc_status
read_free_list(struct walk *w, const struct lc__salvage_meta *meta)
{
	struct lc__salvage *s = w->s;

	w->free_list = true;
	w->heeds_free = false;
	w->damaged = false;
	w->last_key = 0;
	memset(&w->found, 0, sizeof(w->found));
	if (meta->free_root != PAGE_NONE)
		return_if_error(walk_page(w, meta->free_root, 0));
	for (uint64_t i = 0; i < s->pages / 8 + 1 && !w->damaged; i++)
		w->damaged = (s->free[i] & s->reached[i]) != 0;
	if (w->found.entries != meta->free_entries ||
	    (meta->free_entries > 0 && w->last_key != meta->txnid))
		w->damaged = true;
	if (w->damaged) {
		memset(s->free, 0, (size_t)(s->pages / 8 + 1));
		forget_reached(s);
	}
	w->free_list = false;
	w->heeds_free = !w->damaged;
	return LC_OK;
}

/* Walk the trees of a commit. */
static lc_status
walk_main(struct walk *w, uint64_t root, const struct lc__salvage_meta *meta)
{
	memset(&w->found, 0, sizeof(w->found));
	w->damaged = false;
	if (root != PAGE_NONE)
		return_if_error(walk_page(w, root, 0));
	if (meta != NULL && w->found.entries != meta->main_entries)
		w->damaged = true;
	/* With the free list, every page is accounted for. */
	for (uint64_t page = META_PAGES; w->heeds_free && page < w->s->pages &&
	     page <= meta->last_page && !w->damaged;
	     page++)
		w->damaged = !lc__salvage_bit(w->s->reached, page) &&
		    !lc__salvage_bit(w->s->free, page);
	w->s->trees_whole = !w->damaged;
	return LC_OK;
}

/* The newer of two meta pages that are consistent with each other; NULL if they are
 * not. */
static const struct lc__salvage_meta *
newer_meta(const struct lc__salvage *s)
{
	const struct lc__salvage_meta *a = &s->meta[0], *b = &s->meta[1];
	const struct lc__salvage_meta *newer = a->txnid > b->txnid ? a : b;
	const struct lc__salvage_meta *older = a->txnid > b->txnid ? b : a;

	return a->good && b->good && newer->txnid - older->txnid <= 1 &&
		(newer->main_root == PAGE_NONE || newer->main_root < s->pages)
	    ? newer
	    : NULL;
}

/* Is the page complete, and may another one be visited? The number is limited: a file may
 * be full of trees. */
static bool
may_look(struct walk *w, uint64_t page, unsigned level)
{
	const struct lc__salvage *s = w->s;

	if (page < META_PAGES || level >= TREE_DEPTH_MAX || w->budget == 0 ||
	    page >= s->pages || page * s->page_size > s->file->size - s->page_size)
		return false;
	w->budget--;
	return true;
}

/* Node @p i of a page; NULL after the last one, and for a node that is not inside the
 * page. */
static const unsigned char *
node_at(const struct lc__salvage *s, const unsigned char *bytes, uint32_t i, bool *more)
{
	const uint32_t at = PAGE_HEADER + 2 * i;
	uint32_t offset;

	*more = at + 2 <= s->page_size && at + 2 <= lc__native16(bytes + PAGE_LOWER);
	if (!*more)
		return NULL;
	offset = lc__native16(bytes + at);
	return offset <= s->page_size - NODE_HEADER ? bytes + offset : NULL;
}

/* The state row with the highest generation on the pages of a small tree. */
static lc_status
find_state(struct walk *w, uint64_t page, unsigned level,
    const struct lc__salvage_row **out)
{
	struct lc__salvage *s = w->s;
	uint64_t low = 0, high = s->states.count;
	const unsigned char *node;
	unsigned char *bytes;
	bool more = true;

	if (!may_look(w, page, level))
		return LC_OK;
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (s->states.row[middle].page < page)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < s->states.count && s->states.row[low].page == page; low++)
		if (*out == NULL || s->states.row[low].number > (*out)->number)
			*out = &s->states.row[low];
	return_if_error(load_page(w, page, level, &bytes));
	if (lc__native16(bytes + PAGE_FLAGS) != PAGE_BRANCH)
		return LC_OK;
	for (uint32_t i = 0; more; i++)
		if ((node = node_at(s, bytes, i, &more)) != NULL)
			return_if_error(find_state(w, child_of(node), level + 1, out));
	return LC_OK;
}

/* Add up the rows of a ledger; sum->next_chunk counts them. */
static lc_status
add_ledger(struct walk *w, uint64_t page, unsigned level, struct lc__state *sum)
{
	struct lc__salvage *s = w->s;
	const unsigned char *node;
	unsigned char *bytes;
	bool more = true;

	if (!may_look(w, page, level))
		return LC_OK;
	return_if_error(load_page(w, page, level, &bytes));
	for (uint32_t i = 0; more; i++) {
		struct lc__ledger_row row;

		node = node_at(s, bytes, i, &more);
		if (node == NULL)
			continue;
		if (lc__native16(bytes + PAGE_FLAGS) == PAGE_BRANCH) {
			return_if_error(add_ledger(w, child_of(node), level + 1, sum));
			continue;
		}
		if ((size_t)(node - bytes) + NODE_HEADER + 8 + LC__LEDGER_ROW >
			s->page_size ||
		    lc__native16(node + NODE_KEY_SIZE) != 8 ||
		    !lc__ledger_decode(node + NODE_HEADER + 8, LC__LEDGER_ROW,
			lc__native64(node + NODE_HEADER), &row))
			continue;
		sum->next_chunk++;
		sum->records += row.records;
		sum->bytes += row.bytes;
		sum->live += row.live;
		sum->live_bytes += row.live_bytes;
	}
	return LC_OK;
}

/* What tells which of two pages that name the tables of a commit is newer: the generation
 * of its state row. The page of an old commit may lead to the same row, if the newest
 * commit has reused a page; but then the row does not match its ledger and its chunks. */
struct weight {
	uint64_t generation;
	bool agrees;
};

static bool
is_heavier(const struct weight *a, const struct weight *b)
{
	return a->generation != b->generation ? a->generation > b->generation
					      : a->agrees && !b->agrees;
}

/* The trees of the tables that are compared. */
struct weighed {
	struct tree meta, chunk, ledger;
};

static lc_status
read_weighed(struct walk *w, uint64_t page, struct weighed *out)
{
	const struct lc__salvage *s = w->s;
	const struct {
		const char *name;
		struct tree *tree;
	} tables[] = {
		{ "meta", &out->meta },
		{ "chunk", &out->chunk },
		{ "ledger", &out->ledger },
	};
	const struct tree none = { .root = PAGE_NONE };
	const unsigned char *node;
	unsigned char *bytes;
	bool more = true;

	*out = (struct weighed){ none, none, none };
	if (!may_look(w, page, 0))
		return LC_OK;
	return_if_error(load_page(w, page, 0, &bytes));
	for (uint32_t i = 0; more; i++) {
		node = node_at(s, bytes, i, &more);
		for (size_t k = 0; node != NULL && k < sizeof(tables) / sizeof(*tables);
		     k++) {
			const size_t size = strlen(tables[k].name);

			if ((size_t)(node - bytes) + NODE_HEADER + size + TREE_RECORD <=
				s->page_size &&
			    lc__native16(node + NODE_KEY_SIZE) == size &&
			    memcmp(node + NODE_HEADER, tables[k].name, size) == 0)
				*tables[k].tree = read_tree(node + NODE_HEADER + size);
		}
	}
	return LC_OK;
}

/* A page with a generation below @p least is not examined further. */
static lc_status
weigh_anchor(struct walk *w, uint64_t page, uint64_t least, struct weight *out)
{
	const struct lc__salvage_row *row = NULL;
	struct lc__state state = { .runs = NULL }, sum = { .runs = NULL };
	const unsigned char *bytes;
	struct weighed trees;
	lc_status status;

	*out = (struct weight){ 0, false };
	return_if_error(read_weighed(w, page, &trees));
	return_if_error(find_state(w, trees.meta.root, 1, &row));
	if (row == NULL)
		return LC_OK;
	out->generation = row->number;
	if (row->number < least)
		return LC_OK;
	return_if_error(add_ledger(w, trees.ledger.root, 1, &sum));
	return_if_error(lc__salvage_at(w->s->file, row->at, row->size, &bytes));
	status = lc__state_decode(bytes, row->size, &state);
	out->agrees = status == LC_OK && sum.next_chunk == trees.chunk.entries &&
	    sum.records == state.records && sum.bytes == state.bytes &&
	    sum.live == state.live && sum.live_bytes == state.live_bytes;
	lc__state_free(&state);
	return status == LC_NO_MEMORY ? status : LC_OK;
}

/* Without meta pages: of all pages that name the tables of a commit, the newest one's. */
static lc_status
walk_newest_anchor(struct walk *w)
{
	struct lc__salvage *s = w->s;
	struct weight heaviest = { 0, false };
	uint64_t best = PAGE_NONE;

	w->budget = 4 * s->pages;
	for (uint64_t i = 0; i < s->anchors.count; i++) {
		struct weight weight;

		return_if_error(weigh_anchor(w, s->anchors.row[i].page,
		    heaviest.generation, &weight));
		if (best == PAGE_NONE || is_heavier(&weight, &heaviest)) {
			best = s->anchors.row[i].page;
			heaviest = weight;
		}
	}
	return_if_error(walk_main(w, best, NULL));
	if (best == PAGE_NONE)
		s->trees_whole = false;
	return LC_OK;
}

/* Does anything belong to a later commit than the state? */
static bool
has_later(const struct lc__salvage *s)
{
	for (uint64_t i = 0; i < s->nchunks; i++)
		if (s->chunks[i].id >= s->state.next_chunk)
			return true;
	for (uint64_t i = 0; i < s->nruns; i++)
		if (s->runs[i].id >= s->state.next_run)
			return true;
	for (uint64_t i = 0; i < s->states.count; i++)
		if (s->states.row[i].number > s->state.generation)
			return true;
	return false;
}

/* ---- conclusions ----------------------------------------------------------------- */

static uint8_t
use_of(const struct lc__salvage *s, uint64_t page)
{
	if (lc__salvage_bit(s->reached, page))
		return LC__USE_CURRENT;
	if (lc__salvage_bit(s->disputed, page))
		return LC__USE_UNKNOWN;
	if (lc__salvage_bit(s->free, page) || (s->trees_whole && s->newest) ||
	    page > s->last_page)
		return LC__USE_FREED;
	return LC__USE_UNKNOWN;
}

static void
set_use(const struct lc__salvage *s, struct lc__salvage_rows *rows)
{
	for (uint64_t i = 0; i < rows->count; i++)
		rows->row[i].use = use_of(s, rows->row[i].page);
}

/* Of several versions of a chunk, only the best one counts. A chunk with a header states
 * its id; for another one, only the node that leads to it does. */
static int
rank_of(const struct lc__salvage_chunk *chunk)
{
	if (chunk->use == LC__USE_FREED || (chunk->headless && chunk->whole == 0))
		return 0;
	return chunk->headless ? 1 : 1 + chunk->use;
}

static int
by_id_and_rank(const void *a, const void *b)
{
	const struct lc__salvage_chunk *const *x = a, *const *y = b;

	if ((*x)->id != (*y)->id)
		return (*x)->id < (*y)->id ? -1 : 1;
	return rank_of(*y) - rank_of(*x);
}

static lc_status
choose_chunks(struct lc__salvage *s)
{
	struct lc__salvage_chunk **by_id = malloc(
	    (s->nchunks + 1) * sizeof(struct lc__salvage_chunk *));

	if (by_id == NULL)
		return lc__no_memory("salvage");
	for (uint64_t i = 0; i < s->nchunks; i++) {
		s->chunks[i].use = use_of(s, s->chunks[i].page);
		/* LMDB does not clear a page that it reuses: between the nodes of a leaf
		 * there may be records of an earlier chunk. */
		if (s->chunks[i].headless &&
		    lc__salvage_bit(s->tree_pages, s->chunks[i].page))
			s->chunks[i].use = LC__USE_FREED;
		/* A chunk that a commit was writing when its process died. */
		if (s->newest && s->state_found && s->chunks[i].use != LC__USE_CURRENT &&
		    s->chunks[i].id >= s->state.next_chunk)
			s->chunks[i].use = LC__USE_FREED;
		by_id[i] = &s->chunks[i];
	}
	qsort(by_id, s->nchunks, sizeof(*by_id), by_id_and_rank);
	for (uint64_t i = 0, best = 0; i < s->nchunks; i++) {
		if (by_id[i]->id != by_id[best]->id)
			best = i;
		if (by_id[i]->id > 0 && rank_of(by_id[i]) < rank_of(by_id[best]))
			by_id[i]->use = LC__USE_FREED;
	}
	free(by_id);
	return LC_OK;
}

/* Read the best state row: one that the newest commit uses, or the newest of those that
 * it may use. An old one does not list the runs in use. */
static lc_status
read_state(struct lc__salvage *s)
{
	const struct lc__salvage_row *best = NULL;
	const unsigned char *bytes;

	for (uint64_t i = 0; i < s->states.count; i++) {
		const struct lc__salvage_row *row = &s->states.row[i];

		if (row->use == LC__USE_FREED)
			continue;
		if (best == NULL || row->use > best->use ||
		    (row->use == best->use && row->number > best->number))
			best = row;
	}
	s->state_found = best != NULL;
	s->state_reached = best != NULL && best->use == LC__USE_CURRENT;
	s->state_disputed = best != NULL && lc__salvage_bit(s->disputed, best->page);
	if (best == NULL)
		return LC_OK;
	return_if_error(lc__salvage_at(s->file, best->at, best->size, &bytes));
	return lc__state_decode(bytes, best->size, &s->state);
}

static lc_status
classify(struct lc__salvage *s, struct walk *w)
{
	const struct lc__salvage_meta *meta = newer_meta(s);

	if (meta != NULL) {
		return_if_error(read_free_list(w, meta));
		return_if_error(walk_main(w, meta->main_root, meta));
		s->newest = true;
		s->last_page = meta->last_page;
	} else {
		s->last_page = UINT64_MAX;
		return_if_error(walk_newest_anchor(w));
	}
	set_use(s, &s->states);
	return_if_error(read_state(s));
	/*
	 * Without meta pages, what was found is the newest unless something points beyond
	 * it. With them, the state row may be unreachable, and this one an old one,
	 * unless the free list, which names all pages that are not in a tree, shows
	 * otherwise.
	 */
	if (meta == NULL)
		s->newest = s->state_found && s->trees_whole && !has_later(s);
	else if (!s->state_reached && (!w->heeds_free || s->state_disputed))
		s->newest = false;
	set_use(s, &s->settings);
	set_use(s, &s->schemas);
	set_use(s, &s->inputs);
	for (uint64_t i = 0; i < s->nruns; i++) {
		s->runs[i].use = use_of(s, s->runs[i].page);
		if (s->newest && s->state_found && s->runs[i].use != LC__USE_CURRENT &&
		    s->runs[i].id >= s->state.next_run)
			s->runs[i].use = LC__USE_FREED;
	}
	return choose_chunks(s);
}

lc_status
lc__salvage_classify(struct lc__salvage *s)
{
	struct walk w = { .s = s };
	lc_status status;

	s->free = calloc(1, (size_t)(s->pages / 8 + 1));
	s->reached = calloc(1, (size_t)(s->pages / 8 + 1));
	w.pages = malloc((size_t)s->page_size * 2 * TREE_DEPTH_MAX);
	s->disputed = calloc(1, (size_t)(s->pages / 8 + 1));
	s->tree_pages = calloc(1, (size_t)(s->pages / 8 + 1));
	if (s->free == NULL || s->reached == NULL || s->disputed == NULL ||
	    s->tree_pages == NULL || w.pages == NULL)
		status = lc__no_memory("salvage");
	else
		status = classify(s, &w);
	free(w.pages);
	return status;
}
