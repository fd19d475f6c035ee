/* SPDX-License-Identifier: BSD-2-Clause */
/* What is going to be read: the system is asked for all of it before the first record is
 * read, and the processor a little before each. */
#include <string.h>

#include "base/error.h"
#include "stream/job.h"

/* ---- from the disk ---------------------------------------------------------------- */

/* Records that are nearer to each other are asked for as one: reading so much takes no
 * longer than going to another place, and what is between is most likely of a later
 * batch. */
#define GAP ((uint64_t)128 << 10)

/* Parts of records: what is between is most likely not read at all. */
#define PART_GAP ((uint64_t)16 << 10)

/* In order, what follows is of the next batches: so much of it is asked for, too, or the
 * disk would wait for each batch to be asked for. */
#define READ_ON ((uint64_t)2 << 20)

/* Smaller records are asked for whole, as that takes about as long as a part of them. */
#define LONG ((uint64_t)32 << 10)

/* Where a record begins, so much is asked for: its head, as a rule. */
#define HEAD_ASKED 512

static void
note_places(struct lc__cursor *cursor, struct lc__request *item, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		item[i].place = lc__cursor_place(cursor, item[i].record);
		item[i].stored = lc__cursor_stored(cursor, item[i].record);
	}
}

/* Did the last batch leave out a quarter of the source's records or more? Then only what
 * is needed is asked for: their heads first, which say where that is. */
static bool
by_parts(const struct lc__job *job, const struct lc__request *r)
{
	const struct lc__read_share *p = &job->portions[r->source];

	return r->stored >= LONG && p->touched <= p->stored / 4 * 3 &&
	    lc__cursor_has_parts(job->cursors[r->source]);
}

static bool
is_near(const struct lc__request *a, const struct lc__request *b)
{
	return (uint64_t)(b->place - a->place) <= a->stored + GAP;
}

/* How many records are read on for after one. */
static uint64_t
read_on(const struct lc__job *job, const struct lc__request *r)
{
	const struct lc__sequence *sequence = job->walks[r->source].sequence;

	return sequence->rule.shuffle.kind == LC_SHUFFLE_NONE && r->stored > 0 ?
	    READ_ON / r->stored : 0;
}

/* Requests [begin, end) of one chunk, of whole records. */
static void
ask_whole(struct lc__job *job, struct lc__cursor *cursor, size_t begin, size_t end)
{
	const struct lc__request *item = job->requests.item;
	size_t first = begin;

	for (size_t i = begin + 1; i <= end; i++) {
		const uint64_t last = item[i - 1].record;

		if (i < end && is_near(&item[i - 1], &item[i]))
			continue;
		lc__cursor_willneed(cursor, item[first].record,
		    last - item[first].record + 1 +
		    (i == end ? read_on(job, &item[i - 1]) : 0));
		first = i;
	}
}

/* Requests of one chunk: of small records, and the heads of the others. */
static void
ask_first(struct lc__job *job, struct lc__cursor *cursor, size_t begin, size_t end)
{
	const struct lc__request *item = job->requests.item;

	for (size_t i = begin, next; i < end; i = next) {
		next = i + 1;
		if (by_parts(job, &item[i])) {
			if (i == begin || !lc__requests_same(&item[i - 1], &item[i]))
				lc__cursor_ask(cursor, (struct lc__extent){
				    item[i].place, HEAD_ASKED });
			continue;
		}
		while (next < end && !by_parts(job, &item[next]))
			next++;
		ask_whole(job, cursor, i, next);
	}
}

/* Extents of one chunk; near ones are asked for as one. */
static void
ask_extents(struct lc__cursor *cursor, const struct lc__extents *extents)
{
	struct lc__extent all;

	for (size_t i = 0, next; i < extents->n; i = next) {
		all = extents->item[i];
		for (next = i + 1; next < extents->n; next++) {
			const struct lc__extent *e = &extents->item[next];

			if (e->at < all.at ||
			    (uint64_t)(e->at - all.at) > all.size + PART_GAP)
				break;
			if ((uint64_t)(e->at - all.at) + e->size > all.size)
				all.size = (uint64_t)(e->at - all.at) + e->size;
		}
		lc__cursor_ask(cursor, all);
	}
}

