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

/* The visits of one source. */
struct part {
	struct lc__visits *visits;
	const struct lc__sequence *sequence; /* borrowed */
	uint32_t source;
	uint64_t first_chunk; /* number of its chunk 0 */
	uint64_t block, own;  /* of a mixture: examples, and those of this source */
	uint64_t epoch;       /* the next one to be added */
	uint64_t forgotten;   /* visits before visit[0] */
	uint64_t last_epoch;  /* number of the first visit of the epoch added last */
	unsigned epochs;      /* added, up to 2 */
	bool none;            /* an epoch that is whole has no visit, so none has */
	struct lc__visit *visit;
	size_t n, room;
};

struct lc__visits {
	struct lc__stream_state *state; /* held, if it is of a stream; or NULL */
	uint64_t batch, from, total;    /* total: of the stream's examples */
	struct lc__ranks ranks;
	struct lc__chunk_range *only; /* NULL: all chunks */
	size_t n_only;
	/* A reader of many visits few of the chunks: nothing here is as large as all. */
	struct lc__idset places; /* of the chunks visited so far, by their numbers */
	struct ends *ends;       /* of each place */
	size_t ends_room;
	uint32_t n;
	struct part parts[];
};

/* The first number of the stream that an example of the source may have, and the first after
 * those that it may have; UINT64_MAX: beyond all. */
static uint64_t
first_number(const struct part *part, uint64_t index)
{
	if (part->block == 0)
		return index;
	return index / part->own > UINT64_MAX / part->block - 1
	    ? UINT64_MAX
	    : index / part->own * part->block;
}

static uint64_t
end_number(const struct part *part, uint64_t end)
{
	uint64_t number;

	if (part->block == 0)
		return end;
	number = first_number(part, end - 1);
	return number > UINT64_MAX - part->block ? UINT64_MAX : number + part->block;
}

/* A part of a mixture has block > 0. */
static void
begin_part(struct part *part)
{
	const struct lc__visits *visits = part->visits;
	uint64_t index = visits->from > UINT64_MAX / visits->batch
	    ? UINT64_MAX
	    : visits->from * visits->batch;

	if (part->block > 0)
		index = index / part->block * part->own;
	/* Shares number their examples in rounds. */
	if (part->sequence->n > 0)
		part->epoch = index / part->sequence->n;
}

static lc_status
make_visits(const struct lc__sequence *const *sequences, uint32_t n, uint64_t batch,
    struct lc__ranks ranks, uint64_t from, struct lc__visits **out)
{
	struct lc__visits *visits;
	uint64_t chunks = 0;

	for (uint32_t i = 0; i < n; i++)
		if (sequences[i]->rstar != NULL || !sequences[i]->complete)
			return lc__error(LC_UNSUPPORTED, 0,
			    "the chunks that a reader needs next are known of complete "
			    "sources, and not of the R* order");
	visits = calloc(1, sizeof(*visits) + n * sizeof(visits->parts[0]));
	if (visits == NULL)
		return lc__no_memory("visits");
	visits->batch = batch;
	visits->ranks = ranks;
	visits->from = from;
	visits->total = UINT64_MAX;
	visits->n = n;
	for (uint32_t i = 0; i < n; i++) {
		visits->parts[i] = (struct part){
			.visits = visits,
			.sequence = sequences[i],
			.source = i,
			.first_chunk = chunks,
		};
		chunks += lc__layout_info(sequences[i]->layout)->chunks;
	}
	*out = visits;
	return LC_OK;
}

lc_status
lc__visits_new(const struct lc__sequence *sequence, uint64_t batch,
    struct lc__ranks ranks, uint64_t from, struct lc__visits **out)
{
	return_if_error(make_visits(&sequence, 1, batch, ranks, from, out));
	(*out)->total = sequence->total;
	begin_part(&(*out)->parts[0]);
	return LC_OK;
}

void
lc__visits_free(struct lc__visits *visits)
{
	if (visits == NULL)
		return;
	lc__stream_state_drop(visits->state);
	for (uint32_t i = 0; i < visits->n; i++)
		free(visits->parts[i].visit);
	lc__idset_free(&visits->places);
	free(visits->ends);
	free(visits->only);
	free(visits);
}

lc_status
lc__visits_of_stream(lc_stream *stream, struct lc__ranks ranks, uint64_t from,
    const struct lc__chunk_range *only, size_t n, struct lc__visits **out)
{
	struct lc__stream_state *state = lc__stream_state_now(stream);
	struct lc__visits *visits = NULL;
	lc_status status;

	if (state->series != NULL)
		status = lc__error(LC_UNSUPPORTED, 0,
		    "the chunks that a reader needs next are not known of images of "
		    "several sizes");
	else
		status = make_visits((const struct lc__sequence *const *)state->sequences,
		    state->n, stream->options.batch, ranks, from, &visits);
	if (status != LC_OK) {
		lc__stream_state_drop(state);
		return status;
	}
	visits->state = state;
	visits->total = state->total;
	for (uint32_t i = 0; i < state->n; i++) {
		struct part *part = &visits->parts[i];

		if (state->mixture != NULL) {
			part->block = lc__mixture_block(state->mixture);
			part->own = lc__mixture_count(state->mixture, i);
		}
		begin_part(part);
	}
	if (only != NULL) {
		visits->only = calloc(n + 1, sizeof(*only));
		visits->n_only = n;
		if (visits->only == NULL) {
			lc__visits_free(visits);
			return lc__no_memory("visits");
		}
		memcpy(visits->only, only, n * sizeof(*only));
	}
	*out = visits;
	return LC_OK;
}

