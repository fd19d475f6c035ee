/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/visits.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/idset.h"
#include "stream/stream.h"

/* The numbers of the first visit of a chunk and of its last one so far. */
struct ends {
	uint64_t first, last;
};

struct lc__visits {
	const struct lc__sequence *sequence; /* borrowed */
	struct lc__stream_state *state;      /* held, if it is of a stream; or NULL */
	uint64_t batch, from;
	uint32_t reader, readers;
	uint64_t epoch;      /* the next one to be added */
	uint64_t forgotten;  /* visits before visit[0] */
	uint64_t last_epoch; /* number of the first visit of the epoch added last */
	struct lc__visit *visit;
	size_t n, room;
	/* A reader of many visits few of the chunks: nothing here is as large as all. */
	struct lc__idset places; /* of the chunks visited so far, by their positions */
	struct ends *ends;       /* of each place */
	size_t ends_room;
};

lc_status
lc__visits_new(const struct lc__sequence *sequence, uint64_t batch, uint32_t reader,
    uint32_t readers, uint64_t from, struct lc__visits **out)
{
	struct lc__visits *visits;

	if (sequence->rstar != NULL || !sequence->complete)
		return lc__error(LC_UNSUPPORTED, 0,
		    "the chunks that a reader needs next are known of complete sources, "
		    "and not of the R* order");
	visits = calloc(1, sizeof(*visits));
	if (visits == NULL)
		return lc__no_memory("visits");
	*visits = (struct lc__visits){
		.sequence = sequence,
		.batch = batch,
		.from = from,
		.reader = reader,
		.readers = readers,
	};
	/* Batch b has examples b * batch and on; shares number them in rounds. */
	if (sequence->n > 0)
		visits->epoch = from > UINT64_MAX / batch ? UINT64_MAX
							  : from * batch / sequence->n;
	*out = visits;
	return LC_OK;
}

void
lc__visits_free(struct lc__visits *visits)
{
	if (visits == NULL)
		return;
	lc__stream_state_drop(visits->state);
	free(visits->visit);
	lc__idset_free(&visits->places);
	free(visits->ends);
	free(visits);
}

lc_status
lc__visits_of_stream(lc_stream *stream, uint32_t reader, uint32_t readers, uint64_t from,
    struct lc__visits **out)
{
	struct lc__stream_state *state = lc__stream_state_now(stream);
	lc_status status;

	if (state->n > 1 || state->series != NULL)
		status = lc__error(LC_UNSUPPORTED, 0,
		    "the chunks that a reader needs next are not known of a mixture, nor "
		    "of images of several sizes");
	else
		status = lc__visits_new(state->sequences[0], stream->options.batch,
		    reader, readers, from, out);
	if (status == LC_OK)
		(*out)->state = state;
	else
		lc__stream_state_drop(state);
	return status;
}

struct lc__layout *
lc__visits_layout(const struct lc__visits *visits)
{
	return visits->sequence->layout;
}

/* ---- one epoch ----------------------------------------------------------------------- */

/* Add a visit for the examples numbered [first, end), over all epochs. */
static lc_status
add(struct lc__visits *visits, uint64_t chunk, uint64_t first, uint64_t end)
{
	const uint64_t total = visits->sequence->total;

	if (end > total)
		end = total;
	if (first >= end || (end - 1) / visits->batch < visits->from)
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&visits->visit, &visits->room, visits->n + 1, "visits"));
	visits->visit[visits->n++] = (struct lc__visit){
		.chunk = chunk,
		.first = first / visits->batch,
		.end = (end - 1) / visits->batch + 1,
		.next = LC__NO_VISIT,
	};
	return LC_OK;
}

static lc_status
add_share(struct lc__visits *visits, uint32_t share)
{
	const struct lc__sequence *s = visits->sequence;
	const uint64_t shares = s->rule.shares;
	const uint64_t before = visits->epoch * lc__shares_rounds(s->shares);
	struct lc__shares_visit *list;
	lc_status status = LC_OK;
	uint64_t n;

	return_if_error(lc__shares_visits(s->shares, share, visits->epoch, &list, &n));
	for (uint64_t i = 0; i < n && status == LC_OK; i++)
		status = add(visits, list[i].chunk,
		    (before + list[i].first) * shares + share,
		    (before + list[i].end - 1) * shares + share + 1);
	free(list);
	return status;
}

