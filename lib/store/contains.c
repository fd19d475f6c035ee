/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of many cache_ids exist? For an absent one, every run of the index must be
 * searched; for one that a run has, the record must be compared. So the cache_ids are
 * sorted: by hash, which is the order of the runs' tables, and by location before the
 * records are read. Adjacent reads are then adjacent in memory, too, and a bucket is
 * verified once for all cache_ids in it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "index/run_build.h"
#include "store/flush.h"
#include "store/lookup.h"

#define GROUP ((size_t)1 << 18) /* cache_ids that are sorted together */
#define SORTED 4096             /* sorting fewer does not pay */
#define SORTED_BITS 22 /* upper ones, which distinguish the buckets of large runs */
#define WINDOW 64      /* cache_ids whose buckets in a run are prefetched at once */
#define AHEAD 16       /* records, and cache_ids in the caller's memory */

/* A cache_id that is not among the uncommitted writes. */
struct question {
	uint64_t order; /* its hash; once a run has it, the location there */
	uint32_t item;  /* its index in the group */
	uint32_t run;   /* 1 + the run that may have it; 0 for none */
};

struct asking {
	struct lc_cache *cache;
	struct lc__snapshot *snapshot;
	const lc_id *ids;       /* the caller's cache_ids */
	size_t n;               /* number of ids */
	unsigned char *answers; /* enum answer for each id */
	struct question *questions, *room;
	size_t group;   /* index of the group's first cache_id */
	size_t asked;   /* questions */
	lc_error first; /* the failure of the first cache_id that failed */
	size_t failed;  /* its index */
};

enum answer { THERE, ABSENT, FAILED, OPEN };

static void
answer_is(struct asking *a, size_t item, lc_status status)
{
	a->answers[item] = status == LC_OK ? THERE
	    : status == LC_NOT_FOUND       ? ABSENT
					   : FAILED;
	if (a->answers[item] != FAILED || (a->first.status != LC_OK && a->failed < item))
		return;
	(void)lc__error_item(item);
	a->first = *lc_last_error();
	a->failed = item;
}

/* Check the uncommitted writes before there is a snapshot: a commit may take them. */
static lc_status
ask_uncommitted(struct asking *a)
{
	for (size_t i = 0; i < a->n; i++) {
		const lc_id *id = &a->ids[i];
		enum lc__uncommitted answer;
		lc_status status = lc__check_id("contains", id->data, id->size);

		if (status == LC_OK)
			status = lc__flush_find(a->cache, id->data, id->size, NULL,
			    &answer);
		if (status == LC_OK && answer == LC__UNCOMMITTED_NONE) {
			a->answers[i] = OPEN;
			continue;
		}
		if (status == LC_OK && answer == LC__UNCOMMITTED_DELETED)
			status = LC_NOT_FOUND;
		answer_is(a, i, status);
		if (i % 256 == 255 && lc__cache_wants_end(a->cache))
			return lc__error(LC_CANCELLED, 0, "contains: cancelled");
	}
	return LC_OK;
}

/* Sort the questions by bits @p low to @p high of their order, 11 at a time. */
static void
sort(struct asking *a, unsigned low, unsigned high)
{
	enum { DIGIT = 11, VALUES = 1 << DIGIT };
	uint32_t at[VALUES];

	if (a->asked < SORTED)
		return;
	for (; low < high; low += DIGIT) {
		struct question *const from = a->questions;
		uint32_t sum = 0;

		memset(at, 0, sizeof(at));
		for (size_t i = 0; i < a->asked; i++)
			at[from[i].order >> low & (VALUES - 1)]++;
		for (size_t i = 0; i < VALUES; i++) {
			const uint32_t used = at[i];

			at[i] = sum;
			sum += used;
		}
		for (size_t i = 0; i < a->asked; i++)
			a->room[at[from[i].order >> low & (VALUES - 1)]++] = from[i];
		a->questions = a->room;
		a->room = from;
	}
}

/* The open questions of a group, by hash. */
static void
begin_group(struct asking *a, size_t n)
{
	const uint64_t seed = lc__env_seed(a->cache->env);

	a->asked = 0;
	for (size_t i = 0; i < n; i++) {
		const lc_id *id = &a->ids[a->group + i];

		if (i + AHEAD < n)
			__builtin_prefetch(id[AHEAD].data);
		if (a->answers[a->group + i] != OPEN)
			continue;
		a->questions[a->asked++] = (struct question){
			.order = lc__run_hash(seed, id->data, id->size),
			.item = (uint32_t)i,
		};
	}
	sort(a, 64 - SORTED_BITS, 64);
}

/* Search one run for the questions of a window that no newer run has. */
static void
ask_run(struct asking *a, struct question *window, size_t n, uint32_t number)
{
	const struct lc__run *run = &a->snapshot->runs[number];
	const lc_verify_mode verify = a->cache->options.verify;
	struct lc__run_probe probe = { .intact = UINT32_MAX };

	for (size_t i = 0; i < n; i++) {
		uint64_t location;
		enum lc__run_found found;

		if (window[i].run != 0)
			continue;
		lc__run_probe_go_on(&probe, run, window[i].order, verify);
		found = lc__run_probe_next(&probe, &location);
		if (found == LC__RUN_END)
			continue;
		window[i].run = number + 1;
		/* settle() meets the damage again, and reports it. */
		window[i].order = found == LC__RUN_MATCH ? location : LC__TOMBSTONE;
	}
}

