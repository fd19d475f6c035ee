/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scan: visits every page once, in the order of the file. A chunk or a run is
 * recognised by the checked header at its start, a row by the hash at its end. Only the
 * page number of a row that is too large for its leaf is followed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "index/run_layout.h"
#include "life/salvage.h"
#include "pages/page_layout.h"
#include "store/chunk.h"
#include "store/inputs.h"
#include "store/settings.h"

/* The least and largest size of a row of a schema. */
#define SCHEMA_ROW_MIN 13
#define SCHEMA_ROW_MAX ((uint64_t)128 << 20)

/* A leaf page being read. */
struct leaf {
	struct lc__salvage *s;
	const unsigned char *bytes; /* a copy of the page */
	uint64_t page;
	uint32_t size; /* of the page, as far as the file goes */
};

/* A node of it. */
struct node {
	uint32_t at;   /* offset on the page */
	uint32_t next; /* start of the following node, or end of the page */
	int32_t index; /* index among the offsets; -1 if none leads here */
	const unsigned char *key;
	uint32_t key_size;
	uint64_t value, value_size; /* of the value, in the file */
};

/* ---- rows ----------------------------------------------------------------- */

static lc_status
add_row(struct lc__salvage_rows *rows, const struct leaf *leaf, const struct node *node,
    uint64_t number)
{
	return_if_error(
	    lc__array_reserve(&rows->row, &rows->room, rows->count + 1, "salvage"));
	rows->row[rows->count++] = (struct lc__salvage_row){
		.page = leaf->page,
		.at = node->value,
		.size = (uint32_t)node->value_size,
		.number = number,
	};
	return LC_OK;
}

/* Is the key this name, with at most one wrong bit? */
static bool
is_name(const struct node *node, const char *name)
{
	int bits = 0;

	if (node->key_size != strlen(name))
		return false;
	for (uint32_t i = 0; i < node->key_size; i++)
		bits += __builtin_popcount(
		    (unsigned)(node->key[i] ^ (unsigned char)name[i]));
	return bits <= 1;
}

/* Is the whole value on the leaf? */
static bool
is_inline(const struct leaf *leaf, const struct node *node)
{
	const uint64_t start = leaf->page * leaf->s->page_size;

	return node->value >= start && node->value - start <= leaf->size &&
	    node->value_size <= leaf->size - (node->value - start);
}

/* Get the bytes of a value, if the file has them. Large ones are limited: a file in which
 * all leaves lead to the same large value must not take days to read. */
static lc_status
row_bytes(const struct leaf *leaf, const struct node *node, const unsigned char **out)
{
	struct lc__salvage *s = leaf->s;

	if (is_inline(leaf, node)) {
		*out = leaf->bytes + (node->value - leaf->page * s->page_size);
		return LC_OK;
	}
	s->rows_read += node->value_size;
	if (s->rows_read > 2 * s->file->size + ((uint64_t)1 << 20))
		return LC_NOT_FOUND;
	return lc__salvage_at(s->file, node->value, node->value_size, out);
}

/* A row of the table meta, whatever its name: its checksum is right for one name only. */
static lc_status
take_named(const struct leaf *leaf, const struct node *node, const unsigned char *bytes,
    bool *taken)
{
	struct lc__salvage *s = leaf->s;
	const size_t size = (size_t)node->value_size;
	struct lc__state state = { 0 };
	lc_settings settings;
	struct lc__fill_row fill;
	lc_status status = LC_OK;

	if (lc__row_intact(bytes, size, lc__row_seed("state"))) {
		*taken = lc__state_decode(bytes, size, &state) == LC_OK;
		if (*taken)
			status = add_row(&s->states, leaf, node, state.generation);
		lc__state_free(&state);
	} else if (lc__settings_parse(bytes, size, &settings)) {
		status = add_row(&s->settings, leaf, node, 0);
		*taken = true;
	} else if (lc__fill_decode(bytes, size, &fill)) {
		status = add_row(&s->inputs, leaf, node, fill.inputs);
		*taken = true;
	} else if (node->key_size == 8 && memcmp(node->key, "settings", 8) == 0) {
		/* Were there settings? Then the module did not have the defaults. */
		status = add_row(&s->settings, leaf, node, 1);
	}
	return status;
}

