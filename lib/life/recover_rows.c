/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/recover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/lookup.h"
#include "store/settings.h"

/* ---- the state ------------------------------------------------------------ */

/* A run as the lost state row may have listed it. */
static struct lc__run_row
describe_run(uint64_t id, const struct lc__slice *value)
{
	struct lc__run_row row = { .id = id, .bytes = value->size };
	struct lc__run run;

	if (lc__run_parse(value->data, value->size, id, &run)) {
		row.entries = run.entries;
		row.level = run.level;
	}
	return row;
}

static lc_status
list_runs(struct lc__snapshot *s)
{
	struct lc__slice value;
	uint64_t id = 0;
	lc_status status = lc__txn_seek(s->txn, LC__INDEX, 0, &id, &value);

	for (; status == LC_OK;
	     status = lc__txn_seek_after(s->txn, LC__INDEX, id, &id, &value)) {
		const struct lc__run_row row = describe_run(id, &value);

		if (!lc__state_push_run(&s->state, &row))
			return lc__no_memory("recover");
		s->state.next_run = id + 1;
	}
	return status == LC_END ? LC_OK : status;
}

/* The number after the last chunk's, which exists: the caller has checked that. */
static lc_status
next_chunk(struct lc__snapshot *s, uint64_t *out)
{
	struct lc__slice value;
	uint64_t id = 0;
	lc_status status = lc__txn_seek(s->txn, LC__CHUNK, 0, &id, &value);

	*out = 1;
	for (; status == LC_OK;
	     status = lc__txn_seek_after(s->txn, LC__CHUNK, id, &id, &value))
		*out = id + 1;
	return status == LC_END ? LC_OK : status;
}

/* The transactions of the environment count as commits: there were not more. */
lc_status
lc__recovery_rebuild_state(struct lc__recovery *r)
{
	struct lc__snapshot *s = &r->change->snapshot;

	if (!r->state_lost)
		return LC_OK;
	lc__state_free(&s->state);
	s->state.generation = lc__txn_id(s->txn);
	s->state.next_run = 1;
	return_if_error(next_chunk(s, &s->state.next_chunk));
	return_if_error(lc__recovery_count_schemas(r, &s->state.next_schema));
	return list_runs(s);
}

/* ---- rows with a checksum at their end ------------------------------------ */

/* Repair a row of meta; *mended is false if it is missing or too damaged. */
static lc_status
mend_row(struct lc__snapshot *s, const char *name, bool *mended)
{
	struct lc__buf copy = { 0 };
	struct lc__slice row;
	lc_status status = lc__txn_get_meta(s->txn, name, &row);

	*mended = false;
	if (status == LC_NOT_FOUND)
		return LC_OK;
	return_if_error(status);
	lc__buf_append(&copy, row.data, row.size);
	if (copy.failed)
		status = lc__no_memory("recover");
	else if (lc__row_mend(copy.data, copy.size, lc__row_seed(name)))
		*mended = true;
	if (*mended)
		status = lc__txn_put_meta(s->txn, name, copy.data, copy.size);
	lc__buf_free(&copy);
	return status;
}

static lc_status
decode_state(struct lc__snapshot *s)
{
	struct lc__slice row;

	return_if_error(lc__txn_get_meta(s->txn, "state", &row));
	return lc__state_decode(row.data, row.size, &s->state);
}

lc_status
lc__recovery_read_state(struct lc__recovery *r)
{
	struct lc__snapshot *s = &r->change->snapshot;
	lc_status status = decode_state(s);
	bool mended = false;

	if (status != LC_NOT_FOUND && status != LC_CORRUPT)
		return status;
	return_if_error(mend_row(s, "state", &mended));
	r->state_lost = !mended || decode_state(s) != LC_OK;
	r->result.rows++;
	lc__progress_damage(r->progress, "state row: %s",
	    status == LC_NOT_FOUND ? "missing"
		: r->state_lost    ? "damaged"
				   : "damaged, and repaired");
	return LC_OK;
}

