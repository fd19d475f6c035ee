/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verify: reads everything in one commit and checks it for consistency. Threads read the
 * chunks, a few at a time, while the calling thread checks the index, which leads to the
 * records in another order. Then it takes the results chunk by chunk, so that the report
 * does not depend on the threads. The transaction belongs to this verification alone.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/team.h"
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

#define MAX_THREADS 8                  /* that read chunks */
#define JOB_BYTES ((size_t)4 << 20)    /* of the chunks of a job, unless one is longer */
#define JOB_CHUNKS 256                 /* of a job, at most */
#define MAX_WINDOW 4096                /* jobs done and not taken */
#define MAX_LINES ((uint64_t)16 << 20) /* bytes of damage messages from them */

/* A chunk: what the index says about it, and what was found in it. */
struct tally {
	uint64_t chunk;              /* id */
	struct lc__slice value;      /* its bytes */
	uint64_t live;               /* records that the index names */
	uint64_t bytes;              /* bytes of these records */
	uint64_t length;             /* sum of these records' lengths */
	struct lc__ledger_row found; /* the sums that the ledger should have for its
	                              * records */
	/* Digest of the records, in a module with inputs. */
	uint64_t digest;
	size_t lines; /* end of its damage messages among those of its job
	                              * */
};

/* What one thread counts, or keeps from record to record. */
struct reader {
	struct lc__usage usage;     /* of the schemas, as found */
	struct lc__measure measure; /* by the length field */
};

struct verify {
	struct lc_cache *cache;
	struct lc__snapshot *snapshot;
	const lc_progress *progress;
	lc_verify_result result;
	struct tally *tallies; /* of the chunks that are there, by id; malloc'ed */
	size_t chunks, room;
	struct lc__state sum; /* counters as found */
	lc_settings settings;
	struct lc__measure measure; /* by their length field */
	bool settings_damaged;      /* the length field is unknown, and lengths are not
	                             * compared */

