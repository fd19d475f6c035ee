/* SPDX-License-Identifier: BSD-2-Clause */
/* Prefetching: all records of a batch are requested from the disk before the first is
 * read, and each is brought into the processor's cache shortly before it is read. */
#include <string.h>

#include "base/error.h"
#include "stream/job.h"

/* ---- from the disk ---------------------------------------------------------------- */

/* Records with a smaller distance are requested as one range: reading that much takes no
 * longer than a seek, and what is between them is probably in a later batch. */
#define GAP ((uint64_t)128 << 10)

/* The same for parts of records: what is between them is probably never read. */
#define PART_GAP ((uint64_t)16 << 10)

/* Without a shuffle the next batches follow: this much of them is requested as well, or
 * the disk would be idle until each batch is requested. */
#define READ_ON ((uint64_t)2 << 20)

/* Smaller records are requested whole: a part of them takes about as long. */
#define LONG ((uint64_t)32 << 10)

/* This much is requested at the start of a record: most heads are shorter. */
#define HEAD_ASKED 512

/* Should only the needed part of a record be requested? Yes if the last batch needed less
 * than three quarters of the records of this source. The heads are requested first, since
 * they contain the positions of the parts. */
static bool
by_parts(const struct lc__job *job, const struct lc__cursor *cursor,
    const struct lc__request *r)
{
	const struct lc__read_fraction *p = &job->fractions[r->source];

	return r->stored >= LONG && p->touched <= p->stored / 4 * 3 &&
	    lc__cursor_reads_parts(cursor);
}

/* Request whole records: requests [begin, end), of one chunk. */
static void
ask_whole(struct lc__job *job, struct lc__cursor *cursor, size_t begin, size_t end)
{
	const struct lc__request *item = job->requests.item, *last = &item[end - 1];
	const struct lc__sequence *sequence = job->examples[last->source].sequence;
	size_t first = begin;
	uint64_t n;

	for (size_t i = begin + 1; i < end; i++) {
		const struct lc__request *a = &item[i - 1], *b = &item[i];

		if ((uint64_t)(b->address - a->address) <= a->stored + GAP)
			continue;
		lc__cursor_willneed(cursor, item[first].record,
		    a->record - item[first].record + 1);
		first = i;
	}
	n = last->record - item[first].record + 1;
	if (sequence->rule.shuffle.kind == LC_SHUFFLE_NONE && last->stored > 0)
		n += READ_ON / last->stored;
	lc__cursor_willneed(cursor, item[first].record, n);
}

/* Request small records, and the heads of the others: requests of one chunk. */
static void
ask_first(struct lc__job *job, struct lc__cursor *cursor, size_t begin, size_t end)
{
	const struct lc__request *item = job->requests.item;

	for (size_t i = begin, next; i < end; i = next) {
		next = i + 1;
		if (by_parts(job, cursor, &item[i])) {
			job->has_parts = true;
			if (i == begin || !lc__requests_same(&item[i - 1], &item[i]))
				lc__cursor_willneed_bytes(cursor,
				    (struct lc__extent){ item[i].address, HEAD_ASKED });
			continue;
		}
		while (next < end && !by_parts(job, cursor, &item[next]))
			next++;
		ask_whole(job, cursor, i, next);
	}
}

/* Add the extents that a request needs of its record. Damage is reported when the record
 * is read, not here. */
static void
add_wanted(struct lc__job *job, struct lc__cursor *cursor, size_t i)
{
	const struct lc__reader_rule *rule = job->rule;
	const lc_error before = *lc_last_error();
	struct lc__row_span room;

	if (lc__cursor_extents(cursor, job->requests.item[i].record,
		(const char *const *)rule->names, rule->n_fields,
		lc__job_rows(job, i, &room), &job->extents) != LC_OK)
		lc__error_raise(&before);
}

