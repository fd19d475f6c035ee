/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes the cost of an order: examples are located without being read, and the
 * chunks that they touch are counted. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "cmd/plan.h"
#include "order/split.h"
#include "stream/cursor.h"
#include "stream/requests.h"
#include "stream/source.h"
#include "ui/progress.h"

/* A stream longer than the batches to examine is examined in this many parts. */
#define PLACES 4

/* The part of a lc_piece that counts here. */
struct touch {
	uint64_t chunk; /* number of the chunk among all chunks */
	uint64_t first, units;
	uint32_t source, reader;
	uint64_t start_chunk, start_first; /* bytes of the whole example */
	size_t order;                      /* in which they were located */
};

/* A cache of chunks, the most recently used first. */
struct kept {
	uint64_t n, room;          /* chunks in it; the most that it holds */
	uint64_t *before, *behind; /* of each chunk; NONE */
	bool *there;               /* of each chunk */
	uint64_t front, back;
};
#define NONE UINT64_MAX

struct work {
	const struct plan *plan;
	lc_stream *stream;
	struct plan_cost *cost;
	struct plan_pieces pieces;
	struct touch *touches;
	size_t n, room;
	uint64_t *seen;   /* of each chunk: 1 + the last batch that touched it */
	uint64_t *counts; /* number of chunks that each examined batch touched */
	struct kept kept;
	char **names; /* fields that are read; malloc'ed, and each name, too */
	size_t n_names;
	struct lc__requests requests; /* of a reader's share */
	struct lc__extents extents;   /* of a request */
	/* Chunks touched; those touched within the last K batches. */
	double visits, again;
	double used, whole, cached; /* bytes */
	double runs;
};

/* ---- chunks in memory --------------------------------------------------------------------- */

static void
take_out(struct kept *kept, uint64_t chunk)
{
	const uint64_t before = kept->before[chunk], behind = kept->behind[chunk];

	*(before == NONE ? &kept->front : &kept->behind[before]) = behind;
	*(behind == NONE ? &kept->back : &kept->before[behind]) = before;
	kept->there[chunk] = false;
	kept->n--;
}

static void
put_in_front(struct kept *kept, uint64_t chunk)
{
	kept->before[chunk] = NONE;
	kept->behind[chunk] = kept->front;
	*(kept->front == NONE ? &kept->back : &kept->before[kept->front]) = chunk;
	kept->front = chunk;
	kept->there[chunk] = true;
	kept->n++;
}

/* Use a chunk. True if the cache had it. */
static bool
use(struct kept *kept, uint64_t chunk)
{
	const bool there = kept->there[chunk];

	if (there)
		take_out(kept, chunk);
	else if (kept->n > 0 && kept->n == kept->room)
		take_out(kept, kept->back);
	if (kept->room > 0)
		put_in_front(kept, chunk);
	return there;
}

/* ---- what a batch touches ------------------------------------------------------------------ */

static lc_status
add_touches(struct work *w, uint32_t reader)
{
	const struct plan_pieces *pieces = &w->pieces;

	return_if_error(
	    lc__array_reserve(&w->touches, &w->room, w->n + pieces->count, NULL));
	for (size_t i = 0; i < pieces->count; i++) {
		const lc_piece *piece = &pieces->items[i];
		w->touches[w->n] = (struct touch){
			.chunk = w->plan->chunks->first[piece->source] + piece->chunk,
			.first = piece->first,
			.units = piece->units,
			.source = piece->source,
			.reader = reader,
			.start_chunk = pieces->items[0].chunk,
			.start_first = pieces->items[0].first,
			.order = w->n,
		};
		w->n++;
	}
	return LC_OK;
}

static lc_status
locate_share(struct work *w, uint64_t batch, uint32_t reader)
{
	const struct plan *plan = w->plan;
	const struct lc__share share = { plan->split, reader, plan->readers,
		plan->batch };
	const uint64_t rows = lc__share_rows(&share);

	for (uint64_t row = 0; row < rows; row++) {
		const lc_status status = plan_locate(w->stream,
		    batch * plan->batch + lc__share_at(&share, row), &w->pieces);
		if (status == LC_END)
			break;
		return_if_error(status);
		return_if_error(add_touches(w, reader));
		w->cost->examples++;
	}
	return LC_OK;
}

