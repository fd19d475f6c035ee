/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/recover_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/settings.h"
#include "life/recover_inputs.h"

/* ---- the state ------------------------------------------------------------ */

/* Key behind the last one of a table. */
static lc_status
next_key(struct lc__snapshot *s, enum lc__table table, uint64_t first,
    uint64_t *out)
{
	struct lc__slice value;
	uint64_t key = 0;
	lc_status status;

	*out = first;
	while ((status = lc__txn_seek(s->txn, table, *out, &key, &value)) ==
	    LC_OK)
		*out = key + 1;
	return status == LC_NOT_FOUND ? LC_OK : status;
}

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
	lc_status status;

	while ((status = lc__txn_seek(s->txn, LC__INDEX, id, &id, &value)) ==
	    LC_OK) {
		const struct lc__run_row row = describe_run(id, &value);

		if (!lc__state_push_run(&s->state, &row))
			return lc__error(LC_NO_MEMORY, 0, "recover: out of memory");
		id++;
	}
	return status == LC_NOT_FOUND ? LC_OK : status;
}

/* The transactions of the environment count as commits: there were no more. */
static lc_status
make_up_state(struct lc__snapshot *s)
{
	uint64_t schemas = 0;

	lc__state_free(&s->state);
	s->state.generation = lc__txn_id(s->txn);
	return_if_error(next_key(s, LC__CHUNK, 1, &s->state.next_chunk));
	return_if_error(next_key(s, LC__INDEX, 1, &s->state.next_run));
	return_if_error(next_key(s, LC__SCHEMA, 0, &schemas));
	s->state.next_schema = schemas > LC__SCHEMAS_MAX ? LC__SCHEMAS_MAX :
	    (uint32_t)schemas;
	return list_runs(s);
}

lc_status
lc__recovery_read_state(struct lc__recovery *r)
{
	struct lc__snapshot *s = &r->change->snapshot;
	struct lc__slice row;
	lc_status status = lc__txn_get_meta(s->txn, "state", &row);

	if (status == LC_OK)
		status = lc__state_decode(row.data, row.size, &s->state);
	if (status != LC_NOT_FOUND && status != LC_CORRUPT)
		return status;
	lc__recovery_tell(r, "state row: %s", status == LC_NOT_FOUND ?
	    "missing" : "damaged");
	r->state_lost = true;
	r->result.rows++;
	return make_up_state(s);
}

/* ---- settings ------------------------------------------------------------- */

/* Larger rows would take too long. */
#define MENDABLE 6144

bool
lc__recovery_mend_byte(unsigned char *row, size_t size)
{
	const size_t content = size - 8;

	if (size <= 8 || size > MENDABLE)
		return false;

	for (size_t i = 0; i < size; i++) {
		const unsigned char was = row[i];

		for (unsigned change = 1; change < 256; change++) {
			row[i] = (unsigned char)(was ^ change);
			if (lc__hash64(row, content) == lc__get64(row + content))
				return true;
		}
		row[i] = was;
	}
	return false;
}

/* The length field must not be lost: the records' lengths are by it. */
static lc_status
mend_settings_row(struct lc__snapshot *s)
{
	struct lc__buf copy = { 0 };
	struct lc__slice row;
	lc_status status = lc__txn_get_meta(s->txn, "settings", &row);

	if (status == LC_NOT_FOUND || (status == LC_OK && row.size <= 8))
		return LC_OK;
	return_if_error(status);
	lc__buf_append(&copy, row.data, row.size);
	if (copy.failed)
		status = lc__error(LC_NO_MEMORY, 0, "recover: out of memory");
	else if (lc__recovery_mend_byte(copy.data, copy.size))
		status = lc__txn_put_meta(s->txn, "settings", copy.data,
		    copy.size);
	lc__buf_free(&copy);
	return status;
}

