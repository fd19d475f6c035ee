/* SPDX-License-Identifier: BSD-2-Clause */
/* verify: read everything of one commit and compare it with everything else. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "index/run.h"
#include "life/decoded.h"
#include "life/progress.h"
#include "life/verify_inputs.h"
#include "store/chunk.h"
#include "store/counters.h"
#include "store/decode.h"
#include "store/flush.h"
#include "store/lookup.h"
#include "store/module.h"
#include "store/record.h"

/* A chunk that is there, and what the index says of it. */
struct tally {
	uint64_t chunk;  /* id */
	uint64_t live;   /* records that the index names */
	uint64_t bytes;  /* of them */
	uint64_t length; /* of them, by the length field */
	uint64_t digest; /* of all its records, as found, in a module with inputs */
};

struct verify {
	struct lc_cache *cache;
	struct lc__snapshot *snapshot;
	const lc_progress *progress;
	lc_verify_result result;
	struct tally *tallies; /* of the chunks that are there, by id; malloc'ed */
	size_t chunks, room;
	struct lc__state sum;   /* counters as found */
	struct lc__usage usage; /* as found */
	lc_settings settings;
	struct lc__measure measure; /* by their length field */
	bool settings_damaged;      /* it is not known, and no length is compared */
};

__attribute__((format(printf, 2, 3))) static void
damage(struct verify *v, const char *format, ...)
{
	va_list args;

	v->result.damaged++;
	va_start(args, format);
	lc__progress_vdamage(v->progress, format, args);
	va_end(args);
}

/* The current error, for failures that count as damage here. */
static void
damage_from_error(struct verify *v)
{
	damage(v, "%s", lc_last_error()->text);
}

static lc_status
step(struct verify *v)
{
	return lc__progress_step(v->progress, v->result.bytes, v->snapshot->state.bytes,
	    "verify");
}

/* A part begins. */
static lc_status
enter(struct verify *v, const char *phase)
{
	lc__progress_phase(v->progress, phase);
	return step(v);
}

/* ---- the chunks that are there -------------------------------------------- */

