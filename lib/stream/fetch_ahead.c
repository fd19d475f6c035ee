/* SPDX-License-Identifier: BSD-2-Clause */
/* What is going to be read: the system is asked for all of it before the first record is
 * read, and the processor a little before each. */
#include "base/error.h"
#include "stream/fetch.h"

/* ---- from the disk ---------------------------------------------------------------- */

/* What is nearer to each other is asked for as one: reading so much takes no longer than
 * going to another place, and what stands between is most likely of a later batch. */
#define GAP ((uint64_t)128 << 10)

/* In order, what follows is of the next batches: so much of it is asked for, too, or the
 * disk would wait for each batch to be asked for. */
#define READ_ON ((uint64_t)2 << 20)

static void
note_places(struct lc__cursor *cursor, struct lc__request *item, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		item[i].place = lc__cursor_place(cursor, item[i].record);
		item[i].stored = lc__cursor_stored(cursor, item[i].record);
	}
}

static bool
is_near(const struct lc__request *a, const struct lc__request *b)
{
	return (uint64_t)(b->place - a->place) <= a->stored + GAP;
}

/* Requests of one chunk, and @p more records behind them. */
static void
ask(struct lc__cursor *cursor, const struct lc__request *item, size_t n,
    uint64_t more)
{
	size_t first = 0;

	for (size_t i = 1; i <= n; i++) {
		if (i < n && is_near(&item[i - 1], &item[i]))
			continue;
		lc__cursor_willneed(cursor, item[first].record,
		    item[i - 1].record - item[first].record + 1 +
		    (i == n ? more : 0));
		first = i;
	}
}

/* How many records are read on for behind one. */
static uint64_t
read_on(const struct lc__job *job, const struct lc__request *r)
{
	const struct lc__sequence *sequence = job->walks[r->source].sequence;

	return sequence->rule.shuffle.kind == LC_SHUFFLE_NONE && r->stored > 0 ?
	    READ_ON / r->stored : 0;
}

static lc_status
ask_chunk(struct lc__job *job, size_t begin, size_t end)
{
	struct lc__request *item = job->requests.item + begin;
	struct lc__cursor *cursor;

	return_if_error(lc__job_cursor(job, item->source, &cursor));
	return_if_error(lc__cursor_go(cursor, item->position));
	note_places(cursor, item, end - begin);
	ask(cursor, item, end - begin,
	    read_on(job, &job->requests.item[end - 1]));
	return LC_OK;
}

lc_status
lc__fetch_ask(struct lc__job *job)
{
	const struct lc__requests *list = &job->requests;

	for (size_t i = 0, end; i < list->n; i = end) {
		end = lc__requests_chunk(list, i);
		return_if_error(ask_chunk(job, i, end));
		job->counts.chunks++;
	}
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
