/* SPDX-License-Identifier: BSD-2-Clause */
/* A list as a source: its members are checked, and their layouts follow each other. */
#include "stream/source_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

/* So many members are named in messages. */
#define NAMED 3

/** The rows of all members. */
struct list_rows {
	struct lc__rows rows;
	size_t n;
	struct lc__list_member members[];
};

static struct list_rows *
rows_of(struct lc__rows *rows)
{
	return (struct list_rows *)rows;
}

/* ---- looking up --------------------------------------------------------------------- */

const struct lc__list_member *
lc__list_members(const struct lc__layout *layout)
{
	return rows_of(lc__layout_rows(layout))->members;
}

/* A member without any begins where the next one does: the last one is it. */
size_t
lc__list_find(const struct lc__list_member *members, size_t n, enum lc__list_count count,
    uint64_t i)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		const size_t middle = high - (high - low) / 2;

		if (members[middle].first[count] <= i)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* The hash of a chunk of which the members before it, and its own up to it, have these. */
static uint64_t
chain(uint64_t members, uint64_t own)
{
	unsigned char link[16];

	lc__set64(link, members);
	lc__set64(link + 8, own);
	return lc__hash64(link, sizeof(link));
}

/* From a row of the member to one of the list. The sums of the member were added up
 * already; a row that is read later may contradict them. */
static lc_status
place_row(const struct lc__list_member *m, struct lc__chunk_row *row)
{
	const lc_source_info *info = lc__layout_info(m->layout);

	if (lc__row_end(row, false) > info->records ||
	    lc__row_end(row, true) > info->length)
		return lc__error(LC_CORRUPT, 0,
		    "%s: has fewer records than are counted up to chunk %llu",
		    lc__source_name(m->source), (unsigned long long)row->id);
	row->first_record += m->first[LC__LIST_RECORDS];
	row->first_unit += m->first[LC__LIST_UNITS];
	row->prefix_hash = chain(m->hash, row->prefix_hash);
	return LC_OK;
}

static lc_status
get(struct lc__rows *rows, uint64_t n, uint64_t position, struct lc__chunk_row *out)
{
	const struct list_rows *r = rows_of(rows);
	const struct lc__list_member *m =
	    &r->members[lc__list_find(r->members, r->n, LC__LIST_CHUNKS, position)];

	(void)n;
	return_if_error(
	    lc__layout_row(m->layout, position - m->first[LC__LIST_CHUNKS], out));
	return place_row(m, out);
}

static lc_status
find(struct lc__rows *rows, uint64_t n, bool units, uint64_t i, uint64_t *position,
    struct lc__chunk_row *out)
{
	const enum lc__list_count count = units ? LC__LIST_UNITS : LC__LIST_RECORDS;
	const struct list_rows *r = rows_of(rows);
	const struct lc__list_member *m =
	    &r->members[lc__list_find(r->members, r->n, count, i)];
	uint64_t own;

	(void)n;
	i -= m->first[count];
	return_if_error(units ? lc__layout_find_unit(m->layout, i, &own, out)
			      : lc__layout_find_record(m->layout, i, &own, out));
	*position = m->first[LC__LIST_CHUNKS] + own;
	return place_row(m, out);
}

static void
free_rows(struct lc__rows *rows)
{
	struct list_rows *r = rows_of(rows);

	for (size_t i = 0; i < r->n; i++)
		lc__layout_drop(r->members[i].layout);
	free(r);
}

static const struct lc__rows_kind list_rows_kind = {
	.get = get,
	.find = find,
	.free = free_rows,
};

/* ---- a layout ----------------------------------------------------------------------- */

/* The identity of a list is that of its members in their order. */
static lc_status
identify(const struct list_rows *r, uint8_t uuid[16])
{
	struct lc__hash128 *state = lc__hash128_new();
	uint64_t hash[2];

	if (state == NULL)
		return lc__no_memory("list");
	for (size_t i = 0; i < r->n; i++)
		lc__hash128_update(state, lc__layout_info(r->members[i].layout)->uuid,
		    16);
	lc__hash128_end(state, hash);
	lc__hash128_free(state);
	lc__set64(uuid, hash[0]);
	lc__set64(uuid + 8, hash[1]);
	return LC_OK;
}