lc_status
lc__recovery_mend_settings(struct lc__recovery *r)
{
	struct lc__snapshot *s = &r->change->snapshot;
	lc_status status = lc__settings_load(s->env, s->txn, &r->settings);
	bool lost = false;

	if (status == LC_CORRUPT) {
		return_if_error(mend_settings_row(s));
		return_if_error(lc__settings_mend(s->env, s->txn, &lost));
		r->result.rows++;
		lc__recovery_tell(r, lost ?
		    "settings row: damaged; the defaults hold again" :
		    "settings row: damaged, and mended");
		status = lc__settings_load(s->env, s->txn, &r->settings);
	}
	r->measure.field = r->settings.length_field;
	return status;
}

/* ---- schemas -------------------------------------------------------------- */

static bool
mend_schema(struct lc__recovery *r, uint32_t id, struct lc__buf *out)
{
	struct lc__slice row;

	if (lc__txn_get(r->change->snapshot.txn, LC__SCHEMA, id, &row) != LC_OK)
		return false;
	lc__buf_append(out, row.data, row.size);
	return !out->failed && lc__recovery_mend_byte(out->data, out->size);
}

/* A structure that no value has: ids have no holes. */
static lc_status
stand_in(uint32_t id, struct lc__buf *out)
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
	out->size = 0;
	lc__buf_append(out, schema->bytes, schema->size);
	lc__schema_free(schema);
	return out->failed ? lc__error(LC_NO_MEMORY, 0,
	    "recover: out of memory") : LC_OK;
}

static lc_status
replace_schema(struct lc__recovery *r, uint32_t id)
{
	struct lc__buf row = { 0 };
	const bool mended = mend_schema(r, id, &row);
	lc_status status = mended ? LC_OK : stand_in(id, &row);

	lc__recovery_tell(r, mended ? "schema %u: damaged, and mended" :
	    "schema %u: damaged; its records are lost", id);
	r->result.rows++;
	if (status == LC_OK)
		status = lc__txn_put(r->change->snapshot.txn, LC__SCHEMA, id,
		    row.data, row.size);
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
			status = lc__schema_decode(row.data, row.size, &schema);
		if (status == LC_OK)
			lc__schema_free(schema);
		else if (status == LC_CORRUPT || status == LC_NOT_FOUND)
			return_if_error(replace_schema(r, id));
		else
			return status;
		/* From now on it is known, and no record is lost for want of memory. */
		return_if_error(lc__snapshot_schema(s, id, &known));
	}
	return LC_OK;
}

/* ---- ledger and counters -------------------------------------------------- */

static bool
same_row(const struct lc__ledger_row *a, const struct lc__ledger_row *b)
{
	return a->records == b->records && a->live == b->live &&
	    a->bytes == b->bytes && a->live_bytes == b->live_bytes &&
	    a->hash == b->hash && a->length == b->length;
}

lc_status
lc__recovery_row(struct lc__recovery *r, const struct lc__found *chunk,
    struct lc__ledger_row *row, bool *intact)
{
	struct lc__ledger_row old, live = { 0 };
	uint64_t id = 0;
	const lc_status status = lc__ledger_seek(&r->change->snapshot, chunk->id,
	    &id, row, intact);

	if (status != LC_OK && status != LC_NOT_FOUND)
		return status;
	*intact = *intact && status == LC_OK && id == chunk->id;
	if (!*intact) {
		memset(row, 0, sizeof(*row));
		row->time_ms = lc__clock_wall_ms();
		lc__recovery_place(r, chunk->id, row);
	}
	old = *row;
	row->records = row->live = row->bytes = row->live_bytes = row->hash = 0;
	row->length = 0;
	for (uint64_t i = 0; i < chunk->count; i++) {
		const struct lc__sound *sound = &r->sounds[chunk->first + i];

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
	/* Others may live now than did before, even if they are as many. */
	if (row->source == 0 && (row->live < row->records ||
	    !same_row(row, &old)))
		row->ordinal = live.hash;
	return LC_OK;
}

/* Is the stored row what it should be? Where records were lost or rescued, it
 * cannot be. */
static lc_status
check_row(struct lc__recovery *r, const struct lc__found *chunk,
    struct lc__ledger_row *sum)
{
	struct lc__ledger_row row, old;
	uint64_t id = 0;
	bool intact = false;