uint32_t
lc__visits_sources(const struct lc__visits *visits)
{
	return visits->n;
}

uint32_t
lc__visits_source(const struct lc__visits *visits, uint64_t chunk)
{
	uint32_t source = visits->n - 1;

	while (visits->parts[source].first_chunk > chunk)
		source--;
	return source;
}

uint64_t
lc__visits_chunks(const struct lc__visits *visits)
{
	const struct part *last = &visits->parts[visits->n - 1];

	return last->first_chunk + lc__layout_info(last->sequence->layout)->chunks;
}

/* ---- one epoch ----------------------------------------------------------------------- */

static bool
is_asked_for(const struct lc__visits *visits, uint64_t chunk)
{
	size_t low = 0, high = visits->n_only;

	if (visits->only == NULL)
		return true;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (visits->only[middle].end <= chunk)
			low = middle + 1;
		else
			high = middle;
	}
	return low < visits->n_only && visits->only[low].first <= chunk;
}

/* Add a visit for the examples [first, end) of the source, over all epochs. */
static lc_status
add(struct part *part, uint64_t chunk, uint64_t first, uint64_t end)
{
	const struct lc__visits *visits = part->visits;

	chunk += part->first_chunk;
	if (end > part->sequence->total)
		end = part->sequence->total;
	if (first >= end || !is_asked_for(visits, chunk))
		return LC_OK;
	first = first_number(part, first);
	end = end_number(part, end);
	if (end > visits->total)
		end = visits->total;
	if (first >= end || (end - 1) / visits->batch < visits->from)
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&part->visit, &part->room, part->n + 1, "visits"));
	part->visit[part->n++] = (struct lc__visit){
		.chunk = chunk,
		.source = part->source,
		.first = first / visits->batch,
		.end = (end - 1) / visits->batch + 1,
		.next = LC__NO_VISIT,
		.again = LC__NO_VISIT,
	};
	return LC_OK;
}