/* Put a member after those that @p info sums up. @p hash is of these, and gets its own in. */
static lc_status
add_member(struct lc__list_member *m, lc_source_info *info, uint64_t *hash)
{
	const lc_source_info *own = lc__layout_info(m->layout);
	unsigned char link[40];

	m->first[LC__LIST_CHUNKS] = info->chunks;
	m->first[LC__LIST_RECORDS] = info->records;
	m->first[LC__LIST_UNITS] = info->length;
	m->hash = *hash;
	if (!lc__add64(info->chunks, own->chunks, &info->chunks) ||
	    !lc__add64(info->records, own->records, &info->records) ||
	    !lc__add64(info->length, own->length, &info->length) ||
	    !lc__add64(info->dropped, own->dropped, &info->dropped))
		return lc__error(LC_INVALID, 0,
		    "list: up to %s it has more records than can be numbered",
		    lc__source_name(m->source));
	if (own->chunks > 0)
		info->prefix_hash = chain(m->hash, own->prefix_hash);
	lc__set64(link, *hash);
	lc__set64(link + 8, own->chunks);
	lc__set64(link + 16, own->records);
	lc__set64(link + 24, own->length);
	lc__set64(link + 32, own->prefix_hash);
	*hash = lc__hash64(link, sizeof(link));
	return LC_OK;
}

/* The layout of the members in @p r, which is taken over. */
static lc_status
make_layout(struct list_rows *r, struct lc__layout **out)
{
	const lc_source_info *last = lc__layout_info(r->members[r->n - 1].layout);
	lc_source_info info;
	lc_status status = LC_OK;
	uint64_t hash = 0;

	memset(&info, 0, sizeof(info));
	for (size_t i = 0; i < r->n && status == LC_OK; i++)
		status = add_member(&r->members[i], &info, &hash);
	if (status == LC_OK)
		status = identify(r, info.uuid);
	info.generation = info.chunks;
	info.final = last->final;
	info.has_lengths = last->has_lengths;
	if (status == LC_OK)
		status = lc__layout_new(&info, &r->rows, 0, out);
	lc__rows_drop(&r->rows);
	return status;
}

/* Room for the layouts of all members, which are to be set; NULL without memory. */
static struct list_rows *
new_rows(lc_source *const *members, size_t n)
{
	struct list_rows *r = calloc(1, sizeof(*r) + n * sizeof(r->members[0]));

	if (r == NULL)
		return NULL;
	r->rows.kind = &list_rows_kind;
	atomic_init(&r->rows.refs, 1);
	r->n = n;
	for (size_t i = 0; i < n; i++)
		r->members[i].source = members[i];
	return r;
}

/* ---- as a source --------------------------------------------------------------------- */

static lc_source *
last_of(lc_source *source)
{
	const struct lc__list_source *list = lc__list_source_of(source);

	return list->members[list->n - 1];
}

/* With the newest layout of the last member, which must begin with the one that was known:
 * that is checked here, where the member can be named. */
static lc_status
newest(lc_source *source, struct lc__layout *old, struct lc__layout **out)
{
	const struct lc__list_source *list = lc__list_source_of(source);
	const struct lc__list_member *members = lc__list_members(old);
	const size_t last = list->n - 1;
	struct lc__layout *known = members[last].layout, *grown = NULL;
	struct list_rows *r = NULL;
	lc_status status;

	return_if_error(last_of(source)->kind->newest(last_of(source), known, &grown));
	status = lc__layout_check_prefix(grown, known, last_of(source)->name);
	if (status == LC_OK && grown != known) {
		r = new_rows(list->members, list->n);
		if (r == NULL)
			status = lc__no_memory("list");
	}
	if (status != LC_OK || r == NULL) {
		lc__layout_drop(grown);
		if (status == LC_OK)
			*out = lc__layout_hold(old);
		return status;
	}
	for (size_t i = 0; i < last; i++)
		r->members[i].layout = lc__layout_hold(members[i].layout);
	r->members[last].layout = grown;
	return make_layout(r, out);
}

static lc_status
chunks_at(lc_source *source, struct lc__layout *layout, uint64_t generation,
    uint64_t *chunks)
{
	(void)source;
	(void)layout;
	*chunks = generation;
	return LC_OK;
}

static lc_status
newest_commit(lc_source *source, uint64_t *out)
{
	return last_of(source)->kind->commit(last_of(source), out);
}

static lc_status
is_abandoned(lc_source *source, bool *out)
{
	return last_of(source)->kind->is_abandoned(last_of(source), out);
}

static lc_status
has_inputs(lc_source *source, bool *out)
{
	return last_of(source)->kind->has_inputs(last_of(source), out);
}

static void
free_source(lc_source *source)
{
	struct lc__list_source *list = lc__list_source_of(source);

	for (size_t i = 0; i < list->n; i++)
		lc_source_close(list->members[i]);
	free(list);
}

static lc_status
fetched(lc_source *source, struct lc__layout *layout, uint64_t first,
    struct lc__fetched_list *out)
{
	const struct lc__list_source *list = lc__list_source_of(source);
	const struct lc__list_member *members = lc__list_members(layout);

	for (size_t i = 0; i < list->n; i++)
		return_if_error(lc__source_fetched(list->members[i], members[i].layout,
		    first + members[i].first[LC__LIST_CHUNKS], out));
	return LC_OK;
}