static int
compare_tallies(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

/* NULL if it is not there. */
static struct tally *
find_tally(const struct verify *v, uint64_t chunk)
{
	const struct tally wanted = { .chunk = chunk };

	return v->chunks == 0
	    ? NULL
	    : bsearch(&wanted, v->tallies, v->chunks, sizeof(wanted), compare_tallies);
}

/* By walking: memory is not asked for by numbers that the file has. */
static lc_status
list_chunks(struct verify *v)
{
	struct lc__txn *txn = v->snapshot->txn;
	struct lc__slice value;
	uint64_t id = 0;
	lc_status status = lc__txn_seek(txn, LC__CHUNK, 0, &id, &value);

	for (; status == LC_OK;
	     status = lc__txn_seek_after(txn, LC__CHUNK, id, &id, &value)) {
		return_if_error(
		    lc__array_reserve(&v->tallies, &v->room, v->chunks + 1, "verify"));
		v->tallies[v->chunks++] = (struct tally){ .chunk = id };
	}
	return status == LC_END ? LC_OK : status;
}

/* ---- pages ---------------------------------------------------------------- */

static void
damage_line(void *ctx, const char *line)
{
	damage(ctx, "%s", line);
}

/* ---- the table meta -------------------------------------------------------- */

/* Settings and counters. A row of an unknown name had a known one before it was damaged. */
static lc_status
check_meta(struct verify *v)
{
	struct lc__txn *txn = v->snapshot->txn;
	struct lc__slice name, row;
	struct lc__counters counts;
	lc_status status = lc__settings_load(v->snapshot->env, txn, &v->settings);

	v->measure.field = v->settings.length_field;
	v->settings_damaged = status == LC_CORRUPT;
	if (status == LC_CORRUPT)
		damage_from_error(v);
	else
		return_if_error(status);
	status = lc__counters_load(txn, &counts);
	if (status == LC_CORRUPT)
		damage_from_error(v);
	else
		return_if_error(status);
	for (uint64_t i = 0; (status = lc__txn_nth_meta(txn, i, &name, &row)) == LC_OK;
	     i++)
		if (!lc__meta_knows(&name))
			damage(v, "table meta: row %s: unknown",
			    lc__quote_id(name.data, name.size));
	return status == LC_END ? LC_OK : status;
}

/* ---- schemas -------------------------------------------------------------- */

static lc_status
check_schemas(struct verify *v)
{
	struct lc__known *known;
	uint64_t rows = 0;

	for (uint32_t id = 0; id < v->snapshot->state.next_schema; id++) {
		const lc_status status = lc__snapshot_schema(v->snapshot, id, &known);

		if (status == LC_NO_MEMORY)
			return status;
		if (status != LC_OK)
			damage_from_error(v);
	}
	return_if_error(lc__txn_count(v->snapshot->txn, LC__SCHEMA, &rows));
	if (rows != v->snapshot->state.next_schema)
		damage(v, "the table of schemas has %llu rows for %u schemas",
		    (unsigned long long)rows, v->snapshot->state.next_schema);
	return LC_OK;
}

/* ---- the index ------------------------------------------------------------ */

/* Every entry must be found by its hash, in this run. */
static void
check_run(struct verify *v, const struct lc__run *run)
{
	const uint64_t seed = lc__env_seed(v->snapshot->env);
	struct lc__run_cursor cursor;
	uint64_t entries = 0, lost = 0;
	bool more = lc__run_seek(&cursor, run, NULL, 0);

	for (; more; more = lc__run_next(&cursor)) {
		const struct lc__run_entry *entry = &cursor.entry;

		entries++;
		if (!lc__run_has(run, lc__hash64_seed(entry->id, entry->id_size, seed),
			entry->location))
			lost++;
	}
	if (cursor.damaged)
		damage(v, "index run %llu: key section damaged behind entry %llu",
		    (unsigned long long)run->id, (unsigned long long)entries);
	else if (entries != run->entries)
		damage(v, "index run %llu: %llu entries, its header says %llu",
		    (unsigned long long)run->id, (unsigned long long)entries,
		    (unsigned long long)run->entries);
	if (lost > 0)
		damage(v, "index run %llu: %llu entries are not in its table",
		    (unsigned long long)run->id, (unsigned long long)lost);
	if (!lc__run_table_intact(run))
		damage(v, "index run %llu: table damaged", (unsigned long long)run->id);
}

/* A live entry must lead to a record with its cache_id. */
static void
check_entry(struct verify *v, const struct lc__run_entry *entry)
{
	const uint64_t chunk = lc__location_chunk(entry->location);
	const char *name = lc__quote_id(entry->id, entry->id_size);
	struct tally *tally = find_tally(v, chunk);
	struct lc__record record;
	struct lc__known *known;

	v->result.live++;
	if (tally == NULL) {
		damage(v, "key %s: chunk %llu is missing", name,
		    (unsigned long long)chunk);
		return;
	}
	tally->live++;
	if (lc__snapshot_record(v->snapshot, entry->location, &record) != LC_OK) {
		damage(v, "key %s: %s", name, lc_last_error()->text);
		return;
	}
	/* The sums that the ledger should have. A damaged structure is reported elsewhere. */
	tally->bytes += record.size;
	if (lc__measures(&v->measure) &&
	    lc__snapshot_schema(v->snapshot, record.schema, &known) == LC_OK)
		tally->length += lc__measure(&v->measure, &record, known->schema);
	if (lc__id_compare(entry->id, entry->id_size, record.id.data, record.id.size) !=
	    0)
		damage(v, "key %s: its record holds key %s", name,
		    lc__quote_id(record.id.data, record.id.size));
}

static lc_status
check_index(struct verify *v)
{
	struct lc__snapshot *s = v->snapshot;
	struct lc__run_merge *merge;
	struct lc__run_entry entry;
	lc_status status;

	for (uint32_t i = 0; i < s->state.nruns; i++)
		check_run(v, &s->runs[i]);
	merge = lc__run_merge_open(s->runs, s->state.nruns, NULL, 0);
	if (merge == NULL)
		return lc__no_memory("verify");
	while ((status = lc__run_merge_next(merge, &entry)) != LC_END)
		if (status == LC_OK && !(entry.location & LC__TOMBSTONE))
			check_entry(v, &entry);
	lc__run_merge_close(merge);
	return LC_OK;
}

/* ---- the chunks ----------------------------------------------------------- */

/* Rebuild the value: that its coded and plain bytes mean something is part of
 * their being whole. *wrong says what is not, or is NULL. */
static lc_status
check_value(struct verify *v, const struct lc__record *record,
    const struct lc__schema *schema, const char **wrong)
{
	struct lc__decoder decoder = { .record = *record };
	const lc_value *value;
	lc_status status;

	*wrong = NULL;
	if (!lc__record_fits(record, schema))
		*wrong = "shape and size disagree";
	if (*wrong != NULL || !record->has_parts)
		return LC_OK;
	if (lc__decoder_open_memory(&decoder, v->cache, schema) != LC_OK) {
		*wrong = "shape and size disagree";
		return LC_OK;
	}
	status = lc__decoder_value(&decoder, NULL, &value);
	lc__decoder_close(&decoder);
	/* A lack of memory says nothing about the record. */
	if (status == LC_NO_MEMORY)
		return status;
	if (status != LC_OK)
		*wrong = lc_last_error()->text;
	return LC_OK;
}

static lc_status
check_record(struct verify *v, const struct lc__record *record, uint64_t chunk,
    uint64_t offset)
{
	struct lc__known *known;
	struct tally *tally;
	uint64_t digest = 0;
	const char *wrong;

	if (!lc__record_intact(record))
		wrong = "checksum mismatch";
	else if (lc__snapshot_schema(v->snapshot, record->schema, &known) != LC_OK)
		wrong = "its schema is missing or damaged";
	else
		return_if_error(check_value(v, record, known->schema, &wrong));
	if (wrong != NULL) {
		damage(v, "chunk %llu, byte %llu, key %s: %s", (unsigned long long)chunk,
		    (unsigned long long)offset,
		    lc__quote_id(record->id.data, record->id.size), wrong);
		return LC_OK;
	}
	return_if_error(lc__usage_count(&v->usage, record, known->schema, 1));
	if (v->snapshot->filled) {
		return_if_error(lc__digest_stored(record, known->schema, &digest));
		tally = find_tally(v, chunk);
		tally->digest = lc__digest_add(tally->digest, digest);
	}
	return LC_OK;
}

/* Does the directory lead to record i, which the walk has reached? */
static void
check_listed(struct verify *v, const struct lc__directory *d, uint64_t i,
    const struct lc__record *record, uint64_t chunk, uint64_t offset)
{
	struct lc__known *known;

	if (i >= d->records)
		return;
	if (LC__CHUNK_HEADER + lc__directory_offset(d, i) != offset)
		damage(v, "chunk %llu: its directory does not lead to record %llu",
		    (unsigned long long)chunk, (unsigned long long)i);
	else if (d->has_lengths && lc__measures(&v->measure) &&
	    lc__snapshot_schema(v->snapshot, record->schema, &known) == LC_OK &&
	    lc__directory_length(d, i) != lc__measure(&v->measure, record, known->schema))
		damage(v, "chunk %llu: its directory has another length of record %llu",
		    (unsigned long long)chunk, (unsigned long long)i);
}

/* Walk the records; *row gets what a ledger row would say of them. */
static lc_status
check_records(struct verify *v, const struct lc__mapped_chunk *chunk,
    struct lc__ledger_row *row)
{
	struct lc__directory directory;
	uint64_t offset = LC__CHUNK_HEADER;
	struct lc__record record;
	const lc_status status = lc__snapshot_directory(v->snapshot, chunk, &directory);

	if (status == LC_NO_MEMORY)
		return status;
	if (status == LC_CORRUPT)
		damage_from_error(v);
	/* Without a directory nothing is compared with it. */
	if (status != LC_OK)
		memset(&directory, 0, sizeof(directory));
	while (offset < chunk->end) {
		uint64_t checksum;

		if (!lc__record_parse(chunk->bytes + offset, chunk->end - offset,
			&record)) {
			damage(v, "chunk %llu: no record at byte %llu",
			    (unsigned long long)chunk->id, (unsigned long long)offset);
			return LC_OK;
		}
		return_if_error(check_record(v, &record, chunk->id, offset));
		check_listed(v, &directory, row->records, &record, chunk->id, offset);
		checksum = lc__record_checksum(&record);
		row->hash = lc__hash64_seed(&checksum, sizeof(checksum), row->hash);
		row->records++;
		row->bytes += record.size;
		offset += record.size;
	}
	return LC_OK;
}

static void
compare(struct verify *v, uint64_t chunk, const char *what, uint64_t ledger,
    uint64_t found)
{
	if (ledger != found)
		damage(v, "ledger of chunk %llu: %s is %llu, found %llu",
		    (unsigned long long)chunk, what, (unsigned long long)ledger,
		    (unsigned long long)found);
}

static void
check_ledger(struct verify *v, uint64_t chunk, const struct lc__ledger_row *found)
{
	const struct tally *tally = find_tally(v, chunk);
	struct lc__ledger_row row;
	struct lc__slice value;

	if (lc__txn_get(v->snapshot->txn, LC__LEDGER, chunk, &value) != LC_OK ||
	    !lc__ledger_decode(value.data, value.size, chunk, &row)) {
		damage(v, "ledger of chunk %llu: missing or damaged",
		    (unsigned long long)chunk);
		return;
	}
	compare(v, chunk, "records", row.records, found->records);
	compare(v, chunk, "bytes", row.bytes, found->bytes);
	compare(v, chunk, "hash", row.hash, found->hash);
	compare(v, chunk, "live records", row.live, tally->live);
	compare(v, chunk, "live bytes", row.live_bytes, tally->bytes);
	if (!v->settings_damaged)
		compare(v, chunk, "length", row.length, tally->length);
}

static lc_status
check_chunk(struct verify *v, uint64_t id)
{
	struct lc__ledger_row found = { 0 };
	struct lc__mapped_chunk chunk;

	v->result.chunks++;
	if (id == 0 || id >= v->snapshot->state.next_chunk) {
		damage(v, "chunk %llu: no such number was given out yet",
		    (unsigned long long)id);
		return LC_OK;
	}
	if (lc__snapshot_chunk(v->snapshot, id, &chunk) != LC_OK) {
		damage_from_error(v);
		return LC_OK;
	}
	return_if_error(check_records(v, &chunk, &found));
	if (chunk.records != found.records)
		damage(v, "chunk %llu: its header says %llu records, found %llu",
		    (unsigned long long)id, (unsigned long long)chunk.records,
		    (unsigned long long)found.records);
	check_ledger(v, id, &found);
	v->result.records += found.records;
	v->result.bytes += found.bytes;
	v->sum.records += found.records;
	v->sum.bytes += found.bytes;
	v->sum.live += find_tally(v, id)->live;
	v->sum.live_bytes += find_tally(v, id)->bytes;
	return LC_OK;
}

/* ---- the counters --------------------------------------------------------- */

static void
compare_state(struct verify *v, const char *what, uint64_t stored, uint64_t found)
{
	if (stored != found)
		damage(v, "state row: %s is %llu, found %llu", what,
		    (unsigned long long)stored, (unsigned long long)found);
}

static void
check_state(struct verify *v)
{
	const struct lc__state *state = &v->snapshot->state;
	uint64_t rows = 0, runs = 0;

	compare_state(v, "records", state->records, v->sum.records);
	compare_state(v, "bytes", state->bytes, v->sum.bytes);
	compare_state(v, "live records", state->live, v->sum.live);
	compare_state(v, "live bytes", state->live_bytes, v->sum.live_bytes);
	if (lc__txn_count(v->snapshot->txn, LC__LEDGER, &rows) != LC_OK)
		damage_from_error(v);
	else if (rows != v->result.chunks)
		damage(v, "the ledger has %llu rows for %llu chunks",
		    (unsigned long long)rows, (unsigned long long)v->result.chunks);
	if (lc__txn_count(v->snapshot->txn, LC__INDEX, &runs) != LC_OK)
		damage_from_error(v);
	else if (runs != state->nruns)
		damage(v, "the table of index runs has %llu rows for %u runs",
		    (unsigned long long)runs, state->nruns);
}

/* ---- summaries ------------------------------------------------------------- */

static lc_status
check_usage(struct verify *v)
{
	struct lc__usage stored = { 0 };
	lc_status status = lc__usage_load(&stored, v->snapshot->txn);

	if (stored.damaged)
		damage(v, "usage row: missing or damaged");
	for (uint32_t id = 0;
	     id < v->snapshot->state.next_schema && status == LC_OK && !stored.damaged;
	     id++)
		if (!lc__usage_same(&stored, &v->usage, id))
			damage(v, "usage row: schema %u: not what the chunks hold", id);
	lc__usage_free(&stored);
	return status;
}

static uint64_t
digest_of(void *ctx, uint64_t chunk)
{
	const struct tally *tally = find_tally(ctx, chunk);

	return tally == NULL ? 0 : tally->digest;
}

/* ---- the whole ------------------------------------------------------------ */

static lc_status
check_all(struct verify *v)
{
	lc_status status;

	return_if_error(enter(v, "pages"));
	status = lc__env_check_pages(v->snapshot->env, damage_line, v);
	if (status != LC_CORRUPT)
		return_if_error(status);
	return_if_error(list_chunks(v));
	return_if_error(check_meta(v));
	return_if_error(check_schemas(v));
	return_if_error(enter(v, "index"));
	return_if_error(check_index(v));
	return_if_error(enter(v, "chunks"));
	for (size_t i = 0; i < v->chunks; i++) {
		return_if_error(check_chunk(v, v->tallies[i].chunk));
		return_if_error(step(v));
	}
	check_state(v);
	return_if_error(lc__verify_inputs(v->snapshot,
	    &(struct lc__verify_ask){
		.digest = digest_of,
		.damage = damage_line,
		.ctx = v,
	    }));
	/* With other damage the usage row cannot be right. */
	return v->result.damaged > 0 ? LC_OK : check_usage(v);
}

lc_status
lc_verify(lc_cache *cache, const lc_progress *progress, lc_verify_result *out)
{
	struct verify v = { .cache = cache, .progress = progress };
	lc_status status;

	return_if_error(lc__flush_all(cache));
	status = lc__snapshot_take(cache->env, &v.snapshot);
	if (status == LC_OK) {
		lc__snapshot_keep(v.snapshot);
		status = check_all(&v);
		lc__snapshot_end_keep(v.snapshot);
	}
	free(v.tallies);
	lc__usage_free(&v.usage);
	/* Too damaged to be walked at all is damage like any other. */
	if (status == LC_CORRUPT)
		damage_from_error(&v);
	else
		return_if_error(status);
	*out = v.result;
	if (v.result.damaged > 0)
		return lc__error(LC_CORRUPT, 0, "%s: %llu damages found",
		    cache->module_id, (unsigned long long)v.result.damaged);
	return LC_OK;
}
