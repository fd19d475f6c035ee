/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/change.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/fold.h"
#include "store/lookup.h"

/* ---- the transaction ------------------------------------------------------ */

static lc_status
store_state(struct lc__change *change)
{
	struct lc__snapshot *s = &change->snapshot;
	struct lc__buf row = { 0 };
	lc_status status;

	s->state.generation++;
	if (s->state.generation >= LC__RUN_ID_MAX || s->state.next_run >= LC__RUN_ID_MAX)
		return lc__error(LC_UNSUPPORTED, 0, "commit: %s: no numbers left",
		    lc__env_dir(s->env));
	if (!lc__state_encode(&s->state, &row))
		status = lc__no_memory("commit");
	else
		status = lc__txn_put_meta(s->txn, "state", row.data, row.size);
	lc__buf_free(&row);
	return status;
}

/* The arguments of lc__change_run(). */
struct order {
	struct lc__env *env;
	lc_durability durability;
	bool unread; /* do not read the state: the body sets it */
	lc_status (*body)(struct lc__change *change, void *ctx);
	void *ctx;
};

static lc_status
run_once(const struct order *order)
{
	struct lc__change *change = calloc(1, sizeof(*change));
	struct lc__snapshot *s;
	lc_status status;

	if (change == NULL)
		return lc__no_memory("commit");
	s = &change->snapshot;
	s->env = order->env;
	status = lc__txn_begin_write(order->env, order->durability, &s->txn);
	if (status == LC_OK && !order->unread)
		status = lc__snapshot_load(s);
	if (status == LC_OK)
		status = order->body(change, order->ctx);
	if (status == LC_OK)
		status = lc__fold_settle(change);
	if (status == LC_OK)
		status = lc__usage_store(&change->usage, s->txn);
	if (status == LC_OK)
		status = store_state(change);
	if (status == LC_OK) {
		status = lc__txn_commit(s->txn);
		s->txn = NULL;
	}
	lc__txn_abort(s->txn);
	lc__snapshot_free_parts(s);
	lc__usage_free(&change->usage);
	free(change->gone);
	free(change);
	return status;
}

static lc_status
run(const struct order *order)
{
	lc_status status = run_once(order);

	while (status == LC_MAP_FULL) {
		return_if_error(lc__env_grow(order->env));
		status = run_once(order);
	}
	return status;
}

lc_status
lc__change_run(struct lc__env *env, lc_durability durability,
    lc_status (*body)(struct lc__change *change, void *ctx), void *ctx)
{
	const struct order order = {
		.env = env,
		.durability = durability,
		.body = body,
		.ctx = ctx,
	};

	return run(&order);
}

lc_status
lc__change_run_unread(struct lc__env *env,
    lc_status (*body)(struct lc__change *change, void *ctx), void *ctx)
{
	const struct order order = {
		.env = env,
		.durability = LC_DURABLE_FULL,
		.unread = true,
		.body = body,
		.ctx = ctx,
	};

	return run(&order);
}

/* ---- schemas -------------------------------------------------------------- */

/* The search ignores rows added by this change, because what it learned from them would
 * be wrong if the change failed. It also ignores damaged rows: they must not stop
 * puts. */
lc_status
lc__change_schema(struct lc__change *change, struct lc__known *wanted, uint32_t stored,
    uint32_t *out)
{
	struct lc__snapshot *s = &change->snapshot;
	struct lc__known *known;

	*out = atomic_load(&wanted->id);
	if (*out != LC__SCHEMA_NEW)
		return LC_OK;
	for (*out = 0; *out < stored; (*out)++) {
		const lc_status status = lc__snapshot_schema(s, *out, &known);

		if (status == LC_OK && known == wanted)
			return LC_OK;
		if (status != LC_OK && status != LC_CORRUPT)
			return status;
	}
	*out = s->state.next_schema;
	if (*out >= LC__SCHEMAS_MAX)
		return lc__error(LC_SCHEMA, 0,
		    "%s: holds %d structures of values, which is the limit",
		    lc__env_dir(s->env), LC__SCHEMAS_MAX);
	s->state.next_schema++;
	return lc__schema_row_put(s->txn, *out, wanted->schema);
}