/* Does a structure begin here, that is, a map with one of the possible names? */
static bool
begins_structure(const unsigned char *bytes)
{
	static const char *const starts[] = { "\x81\xa3map", "\x81\xa4list",
		"\x81\xa5tuple", "\x81\xa5plain", "\x81\xa6tensor", "\x81\xa6tagged",
		"\x81\xa5pairs" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (memcmp(bytes, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/* A row of the table schema. If it is not under its own key it is kept until the missing
 * ids are known. */
static lc_status
take_schema(const struct leaf *leaf, const struct node *node, const unsigned char *bytes,
    bool *taken)
{
	const uint32_t id = lc__native32(node->key);

	if (!begins_structure(bytes))
		return LC_OK;
	*taken = lc__row_intact(bytes, (size_t)node->value_size, id);
	return add_row(&leaf->s->schemas, leaf, node, *taken ? id : UINT64_MAX);
}

/* Keep a row if salvage needs it. Large rows of meta are examined only if their names
 * match. */
static lc_status
take_row(const struct leaf *leaf, const struct node *node, bool *taken)
{
	const struct lc__salvage *s = leaf->s;
	const bool schema = node->key_size == 4 && node->value_size > SCHEMA_ROW_MIN &&
	    node->value_size <= SCHEMA_ROW_MAX;
	const bool named = node->key_size <= 8 &&
	    (is_inline(leaf, node) || is_name(node, "state"));
	const unsigned char *bytes;
	lc_status status;

	*taken = false;
	if ((!schema && !named) || node->value_size <= LC__ROW_SUM ||
	    node->value > s->file->size || node->value_size > s->file->size - node->value)
		return LC_OK;
	status = row_bytes(leaf, node, &bytes);
	if (status != LC_OK)
		return status == LC_NOT_FOUND ? LC_OK : status;
	if (named)
		return_if_error(take_named(leaf, node, bytes, taken));
	return *taken || !schema ? LC_OK : take_schema(leaf, node, bytes, taken);
}

/* ---- nodes ---------------------------------------------------------------- */

/* An overflow page may hold a chunk. */
static lc_status
add_value(struct lc__salvage *s, uint64_t page, uint64_t id, uint64_t size)
{
	const uint64_t start = lc__salvage_value(s, page);

	if (page < META_PAGES || start >= s->file->size)
		return LC_OK;
	if (size > s->file->size - start)
		size = s->file->size - start;
	return_if_error(
	    lc__array_reserve(&s->values, &s->values_room, s->nvalues + 1, "salvage"));
	s->values[s->nvalues++] = (struct lc__salvage_chunk){
		.id = id,
		.page = page,
		.size = size,
		.headless = true,
	};
	return LC_OK;
}

/* Does an index run begin here, with a complete header? One cut off by the end of the
 * file is useless. */
static lc_status
take_run(struct lc__salvage *s, uint64_t page, uint64_t start, const unsigned char *value,
    bool *taken)
{
	const uint64_t room = s->file->size - start;
	uint64_t table;
	struct lc__salvage_run run = { .page = page };

	*taken = memcmp(value + run_at_magic, RUN_MAGIC, 4) == 0 &&
	    lc__get64(value + run_at_checksum) == lc__hash64(value, run_at_checksum) &&
	    lc__get16(value + run_at_version) == RUN_VERSION &&
	    lc__get16(value + run_at_header) == LC__RUN_HEADER;
	if (!*taken)
		return LC_OK;
	table = LC__RUN_HEADER +
	    (uint64_t)lc__get32(value + run_at_buckets) * LC__RUN_BUCKET;
	run.id = lc__get64(value + run_at_id);
	run.entries = lc__get64(value + run_at_entries);
	run.level = lc__get32(value + run_at_level);
	run.keys_size = lc__get64(value + run_at_keys);
	run.keys = start + table;
	if (table > room || run.keys_size > room - table || run.keys_size < 4 ||
	    run.entries > run.keys_size / (entry_head + 1))
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&s->runs, &s->runs_room, s->nruns + 1, "salvage"));
	s->runs[s->nruns++] = run;
	return LC_OK;
}

/* A node with a damaged header: its value, if the key has the size of a table's keys and
 * the value ends where the next node begins. */
static lc_status
guess_node(const struct leaf *leaf, struct node *node)
{
	static const uint8_t key_sizes[] = { 4, 5, 8 };
	const uint32_t run = node->at + NODE_HEADER + 8;
	bool taken = false;

	if (run + LC__RUN_HEADER <= leaf->size)
		return_if_error(take_run(leaf->s, leaf->page,
		    leaf->page * leaf->s->page_size + run, leaf->bytes + run, &taken));

	for (unsigned i = 0; i < sizeof(key_sizes) && !taken; i++) {
		const uint32_t value = node->at + NODE_HEADER + key_sizes[i];

		node->key_size = key_sizes[i];
		node->value = leaf->page * leaf->s->page_size + value;
		for (uint32_t pad = 0; pad < 2 && !taken; pad++) {
			if (value + pad >= node->next)
				continue;
			node->value_size = node->next - value - pad;
			return_if_error(take_row(leaf, node, &taken));
		}
	}
	return LC_OK;
}

static lc_status
take_node(const struct leaf *leaf, struct node *node)
{
	struct lc__salvage *s = leaf->s;
	const unsigned char *head = leaf->bytes + node->at;
	const unsigned flags = lc__native16(head + NODE_FLAGS);
	const uint64_t size = lc__native32(head + NODE_SIZE);
	const uint64_t value = node->at + NODE_HEADER +
	    (uint64_t)lc__native16(head + NODE_KEY_SIZE);
	bool taken = false;

	node->key = head + NODE_HEADER;
	node->key_size = lc__native16(head + NODE_KEY_SIZE);
	node->value_size = size;
	node->value = leaf->page * s->page_size + value;
	if (flags == NODE_TREE && size == TREE_RECORD &&
	    value + TREE_RECORD <= leaf->size) {
		if (s->anchors.count == 0 ||
		    s->anchors.row[s->anchors.count - 1].page != leaf->page)
			return add_row(&s->anchors, leaf, node, 0);
		return LC_OK;
	}
	if (flags == NODE_OVERFLOW && value + 8 <= leaf->size &&
	    lc__native64(leaf->bytes + value) < s->pages) {
		const uint64_t page = lc__native64(leaf->bytes + value);

		if (node->key_size == 8)
			return_if_error(
			    add_value(s, page, lc__native64(node->key), size));
		node->value = lc__salvage_value(s, page);
		return_if_error(take_row(leaf, node, &taken));
		if (taken)
			return LC_OK;
	}
	if (flags == 0 && value + size <= leaf->size) {
		return_if_error(take_row(leaf, node, &taken));
		if (taken)
			return LC_OK;
		if (node->key_size == 8 && size >= LC__RUN_HEADER)
			return take_run(s, leaf->page, node->value, leaf->bytes + value,
			    &taken);
	}
	return guess_node(leaf, node);
}

static int
by_offset(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->index < 0) - (y->index < 0);
}

/* Where nodes begin: according to the offsets, and to the end of each previous node. One
 * flipped bit damages only one of the two. */
static uint32_t
find_nodes(const struct leaf *leaf, struct node *nodes)
{
	const uint32_t size = leaf->size;
	const uint32_t upper = lc__native16(leaf->bytes + PAGE_UPPER);
	uint32_t lower = lc__native16(leaf->bytes + PAGE_LOWER);
	uint32_t count = 0, at;

	if (lower < PAGE_HEADER || lower > size)
		lower = size;
	for (at = PAGE_HEADER; at + 2 <= lower; at += 2) {
		const uint32_t offset = lc__native16(leaf->bytes + at);

		if (offset >= at + 2 && offset + NODE_HEADER <= size && offset % 2 == 0)
			nodes[count++] = (struct node){
				.at = offset,
				.index = (int32_t)(at - PAGE_HEADER) / 2,
			};
	}
	for (at = upper; at >= PAGE_HEADER && at % 2 == 0 && at + NODE_HEADER <= size;) {
		const unsigned char *head = leaf->bytes + at;
		uint64_t length = NODE_HEADER +
		    (uint64_t)lc__native16(head + NODE_KEY_SIZE);

		length += lc__native16(head + NODE_FLAGS) == NODE_OVERFLOW
		    ? 8
		    : lc__native32(head + NODE_SIZE);
		if (length > size - at)
			break;
		nodes[count++] = (struct node){ .at = at, .index = -1 };
		at += (uint32_t)((length + 1) & ~(uint64_t)1);
	}
	qsort(nodes, count, sizeof(*nodes), by_offset);
	return count;
}

static lc_status
scan_leaf(const struct leaf *leaf, struct node *nodes)
{
	const uint32_t count = find_nodes(leaf, nodes);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t next = i + 1;

		uint32_t end;

		while (next < count && nodes[next].at == nodes[i].at)
			next++;
		/* After a damaged node, the bytes at its end are not a node. */
		for (end = next; end < count && nodes[end].index < 0; end++)
			;
		nodes[i].next = end < count ? nodes[end].at : leaf->size;
		return_if_error(take_node(leaf, &nodes[i]));
		i = next - 1;
	}
	return LC_OK;
}