/* The examples of a chunk that begin or end in it: those that need it. */
static void
examples_of(const struct lc__sequence *s, const struct lc__chunk_row *row,
    uint64_t *first, uint64_t *end)
{
	const struct lc__windows *windows = &s->rule.windows;

	*first = row->first_record;
	*end = row->first_record + row->records;
	if (windows->size == 0)
		return;
	/* Window i has the units [i stride, i stride + size). */
	*first = row->first_unit < windows->size
	    ? 0
	    : (row->first_unit - windows->size) / windows->stride + 1;
	*end = row->units == 0 ? *first
			       : (row->first_unit + row->units - 1) / windows->stride + 1;
	if (*end > s->n)
		*end = s->n;
}

static lc_status
add_in_order(struct lc__visits *visits)
{
	const struct lc__sequence *s = visits->sequence;
	const uint64_t before = visits->epoch * s->n;
	const uint64_t chunks = lc__layout_info(s->layout)->chunks;
	struct lc__chunk_row row;
	uint64_t first, end;

	for (uint64_t i = 0; i < chunks; i++) {
		return_if_error(lc__layout_row(s->layout, i, &row));
		examples_of(s, &row, &first, &end);
		if (first < end)
			return_if_error(add(visits, i, before + first, before + end));
	}
	return LC_OK;
}

/* Units of an example, the last one included. */
static void
units_of(const struct lc__sequence *s, uint64_t first, uint64_t end, uint64_t *from,
    uint64_t *last)
{
	const struct lc__windows *windows = &s->rule.windows;
	const uint64_t length = lc__layout_info(s->layout)->length;

	*from = first;
	*last = end - 1;
	if (windows->size == 0)
		return;
	*from = first * windows->stride;
	*last = (end - 1) * windows->stride + windows->size - 1;
	if (*last >= length)
		*last = length - 1;
}

/* The chunks of a run of examples, which are read among the numbers [begin, end). */
static lc_status
add_run(struct lc__visits *visits, uint64_t first, uint64_t last, uint64_t begin,
    uint64_t end)
{
	const struct lc__sequence *s = visits->sequence;
	const bool units = s->rule.windows.size > 0;
	struct lc__chunk_row row;
	uint64_t chunk;

	return_if_error(units ? lc__layout_find_unit(s->layout, first, &chunk, &row)
			      : lc__layout_find_record(s->layout, first, &chunk, &row));
	for (;;) {
		if (lc__row_end(&row, units) > lc__row_first(&row, units))
			return_if_error(add(visits, chunk, begin, end));
		if (lc__row_end(&row, units) > last)
			return LC_OK;
		return_if_error(lc__layout_row(s->layout, ++chunk, &row));
	}
}