	struct lc__team team; /* reads the chunks */
	size_t *jobs; /* its jobs: the first chunk of each, and the end; malloc'ed */
	size_t n_jobs, jobs_room;
	struct lc__buf *lines;  /* for each slot: damage messages, each with a NUL;
	                         * malloc'ed */
	struct reader *readers; /* of each thread; malloc'ed */
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

/* Report the current error as damage. */
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

/* ---- which chunks exist ---------------------------------------------------------- */

static int
compare_tallies(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

/* NULL if it is missing. Most ids are consecutive. */
static struct tally *
find_tally(const struct verify *v, uint64_t chunk)
{
	const struct tally wanted = { .chunk = chunk };
	const uint64_t guess = v->chunks > 0 ? chunk - v->tallies[0].chunk : 0;

	if (guess < v->chunks && v->tallies[guess].chunk == chunk)
		return &v->tallies[guess];
	return v->chunks == 0
	    ? NULL
	    : bsearch(&wanted, v->tallies, v->chunks, sizeof(wanted), compare_tallies);
}

/* Ids ascend: a row begins after all chunks of the previous one. */
static lc_status
add_tally(struct verify *v, uint64_t chunk, const struct lc__slice *value)
{
	if (v->chunks > 0 && v->tallies[v->chunks - 1].chunk >= chunk) {
		damage(v, "chunk %llu: comes after chunk %llu", (unsigned long long)chunk,
		    (unsigned long long)v->tallies[v->chunks - 1].chunk);
		return LC_OK;
	}
	return_if_error(
	    lc__array_reserve(&v->tallies, &v->room, v->chunks + 1, "verify"));
	v->tallies[v->chunks++] = (struct tally){ .chunk = chunk, .value = *value };
	return LC_OK;
}

static lc_status
list_folded(struct verify *v, uint64_t key, const struct lc__slice *row)
{
	struct lc__folded chunk = { 0 };
	uint64_t first = 0;

	while (lc__folded_next(row->data, row->size, &chunk)) {
		const struct lc__slice value = { row->data + chunk.at,
			(size_t)chunk.size };

		if (first == 0)
			first = chunk.id;
		return_if_error(add_tally(v, chunk.id, &value));
	}
	if (first != key || !lc__folded_intact(row->data, row->size) ||
	    memcmp(row->data, row->data + row->size - LC__FOLDED_LIST, LC__FOLDED_LIST) !=
		0)
		damage(v, "chunk %llu: a list of the chunks in its row is damaged",
		    (unsigned long long)key);
	return LC_OK;
}

/* By walking: the file's counts must not decide how much memory to allocate. */
static lc_status
list_chunks(struct verify *v)
{
	struct lc__txn *txn = v->snapshot->txn;
	struct lc__slice value;
	uint64_t id = 0;
	lc_status status = lc__txn_seek(txn, LC__CHUNK, 0, &id, &value);

	for (; status == LC_OK;
	     status = lc__txn_seek_after(txn, LC__CHUNK, id, &id, &value)) {
		if (lc__is_folded(value.data, value.size))
			return_if_error(list_folded(v, id, &value));
		else
			return_if_error(add_tally(v, id, &value));
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

/* Settings and counters. A row with an unknown name had a known one before it was
 * damaged. */
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

/* The targets of several entries are prefetched before the first is used: they are
 * anywhere in memory, and waiting for one after another takes most of the time. */
#define ENTRIES_AHEAD 64

/* Every entry must be found by its hash in this run. */
static void
check_run(struct verify *v, const struct lc__run *run)
{
	const uint64_t seed = lc__env_seed(v->snapshot->env);
	struct lc__run_cursor cursor;
	uint64_t entries = 0, lost = 0, hashes[ENTRIES_AHEAD], locations[ENTRIES_AHEAD];
	bool more = lc__run_seek(&cursor, run, NULL, 0);

	while (more) {
		unsigned n = 0;

		for (; more && n < ENTRIES_AHEAD; n++, more = lc__run_next(&cursor)) {
			const struct lc__run_entry *entry = &cursor.entry;

			hashes[n] = lc__hash64_seed(entry->id, entry->id_size, seed);
			locations[n] = entry->location;
			__builtin_prefetch(lc__run_bucket(run, hashes[n]));
		}
		for (unsigned i = 0; i < n; i++)
			lost += !lc__run_has(run, hashes[i], locations[i]);
		entries += n;
	}
	if (cursor.damaged)
		damage(v, "index run %llu: key section damaged after entry %llu",
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
	struct tally *tally = find_tally(v, chunk);
	struct lc__record record;
	struct lc__known *known;

	v->result.live++;
	if (tally == NULL) {
		damage(v, "key %s: chunk %llu is missing",
		    lc__quote_id(entry->id, entry->id_size), (unsigned long long)chunk);
		return;
	}
	tally->live++;
	if (lc__snapshot_record(v->snapshot, entry->location, &record) != LC_OK) {
		damage(v, "key %s: %s", lc__quote_id(entry->id, entry->id_size),
		    lc_last_error()->text);
		return;
	}
	/* Compute the sums that the ledger should have. A damaged structure is reported
	 * elsewhere. */
	tally->bytes += record.size;
	if (lc__measures(&v->measure) &&
	    lc__snapshot_schema(v->snapshot, record.schema, &known) == LC_OK)
		tally->length += lc__measure(&v->measure, &record, known->schema);
	if (lc__id_compare(entry->id, entry->id_size, record.id.data, record.id.size) !=
	    0)
		damage(v, "key %s: its record holds key %s",
		    lc__quote_id(entry->id, entry->id_size),
		    lc__quote_id(record.id.data, record.id.size));
}

/* Check the next live entries, up to ENTRIES_AHEAD. */
static unsigned
next_entries(struct verify *v, struct lc__run_merge *merge, struct lc__run_entry *out)
{
	unsigned n = 0;
	lc_status status;

	while (n < ENTRIES_AHEAD &&
	    (status = lc__run_merge_next(merge, &out[n])) != LC_END) {
		const uint64_t location = out[n].location;
		const struct tally *tally;

		if (status != LC_OK || (location & LC__TOMBSTONE))
			continue;
		n++;
		tally = find_tally(v, lc__location_chunk(location));
		if (tally != NULL && lc__location_offset(location) < tally->value.size)
			__builtin_prefetch(
			    tally->value.data + lc__location_offset(location));
	}
	return n;
}

static lc_status
check_index(struct verify *v)
{
	struct lc__snapshot *s = v->snapshot;
	struct lc__run_entry entries[ENTRIES_AHEAD];
	struct lc__run_merge *merge;
	unsigned n;

	for (uint32_t i = 0; i < s->state.nruns; i++)
		check_run(v, &s->runs[i]);
	merge = lc__run_merge_open(s->runs, s->state.nruns, NULL, 0);
	if (merge == NULL)
		return lc__no_memory("verify");
	while ((n = next_entries(v, merge, entries)) > 0)
		for (unsigned i = 0; i < n; i++)
			check_entry(v, &entries[i]);
	lc__run_merge_close(merge);
	return LC_OK;
}

/* ---- inside the chunks: on threads ----------------------------------------------- */

/* The chunk being read by a thread. */
struct reading {
	const struct verify *v; /* shared with other threads */
	struct reader *reader;
	struct tally *tally;
	struct lc__buf *lines; /* damages */
};

__attribute__((format(printf, 2, 3))) static void
found(const struct reading *r, const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	lc__buf_append(r->lines, line, strlen(line) + 1);
}

/* All schemas were read before, as far as possible. */
static const struct lc__schema *
schema_of(const struct reading *r, const struct lc__record *record)
{
	const struct lc__snapshot *s = r->v->snapshot;

	return record->schema < s->schemas_room && s->schemas[record->schema] != NULL
	    ? s->schemas[record->schema]->schema
	    : NULL;
}

/* Decode the value: a record is sound only if its coded and plain bytes are valid. *wrong
 * is the damage, or NULL. */
static lc_status
check_value(const struct reading *r, const struct lc__record *record,
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
	if (lc__decoder_open_memory(&decoder, r->v->cache, schema) != LC_OK) {
		*wrong = "shape and size disagree";
		return LC_OK;
	}
	status = lc__decoder_value(&decoder, NULL, &value);
	lc__decoder_close(&decoder);
	/* A lack of memory is not damage. */
	if (status == LC_NO_MEMORY)
		return status;
	if (status != LC_OK)
		*wrong = lc_last_error()->text;
	return LC_OK;
}

static lc_status
check_record(const struct reading *r, const struct lc__record *record, uint64_t offset)
{
	const struct lc__schema *schema = schema_of(r, record);
	uint64_t digest = 0;
	const char *wrong;

	if (!lc__record_intact(record))
		wrong = "checksum mismatch";
	else if (schema == NULL)
		wrong = "its schema is missing or damaged";
	else
		return_if_error(check_value(r, record, schema, &wrong));
	if (wrong != NULL) {
		found(r, "chunk %llu, byte %llu, key %s: %s",
		    (unsigned long long)r->tally->chunk, (unsigned long long)offset,
		    lc__quote_id(record->id.data, record->id.size), wrong);
		return LC_OK;
	}
	return_if_error(lc__usage_count(&r->reader->usage, record, schema, 1));
	if (r->v->snapshot->filled) {
		return_if_error(lc__digest_stored(record, schema, &digest));
		r->tally->digest = lc__digest_add(r->tally->digest, digest);
	}
	return LC_OK;
}

/* Does the directory lead to record i, which the walk has reached? */
static void
check_listed(const struct reading *r, const struct lc__directory *d, uint64_t i,
    const struct lc__record *record, uint64_t offset)
{
	const struct lc__schema *schema;

	if (i >= d->records)
		return;
	if (LC__CHUNK_HEADER + lc__directory_offset(d, i) != offset)
		found(r, "chunk %llu: its directory does not lead to record %llu",
		    (unsigned long long)r->tally->chunk, (unsigned long long)i);
	else if (d->has_lengths && lc__measures(&r->reader->measure) &&
	    (schema = schema_of(r, record)) != NULL &&
	    lc__directory_length(d, i) !=
		lc__measure(&r->reader->measure, record, schema))
		found(r, "chunk %llu: its directory has another length of record %llu",
		    (unsigned long long)r->tally->chunk, (unsigned long long)i);
}

/* Walk the records. check_chunk() handles a chunk with a wrong id or a damaged header. */
static lc_status
read_chunk(const struct reading *r)
{
	const struct lc__slice *value = &r->tally->value;
	struct lc__ledger_row *row = &r->tally->found;
	const unsigned long long id = r->tally->chunk;
	struct lc__directory directory;
	uint64_t offset = LC__CHUNK_HEADER, end;
	struct lc__record record;
	struct lc__chunk chunk;

	if (id == 0 || id >= r->v->snapshot->state.next_chunk ||
	    !lc__chunk_parse(value->data, value->size, id, &chunk))
		return LC_OK;
	/* Without a directory there is nothing to compare. */
	if (!lc__directory_parse(value->data, value->size, &chunk, &directory)) {
		found(r, "%s: the directory of chunk %llu is damaged",
		    lc__env_dir(r->v->snapshot->env), id);
		memset(&directory, 0, sizeof(directory));
	}
	end = LC__CHUNK_HEADER + chunk.bytes;
	while (offset < end) {
		uint64_t checksum;

		if (!lc__record_parse(value->data + offset, end - offset, &record)) {
			found(r, "chunk %llu: no record at byte %llu", id,
			    (unsigned long long)offset);
			return LC_OK;
		}
		return_if_error(check_record(r, &record, offset));
		check_listed(r, &directory, row->records, &record, offset);
		checksum = lc__record_checksum(&record);
		row->hash = lc__hash64_seed(&checksum, sizeof(checksum), row->hash);
		row->records++;
		row->bytes += record.size;
		offset += record.size;
	}
	return LC_OK;
}

/* The map is opened without read-ahead: prefetch the chunks of a job at once. */
static void
ask_for(const struct verify *v, uint64_t job)
{
	for (size_t i = v->jobs[job]; i < v->jobs[job + 1]; i++)
		lc__env_willneed(v->snapshot->env, v->tallies[i].value.data,
		    v->tallies[i].value.size);
}

static lc_status
read_chunks(struct lc__team *team, unsigned thread, uint64_t job)
{
	const struct verify *v = team->ctx;
	struct lc__buf *lines = &v->lines[job % team->window];

	ask_for(v, job);
	for (size_t i = v->jobs[job]; i < v->jobs[job + 1]; i++) {
		const struct reading reading = { v, &v->readers[thread], &v->tallies[i],
			lines };

		return_if_error(read_chunk(&reading));
		reading.tally->lines = lines->size;
	}
	if (lines->failed)
		return lc__no_memory("verify");
	if (lines->size > 0 && team->results != NULL)
		(void)lc__team_hold(team, job, lines->size);
	return LC_OK;
}

static lc_status
list_jobs(struct verify *v)
{
	size_t bytes = 0;

	for (size_t i = 0; i <= v->chunks; i++) {
		const size_t size = i < v->chunks ? v->tallies[i].value.size : 0;
		const size_t first = v->n_jobs > 0 ? v->jobs[v->n_jobs - 1] : 0;

		if (i == 0 || i == v->chunks || bytes + size > JOB_BYTES ||
		    i - first == JOB_CHUNKS) {
			return_if_error(lc__array_reserve(&v->jobs, &v->jobs_room,
			    v->n_jobs + 1, "verify"));
			v->jobs[v->n_jobs++] = i;
			bytes = 0;
		}
		bytes += size;
	}
	v->n_jobs--;
	return LC_OK;
}

/* A single job does not justify a thread; it is done here, as without threads. */
static lc_status
start_reading(struct verify *v)
{
	struct lc__team *team = &v->team;

	return_if_error(list_jobs(v));
	*team = (struct lc__team){
		.work = read_chunks,
		.ctx = v,
		.jobs = v->n_jobs,
		.threads = lc__team_processors(MAX_THREADS),
		.window = v->n_jobs < MAX_WINDOW ? v->n_jobs + 1 : MAX_WINDOW,
		.budget = MAX_LINES,
	};
	v->lines = calloc(team->window, sizeof(*v->lines));
	v->readers = calloc(team->threads, sizeof(*v->readers));
	if (v->lines == NULL || v->readers == NULL)
		return lc__no_memory("verify");
	for (unsigned i = 0; i < team->threads; i++)
		v->readers[i].measure.field = v->settings.length_field;
	if (v->n_jobs > 1 && lc__team_start(team) != LC_OK)
		lc__team_end(team);
	return LC_OK;
}

static void
free_reading(struct verify *v)
{
	lc__team_end(&v->team);
	for (size_t i = 0; v->lines != NULL && i < v->team.window; i++)
		lc__buf_free(&v->lines[i]);
	for (unsigned i = 0; v->readers != NULL && i < v->team.threads; i++)
		lc__usage_free(&v->readers[i].usage);
	free(v->lines);
	free(v->readers);
	free(v->jobs);
}

/* ---- the chunks ----------------------------------------------------------- */

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
check_ledger(struct verify *v, const struct tally *tally)
{
	const struct lc__ledger_row *found = &tally->found;
	const uint64_t chunk = tally->chunk;
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

/* Report the damage found in it; @p lines are the messages. */
static void
check_chunk(struct verify *v, const struct tally *tally, const char *lines,
    const char *end)
{
	const struct lc__ledger_row *row = &tally->found;
	const uint64_t id = tally->chunk;
	struct lc__mapped_chunk chunk;

	v->result.chunks++;
	if (id == 0 || id >= v->snapshot->state.next_chunk) {
		damage(v, "chunk %llu: this number was not assigned yet",
		    (unsigned long long)id);
		return;
	}
	if (lc__snapshot_chunk(v->snapshot, id, &chunk) != LC_OK) {
		damage_from_error(v);
		return;
	}
	for (; lines < end; lines += strlen(lines) + 1)
		damage(v, "%s", lines);
	if (chunk.records != row->records)
		damage(v, "chunk %llu: its header says %llu records, found %llu",
		    (unsigned long long)id, (unsigned long long)chunk.records,
		    (unsigned long long)row->records);
	check_ledger(v, tally);
	v->result.records += row->records;
	v->result.bytes += row->bytes;
	v->sum.records += row->records;
	v->sum.bytes += row->bytes;
	v->sum.live += tally->live;
	v->sum.live_bytes += tally->bytes;
}

/* Wait for the chunks of a job, or read them here without threads, and report them. */
static lc_status
check_job(struct verify *v, uint64_t job)
{
	struct lc__buf *lines = &v->lines[job % v->team.window];
	size_t at = 0;

	if (v->team.results == NULL)
		return_if_error(read_chunks(&v->team, 0, job));
	else
		return_if_error(lc__team_next(&v->team, &job));
	for (size_t i = v->jobs[job]; i < v->jobs[job + 1]; i++) {
		const struct tally *tally = &v->tallies[i];

		check_chunk(v, tally, (const char *)lines->data + at,
		    (const char *)lines->data + tally->lines);
		at = tally->lines;
		return_if_error(step(v));
	}
	if (lines->size > 0 && v->team.results != NULL)
		lc__team_release(&v->team, lines->size);
	lc__buf_free(lines);
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
	struct lc__usage stored = { 0 }, *found = &v->readers[0].usage;
	lc_status status;

	for (unsigned i = 1; i < v->team.threads; i++)
		return_if_error(lc__usage_add(found, &v->readers[i].usage));
	status = lc__usage_load(&stored, v->snapshot->txn);
	if (stored.damaged)
		damage(v, "usage row: missing or damaged");
	for (uint32_t id = 0;
	     id < v->snapshot->state.next_schema && status == LC_OK && !stored.damaged;
	     id++)
		if (!lc__usage_same(&stored, found, id))
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

/* ---- the whole verification ------------------------------------------------------ */

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
	return_if_error(start_reading(v));
	return_if_error(check_index(v));
	return_if_error(enter(v, "chunks"));
	for (uint64_t job = 0; job < v->n_jobs; job++)
		return_if_error(check_job(v, job));
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
		/* Keep this thread's error: waiting for the others changes it. */
		free_reading(&v);
		lc__snapshot_end_keep(v.snapshot);
	}
	free(v.tallies);
	/* Being too damaged to walk is damage, too. */
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