/* ---- chunks --------------------------------------------------------------- */

lc_status
lc__change_count(struct lc__change *change, const struct lc__record *record,
    const struct lc__schema *schema, int sign)
{
	if (!change->usage.loaded)
		return_if_error(lc__usage_load(&change->usage, change->snapshot.txn));
	/* A lost usage row stays lost: counting from now on would give wrong sums. */
	if (change->usage.damaged)
		return LC_OK;
	return lc__usage_count(&change->usage, record, schema, sign);
}

lc_status
lc__change_put_chunk(struct lc__change *change, uint64_t id,
    const struct lc__ledger_row *row, const struct lc__directory_build *directory,
    unsigned char **records)
{
	struct lc__snapshot *s = &change->snapshot;
	struct lc__chunk chunk = {
		.id = id,
		.records = row->records,
		.bytes = row->bytes,
	};
	const uint64_t end = LC__CHUNK_HEADER + chunk.bytes;
	unsigned char *bytes;
	uint64_t size, tables;

	return_if_error(lc__directory_done(directory, &chunk));
	size = lc__chunk_size(&chunk, lc__env_page_size(s->env));
	tables = lc__chunk_tables(&chunk);
	if (id != s->state.next_chunk)
		return_if_error(lc__fold_make_room(change, id));
	return_if_error(id == s->state.next_chunk
		? lc__txn_append(s->txn, LC__CHUNK, id, size, &bytes)
		: lc__txn_insert(s->txn, LC__CHUNK, id, size, &bytes));
	/* Write everything but the records. */
	lc__chunk_encode(bytes, &chunk);
	lc__directory_write(directory, &chunk, bytes + end);
	memset(bytes + end + tables, 0, size - end - tables);
	*records = bytes + LC__CHUNK_HEADER;
	s->state.records += row->records;
	s->state.live += row->records;
	s->state.bytes += row->bytes;
	s->state.live_bytes += row->bytes;
	return LC_OK;
}

lc_status
lc__change_add_chunk(struct lc__change *change, const struct lc__ledger_row *row,
    const struct lc__directory_build *directory, uint64_t *id, unsigned char **records)
{
	const uint64_t next = change->snapshot.state.next_chunk;

	if (next > LC__CHUNK_ID_MAX)
		return lc__error(LC_UNSUPPORTED, 0, "commit: no chunk ids left");
	return_if_error(lc__change_put_chunk(change, next, row, directory, records));
	change->snapshot.state.next_chunk++;
	*id = next;
	return LC_OK;
}

static uint64_t
less(uint64_t count, uint64_t n)
{
	return count < n ? 0 : count - n;
}

/* If records are shorter than this, reading their heads reads every page. */
#define SHORT_RECORD 65536

/* Subtract the records of a chunk from the usage, as far as they can be read. */
static lc_status
uncount_chunk(struct lc__change *change, uint64_t id)
{
	struct lc__snapshot *s = &change->snapshot;
	struct lc__mapped_chunk chunk;
	struct lc__record record;
	struct lc__known *known;

	if (lc__snapshot_chunk(s, id, &chunk) != LC_OK)
		return LC_OK;
	if (chunk.end > SHORT_RECORD && chunk.end / SHORT_RECORD < chunk.records)
		lc__env_willneed(s->env, chunk.bytes, (size_t)chunk.end);
	for (uint64_t at = LC__CHUNK_HEADER; at < chunk.end; at += record.size) {
		lc_status status;

		if (!lc__record_parse(chunk.bytes + at, chunk.end - at, &record))
			break;
		status = lc__snapshot_schema(s, record.schema, &known);
		if (status == LC_CORRUPT)
			continue;
		return_if_error(status);
		if (lc__record_fits(&record, known->schema))
			return_if_error(
			    lc__change_count(change, &record, known->schema, -1));
	}
	return LC_OK;
}