/* ---- values --------------------------------------------------------------- */

/* Does a chunk begin at byte @p at of a value? It may be cut off by the end of the
 * file. */
static lc_status
take_chunk(struct lc__salvage *s, uint64_t page, uint64_t at, const unsigned char *bytes,
    bool *taken)
{
	const uint64_t start = lc__salvage_value(s, page) + at;
	const uint64_t room = s->file->size - start;
	struct lc__chunk chunk;
	uint64_t size;

	*taken = lc__chunk_parse(bytes, UINT64_MAX, lc__get64(bytes + 8), &chunk) &&
	    chunk.id > 0 && chunk.id <= LC__CHUNK_ID_MAX;
	if (!*taken)
		return LC_OK;
	size = chunk.bytes > room ? room
				  : lc__chunk_size(&chunk, at > 0 ? 0 : s->page_size);
	return_if_error(
	    lc__array_reserve(&s->chunks, &s->chunks_room, s->nchunks + 1, "salvage"));
	s->chunks[s->nchunks++] = (struct lc__salvage_chunk){
		.id = chunk.id,
		.page = page,
		.at = at,
		.records = chunk.records,
		.size = size > room ? room : size,
	};
	return LC_OK;
}

/* Find the chunks in the list of a row, including those with a damaged header. */
static lc_status
take_listed(struct lc__salvage *s, uint64_t page, const unsigned char *list,
    uint64_t size)
{
	const uint64_t start = lc__salvage_value(s, page);
	const uint64_t room = s->file->size - start;
	struct lc__folded chunk = { 0 };
	const unsigned char *bytes;
	bool taken;

	while (lc__folded_next(list, size, &chunk) && chunk.at < room &&
	    room - chunk.at >= LC__CHUNK_HEADER) {
		return_if_error(
		    lc__salvage_at(s->file, start + chunk.at, LC__CHUNK_HEADER, &bytes));
		return_if_error(take_chunk(s, page, chunk.at, bytes, &taken));
		if (taken) {
			if (s->chunks[s->nchunks - 1].size > chunk.size)
				s->chunks[s->nchunks - 1].size = chunk.size;
			continue;
		}
		return_if_error(lc__array_reserve(&s->chunks, &s->chunks_room,
		    s->nchunks + 1, "salvage"));
		s->chunks[s->nchunks++] = (struct lc__salvage_chunk){
			.id = chunk.id,
			.page = page,
			.at = chunk.at,
			.size = chunk.size < room - chunk.at ? chunk.size
							     : room - chunk.at,
			.headless = true,
		};
	}
	return LC_OK;
}

