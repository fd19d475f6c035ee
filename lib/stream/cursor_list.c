/* SPDX-License-Identifier: BSD-2-Clause */
/* Cursors over lists: they contain a cursor of each member that was visited. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "stream/cursor.h"
#include "stream/source_list.h"

/* Cursors that are kept when the list's own ends; those of further members are created
 * again when needed. */
#define KEPT 256

/** A member with a cursor. */
struct visited {
	size_t member;
	struct lc__cursor *cursor;
	bool begun;
};

struct list_cursor {
	struct lc__cursor base;
	const struct lc__list_source *list;
	size_t *places;          /* for each member, 1 + its index in visited; 0: none.
	                          * malloc'ed */
	struct visited *visited; /* malloc'ed */
	size_t n, room;
	struct lc__cursor *member; /* the present one, begun; NULL: none */
	uint64_t first, chunks;    /* of it, in the list */
};

struct list_pin {
	struct lc__pin pin;
	size_t n;
	struct lc__pin *pins[];
};

static struct list_cursor *
of(struct lc__cursor *cursor)
{
	return (struct list_cursor *)cursor;
}

/* ---- on commits: that of each member begins when it is needed ------------------------ */

static lc_status
begin(struct lc__cursor *cursor)
{
	(void)cursor;
	return LC_OK;
}

/* All cursors have ended: the chunk is left. Free those that have been there longest. */
static void
leave(struct list_cursor *c)
{
	const size_t over = c->n > KEPT ? c->n - KEPT : 0;

	c->base.at = &c->base;
	c->member = NULL;
	c->chunks = 0;
	if (over == 0)
		return;
	for (size_t i = 0; i < over; i++) {
		c->places[c->visited[i].member] = 0;
		lc__cursor_free(c->visited[i].cursor);
	}
	c->n -= over;
	memmove(c->visited, c->visited + over, c->n * sizeof(*c->visited));
	for (size_t i = 0; i < c->n; i++)
		c->places[c->visited[i].member] = i + 1;
}

static void
end(struct lc__cursor *cursor)
{
	struct list_cursor *c = of(cursor);

	for (size_t i = 0; i < c->n; i++) {
		if (c->visited[i].begun)
			lc__cursor_end(c->visited[i].cursor);
		c->visited[i].begun = false;
	}
	leave(c);
}

static void
drop_pin(struct lc__pin *pin)
{
	struct list_pin *p = (struct list_pin *)pin;

	for (size_t i = 0; i < p->n; i++)
		lc__pin_drop(p->pins[i]);
	free(p);
}

static lc_status
pin(struct lc__cursor *cursor, struct lc__pin **out)
{
	struct list_cursor *c = of(cursor);
	struct list_pin *p = calloc(1, sizeof(*p) + c->n * sizeof(struct lc__pin *));
	lc_status status = LC_OK;

	if (p == NULL) {
		end(cursor);
		return lc__no_memory("read");
	}
	p->pin = (struct lc__pin){ drop_pin,
		sizeof(*p) + c->n * sizeof(struct lc__pin *) };
	for (size_t i = 0; i < c->n && status == LC_OK; i++) {
		if (!c->visited[i].begun)
			continue;
		c->visited[i].begun = false;
		status = lc__cursor_pin(c->visited[i].cursor, &p->pins[p->n]);
		if (status == LC_OK)
			p->pin.bytes += lc__pin_bytes(p->pins[p->n++]);
	}
	end(cursor);
	if (status == LC_OK)
		*out = &p->pin;
	else
		drop_pin(&p->pin);
	return status;
}

/* ---- going to a chunk ---------------------------------------------------------------- */

/* Create the cursor of a member that has none. */
static lc_status
add(struct list_cursor *c, size_t k)
{
	struct lc__layout *layout = lc__list_members(c->base.layout)[k].layout;
	struct visited *v;

	return_if_error(lc__array_reserve(&c->visited, &c->room, c->n + 1, "read"));
	v = &c->visited[c->n];
	*v = (struct visited){ .member = k };
	return_if_error(lc__cursor_new(c->list->members[k], layout, &v->cursor));
	c->places[k] = ++c->n;
	return LC_OK;
}

/* Make the cursor of member @p k the present one, begun. */
static lc_status
turn_to(struct list_cursor *c, size_t k)
{
	const struct lc__list_member *m = &lc__list_members(c->base.layout)[k];
	struct visited *v;

	if (c->places[k] == 0)
		return_if_error(add(c, k));
	v = &c->visited[c->places[k] - 1];
	if (!v->begun)
		return_if_error(lc__cursor_begin(v->cursor));
	v->begun = true;
	c->member = v->cursor;
	c->first = m->first[LC__LIST_CHUNKS];
	c->chunks = lc__layout_info(m->layout)->chunks;
	return LC_OK;
}

static lc_status
go(struct lc__cursor *cursor, uint64_t position)
{
	struct list_cursor *c = of(cursor);
	uint64_t hits, misses;

	if (position - c->first >= c->chunks)
		return_if_error(turn_to(c,
		    lc__list_find(lc__list_members(cursor->layout), c->list->n,
			LC__LIST_CHUNKS, position)));
	hits = c->member->hits;
	misses = c->member->misses;
	return_if_error(lc__cursor_go(c->member, position - c->first));
	cursor->hits += c->member->hits - hits;
	cursor->misses += c->member->misses - misses;
	cursor->at = c->member->at;
	return LC_OK;
}

/* Found in the first member that has it. */
static lc_status
locate(struct lc__cursor *cursor, lc_id id, uint64_t *position, uint64_t *record)
{
	struct list_cursor *c = of(cursor);

	for (size_t k = 0; k < c->list->n; k++) {
		lc_status status;

		return_if_error(turn_to(c, k));
		status = lc__cursor_locate(c->member, id, position, record);
		if (status == LC_OK) {
			*position += c->first;
			cursor->at = c->member->at;
			return LC_OK;
		}
		if (status != LC_NOT_FOUND)
			return status;
		/* Nothing was read that must be kept. */
		if (c->n > KEPT)
			end(cursor);
	}
	return LC_NOT_FOUND;
}

/* The cursor of the member ends by itself. */
static lc_status
view(struct lc__cursor *cursor, uint64_t record, lc_view *out)
{
	struct list_cursor *c = of(cursor);
	lc_status status;

	for (size_t i = 0; i < c->n; i++)
		if (c->visited[i].cursor == c->member)
			c->visited[i].begun = false;
	status = lc__cursor_view(c->member, record, out);
	end(cursor);
	return status;
}

static void
free_cursor(struct lc__cursor *cursor)
{
	struct list_cursor *c = of(cursor);

	end(cursor);
	for (size_t i = 0; i < c->n; i++)
		lc__cursor_free(c->visited[i].cursor);
	free(c->visited);
	free(c->places);
	free(c);
}

static void
forget(struct lc__cursor *cursor)
{
	(void)cursor; /* nothing is known before the first chunk */
}

static const struct lc__cursor_kind list_cursor_kind = {
	.begin = begin,
	.end = end,
	.pin = pin,
	.go = go,
	.view = view,
	.forget = forget,
	.free = free_cursor,
	.locate = locate,
};

lc_status
lc__list_cursor_new(lc_source *source, struct lc__cursor **out)
{
	struct list_cursor *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return lc__no_memory("read");
	c->base.kind = &list_cursor_kind;
	c->list = lc__list_source_of(source);
	c->places = calloc(c->list->n, sizeof(*c->places));
	if (c->places == NULL) {
		free(c);
		return lc__no_memory("read");
	}
	*out = &c->base;
	return LC_OK;
}