lc_status
lc__change_drop_chunk(struct lc__change *change, uint64_t id,
    const struct lc__ledger_row *row)
{
	struct lc__state *state = &change->snapshot.state;

	return_if_error(uncount_chunk(change, id));
	return_if_error(lc__fold_delete(change, id));
	return_if_error(lc__txn_delete(change->snapshot.txn, LC__LEDGER, id));
	lc__snapshot_forget_chunk(&change->snapshot, id);
	state->records = less(state->records, row->records);
	state->live = less(state->live, row->live);
	state->bytes = less(state->bytes, row->bytes);
	state->live_bytes = less(state->live_bytes, row->live_bytes);
	return LC_OK;
}

/* ---- the ledger ----------------------------------------------------------- */

void
lc__ledger_count(struct lc__ledger_row *row, uint64_t size, uint64_t length)
{
	row->records++;
	row->live++;
	row->bytes += size;
	row->live_bytes += size;
	row->length += length;
}

void
lc__ledger_hash(struct lc__ledger_row *row, const unsigned char *record)
{
	row->hash = lc__hash64_seed(record, 8, row->hash);
}

void
lc__ledger_name_records(struct lc__ledger_row *row)
{
	row->ordinal = row->hash;
}

lc_status
lc__change_put_ledger(struct lc__change *change, uint64_t chunk,
    const struct lc__ledger_row *row)
{
	unsigned char bytes[LC__LEDGER_ROW];

	lc__ledger_encode(row, chunk, bytes);
	return lc__txn_put(change->snapshot.txn, LC__LEDGER, chunk, bytes, sizeof(bytes));
}

lc_status
lc__ledger_seek(struct lc__snapshot *s, uint64_t from, uint64_t *id,
    struct lc__ledger_row *row, bool *intact)
{
	struct lc__slice value;

	*intact = false;
	memset(row, 0, sizeof(*row));
	return_if_error(lc__txn_seek(s->txn, LC__LEDGER, from, id, &value));
	*intact = lc__ledger_decode(value.data, value.size, *id, row);
	if (!*intact)
		memset(row, 0, sizeof(*row));
	return LC_OK;
}

lc_status
lc__ledger_after(struct lc__snapshot *s, uint64_t last, uint64_t *id,
    struct lc__ledger_row *row, bool *intact)
{
	*intact = false;
	return last == UINT64_MAX ? LC_END
				  : lc__ledger_seek(s, last + 1, id, row, intact);
}

static void
bury_one(struct lc__ledger_row *row, const struct lc__dead *dead)
{
	unsigned char checksum[8];

	row->live = less(row->live, 1);
	row->live_bytes = less(row->live_bytes, dead->bytes);
	row->length = less(row->length, dead->length);
	if (row->source > 0)
		return;
	lc__set64(checksum, dead->checksum);
	row->ordinal = lc__hash64_seed(checksum, sizeof(checksum), row->ordinal);
}

/* Has a chunk of plain puts no live record left? A damaged record is counted with no
 * bytes, so the two counts may differ: then only the index can tell whether they are
 * right. */
static bool
is_dead(const struct lc__ledger_row *row)
{
	return row->live == 0 && row->live_bytes == 0 && row->source == 0;
}

/* Should a dead chunk be dropped at once? A row shared with other chunks is rewritten
 * later, for many dead ones together. */
static bool
leaves_alone(struct lc__change *change, uint64_t chunk)
{
	struct lc__slice row;
	uint64_t first;

	return lc__chunk_row(change->snapshot.txn, chunk, &first, &row) != LC_OK ||
	    !lc__is_folded(row.data, row.size);
}