/* Find the chunks of a row whose list is damaged at its first entry. */
static lc_status
take_last_list(struct lc__salvage *s, const struct lc__salvage_chunk *value, bool *taken)
{
	unsigned char list[LC__FOLDED_LIST];
	const unsigned char *bytes;

	*taken = false;
	if (value->size < 2 * LC__FOLDED_LIST || value->size > LC__FOLDED_MAX)
		return LC_OK;
	return_if_error(lc__salvage_at(s->file,
	    lc__salvage_value(s, value->page) + value->size - LC__FOLDED_LIST,
	    LC__FOLDED_LIST, &bytes));
	memcpy(list, bytes, sizeof(list));
	*taken = lc__folded_intact(list, value->size);
	return *taken ? take_listed(s, value->page, list, value->size) : LC_OK;
}

/* ---- all pages ------------------------------------------------------------ */

/* Find the chunk or run that begins on a page, or the chunks of a row of several. @p size
 * is that of the value, if the page's header is right. */
static lc_status
take_value(struct lc__salvage *s, uint64_t page, const unsigned char *bytes,
    uint64_t size, bool *taken)
{
	return_if_error(take_chunk(s, page, 0, bytes, taken));
	if (*taken)
		return LC_OK;
	if (size > LC__FOLDED_MAX || !lc__folded_intact(bytes, size))
		size = LC__FOLDED_MAX;
	*taken = lc__folded_intact(bytes, size);
	return *taken ? take_listed(s, page, bytes, size)
		      : take_run(s, page, lc__salvage_value(s, page), bytes, taken);
}