static void
ask_runs(struct asking *a, struct question *window, size_t n)
{
	const struct lc__run *runs = a->snapshot->runs;

	for (uint32_t number = a->snapshot->state.nruns; number-- > 0;) {
		for (size_t i = 0; i < n; i++)
			if (window[i].run == 0)
				__builtin_prefetch(
				    lc__run_bucket(&runs[number], window[i].order));
		ask_run(a, window, n, number);
	}
}

/* Search the runs for all questions of the group; keep only those that a run may have. */
static lc_status
ask_index(struct asking *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->asked; i += WINDOW) {
		const size_t n = a->asked - i < WINDOW ? a->asked - i : WINDOW;

		if (lc__cache_wants_end(a->cache))
			return lc__error(LC_CANCELLED, 0, "contains: cancelled");
		ask_runs(a, a->questions + i, n);
		for (size_t j = i; j < i + n; j++) {
			if (a->questions[j].run == 0)
				a->answers[a->group + a->questions[j].item] = ABSENT;
			else
				a->questions[kept++] = a->questions[j];
		}
	}
	a->asked = kept;
	return LC_OK;
}

/* Prefetch the head of a record, which settle() reads. */
static void
fetch(struct asking *a, const struct question *question)
{
	struct lc__mapped_chunk chunk;
	const uint64_t location = question->order;

	__builtin_prefetch(a->ids[a->group + question->item].data);
	if (!(location & LC__TOMBSTONE) &&
	    lc__snapshot_chunk(a->snapshot, lc__location_chunk(location), &chunk) ==
		LC_OK &&
	    lc__location_offset(location) < chunk.end)
		__builtin_prefetch(chunk.bytes + lc__location_offset(location));
}

/* Does the record that the index leads to have the cache_id? */
static void
settle(struct asking *a, const struct question *question)
{
	const size_t item = a->group + question->item;
	struct lc__lookup lookup;

	lc__lookup_start(&lookup, a->cache->env, a->ids[item].data, a->ids[item].size);
	lookup.guess = question->run;
	lookup.location = question->order;
	answer_is(a, item,
	    lc__index_find(a->snapshot, &lookup, a->cache->options.verify));
}

static lc_status
ask_records(struct asking *a)
{
	uint64_t all = 0;
	unsigned high = 0;

	for (size_t i = 0; i < a->asked; i++)
		all |= a->questions[i].order & ~LC__TOMBSTONE;
	while (high < 64 && all >> high != 0)
		high++;
	/* The order within a few pages does not matter. */
	sort(a, high > SORTED_BITS ? high - SORTED_BITS : 0, high);
	for (size_t i = 0; i < a->asked; i++) {
		if (i + 2 * AHEAD < a->asked)
			__builtin_prefetch(
			    &a->ids[a->group + a->questions[i + 2 * AHEAD].item]);
		if (i + AHEAD < a->asked)
			fetch(a, &a->questions[i + AHEAD]);
		if (i % WINDOW == 0 && lc__cache_wants_end(a->cache))
			return lc__error(LC_CANCELLED, 0, "contains: cancelled");
		settle(a, &a->questions[i]);
	}
	return LC_OK;
}

static lc_status
ask_committed(struct asking *a)
{
	lc_status status = LC_OK;

	if (a->cache->options.verify == LC_VERIFY_ONCE)
		lc__snapshot_lend_intact(a->snapshot);
	for (; a->group < a->n && status == LC_OK; a->group += GROUP) {
		begin_group(a, a->n - a->group < GROUP ? a->n - a->group : GROUP);
		status = ask_index(a);
		if (status == LC_OK)
			status = ask_records(a);
	}
	return status;
}

/* List the positions of the absent ones, and count them. */
static void
list_missing(const struct asking *a, size_t *missing, size_t *n_missing)
{
	size_t absent = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (a->answers[i] != ABSENT)
			continue;
		if (missing != NULL)
			missing[absent] = i;
		absent++;
	}
	if (n_missing != NULL)
		*n_missing = absent;
}

lc_status
lc_contains_batch(lc_cache *cache, size_t n, const lc_id *ids, size_t *missing,
    size_t *n_missing)
{
	const size_t group = n < GROUP ? n + 1 : GROUP;
	struct asking a = {
		.cache = cache,
		.ids = ids,
		.n = n,
		.answers = malloc(n + 1),
		.questions = malloc(group * sizeof(*a.questions)),
		.room = malloc(group * sizeof(*a.room)),
	};
	lc_status status = LC_OK;

	if (a.answers == NULL || a.questions == NULL || a.room == NULL)
		status = lc__no_memory("contains");
	if (status == LC_OK)
		status = ask_uncommitted(&a);
	if (status == LC_OK)
		status = lc__snapshot_take(cache->env, &a.snapshot);
	if (status == LC_OK) {
		status = ask_committed(&a);
		lc__snapshot_give(a.snapshot, 0);
	}
	if (status == LC_OK) {
		list_missing(&a, missing, n_missing);
		if (a.first.status != LC_OK)
			status = lc__error_raise(&a.first);
	}
	free(a.answers);
	free(a.questions);
	free(a.room);
	return status;
}