static lc_status
add_share(struct part *part, uint32_t share)
{
	const struct lc__sequence *s = part->sequence;
	const uint64_t shares = s->rule.shares;
	const uint64_t before = part->epoch * lc__shares_rounds(s->shares);
	struct lc__shares_visit *list;
	lc_status status = LC_OK;
	uint64_t n;

	return_if_error(lc__shares_visits(s->shares, share, part->epoch, &list, &n));
	for (uint64_t i = 0; i < n && status == LC_OK; i++)
		status = add(part, list[i].chunk,
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
add_in_order(struct part *part)
{
	const struct lc__sequence *s = part->sequence;
	const uint64_t before = part->epoch * s->n;
	const uint64_t chunks = lc__layout_info(s->layout)->chunks;
	struct lc__chunk_row row;
	uint64_t first, end;

	for (uint64_t i = 0; i < chunks; i++) {
		return_if_error(lc__layout_row(s->layout, i, &row));
		examples_of(s, &row, &first, &end);
		if (first < end)
			return_if_error(add(part, i, before + first, before + end));
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
add_run(struct part *part, uint64_t first, uint64_t last, uint64_t begin, uint64_t end)
{
	const struct lc__sequence *s = part->sequence;
	const bool units = s->rule.windows.size > 0;
	struct lc__chunk_row row;
	uint64_t chunk;

	return_if_error(units ? lc__layout_find_unit(s->layout, first, &chunk, &row)
			      : lc__layout_find_record(s->layout, first, &chunk, &row));
	for (;;) {
		if (lc__row_end(&row, units) > lc__row_first(&row, units))
			return_if_error(add(part, chunk, begin, end));
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
drop_twins(struct part *part, size_t at)
{
	size_t n = at;

	if (part->n == at)
		return;
	qsort(part->visit + at, part->n - at, sizeof(*part->visit), by_chunk);
	for (size_t i = at; i < part->n; i++)
		if (n == at || part->visit[n - 1].chunk != part->visit[i].chunk)
			part->visit[n++] = part->visit[i];
	part->n = n;
}

static lc_status
add_windows(struct part *part)
{
	const struct lc__sequence *s = part->sequence;
	const uint64_t before = part->epoch * s->n;
	struct lc__shuffle_window near = { 0 };
	struct lc__shuffle shuffle;
	uint64_t runs, first, end, from, last;

	lc__shuffle_init(&shuffle, &s->rule.shuffle, s->n, part->epoch);
	for (uint64_t i = 0; i < s->n; i = near.end) {
		const size_t at = part->n;

		runs = lc__shuffle_runs(&shuffle, &near, i);
		for (uint64_t k = 0; k < runs; k++) {
			lc__shuffle_run(&shuffle, &near, k, &first, &end);
			units_of(s, first, end, &from, &last);
			return_if_error(add_run(part, from, last, before + near.first,
			    before + near.end));
		}
		drop_twins(part, at);
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
place_visits(struct part *part, size_t at)
{
	struct lc__visits *visits = part->visits;

	for (size_t i = at; i < part->n; i++) {
		struct lc__visit *visit = &part->visit[i];
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
link_visits(struct part *part, size_t at)
{
	for (size_t i = at; i < part->n; i++) {
		const uint64_t number = part->forgotten + i;
		struct ends *ends = &part->visits->ends[part->visit[i].place];

		if (ends->last != LC__NO_VISIT && ends->last >= part->forgotten) {
			struct lc__visit *before =
			    &part->visit[ends->last - part->forgotten];

			before->next = number;
			before->again = part->visits->n == 1 ? number
							     : part->visit[i].first;
		}
		ends->last = number;
		if (ends->first == LC__NO_VISIT)
			ends->first = number;
	}
}

/* Is share @p c of one of the readers? */
static bool
is_theirs(const struct lc__ranks *ranks, uint32_t c)
{
	return c % ranks->of >= ranks->first && c % ranks->of < ranks->first + ranks->n;
}

static lc_status
add_epoch(struct part *part)
{
	const struct lc__sequence *s = part->sequence;
	const size_t at = part->n;
	lc_status status = LC_OK;

	if (s->shares != NULL) {
		for (uint32_t c = 0; c < s->rule.shares && status == LC_OK; c++)
			if (is_theirs(&part->visits->ranks, c))
				status = add_share(part, c);
	} else if (s->rule.shuffle.kind == LC_SHUFFLE_NONE) {
		status = add_in_order(part);
	} else {
		status = add_windows(part);
	}
	if (part->n > at)
		qsort(part->visit + at, part->n - at, sizeof(*part->visit), by_first);
	if (status == LC_OK)
		status = place_visits(part, at);
	if (status != LC_OK) {
		part->n = at;
		return status;
	}
	link_visits(part, at);
	/* The first one may have been cut by the batch to begin with. */
	part->none = part->n == at && part->epochs > 0;
	if (part->epochs < 2)
		part->epochs++;
	part->last_epoch = part->forgotten + at;
	part->epoch++;
	return LC_OK;
}

/* ---- all of them --------------------------------------------------------------------- */

/* Has the epoch that is next any examples? */
static bool
has_more(const struct part *part)
{
	const struct lc__sequence *s = part->sequence;

	return s->n > 0 && !part->none && part->epoch <= (s->total - 1) / s->n &&
	    part->epoch < UINT64_MAX / s->n - 1 &&
	    first_number(part, part->epoch * s->n) < part->visits->total;
}

/* The next visit of a chunk is known once an epoch after it is there. */
lc_status
lc__visits_get(struct lc__visits *visits, uint32_t source, uint64_t k,
    struct lc__visit *out)
{
	struct part *part = &visits->parts[source];

	while (has_more(part) && (k >= part->last_epoch || part->n == 0))
		return_if_error(add_epoch(part));
	if (k < part->forgotten || k - part->forgotten >= part->n)
		return LC_END;
	*out = part->visit[k - part->forgotten];
	return LC_OK;
}

lc_status
lc__visits_next(struct lc__visits *visits, uint64_t *at, struct lc__visit *out)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < visits->n; i++) {
		struct lc__visit visit;
		const lc_status status = lc__visits_get(visits, i, at[i], &visit);

		if (status == LC_END)
			continue;
		return_if_error(status);
		if (least == UINT32_MAX || by_first(&visit, out) < 0) {
			least = i;
			*out = visit;
		}
	}
	if (least == UINT32_MAX)
		return LC_END;
	at[least]++;
	return LC_OK;
}

/* In each epoch a reader has all of its chunks, and the first one may have begun before. */
lc_status
lc__visits_first(struct lc__visits *visits, uint64_t chunk, uint64_t *k)
{
	const uint32_t source = lc__visits_source(visits, chunk);
	lc_status status = LC_OK;
	struct lc__visit visit;
	uint32_t place;

	if (visits->parts[source].last_epoch == 0)
		status = lc__visits_get(visits, source, 0, &visit);
	*k = lc__idset_find(&visits->places, id_of(&chunk), &place)
	    ? visits->ends[place].first
	    : LC__NO_VISIT;
	return status == LC_END ? LC_OK : status;
}

void
lc__visits_forget(struct lc__visits *visits, uint32_t source, uint64_t k)
{
	struct part *part = &visits->parts[source];
	const uint64_t n = k - part->forgotten;

	/* Moving what stays costs less than once a visit. */
	if (k <= part->forgotten || n > part->n || n < part->n / 2)
		return;
	memmove(part->visit, part->visit + n, (part->n - n) * sizeof(*part->visit));
	part->n -= n;
	part->forgotten = k;
}
