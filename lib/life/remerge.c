/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/remerge.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "index/run_build.h"
#include "index/run.h"
#include "store/change.h"

/* Size of an entry in the table and the key section, without its cache_id. */
#define ENTRY_BYTES 32

/* The entries of one step. */
struct step {
	uint64_t entries;  /* number of live entries */
	uint64_t id_bytes; /* bytes of their cache_ids */
};

/* Count the entries of the step; @p next gets the first entry after it. */
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

/* Record the runs that will be replaced, unless the merge is needless. */
static lc_status
begin(struct lc__remerge *r, const struct lc__state *state)
{
	uint64_t entries = 0;

	for (uint32_t i = 0; i < state->nruns; i++)
		entries += state->runs[i].entries;
	r->needless = entries <= state->live || entries - state->live <= entries / 4;
	if (r->needless)
		return LC_OK;
	free(r->old);
	r->old = malloc((state->nruns + 1) * sizeof(*r->old));
	r->nold = 0;
	if (r->old == NULL)
		return lc__no_memory("index");
	for (uint32_t i = 0; i < state->nruns; i++)
		r->old[r->nold++] = state->runs[i].id;
	return LC_OK;
}

/* Runs that another process merged meanwhile no longer exist. */
static lc_status
drop_old(const struct lc__remerge *r, struct lc__snapshot *s)
{
	for (uint32_t i = s->state.nruns; i-- > 0;) {
		const uint64_t run = s->state.runs[i].id;
		bool old = false;

		for (uint32_t k = 0; k < r->nold; k++)
			old = old || r->old[k] == run;
		if (!old)
			continue;
		return_if_error(lc__txn_delete(s->txn, LC__INDEX, run));
		lc__state_drop_runs(&s->state, i, 1);
	}
	return LC_OK;
}

/* The body of a change. A needless merge fails with LC_CANCELLED, so that the change is
 * not committed. */
static lc_status
step_within(struct lc__change *change, void *remerge)
{
	struct lc__snapshot *s = &change->snapshot;
	struct lc__remerge *r = remerge;
	struct step step = { 0, 0 };
	struct lc__run_entry next = { 0, NULL, 0 };
	unsigned char *bytes;
	lc_status status;

	if (r->from == NULL) {
		return_if_error(begin(r, &s->state));
		if (r->needless)
			return LC_CANCELLED;
	}
	status = measure(r, s, &step, &next);
	if (status != LC_OK && status != LC_END)
		return status;
	r->done = status == LC_END;
	return_if_error(write_step(r, change, &step));
	if (r->done)
		return drop_old(r, s);
	/* The bytes of the next entry become invalid with the transaction. */
	bytes = realloc(r->next, next.id_size);
	if (bytes == NULL)
		return lc__no_memory("index");
	memcpy(bytes, next.id, next.id_size);
	r->next = bytes;
	r->next_size = next.id_size;
	return LC_OK;
}

lc_status
lc__remerge_step(struct lc__remerge *r, struct lc__env *env, lc_durability durability)
{
	unsigned char *const from = r->from;
	const lc_status status = lc__change_run(env, durability, step_within, r);

	if (r->needless && status == LC_CANCELLED)
		return LC_OK;
	return_if_error(status);
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
