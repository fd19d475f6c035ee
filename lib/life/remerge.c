/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/remerge.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "index/run_build.h"
#include "index/run.h"
#include "store/change.h"

/* What the table and the key section take for an entry, its cache_id aside. */
#define ENTRY_BYTES 32

/* What one step takes in. */
struct step {
	uint64_t entries;  /* live ones */
	uint64_t id_bytes; /* of them */
};

/* ---- beginning and end ---------------------------------------------------- */

static bool
is_worth_it(const struct lc__state *state)
{
	uint64_t entries = 0;

	for (uint32_t i = 0; i < state->nruns; i++)
		entries += state->runs[i].entries;
	return entries > state->live && entries - state->live > entries / 4;
}

static lc_status
remember_old(struct lc__remerge *r, const struct lc__state *state)
{
	free(r->old);
	r->old = malloc((state->nruns + 1) * sizeof(*r->old));
	r->nold = 0;
	if (r->old == NULL)
		return lc__no_memory("index");
	for (uint32_t i = 0; i < state->nruns; i++)
		r->old[r->nold++] = state->runs[i].id;
	return LC_OK;
}

static bool
is_old(const struct lc__remerge *r, uint64_t run)
{
	for (uint32_t i = 0; i < r->nold; i++)
		if (r->old[i] == run)
			return true;
	return false;
}

/* Those that somebody else merged meanwhile are gone already. */
static lc_status
drop_old(const struct lc__remerge *r, struct lc__snapshot *s)
{
	for (uint32_t i = s->state.nruns; i-- > 0;) {
		if (!is_old(r, s->state.runs[i].id))
			continue;
		return_if_error(lc__txn_delete(s->txn, LC__INDEX, s->state.runs[i].id));
		lc__state_drop_runs(&s->state, i, 1);
	}
	return LC_OK;
}

/* ---- one step ------------------------------------------------------------- */

/* Count what the step takes in; @p next gets the first entry that it does not. */
static lc_status
measure(const struct lc__remerge *r, struct lc__snapshot *s, struct step *step,
    struct lc__run_entry *next)
{
	struct lc__run_merge *merge = lc__run_merge_open(s->runs, s->state.nruns, r->from,
	    r->from_size);
	lc_status status;

	if (merge == NULL)
		return lc__no_memory("index");
	while ((status = lc__run_merge_next(merge, next)) == LC_OK) {
		if (next->location & LC__TOMBSTONE)
			continue;
		if (step->entries * ENTRY_BYTES + step->id_bytes >= r->step_bytes)
			break;
		step->entries++;
		step->id_bytes += next->id_size;
	}
	lc__run_merge_close(merge);
	return status;
}

static lc_status
fill(struct lc__run_builder *builder, const struct lc__remerge *r, struct lc__snapshot *s,
    uint64_t entries)
{
	struct lc__run_merge *merge = lc__run_merge_open(s->runs, s->state.nruns, r->from,
	    r->from_size);
	struct lc__run_entry entry;
	lc_status status = LC_OK;

	if (merge == NULL)
		return lc__no_memory("index");
	while (builder->entries < entries &&
	    (status = lc__run_merge_next(merge, &entry)) == LC_OK)
		if (!(entry.location & LC__TOMBSTONE))
			lc__run_build_add(builder,
			    lc__run_hash(builder->seed, entry.id, entry.id_size),
			    entry.location, entry.id, entry.id_size);
	lc__run_merge_close(merge);
	return status;
}

static lc_status
write_step(const struct lc__remerge *r, struct lc__change *change,
    const struct step *step)
{
	struct lc__snapshot *s = &change->snapshot;
	struct lc__run_builder builder;
	lc_status status;

	if (step->entries == 0)
		return LC_OK;
	return_if_error(lc__run_build_start(&builder, lc__env_seed(s->env), step->entries,
	    step->id_bytes));
	status = fill(&builder, r, s, step->entries);
	if (status == LC_OK) {
		lc__run_build_finish(&builder, s->state.next_run, LC__LEVEL_FULL);
		status = lc__change_push_run(change, &builder, LC__LEVEL_FULL);
	}
	lc__run_build_free(&builder);
	return status;
}

/* Go on at an entry, whose bytes do not outlast the transaction. */
static lc_status
go_on_at(struct lc__remerge *r, const struct lc__run_entry *next)
{
	unsigned char *bytes = realloc(r->next, next->id_size);

	if (bytes == NULL)
		return lc__no_memory("index");
	memcpy(bytes, next->id, next->id_size);
	r->next = bytes;
	r->next_size = next->id_size;
	return LC_OK;
}

static lc_status
step_within(struct lc__change *change, void *remerge)
{
	struct lc__snapshot *s = &change->snapshot;
	struct lc__remerge *r = remerge;
	struct step step = { 0, 0 };
	struct lc__run_entry next = { 0, NULL, 0 };
	lc_status status;

	if (r->from == NULL) {
		if (!is_worth_it(&s->state))
			return LC_NOT_FOUND;
		return_if_error(remember_old(r, &s->state));
	}
	status = measure(r, s, &step, &next);
	if (status != LC_OK && status != LC_END)
		return status;
	r->done = status == LC_END;
	return_if_error(write_step(r, change, &step));
	return r->done ? drop_old(r, s) : go_on_at(r, &next);
}

lc_status
lc__remerge_step(struct lc__remerge *r, struct lc__env *env, lc_durability durability)
{
	unsigned char *const from = r->from;

	return_if_error(lc__change_run(env, durability, step_within, r));
	r->from = r->next;
	r->from_size = r->next_size;
	r->next = from;
	return LC_OK;
}

void
lc__remerge_free(struct lc__remerge *r)
{
	free(r->old);
	free(r->from);
	free(r->next);
}