/* The header of a page states its kind in three ways; two are sufficient. */
static lc_status
scan_page(struct lc__salvage *s, uint64_t page, uint32_t size, const unsigned char *bytes,
    struct node *nodes)
{
	const struct leaf leaf = { s, bytes, page, size };
	const unsigned flags = lc__native16(bytes + PAGE_FLAGS);
	const bool numbered = lc__native64(bytes) == page;
	const uint64_t value = (uint64_t)lc__native32(bytes + PAGE_RUN) * s->page_size -
	    PAGE_HEADER;
	bool taken = false;

	if ((numbered || flags == PAGE_OVERFLOW) &&
	    size >= PAGE_HEADER + LC__CHUNK_HEADER)
		return_if_error(take_value(s, page, bytes + PAGE_HEADER, value, &taken));
	if (taken)
		return LC_OK;
	if (numbered && flags == PAGE_OVERFLOW)
		return add_value(s, page, 0, value);
	if (flags == PAGE_LEAF || (numbered && flags != PAGE_BRANCH))
		return scan_leaf(&leaf, nodes);
	return LC_OK;
}

static lc_status
scan_pages(struct lc__salvage *s, unsigned char *bytes, struct node *nodes)
{
	for (uint64_t page = META_PAGES; page < s->pages; page++) {
		const uint64_t at = page * s->page_size;
		const uint64_t left = s->file->size - at;
		const uint32_t size = left < s->page_size ? (uint32_t)left : s->page_size;
		const unsigned char *window;

		if (size >= PAGE_HEADER + NODE_HEADER) {
			return_if_error(lc__salvage_at(s->file, at, size, &window));
			memcpy(bytes, window, size);
			return_if_error(scan_page(s, page, size, bytes, nodes));
		}
		if (page % 256 == 0 || page + 1 == s->pages)
			return_if_error(
			    lc__salvage_step(s, (page % 256 + 1) * s->page_size));
	}
	return LC_OK;
}

static int
by_page(const void *a, const void *b)
{
	const struct lc__salvage_chunk *x = a, *y = b;

	if (x->page != y->page)
		return x->page < y->page ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Chunks without a header get their id from the node that leads to them, unless two
 * disagree. */
static lc_status
add_headless(struct lc__salvage *s)
{
	const uint64_t nchunks = s->nchunks;
	uint64_t chunk = 0, run = 0;
	bool taken;

	if (s->nvalues > 0)
		qsort(s->values, s->nvalues, sizeof(*s->values), by_page);
	for (uint64_t i = 0, next; i < s->nvalues; i = next) {
		struct lc__salvage_chunk found = s->values[i];

		for (next = i + 1;
		     next < s->nvalues && s->values[next].page == found.page; next++) {
			if (found.id == 0 || found.id == s->values[next].id)
				found = s->values[next];
			else
				found.id = 0;
		}
		while (chunk < nchunks && s->chunks[chunk].page < found.page)
			chunk++;
		while (run < s->nruns && s->runs[run].page < found.page)
			run++;
		if ((chunk < nchunks && s->chunks[chunk].page == found.page) ||
		    (run < s->nruns && s->runs[run].page == found.page))
			continue;
		return_if_error(take_last_list(s, &found, &taken));
		if (taken)
			continue;
		if (found.id > LC__CHUNK_ID_MAX)
			found.id = 0;
		return_if_error(lc__array_reserve(&s->chunks, &s->chunks_room,
		    s->nchunks + 1, "salvage"));
		s->chunks[s->nchunks++] = found;
	}
	if (s->nchunks > 0)
		qsort(s->chunks, s->nchunks, sizeof(*s->chunks), by_page);
	return LC_OK;
}

lc_status
lc__salvage_scan(struct lc__salvage *s)
{
	unsigned char *bytes = malloc(s->page_size);
	struct node *nodes = malloc(
	    (s->page_size / 2 + s->page_size / 8) * sizeof(*nodes));
	lc_status status = LC_OK;

	if (bytes == NULL || nodes == NULL)
		status = lc__no_memory("salvage");
	if (status == LC_OK)
		status = scan_pages(s, bytes, nodes);
	free(bytes);
	free(nodes);
	return status == LC_OK ? add_headless(s) : status;
}