	return_if_error(lc__recovery_row(r, chunk, &row, &intact));
	if (intact)
		return_if_error(lc__ledger_seek(&r->change->snapshot, chunk->id,
		    &id, &old, &intact));
	sum->records += row.records;
	sum->bytes += row.bytes;
	sum->live += row.live;
	sum->live_bytes += row.live_bytes;
	if (intact && (same_row(&row, &old) || chunk->rewrite ||
	    r->index_damaged || r->state_lost || r->result.rescued > 0))
		return LC_OK;
	r->result.rows++;
	lc__recovery_tell(r, "ledger row of chunk %llu: %s",
	    (unsigned long long)chunk->id, intact ? "wrong" :
	    "missing or damaged");
	return LC_OK;
}

lc_status
lc__recovery_orphan(struct lc__recovery *r, uint64_t *id)
{
	struct lc__snapshot *s = &r->change->snapshot;
	struct lc__ledger_row row;
	struct lc__slice value;
	bool intact;

	for (;; (*id)++) {
		lc_status status;

		return_if_error(lc__ledger_seek(s, *id, id, &row, &intact));
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

	for (; (status = lc__recovery_orphan(r, &id)) == LC_OK; id++) {
		r->chunk_missing = true;
		r->result.rows++;
		lc__recovery_tell(r, "chunk %llu is missing",
		    (unsigned long long)id);
	}
	return status == LC_NOT_FOUND ? LC_OK : status;
}

lc_status
lc__recovery_count_usage(struct lc__recovery *r, struct lc__usage *usage)
{
	struct lc__record record;
	struct lc__known *known;

	for (uint64_t i = 0; i < r->nsounds; i++) {
		(void)lc__record_parse(r->sounds[i].bytes, r->sounds[i].size,
		    &record);
		return_if_error(lc__snapshot_schema(&r->change->snapshot,
		    record.schema, &known));
		return_if_error(lc__usage_count(usage, &record, known->schema,
		    1));
	}
	return LC_OK;
}

/* A missing row is no damage; nor is one that still counts records now lost. */
static lc_status
check_usage(struct lc__recovery *r)
{
	struct lc__snapshot *s = &r->change->snapshot;
	struct lc__usage stored = { 0 }, found = { 0 };
	lc_status status = lc__usage_load(&stored, s->txn);
	bool wrong = stored.damaged;

	if (status == LC_OK)
		status = lc__recovery_count_usage(r, &found);
	for (uint32_t id = 0; id < s->state.next_schema && !stored.missing &&
	    r->nspans == 0 && !r->chunk_missing; id++)
		wrong |= !lc__usage_same(&stored, &found, id);
	if (wrong && status == LC_OK) {
		r->result.rows++;
		lc__recovery_tell(r, "usage row: %s", stored.damaged ?
		    "damaged" : "not what the chunks hold");
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
	const uint64_t above = r->nchunks == 0 ? 0 :
	    r->chunks[r->nchunks - 1].id + 1;

	for (uint64_t i = 0; i < r->nchunks; i++)
		return_if_error(check_row(r, &r->chunks[i], &sum));
	return_if_error(check_orphans(r));
	return_if_error(check_usage(r));
	if (!r->state_lost && !r->index_damaged && r->result.rescued == 0 &&
	    r->nspans == 0 && !r->chunk_missing && (above > state->next_chunk ||
	    sum.records != state->records || sum.bytes != state->bytes ||
	    sum.live != state->live || sum.live_bytes != state->live_bytes)) {
		r->result.rows++;
		lc__recovery_tell(r, "state row: wrong counters");
	}
	if (above > state->next_chunk)
		state->next_chunk = above;
	return LC_OK;
}