static const struct lc__source_kind list_kind = {
	.newest = newest,
	.chunks_at = chunks_at,
	.commit = newest_commit,
	.is_abandoned = is_abandoned,
	.has_inputs = has_inputs,
	.cursor_new = lc__list_cursor_new,
	.free = free_source,
	.fetched = fetched,
};

/* ---- opening ------------------------------------------------------------------------- */

/* A member of the list, which it follows @p first in, as @p layout has it. */
static lc_status
check_member(lc_source *first, lc_source *member, const struct lc__layout *layout,
    bool is_last)
{
	bool grows = false;

	if (member->kind == &list_kind)
		return lc__error(LC_INVALID, 0, "list: %s is a list: name its members",
		    member->name);
	if (lc__layout_series(layout) > 1)
		return lc__error(LC_INVALID, 0,
		    "list: %s has images of %u sizes; open the directory of one size",
		    member->name, lc__layout_series(layout));
	if (strcmp(first->length_field, member->length_field) != 0)
		return lc__error(LC_INVALID, 0,
		    "list: the length field of %s is '%s', and that of %s is '%s'",
		    first->name, first->length_field, member->name, member->length_field);
	if (is_last || lc__layout_info(layout)->final)
		return LC_OK;
	return_if_error(member->kind->has_inputs(member, &grows));
	if (!grows)
		return LC_OK;
	return lc__error(LC_INVALID, 0,
	    "list: %s is not finished, and only the last of a list may grow; open it at a "
	    "generation",
	    member->name);
}

static lc_status
take_members(struct lc__list_source *list, lc_source *const *members, size_t n)
{
	struct list_rows *r = new_rows(members, n);
	lc_status status = LC_OK;

	if (r == NULL)
		return lc__no_memory("list");
	for (size_t i = 0; i < n; i++) {
		list->members[i] = lc__source_hold(members[i]);
		list->n = i + 1;
		r->members[i].layout = lc__source_layout(members[i]);
	}
	for (size_t i = 0; i < n && status == LC_OK; i++)
		status = check_member(members[0], members[i], r->members[i].layout,
		    i == n - 1);
	if (status == LC_OK)
		return make_layout(r, &list->source.layout);
	lc__rows_drop(&r->rows);
	return status;
}

/* "a, b, c and 7 more"; NULL without memory. */
static char *
name_members(lc_source *const *members, size_t n)
{
	struct lc__buf text = { 0 };

	for (size_t i = 0; i < n && i < NAMED; i++)
		lc__buf_printf(&text, "%s%s", i > 0 ? ", " : "", members[i]->name);
	if (n > NAMED)
		lc__buf_printf(&text, " and %zu more", n - NAMED);
	lc__buf_append(&text, "", 1);
	if (text.failed)
		lc__buf_free(&text);
	return (char *)text.data;
}

/* What the members were opened with. */
static void
take_options(lc_source *const *members, size_t n, lc_source_options *out)
{
	lc_source_options_init(out);
	out->length_field = members[0]->length_field;
	out->verify = LC_VERIFY_NEVER;
	for (size_t i = n; i > 0; i--) {
		const lc_source *member = members[i - 1];

		if (member->verify != LC_VERIFY_NEVER)
			out->verify = member->verify;
		if (member->stop != NULL) {
			out->stop = member->stop;
			out->stop_ctx = member->stop_ctx;
		}
	}
}

static lc_status
check_count(lc_source *const *members, size_t n)
{
	if (n == 0 || n > LC__MOST_MEMBERS)
		return lc__error(LC_INVALID, 0, "list: %zu sources, not 1 to %u", n,
		    LC__MOST_MEMBERS);
	for (size_t i = 0; i < n; i++)
		if (members[i] == NULL)
			return lc__error(LC_INVALID, 0, "list: source %zu is NULL", i);
	return LC_OK;
}

lc_status
lc_source_open_list(lc_source *const *members, size_t n, lc_source **out)
{
	struct lc__list_source *list;
	lc_source_options options;
	lc_status status;
	char *name;

	return_if_error(check_count(members, n));
	if (n == 1) {
		*out = lc__source_hold(members[0]);
		return LC_OK;
	}
	list = calloc(1, sizeof(*list) + n * sizeof(lc_source *));
	name = name_members(members, n);
	if (list == NULL || name == NULL) {
		free(list);
		free(name);
		return lc__no_memory("list");
	}
	take_options(members, n, &options);
	status = lc__source_begin(&list->source, &list_kind, name, &options);
	free(name);
	if (status == LC_OK)
		status = take_members(list, members, n);
	if (status != LC_OK) {
		lc_source_close(&list->source);
		return status;
	}
	list->source.pinned = members[n - 1]->pinned;
	*out = &list->source;
	return LC_OK;
}