static int
by_chunk(const void *a, const void *b)
{
	const struct lc__visit *x = a, *y = b;

	return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

/* Of a window only one visit a chunk; those from @p at on are of one window. */
static void
drop_twins(struct lc__visits *visits, size_t at)
{
	size_t n = at;

	if (visits->n == at)
		return;
	qsort(visits->visit + at, visits->n - at, sizeof(*visits->visit), by_chunk);
	for (size_t i = at; i < visits->n; i++)
		if (n == at || visits->visit[n - 1].chunk != visits->visit[i].chunk)
			visits->visit[n++] = visits->visit[i];
	visits->n = n;
}

static lc_status
add_windows(struct lc__visits *visits)
{
	const struct lc__sequence *s = visits->sequence;
	const uint64_t before = visits->epoch * s->n;
	struct lc__shuffle_window near = { 0 };
	struct lc__shuffle shuffle;
	uint64_t runs, first, end, from, last;

	lc__shuffle_init(&shuffle, &s->rule.shuffle, s->n, visits->epoch);
	for (uint64_t i = 0; i < s->n; i = near.end) {
		const size_t at = visits->n;

		runs = lc__shuffle_runs(&shuffle, &near, i);
		for (uint64_t k = 0; k < runs; k++) {
			lc__shuffle_run(&shuffle, &near, k, &first, &end);
			units_of(s, first, end, &from, &last);
			return_if_error(add_run(visits, from, last, before + near.first,
			    before + near.end));
		}
		drop_twins(visits, at);
	}
	return LC_OK;
}

static int
by_first(const void *a, const void *b)
{
	const struct lc__visit *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return by_chunk(a, b);
}

static lc_id
id_of(const uint64_t *chunk)
{
	return (lc_id){ chunk, sizeof(*chunk) };
}

/* Give the chunk of each visit its place. */
static lc_status
place_visits(struct lc__visits *visits, size_t at)
{
	for (size_t i = at; i < visits->n; i++) {
		struct lc__visit *visit = &visits->visit[i];
		bool added;

		visit->place = (uint32_t)visits->places.count;
		return_if_error(lc__array_reserve(&visits->ends, &visits->ends_room,
		    visits->places.count + 1, "visits"));
		return_if_error(lc__idset_add(&visits->places, id_of(&visit->chunk),
		    visit->place, &added, &visit->place));
		if (added)
			visits->ends[visit->place] = (struct ends){ LC__NO_VISIT,
				LC__NO_VISIT };
	}
	return LC_OK;
}

/* Tell the visit before of a chunk which one is its next. */
static void
link_visits(struct lc__visits *visits, size_t at)
{
	for (size_t i = at; i < visits->n; i++) {
		const uint64_t number = visits->forgotten + i;
		struct ends *ends = &visits->ends[visits->visit[i].place];

		if (ends->last != LC__NO_VISIT && ends->last >= visits->forgotten)
			visits->visit[ends->last - visits->forgotten].next = number;
		ends->last = number;
		if (ends->first == LC__NO_VISIT)
			ends->first = number;
	}
}

static lc_status
add_epoch(struct lc__visits *visits)
{
	const struct lc__sequence *s = visits->sequence;
	const size_t at = visits->n;
	lc_status status = LC_OK;

	if (s->shares != NULL)
		for (uint32_t c = visits->reader; c < s->rule.shares && status == LC_OK;
		     c += visits->readers)
			status = add_share(visits, c);
	else if (s->rule.shuffle.kind == LC_SHUFFLE_NONE)
		status = add_in_order(visits);
	else
		status = add_windows(visits);
	if (visits->n > at)
		qsort(visits->visit + at, visits->n - at, sizeof(*visits->visit),
		    by_first);
	if (status == LC_OK)
		status = place_visits(visits, at);
	if (status != LC_OK) {
		visits->n = at;
		return status;
	}
	link_visits(visits, at);
	visits->last_epoch = visits->forgotten + at;
	visits->epoch++;
	return LC_OK;
}

/* ---- all of them --------------------------------------------------------------------- */

/* Has the epoch that is next any examples? */
static bool
has_more(const struct lc__visits *visits)
{
	const struct lc__sequence *s = visits->sequence;

	return s->n > 0 && visits->epoch <= (s->total - 1) / s->n &&
	    visits->epoch < UINT64_MAX / s->n - 1;
}

/* The next visit of a chunk is known once an epoch after it is there. */
lc_status
lc__visits_get(struct lc__visits *visits, uint64_t k, struct lc__visit *out)
{
	while (has_more(visits) && (k >= visits->last_epoch || visits->n == 0))
		return_if_error(add_epoch(visits));
	if (k < visits->forgotten || k - visits->forgotten >= visits->n)
		return LC_END;
	*out = visits->visit[k - visits->forgotten];
	return LC_OK;
}

/* In each epoch a reader has all of its chunks, and the first one may have begun before. */
lc_status
lc__visits_first(struct lc__visits *visits, uint64_t chunk, uint64_t *k)
{
	struct lc__visit visit;
	lc_status status = LC_OK;
	uint32_t place;

	if (visits->last_epoch == 0)
		status = lc__visits_get(visits, 0, &visit);
	*k = lc__idset_find(&visits->places, id_of(&chunk), &place)
	    ? visits->ends[place].first
	    : LC__NO_VISIT;
	return status == LC_END ? LC_OK : status;
}

void
lc__visits_forget(struct lc__visits *visits, uint64_t k)
{
	const uint64_t n = k - visits->forgotten;

	/* Moving what stays costs less than once a visit. */
	if (k <= visits->forgotten || n > visits->n || n < visits->n / 2)
		return;
	memmove(visits->visit, visits->visit + n,
	    (visits->n - n) * sizeof(*visits->visit));
	visits->n -= n;
	visits->forgotten = k;
}