/* Subtract n records from the live ones of their chunk. */
static lc_status
bury(struct lc__change *change, const struct lc__dead *dead, uint32_t n, bool drop)
{
	struct lc__snapshot *s = &change->snapshot;
	struct lc__ledger_row row;
	struct lc__slice value;

	s->state.live = less(s->state.live, n);
	for (uint32_t i = 0; i < n; i++)
		s->state.live_bytes = less(s->state.live_bytes, dead[i].bytes);
	if (lc__txn_get(s->txn, LC__LEDGER, dead->chunk, &value) != LC_OK ||
	    !lc__ledger_decode(value.data, value.size, dead->chunk, &row))
		return LC_OK;
	for (uint32_t i = 0; i < n; i++)
		bury_one(&row, &dead[i]);
	return drop && is_dead(&row) && leaves_alone(change, dead->chunk)
	    ? lc__change_drop_chunk(change, dead->chunk, &row)
	    : lc__change_put_ledger(change, dead->chunk, &row);
}

/* Order by chunk, and within one by checksum, so that the same records always give the
 * same ordinal. */
static int
by_chunk(const void *a, const void *b)
{
	const struct lc__dead *x = a, *y = b;

	if (x->chunk != y->chunk)
		return x->chunk < y->chunk ? -1 : 1;
	return x->checksum < y->checksum ? -1 : x->checksum > y->checksum;
}

lc_status
lc__change_bury(struct lc__change *change, struct lc__dead *dead, uint32_t n, bool drop)
{
	qsort(dead, n, sizeof(*dead), by_chunk);
	for (uint32_t i = 0, same; i < n; i += same) {
		for (same = 1; i + same < n && dead[i + same].chunk == dead[i].chunk;
		     same++)
			;
		return_if_error(bury(change, &dead[i], same, drop));
	}
	return LC_OK;
}

/* ---- the index ------------------------------------------------------------ */

uint64_t
lc__sort_prefix(const lc_id *id)
{
	uint64_t prefix = 0;

	memcpy(&prefix, id->data, id->size < 8 ? id->size : 8);
	return be64toh(prefix);
}

static int
by_id(const void *a, const void *b)
{
	const struct lc__new_entry *x = a, *y = b;

	if (x->prefix != y->prefix)
		return x->prefix < y->prefix ? -1 : 1;
	return lc__id_compare(x->id.data, x->id.size, y->id.data, y->id.size);
}

lc_status
lc__change_push_run(struct lc__change *change, const struct lc__run_builder *builder,
    uint32_t level)
{
	struct lc__snapshot *s = &change->snapshot;
	const struct lc__run_row row = {
		.id = s->state.next_run,
		.entries = builder->entries,
		.bytes = builder->used,
		.level = level,
	};
	unsigned char *bytes;

	s->state.next_run++;
	return_if_error(lc__txn_append(s->txn, LC__INDEX, row.id, row.bytes, &bytes));
	memcpy(bytes, builder->bytes, row.bytes);
	if (!lc__state_push_run(&s->state, &row))
		return lc__no_memory("commit");
	return LC_OK;
}

/* ---- merging runs -------------------------------------------------------- */

/* Replace n runs from position @p from by a finished run. */
static lc_status
replace_runs(struct lc__snapshot *s, uint32_t from, uint32_t n,
    const struct lc__run_builder *builder, uint32_t level)
{
	struct lc__run_row row = {
		.id = s->state.next_run++,
		.entries = builder->entries,
		.bytes = builder->used,
		.level = level,
	};
	unsigned char *place;

	for (uint32_t i = from; i < from + n; i++)
		return_if_error(lc__txn_delete(s->txn, LC__INDEX, s->state.runs[i].id));
	return_if_error(lc__txn_append(s->txn, LC__INDEX, row.id, builder->used, &place));
	memcpy(place, builder->bytes, builder->used);
	s->state.runs[from] = row;
	lc__state_drop_runs(&s->state, from + 1, n - 1);
	return LC_OK;
}

/* Merge n runs from position @p from into one. Damaged runs are left alone: reads and
 * verify report them, and a put must not fail because of them. */
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
	return_if_error(
	    lc__run_build_start(&builder, lc__env_seed(s->env), entries, id_bytes));
	status = lc__run_build_merged(&builder, s->runs + from, n, from == 0);
	damaged = status == LC_CORRUPT;
	if (status == LC_OK) {
		lc__run_build_finish(&builder, s->state.next_run, level);
		status = replace_runs(s, from, n, &builder, level);
	}
	lc__run_build_free(&builder);
	if (damaged)
		return LC_OK;
	return status;
}