/* What a request needs of its record. One that is damaged is reported when it is read. */
static void
add_wanted(struct lc__job *job, struct lc__cursor *cursor, size_t i)
{
	const struct lc__reader_rule *rule = job->rule;
	const lc_error before = *lc_last_error();
	struct lc__row_span room;

	if (lc__cursor_extents(cursor, job->requests.item[i].record,
	    (const char *const *)rule->names, rule->n_fields,
	    lc__fetch_rows(job, i, &room), &job->extents) != LC_OK)
		lc__error_raise(&before);
}

static void
ask_parts(struct lc__job *job, struct lc__cursor *cursor, size_t begin, size_t end)
{
	job->extents.n = 0;
	for (size_t i = begin; i < end; i++)
		if (by_parts(job, &job->requests.item[i]))
			add_wanted(job, cursor, i);
	ask_extents(cursor, &job->extents);
}

/* Before the first batch, one record tells for all. */
static void
look_at_one(struct lc__job *job, struct lc__cursor *cursor, size_t begin, size_t end)
{
	const struct lc__request *item = job->requests.item;
	struct lc__read_share *portion = &job->portions[item[begin].source];

	while (begin < end && item[begin].stored < LONG)
		begin++;
	if (portion->stored > 0 || begin == end || !lc__cursor_has_parts(cursor))
		return;
	add_wanted(job, cursor, begin);
	portion->touched = lc__extents_bytes(&job->extents);
	portion->stored = item[begin].stored;
	job->extents.n = 0;
}

static lc_status
ask_chunks(struct lc__job *job, void (*ask)(struct lc__job *job,
    struct lc__cursor *cursor, size_t begin, size_t end))
{
	const struct lc__requests *list = &job->requests;
	struct lc__cursor *cursor;

	for (size_t i = 0, end; i < list->n; i = end) {
		const struct lc__request *r = &list->item[i];

		end = lc__requests_chunk(list, i);
		return_if_error(lc__job_cursor(job, r->source, &cursor));
		return_if_error(lc__cursor_go(cursor, r->position));
		ask(job, cursor, i, end);
	}
	return LC_OK;
}

static void
note_chunk(struct lc__job *job, struct lc__cursor *cursor, size_t begin,
    size_t end)
{
	note_places(cursor, job->requests.item + begin, end - begin);
	look_at_one(job, cursor, begin, end);
	ask_first(job, cursor, begin, end);
	job->counts.chunks++;
}

static bool
any_by_parts(const struct lc__job *job)
{
	for (size_t i = 0; i < job->requests.n; i++)
		if (by_parts(job, &job->requests.item[i]))
			return true;
	return false;
}

lc_status
lc__fetch_ask(struct lc__job *job)
{
	const struct lc__requests *list = &job->requests;

	return_if_error(ask_chunks(job, note_chunk));
	if (any_by_parts(job))
		return_if_error(ask_chunks(job, ask_parts));
	memset(job->portions, 0,
	    job->rule->stream->n * sizeof(*job->portions));
	for (size_t i = 0; i < list->n; i = lc__requests_run(list, i))
		job->counts.runs++;
	job->counts.reads += list->n;
	return LC_OK;
}

/* ---- from memory ------------------------------------------------------------------ */

/* Of the records behind the one at hand so many bytes are fetched, and so many of one at
 * most: the processor sees by itself where reading goes on, but only within a page. */
#define AHEAD (8 << 10)
#define MOST (4 << 10)

/* Where only heads are looked at: bytes of a head, and heads. */
#define HEAD 128
#define HEADS_AHEAD 16

#define LINE 64

static uint64_t
fetched_of(const struct lc__request *r, uint64_t most)
{
	return r->stored < most ? r->stored : most;
}

void
lc__fetch_ahead(struct lc__job *job, size_t i)
{
	const struct lc__requests *list = &job->requests;
	const bool heads = job->rule->heads;
	const uint64_t most = heads ? HEAD : MOST;
	const uint64_t ahead = heads ? HEAD * HEADS_AHEAD : AHEAD;

	if (i > 0)
		job->fetched_bytes -= fetched_of(&list->item[i - 1], most);
	else
		job->fetched = job->fetched_bytes = 0;
	for (; job->fetched < list->n && job->fetched_bytes < ahead;
	    job->fetched++) {
		const struct lc__request *r = &list->item[job->fetched];
		const uint64_t size = fetched_of(r, most);

		for (uint64_t at = 0; at < size; at += LINE)
			__builtin_prefetch(r->place + at);
		job->fetched_bytes += size;
	}
}
