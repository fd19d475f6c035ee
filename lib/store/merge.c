/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/merge.h"

#include <string.h>

#include "base/error.h"
#include "index/run_build.h"

/* Store a finished run, which replaces n runs from position from. */
static lc_status
replace_runs(struct lc__snapshot *s, uint32_t from, uint32_t n,
    const struct lc__run_builder *builder, uint32_t level)
{
	struct lc__run_row row = {
		.id = s->state.next_run++, .entries = builder->entries,
		.bytes = builder->used, .level = level
	};
	unsigned char *place;

	for (uint32_t i = from; i < from + n; i++)
		return_if_error(lc__txn_delete(s->txn, LC__INDEX,
		    s->state.runs[i].id));
	return_if_error(lc__txn_append(s->txn, LC__INDEX, row.id,
	    builder->used, &place));
	memcpy(place, builder->bytes, builder->used);
	s->state.runs[from] = row;
	lc__state_drop_runs(&s->state, from + 1, n - 1);
	return LC_OK;
}

/* Merge n runs from position from into one. Damaged ones stay as they are: reads
 * and verify tell of them, and what is put now must not be lost for them. */
static lc_status
merge_group(struct lc__snapshot *s, uint32_t from, uint32_t n, uint32_t level)
{
	struct lc__run_builder builder;
	uint64_t entries = 0, id_bytes = 0;
	lc_status status;
	bool damaged;

	for (uint32_t i = from; i < from + n; i++) {
		entries += s->runs[i].entries;
		id_bytes += s->runs[i].keys_size;
	}
	return_if_error(lc__run_build_start(&builder, lc__env_seed(s->env),
	    entries, id_bytes));
	status = lc__run_build_merged(&builder, s->runs + from, n, from == 0);
	damaged = status == LC_CORRUPT;
	if (status == LC_OK) {
		lc__run_build_finish(&builder, s->state.next_run, level);
		status = replace_runs(s, from, n, &builder, level);
	}
	lc__run_build_free(&builder);
	if (damaged)
		return LC_OK;
	return_if_error(status);
	return lc__snapshot_load_runs(s);
}

/* The newest runs are too large together: merge neighbours as far as they fit
 * and let them be from now on. */
static lc_status
settle(struct lc__snapshot *s, uint32_t from)
{
	while (from < s->state.nruns) {
		uint64_t bytes = s->state.runs[from].bytes;
		uint32_t n = 1;

		while (from + n < s->state.nruns &&
		    bytes + s->state.runs[from + n].bytes <= LC__MERGE_LIMIT)
			bytes += s->state.runs[from + n++].bytes;
		if (n > 1)
			return_if_error(merge_group(s, from, n, LC__LEVEL_FULL));
		else
			s->state.runs[from].level = LC__LEVEL_FULL;
		from++;
	}
	return LC_OK;
}

/* How many of the newest runs have the newest one's level. */
static uint32_t
tail_length(const struct lc__state *state)
{
	uint32_t n = 1;

	while (n < state->nruns && state->runs[state->nruns - 1 - n].level ==
	    state->runs[state->nruns - 1].level)
		n++;
	return n;
}

lc_status
lc__merge_runs(struct lc__snapshot *s)
{
	const struct lc__state *state = &s->state;

	return_if_error(lc__snapshot_load_runs(s));
	while (state->nruns > 0 &&
	    state->runs[state->nruns - 1].level != LC__LEVEL_FULL &&
	    tail_length(state) >= LC__MERGE_FANOUT) {
		const uint32_t from = state->nruns - LC__MERGE_FANOUT;
		uint64_t bytes = 0;

		for (uint32_t i = from; i < state->nruns; i++)
			bytes += state->runs[i].bytes;
		if (bytes > LC__MERGE_LIMIT)
			return settle(s, from);
		return_if_error(merge_group(s, from, LC__MERGE_FANOUT,
		    state->runs[from].level + 1));
		if (state->nruns > from + 1)
			break; /* not merged */
	}
	return LC_OK;
}