/* The second pass over a chunk: the parts of records, close ones as one. */
static void
ask_parts(struct lc__job *job, struct lc__cursor *cursor, size_t begin, size_t end)
{
	const struct lc__extents *extents = &job->extents;

	job->extents.n = 0;
	for (size_t i = begin; i < end; i++)
		if (by_parts(job, cursor, &job->requests.item[i]))
			add_wanted(job, cursor, i);
	for (size_t i = 0, next; i < extents->n; i = next) {
		struct lc__extent all = extents->item[i];

		for (next = i + 1; next < extents->n; next++) {
			const struct lc__extent *e = &extents->item[next];
			const uint64_t from = (uint64_t)(e->at - all.at);

			if (e->at < all.at || from > all.size + PART_GAP)
				break;
			if (from + e->size > all.size)
				all.size = from + e->size;
		}
		lc__cursor_willneed_bytes(cursor, all);
	}
}

static lc_status
each_chunk(struct lc__job *job,
    void (*ask)(struct lc__job *job, struct lc__cursor *cursor, size_t begin, size_t end))
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

/* The first pass over a chunk: the positions of its records, and the records to be
 * requested whole. */
static void
ask_chunk(struct lc__job *job, struct lc__cursor *cursor, size_t begin, size_t end)
{
	struct lc__request *item = job->requests.item;
	struct lc__read_fraction *fraction = &job->fractions[item[begin].source];
	size_t one = begin;

	for (size_t i = begin; i < end; i++) {
		item[i].address = lc__cursor_address(cursor, item[i].record);
		item[i].stored = lc__cursor_stored(cursor, item[i].record);
	}
	/* Before the first batch no fraction is known: one record stands in for all. */
	while (one < end && item[one].stored < LONG)
		one++;
	if (fraction->stored == 0 && one < end && lc__cursor_reads_parts(cursor)) {
		add_wanted(job, cursor, one);
		fraction->touched = lc__extents_bytes(&job->extents);
		fraction->stored = item[one].stored;
		job->extents.n = 0;
	}
	ask_first(job, cursor, begin, end);
	job->counts.chunks++;
}

lc_status
lc__prefetch(struct lc__job *job)
{
	const struct lc__requests *list = &job->requests;

	job->has_parts = false;
	return_if_error(each_chunk(job, ask_chunk));
	if (job->has_parts)
		return_if_error(each_chunk(job, ask_parts));
	/* The batch counts its own fractions, for the next one. */
	memset(job->fractions, 0, job->rule->stream->n * sizeof(*job->fractions));
	for (size_t i = 0; i < list->n; i = lc__requests_run(list, i))
		job->counts.runs++;
	job->counts.reads += list->n;
	return LC_OK;
}

/* ---- from memory ------------------------------------------------------------------ */

/* This many bytes of the next records are prefetched, and at most this many of each: the
 * processor continues by itself, but only within a page. */
#define AHEAD (8 << 10)
#define MOST (4 << 10)

/* If only heads are read: bytes of a head, and heads ahead. */
#define HEAD 128
#define HEADS_AHEAD 16

#define LINE 64

static uint64_t
fetched_of(const struct lc__request *r, uint64_t most)
{
	return r->stored < most ? r->stored : most;
}

void
lc__prefetch_lines(struct lc__job *job, size_t i)
{
	const struct lc__requests *list = &job->requests;
	const bool heads = job->rule->heads;
	const uint64_t most = heads ? HEAD : MOST;
	const uint64_t ahead = heads ? HEAD * HEADS_AHEAD : AHEAD;

	if (i > 0)
		job->fetched_bytes -= fetched_of(&list->item[i - 1], most);
	else
		job->fetched = job->fetched_bytes = 0;
	for (; job->fetched < list->n && job->fetched_bytes < ahead; job->fetched++) {
		const struct lc__request *r = &list->item[job->fetched];
		const uint64_t size = fetched_of(r, most);

		for (uint64_t at = 0; at < size; at += LINE)
			__builtin_prefetch(r->address + at);
		job->fetched_bytes += size;
	}
}