static int
by_place(const void *a, const void *b)
{
	const struct touch *x = a, *y = b;

	if (x->chunk != y->chunk)
		return x->chunk < y->chunk ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int
compare(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

/* Sort pieces in the order in which a reader reads them. */
static int
by_reader(const void *a, const void *b)
{
	const struct touch *x = a, *y = b;
	int order = compare(x->reader, y->reader);

	if (order == 0)
		order = by_place(a, b);
	if (order == 0)
		order = compare(x->start_chunk, y->start_chunk);
	if (order == 0)
		order = compare(x->start_first, y->start_first);
	return order != 0 ? order : compare(x->order, y->order);
}

static lc_status
add_request(struct work *w, const struct touch *t, uint64_t record, uint64_t from,
    uint64_t units)
{
	struct lc__request *r = lc__requests_add(&w->requests);

	if (r == NULL)
		return lc__no_memory(NULL);
	*r = (struct lc__request){
		.source = t->source,
		.position = t->chunk - w->plan->chunks->first[t->source],
		.record = record,
		.from = from,
		.units = units,
	};
	return LC_OK;
}

/* The records that a piece of a window is of. */
static lc_status
add_window(struct work *w, const struct touch *t)
{
	struct lc__cursor *cursor = w->plan->chunks->cursors[t->source];
	uint64_t record, before, from, left = t->units;

	return_if_error(
	    lc__cursor_go(cursor, t->chunk - w->plan->chunks->first[t->source]));
	return_if_error(lc__cursor_find(cursor, t->first, &record, &before));
	for (from = t->first - before; left > 0; record++, from = 0) {
		const uint64_t there = lc__cursor_units(cursor, record) - from;
		const uint64_t here = there < left ? there : left;

		if (here == 0)
			continue;
		return_if_error(add_request(w, t, record, from, here));
		left -= here;
	}
	lc__cursor_forget(cursor);
	return LC_OK;
}

/* Bytes that reading a request touches. */
static lc_status
request_bytes(struct work *w, size_t i, double *out)
{
	const struct lc__request *r = &w->requests.item[i];
	const bool rows = w->plan->windows && w->plan->chunks->has_lengths;
	struct lc__cursor *cursor = w->plan->chunks->cursors[r->source];
	struct lc__row_span span;

	lc__requests_rows(&w->requests, i, &span);
	if (w->plan->windows && !rows && span.done > 0)
		return LC_OK;
	w->extents.n = 0;
	return_if_error(lc__cursor_go(cursor, r->position));
	return_if_error(lc__cursor_extents(cursor, r->record,
	    (const char *const *)w->names, w->n_names, rows ? &span : NULL, &w->extents));
	*out += (double)lc__extents_bytes(&w->extents);
	lc__cursor_forget(cursor);
	return LC_OK;
}

/* What one reader's touches read, in the order in which it does. */
static lc_status
count_reader(struct work *w, const struct touch *t, size_t n)
{
	struct plan_reader *reader = &w->cost->readers[t->reader];
	double bytes = 0;

	w->requests.n = 0;
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || t[i - 1].chunk != t[i].chunk)
			reader->chunks++;
		return_if_error(w->plan->windows
			? add_window(w, &t[i])
			: add_request(w, &t[i], t[i].first, 0, 1));
	}
	return_if_error(lc__requests_sort(&w->requests));
	for (size_t i = 0; i < w->requests.n; i++)
		return_if_error(request_bytes(w, i, &bytes));
	reader->bytes += bytes;
	w->used += bytes;
	return LC_OK;
}

/* As many bytes as reading it counts. */
static lc_status
count_readers(struct work *w)
{
	qsort(w->touches, w->n, sizeof(*w->touches), by_reader);
	for (size_t i = 0, end; i < w->n; i = end) {
		end = i + 1;
		while (end < w->n && w->touches[end].reader == w->touches[i].reader)
			end++;
		return_if_error(count_reader(w, &w->touches[i], end - i));
	}
	return LC_OK;
}

/* Count a chunk once per batch that touches it. */
static void
visit(struct work *w, uint64_t batch, uint64_t chunk)
{
	const double bytes = w->plan->chunks->bytes[chunk];
	const uint64_t seen = w->seen[chunk];

	w->visits++;
	w->whole += bytes;
	if (seen > 0 && batch + 1 - seen <= w->plan->within)
		w->again++;
	w->seen[chunk] = batch + 1;
	if (!use(&w->kept, chunk))
		w->cached += bytes;
}

static lc_status
count_batch(struct work *w, uint64_t batch)
{
	uint64_t *count = &w->counts[w->cost->batches++];
	uint64_t end = 0;

	return_if_error(count_readers(w));
	qsort(w->touches, w->n, sizeof(*w->touches), by_place);
	for (size_t i = 0; i < w->n; i++) {
		const struct touch *t = &w->touches[i];
		const bool new = i == 0 || t[-1].chunk != t->chunk;
		if (new) {
			visit(w, batch, t->chunk);
			*count += 1;
		}
		if (new || t->first > end)
			w->runs++;
		if (new || t->first + t->units > end)
			end = t->first + t->units;
	}
	return LC_OK;
}

static lc_status
look_at(struct work *w, uint64_t batch)
{
	w->n = 0;
	for (uint32_t r = 0; r < w->plan->readers; r++)
		return_if_error(locate_share(w, batch, r));
	return_if_error(count_batch(w, batch));
	progress_items(w->cost->batches, w->plan->over);
	return progress_step(NULL, (uint64_t)w->used, 0)
	    ? lc__error(LC_CANCELLED, 0, "interrupted")
	    : LC_OK;
}

/* ---- what is read of a record ---------------------------------------------------------------- */