/* The newest runs together are above the limit: merge neighbours that fit, and never merge
 * these runs again. */
static lc_status
settle(struct lc__snapshot *s, uint32_t from)
{
	while (from < s->state.nruns) {
		uint64_t bytes = s->state.runs[from].bytes;
		uint32_t n = 1;

		while (from + n < s->state.nruns &&
		    bytes + s->state.runs[from + n].bytes <= LC__MERGE_LIMIT)
			bytes += s->state.runs[from + n++].bytes;
		if (n > 1) {
			return_if_error(merge_group(s, from, n, LC__LEVEL_FULL));
			return_if_error(lc__snapshot_load_runs(s));
		} else {
			s->state.runs[from].level = LC__LEVEL_FULL;
		}
		from++;
	}
	return LC_OK;
}

/* How many of the newest runs have the level of the newest one. */
static uint32_t
tail_length(const struct lc__state *state)
{
	uint32_t n = 1;

	while (n < state->nruns &&
	    state->runs[state->nruns - 1 - n].level ==
		state->runs[state->nruns - 1].level)
		n++;
	return n;
}

lc_status
lc__merge_runs(struct lc__snapshot *s)
{
	const struct lc__state *state = &s->state;

	while (state->nruns > 0 &&
	    state->runs[state->nruns - 1].level != LC__LEVEL_FULL &&
	    tail_length(state) >= LC__MERGE_FANOUT) {
		const uint32_t from = state->nruns - LC__MERGE_FANOUT;
		uint64_t bytes = 0;

		return_if_error(lc__snapshot_load_runs(s));
		for (uint32_t i = from; i < state->nruns; i++)
			bytes += state->runs[i].bytes;
		if (bytes > LC__MERGE_LIMIT)
			return settle(s, from);
		return_if_error(
		    merge_group(s, from, LC__MERGE_FANOUT, state->runs[from].level + 1));
		if (state->nruns > from + 1)
			break; /* a run is damaged */
	}
	return LC_OK;
}

/* Fewer superseded entries do not justify the work. */
#define ENTRIES_SLACK 32768
/* With a damaged run all work is in vain: do not repeat it at every commit. */
#define COMMITS_BETWEEN 8

lc_status
lc__merge_superseded(struct lc__snapshot *s)
{
	const struct lc__state *state = &s->state;
	uint64_t entries = 0, bytes = 0;

	for (uint32_t i = 0; i < state->nruns; i++) {
		entries += state->runs[i].entries;
		bytes += state->runs[i].bytes;
	}
	if (state->nruns < 2 || state->generation % COMMITS_BETWEEN != 0 ||
	    entries < ENTRIES_SLACK || (entries - ENTRIES_SLACK) / 3 < state->live ||
	    (double)bytes * (double)state->live / (double)entries >
		(double)LC__MERGE_LIMIT)
		return LC_OK;
	return_if_error(lc__snapshot_load_runs(s));
	return merge_group(s, 0, state->nruns, LC__LEVEL_FULL);
}

lc_status
lc__change_add_run(struct lc__change *change, struct lc__new_entry *entries, uint32_t n)
{
	struct lc__snapshot *s = &change->snapshot;
	struct lc__run_builder builder;
	uint64_t id_bytes = 0;
	lc_status status;

	qsort(entries, n, sizeof(*entries), by_id);
	for (uint32_t i = 0; i < n; i++)
		id_bytes += entries[i].id.size;
	return_if_error(lc__run_build_start(&builder, lc__env_seed(s->env), n, id_bytes));
	for (uint32_t i = 0; i < n; i++)
		lc__run_build_add(&builder, entries[i].hash, entries[i].location,
		    entries[i].id.data, entries[i].id.size);
	lc__run_build_finish(&builder, s->state.next_run, 0);
	status = lc__change_push_run(change, &builder, 0);
	lc__run_build_free(&builder);
	if (status == LC_OK)
		status = lc__merge_runs(s);
	return status;
}