/* ---- settings and counters ------------------------------------------------ */

/* The length field must not be lost: the lengths of the records are based on it. */
lc_status
lc__recovery_mend_settings(struct lc__recovery *r)
{
	struct lc__snapshot *s = &r->change->snapshot;
	lc_status status = lc__settings_load(s->env, s->txn, &r->settings);
	bool mended = false;

	if (status == LC_CORRUPT) {
		r->result.rows++;
		return_if_error(mend_row(s, "settings", &mended));
		status = lc__settings_load(s->env, s->txn, &r->settings);
		lc__progress_damage(r->progress,
		    status == LC_OK ? "settings row: damaged, and repaired"
				    : "settings row: lost; "
				      "the defaults apply again: set them anew");
	}
	if (status == LC_CORRUPT) {
		r->result.reset++;
		return_if_error(lc__settings_reset(s->txn));
		status = lc__settings_load(s->env, s->txn, &r->settings);
	}
	r->measure.field = r->settings.length_field;
	return status;
}

lc_status
lc__recovery_mend_counters(struct lc__recovery *r)
{
	struct lc__snapshot *s = &r->change->snapshot;
	struct lc__counters counts;
	lc_status status = lc__counters_load(s->txn, &counts);
	bool mended = false;

	if (status != LC_CORRUPT)
		return status;
	r->result.rows++;
	return_if_error(mend_row(s, "counters", &mended));
	status = lc__counters_load(s->txn, &counts);
	lc__progress_damage(r->progress,
	    status == LC_OK ? "counters row: damaged, and repaired"
			    : "counters row: lost; it counts from 0 again");
	if (status != LC_CORRUPT)
		return status;
	r->result.reset++;
	return lc__counters_reset(s->txn);
}

/* ---- schemas -------------------------------------------------------------- */

static bool
mend_schema(struct lc__recovery *r, uint32_t id, struct lc__buf *out)
{
	struct lc__slice row;

	if (lc__txn_get(r->change->snapshot.txn, LC__SCHEMA, id, &row) != LC_OK)
		return false;
	lc__buf_append(out, row.data, row.size);
	return !out->failed && lc__row_mend(out->data, out->size, id);
}

/* A structure that no value has, because ids must have no gaps. */
static lc_status
put_placeholder(struct lc__txn *txn, uint32_t id)
{
	lc_value *value = lc_value_map();
	struct lc__schema *schema;
	char name[40];
	lc_status status;

	snprintf(name, sizeof(name), "lost schema %u", id);
	lc_value_set(value, name, lc_value_list());
	status = lc_value_check(value);
	if (status == LC_OK)
		status = lc__schema_infer(value, &schema);
	lc_value_free(value);
	return_if_error(status);
	status = lc__schema_row_put(txn, id, schema);
	lc__schema_free(schema);
	return status;
}

static lc_status
replace_schema(struct lc__recovery *r, uint32_t id)
{
	struct lc__txn *txn = r->change->snapshot.txn;
	struct lc__buf row = { 0 };
	const bool mended = mend_schema(r, id, &row);
	const lc_status status = mended
	    ? lc__txn_put(txn, LC__SCHEMA, id, row.data, row.size)
	    : put_placeholder(txn, id);

	lc__progress_damage(r->progress,
	    mended ? "schema %u: damaged, and repaired"
		   : "schema %u: lost, and its records with it",
	    id);
	r->result.rows++;
	lc__buf_free(&row);
	return status;
}

lc_status
lc__recovery_mend_schemas(struct lc__recovery *r)
{
	struct lc__snapshot *s = &r->change->snapshot;
	struct lc__schema *schema;
	struct lc__known *known;

	for (uint32_t id = 0; id < s->state.next_schema; id++) {
		struct lc__slice row;
		lc_status status = lc__txn_get(s->txn, LC__SCHEMA, id, &row);

		if (status == LC_OK)
			status = lc__schema_row_decode(row.data, row.size, id, &schema);
		if (status == LC_OK)
			lc__schema_free(schema);
		else if (status == LC_CORRUPT || status == LC_NOT_FOUND)
			return_if_error(replace_schema(r, id));
		else
			return status;
		/* From now on it is known, so that no record is lost for lack of
		 * memory. */
		return_if_error(lc__snapshot_schema(s, id, &known));
	}
	return LC_OK;
}