static lc_status
take_names(struct work *w, const char *const *names, size_t n)
{
	return lc__field_names_copy(names, n, &w->names, &w->n_names);
}

/* All fields of the first record: the default of readers. */
static lc_status
first_names(struct work *w)
{
	struct lc__cursor *cursor;
	uint64_t record, before;

	return_if_error(plan_locate(w->stream, 0, &w->pieces));
	cursor = w->plan->chunks->cursors[w->pieces.items[0].source];
	return_if_error(lc__cursor_go(cursor, w->pieces.items[0].chunk));
	return_if_error(
	    lc__cursor_find(cursor, w->pieces.items[0].first, &record, &before));
	return lc__cursor_fields(cursor, record, &w->names, &w->n_names);
}

static lc_status
find_names(struct work *w)
{
	const struct plan *plan = w->plan;
	const char *length_field = lc__source_length_field(plan->sources->all[0].source);

	if (plan->fields != NULL)
		return take_names(w, plan->fields, plan->n_fields);
	if (plan->windows && plan->chunks->has_lengths)
		return take_names(w, &length_field, 1);
	return first_names(w);
}

/* ---- all of them ------------------------------------------------------------------------------ */

/* Examine batches that are spread evenly over the stream; in one without an end, the
 * first batches. */
static lc_status
look_over(struct work *w, uint64_t batches)
{
	const uint64_t over = w->plan->over;
	const uint64_t part = (over + PLACES - 1) / PLACES;
	const uint64_t last = batches - part;

	if (batches <= over || batches == UINT64_MAX) {
		for (uint64_t b = 0; b < batches && b < over; b++)
			return_if_error(look_at(w, b));
		return LC_OK;
	}
	for (uint64_t i = 0; i < over; i++) {
		/* The parts of such a short stream would overlap: examine one part. */
		const uint64_t b = last < over
		    ? i
		    : (uint64_t)((double)last * (double)(i / part) / (PLACES - 1)) +
			i % part;
		return_if_error(look_at(w, b));
	}
	return LC_OK;
}

static int
by_size(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void
sum_up(struct work *w)
{
	struct plan_cost *cost = w->cost;
	const double n = cost->batches > 0 ? (double)cost->batches : 1;

	qsort(w->counts, cost->batches, sizeof(*w->counts), by_size);
	if (cost->batches > 0) {
		cost->p50 = w->counts[(cost->batches * 50 + 99) / 100 - 1];
		cost->p99 = w->counts[(cost->batches * 99 + 99) / 100 - 1];
		cost->most = w->counts[cost->batches - 1];
	}
	cost->chunks = w->visits / n;
	cost->runs = w->runs / n;
	cost->bytes = w->used / n;
	cost->all_bytes = w->used;
	cost->visit = w->visits > 0 ? (double)cost->examples / w->visits : 0;
	cost->again = w->visits > 0 ? w->again / w->visits : 0;
	cost->whole = w->used > 0 ? w->whole / w->used : 0;
	cost->cached = w->used > 0 ? w->cached / w->used : 0;
	for (uint32_t r = 0; r < w->plan->readers; r++) {
		cost->readers[r].chunks /= n;
		cost->readers[r].bytes /= n;
	}
}

static lc_status
make_room(struct work *w)
{
	const uint64_t n = w->plan->chunks->n + 1;

	w->seen = calloc(n, sizeof(*w->seen));
	w->counts = calloc(w->plan->over, sizeof(*w->counts));
	w->kept = (struct kept){
		.room = w->plan->kept,
		.front = NONE,
		.back = NONE,
		.before = calloc(n, sizeof(uint64_t)),
		.behind = calloc(n, sizeof(uint64_t)),
		.there = calloc(n, sizeof(bool)),
	};
	w->cost->readers = calloc(w->plan->readers, sizeof(*w->cost->readers));
	if (w->seen == NULL || w->counts == NULL || w->kept.before == NULL ||
	    w->kept.behind == NULL || w->kept.there == NULL || w->cost->readers == NULL)
		return lc__no_memory(NULL);
	return LC_OK;
}

static void
free_room(struct work *w)
{
	for (size_t i = 0; i < w->n_names; i++)
		free(w->names[i]);
	free(w->names);
	free(w->extents.item);
	lc__requests_free(&w->requests);
	free(w->pieces.items);
	free(w->touches);
	free(w->seen);
	free(w->counts);
	free(w->kept.before);
	free(w->kept.behind);
	free(w->kept.there);
}

lc_status
plan_cost(const struct plan *plan, lc_stream *stream, uint64_t batches,
    struct plan_cost *out)
{
	struct work w = { .plan = plan, .stream = stream, .cost = out };
	lc_status status;

	memset(out, 0, sizeof(*out));
	status = make_room(&w);
	if (status == LC_OK && batches > 0)
		status = find_names(&w);
	if (status == LC_OK)
		status = look_over(&w, batches);
	if (status == LC_OK)
		sum_up(&w);
	free_room(&w);
	return status;
}

void
plan_cost_free(struct plan_cost *cost)
{
	free(cost->readers);
}