/* ---- ledger and counters -------------------------------------------------- */

static bool
same_row(const struct lc__ledger_row *a, const struct lc__ledger_row *b)
{
	return a->records == b->records && a->live == b->live && a->bytes == b->bytes &&
	    a->live_bytes == b->live_bytes && a->hash == b->hash &&
	    a->length == b->length;
}

lc_status
lc__recovery_row(struct lc__recovery *r, const struct lc__recovery_chunk *chunk,
    struct lc__ledger_row *row, bool *intact)
{
	struct lc__ledger_row old, live = { 0 };
	uint64_t id = 0;
	const lc_status status = lc__ledger_seek(&r->change->snapshot, chunk->id, &id,
	    row, intact);

	if (status != LC_OK && status != LC_END)
		return status;
	*intact = *intact && status == LC_OK && id == chunk->id;
	if (!*intact) {
		memset(row, 0, sizeof(*row));
		row->time_ms = lc__clock_wall_ms();
		lc__recovery_get_origin(r, chunk->id, row);
	}
	old = *row;
	row->records = row->live = row->bytes = row->live_bytes = row->hash = 0;
	row->length = 0;
	for (uint64_t i = 0; i < chunk->count; i++) {
		const struct lc__recovery_record *sound = &r->records[chunk->first + i];

		lc__ledger_count(row, sound->size, sound->length);
		if (!sound->live) {
			row->live--;
			row->live_bytes -= sound->size;
			row->length -= sound->length;
		} else {
			lc__ledger_hash(&live, sound->bytes);
		}
		lc__ledger_hash(row, sound->bytes);
	}
	/* Other records may be live now, even if their number is the same. */
	if (row->source == 0 && (row->live < row->records || !same_row(row, &old)))
		row->ordinal = live.hash;
	return LC_OK;
}

/* Is the stored row as expected? It cannot be if records were lost or rescued. */
static lc_status
check_row(struct lc__recovery *r, const struct lc__recovery_chunk *chunk,
    struct lc__ledger_row *sum)
{
	struct lc__ledger_row row, old;
	uint64_t id = 0;
	bool intact = false;

	return_if_error(lc__recovery_row(r, chunk, &row, &intact));
	if (intact)
		return_if_error(
		    lc__ledger_seek(&r->change->snapshot, chunk->id, &id, &old, &intact));
	/* If the run with a deletion is damaged, an older run may still name the
	 * record. */
	if (intact && row.live > old.live)
		lc__progress_damage(r->progress,
		    "chunk %llu: live records before the damage: %llu, now: "
		    "%llu; deleted or replaced ones came back",
		    (unsigned long long)chunk->id, (unsigned long long)old.live,
		    (unsigned long long)row.live);
	sum->records += row.records;
	sum->bytes += row.bytes;
	sum->live += row.live;
	sum->live_bytes += row.live_bytes;
	if (intact &&
	    (same_row(&row, &old) || chunk->rewrite || r->index_damaged ||
		r->state_lost || r->result.rescued > 0))
		return LC_OK;
	r->result.rows++;
	lc__progress_damage(r->progress, "ledger row of chunk %llu: %s",
	    (unsigned long long)chunk->id, intact ? "wrong" : "missing or damaged");
	return LC_OK;
}

lc_status
lc__recovery_orphan(struct lc__recovery *r, uint64_t *id)
{
	struct lc__snapshot *s = &r->change->snapshot;
	struct lc__ledger_row row;
	struct lc__slice value;
	bool intact;

	for (;;) {
		lc_status status;

		return_if_error(lc__ledger_after(s, *id, id, &row, &intact));
		status = lc__txn_get(s->txn, LC__CHUNK, *id, &value);
		if (status != LC_OK)
			return status == LC_NOT_FOUND ? LC_OK : status;
	}
}

static lc_status
check_orphans(struct lc__recovery *r)
{
	uint64_t id = 0;
	lc_status status;

	while ((status = lc__recovery_orphan(r, &id)) == LC_OK) {
		r->chunk_missing = true;
		r->result.rows++;
		/* If part of the index is lost too, no key tells what the chunk held. */
		r->result.unknown += r->ngaps > 0;
		lc__progress_damage(r->progress, "chunk %llu is missing",
		    (unsigned long long)id);
	}
	return status == LC_END ? LC_OK : status;
}

/* Tables of an older commit do not show what was added later. The state row may still
 * count live records to which neither a chunk nor a key leads. */
static void
check_live(struct lc__recovery *r)
{
	const uint64_t live = r->change->snapshot.state.live;
	const uint64_t found = r->nlive + r->result.lost + r->result.unknown;

	if (r->state_lost || r->ngaps == 0 || found >= live)
		return;
	r->result.unknown += live - found;
	lc__progress_damage(r->progress,
	    "state row: counts %llu live records, %llu more than were found",
	    (unsigned long long)live, (unsigned long long)(live - found));
}

lc_status
lc__recovery_count_usage(struct lc__recovery *r, struct lc__usage *usage)
{
	struct lc__record record;
	struct lc__known *known;

	for (uint64_t i = 0; i < r->nrecords; i++) {
		(void)lc__record_parse(r->records[i].bytes, r->records[i].size, &record);
		return_if_error(
		    lc__snapshot_schema(&r->change->snapshot, record.schema, &known));
		return_if_error(lc__usage_count(usage, &record, known->schema, 1));
	}
	return LC_OK;
}

/* A row that still counts records that are now lost is not wrong. */
static lc_status
check_usage(struct lc__recovery *r)
{
	struct lc__snapshot *s = &r->change->snapshot;
	struct lc__usage stored = { 0 }, found = { 0 };
	lc_status status = lc__usage_load(&stored, s->txn);
	bool wrong = stored.damaged;

	if (status == LC_OK)
		status = lc__recovery_count_usage(r, &found);
	for (uint32_t id = 0; id < s->state.next_schema && !stored.damaged &&
	     r->nspans == 0 && !r->chunk_missing;
	     id++)
		wrong |= !lc__usage_same(&stored, &found, id);
	if (wrong && status == LC_OK) {
		r->result.rows++;
		lc__progress_damage(r->progress, "usage row: %s",
		    stored.damaged ? "missing or damaged" : "not what the chunks hold");
	}
	lc__usage_free(&stored);
	lc__usage_free(&found);
	return status;
}

lc_status
lc__recovery_check_counts(struct lc__recovery *r)
{
	struct lc__state *state = &r->change->snapshot.state;
	struct lc__ledger_row sum = { 0 };
	const uint64_t above = r->nchunks == 0 ? 0 : r->chunks[r->nchunks - 1].id + 1;

	for (uint64_t i = 0; i < r->nchunks; i++)
		return_if_error(check_row(r, &r->chunks[i], &sum));
	return_if_error(check_orphans(r));
	check_live(r);
	return_if_error(check_usage(r));
	if (!r->state_lost && !r->index_damaged && r->result.rescued == 0 &&
	    r->nspans == 0 && !r->chunk_missing &&
	    (above > state->next_chunk || sum.records != state->records ||
		sum.bytes != state->bytes || sum.live != state->live ||
		sum.live_bytes != state->live_bytes)) {
		r->result.rows++;
		lc__progress_damage(r->progress, "state row: wrong counters");
	}
	if (above > state->next_chunk)
		state->next_chunk = above;
	return LC_OK;
}
