/* SPDX-License-Identifier: BSD-2-Clause */
/* Walking a snapshot: by key over the index runs, or by commit over the chunks. */
#include "store/iterate.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "index/run.h"
#include "store/decode.h"
#include "store/chunk_order.h"
#include "store/flush.h"
#include "store/lookup.h"

/* Records of a walk by key whose heads are fetched ahead. */
#define AHEAD 16
/* Bytes of a head. */
#define HEAD 128
/* In a walk whose data are read, of so many of them the data are fetched, too. */
#define STARTS_AHEAD 4
/* First the data up to this byte: the processor waits if it is asked for more at once. */
#define START 1024
/* Of the record that is read next the rest follows, up to this byte: the processor reads on
 * by itself, but only within a page. */
#define REST 4096
/* A walk that does not verify cannot see whether its caller reads the data. One record in so
 * many is a trial: its data are not fetched ahead, */
#define TRIAL_EVERY 128
/* and a caller that keeps it for longer than this either reads them, or leaves the memory
 * enough time to fetch those of the next records. */
#define TRIAL_NS 100

/* A walk by chunks that verifies fetches the bytes so far on, where records are longer than
 * SHORT: the processor reads on by itself, but only within a page. */
#define BYTES_ON 8192
#define SHORT 256

/* An entry of the index whose record is being fetched. */
struct ahead {
	struct lc__run_entry entry;
	const unsigned char *bytes; /* of the record; NULL if there is no such place */
	uint64_t room;              /* readable bytes */
};

/* The orders that go from chunk to chunk. */
#define BY_CHUNK (LC_BY_COMMIT | LC_BY_ORDER | LC_BY_INPUT)

struct lc_iter {
	struct lc_cache *cache;
	struct lc__snapshot *snapshot;
	struct lc__decoder decoder; /* of the current record; its schema is NULL until it
					is needed */
	uint64_t location;          /* of the current record; 0 if there is none */
	struct lc__block *decoded;  /* the current tensor, if it is coded */
	unsigned flags;
	bool verify;
	unsigned char *prefix; /* malloc'ed */
	size_t prefix_size;
	bool ended;                 /* there is nothing more to read */
	struct lc__run_merge *keys; /* the walk by key */
	bool keys_lost; /* a run is damaged: entries that it replaced may show, in older
				runs */
	struct ahead ahead[AHEAD];
	unsigned ahead_first, ahead_count;
	unsigned starts_ahead; /* of them, the first, the starts of which are fetched */
	bool reads;            /* data are read, by verifying or by the caller */
	uint64_t until_trial;  /* records until the next one is chosen */
	const struct ahead *trial;
	uint64_t trial_ns;   /* when the caller got the trial; 0 if it has none */
	lc_status ahead_end; /* what ended the fetching; reported after the entries */
	lc_error ahead_error;
	/* the walk by chunks: by commit, or in the order of a list */
	struct lc__placed_chunk *placed; /* NULL: by commit. malloc'ed */
	size_t n_placed, next_placed;
	uint64_t chunk;                /* current chunk; 0 before the first */
	struct lc__mapped_chunk bytes; /* the current chunk; id 0 if the next one must be
					  found */
	uint64_t offset;               /* of the next record */
	bool all_live;                 /* the chunk has no dead records */
};

/* ---- by chunks ------------------------------------------------------------ */

/* Find the next chunk's row in the ledger: LC_END after the last. */
static lc_status
find_next_chunk(struct lc_iter *iter, struct lc__slice *row)
{
	struct lc__txn *txn = iter->snapshot->txn;
	lc_status status;

	if (iter->placed == NULL) {
		status = lc__txn_seek_after(txn, LC__LEDGER, iter->chunk, &iter->chunk,
		    row);
		iter->ended = status != LC_OK;
		return status;
	}
	iter->ended = iter->next_placed == iter->n_placed;
	if (iter->ended)
		return LC_END;
	iter->chunk = iter->placed[iter->next_placed++].chunk;
	status = lc__txn_get(txn, LC__LEDGER, iter->chunk, row);
	return status != LC_NOT_FOUND
	    ? status
	    : lc__error(LC_CORRUPT, 0, "%s: the ledger row of chunk %llu is missing",
		  lc__env_dir(iter->snapshot->env), (unsigned long long)iter->chunk);
}

/* Go to the next chunk; LC_END after the last. After an error the next call continues with
 * the chunk after the damaged one. */
static lc_status
next_chunk(struct lc_iter *iter)
{
	struct lc__ledger_row row;
	struct lc__slice value;
	lc_status status = LC_END;

	iter->bytes.id = 0;
	if (!iter->ended)
		status = find_next_chunk(iter, &value);
	return_if_error(status);
	if (!lc__ledger_decode(value.data, value.size, iter->chunk, &row))
		return lc__error(LC_CORRUPT, 0,
		    "%s: the ledger row of chunk %llu is damaged",
		    lc__env_dir(iter->snapshot->env), (unsigned long long)iter->chunk);
	return_if_error(lc__snapshot_chunk(iter->snapshot, iter->chunk, &iter->bytes));
	lc__env_willneed(iter->snapshot->env, iter->bytes.bytes, (size_t)iter->bytes.end);
	iter->offset = LC__CHUNK_HEADER;
	iter->all_live = row.live == row.records;
	return LC_OK;
}

/* Parse the record at the current offset and move after it. */
static lc_status
next_record(struct lc_iter *iter, struct lc__record *record)
{
	const uint64_t offset = iter->offset, left = iter->bytes.end - offset;
	const unsigned char *bytes = iter->bytes.bytes + offset;
	const char *key;

	if (lc__record_parse(bytes, left, record) &&
	    (!iter->verify || lc__record_intact(record))) {
		iter->offset += record->size;
		/* Fetch the head of a record some way on; its place is right if the
		 * records are alike. */
		if (record->size * 6 < left) {
			__builtin_prefetch(bytes + record->size * 6);
			__builtin_prefetch(bytes + record->size * 6 + 64);
		}
		if (iter->verify && record->size > SHORT && BYTES_ON + REST < left)
			for (uint64_t at = 0; at < record->size && at < REST; at += 64)
				__builtin_prefetch(bytes + BYTES_ON + at, 0, 2);
		return LC_OK;
	}

	/* The length of a damaged record cannot be trusted: continue at the next place with
	 * an intact record. */
	do
		iter->offset += LC__RECORD_ALIGN;
	while (iter->offset < iter->bytes.end &&
	    (!lc__record_parse(iter->bytes.bytes + iter->offset,
		 iter->bytes.end - iter->offset, record) ||
		!lc__record_intact(record)));
	key = lc__index_key_at(iter->snapshot, iter->chunk, offset);
	return lc__error(LC_CORRUPT, 0,
	    "%s: %s%s%sthe record at byte %llu of chunk %llu is damaged",
	    lc__env_dir(iter->snapshot->env), key ? "key " : "", key ? key : "",
	    key ? ": " : "", (unsigned long long)offset, (unsigned long long)iter->chunk);
}

/* Is this record still the one that the index names? */
static lc_status
check_live(struct lc_iter *iter, const struct lc__record *record, uint64_t location,
    bool *live)
{
	struct lc__lookup lookup;
	lc_status status;

	*live = true;
	if (iter->all_live)
		return LC_OK;
	lc__lookup_start(&lookup, iter->snapshot->env, record->id.data, record->id.size);
	status = lc__index_find(iter->snapshot, &lookup,
	    iter->verify ? LC_VERIFY_ALWAYS : LC_VERIFY_NEVER);
	*live = status == LC_OK && lookup.location == location;
	return status == LC_NOT_FOUND ? LC_OK : status;
}

static lc_status
next_by_chunk(struct lc_iter *iter, struct lc__record *record, uint64_t *location)
{
	for (;;) {
		bool live;

		if (iter->bytes.id == 0 || iter->offset >= iter->bytes.end) {
			return_if_error(next_chunk(iter));
			continue;
		}
		*location = lc__location(iter->chunk,
		    (iter->offset - LC__CHUNK_HEADER) / LC__RECORD_ALIGN);
		return_if_error(next_record(iter, record));
		if (record->id.size < iter->prefix_size ||
		    (iter->prefix_size > 0 &&
			memcmp(record->id.data, iter->prefix, iter->prefix_size) != 0))
			continue;
		return_if_error(check_live(iter, record, *location, &live));
		if (live)
			return LC_OK;
	}
}

/* ---- by key --------------------------------------------------------------- */

/* The next entry of the index. After damage in one run, an older run may show entries that
 * the damaged part replaced: then ask the index about each. */
static lc_status
next_entry(struct lc_iter *iter, struct lc__run_entry *entry)
{
	for (;;) {
		struct lc__lookup lookup;
		lc_status status = lc__run_merge_next(iter->keys, entry);

		if (status == LC_CORRUPT) {
			iter->keys_lost = true;
			return lc__error_prefix("%s", lc__env_dir(iter->snapshot->env));
		}
		return_if_error(status);
		if (entry->location & LC__TOMBSTONE)
			continue;
		if (!iter->keys_lost)
			return LC_OK;
		lc__lookup_start(&lookup, iter->snapshot->env, entry->id, entry->id_size);
		status = lc__index_find(iter->snapshot, &lookup, LC_VERIFY_ALWAYS);
		if (status == LC_NOT_FOUND ||
		    (status == LC_OK && lookup.location != entry->location))
			continue;
		return status;
	}
}

/* Find the place of a record and prefetch its head. Whoever reads it reports damage. */
static void
fetch_head(struct lc_iter *iter, struct ahead *ahead)
{
	const uint64_t offset = lc__location_offset(ahead->entry.location);
	struct lc__mapped_chunk chunk;

	ahead->bytes = NULL;
	if (lc__snapshot_chunk(iter->snapshot, lc__location_chunk(ahead->entry.location),
		&chunk) != LC_OK ||
	    offset >= chunk.end)
		return;
	ahead->bytes = chunk.bytes + offset;
	ahead->room = chunk.end - offset;
	for (unsigned at = 0; at < HEAD; at += 64)
		__builtin_prefetch(ahead->bytes + at);
}

/* Prefetch bytes [from, to) of a record, into the second cache: the first one has few places
 * for lines that are under way. Its head was fetched before, so that its length can be
 * read. */
static inline void
fetch_data(const struct lc_iter *iter, const struct ahead *ahead, size_t from, size_t to)
{
	struct lc__record record;

	if (ahead == iter->trial || ahead->bytes == NULL ||
	    !lc__record_parse(ahead->bytes, ahead->room, &record))
		return;
	if (to > record.size)
		to = record.size;
	for (size_t at = from; at < to; at += 64)
		__builtin_prefetch(ahead->bytes + at, 0, 2);
}

static struct ahead *
ahead_at(struct lc_iter *iter, unsigned i)
{
	return &iter->ahead[(iter->ahead_first + i) % AHEAD];
}

/* In the order of keys the records are in no order: fetch some ahead. *out is valid until
 * the next call. */
static lc_status
next_fetched(struct lc_iter *iter, const struct ahead **out)
{
	while (iter->ahead_count < AHEAD && iter->ahead_end == LC_OK) {
		struct ahead *free_place = ahead_at(iter, iter->ahead_count);

		iter->ahead_end = next_entry(iter, &free_place->entry);
		if (iter->ahead_end == LC_OK) {
			fetch_head(iter, free_place);
			iter->ahead_count++;
			if (--iter->until_trial == 0) {
				iter->trial = free_place;
				iter->until_trial = TRIAL_EVERY;
			}
		} else {
			iter->ahead_error = *lc_last_error();
		}
	}
	if (iter->ahead_count == 0) {
		const lc_status status = iter->ahead_end;

		if (status == LC_END)
			return status;
		iter->ahead_end = LC_OK;
		return lc__error_raise(&iter->ahead_error);
	}
	while (iter->reads && iter->starts_ahead < STARTS_AHEAD &&
	    iter->starts_ahead < iter->ahead_count)
		fetch_data(iter, ahead_at(iter, iter->starts_ahead++), HEAD, START);
	*out = ahead_at(iter, 0);
	iter->ahead_first = (iter->ahead_first + 1) % AHEAD;
	iter->ahead_count--;
	if (iter->starts_ahead > 0)
		iter->starts_ahead--;
	return LC_OK;
}

static lc_status
next_by_key(struct lc_iter *iter, struct lc__record *record, uint64_t *location)
{
	const struct lc__run_entry *entry;
	const struct ahead *ahead = NULL;
	const lc_id *id = &record->id;

	if (iter->trial_ns > 0) {
		iter->reads = lc__clock_ns() - iter->trial_ns > TRIAL_NS;
		iter->trial_ns = 0;
		iter->trial = NULL;
	}
	return_if_error(next_fetched(iter, &ahead));
	entry = &ahead->entry;
	if (entry->id_size < iter->prefix_size ||
	    (iter->prefix_size > 0 &&
		memcmp(entry->id, iter->prefix, iter->prefix_size) != 0))
		return LC_END;
	*location = entry->location;
	if ((ahead->bytes == NULL ||
		!lc__record_parse(ahead->bytes, ahead->room, record)) &&
	    lc__snapshot_record(iter->snapshot, entry->location, record) != LC_OK)
		return lc__error_prefix("key %s",
		    lc__quote_id(entry->id, entry->id_size));
	if (id->size != entry->id_size || memcmp(id->data, entry->id, id->size) != 0 ||
	    (iter->verify && !lc__record_intact(record)))
		return lc__error(LC_CORRUPT, 0, "%s: key %s: its record is damaged",
		    lc__env_dir(iter->snapshot->env),
		    lc__quote_id(entry->id, entry->id_size));
	if (iter->reads && iter->ahead_count > 0)
		fetch_data(iter, ahead_at(iter, 0), START, REST);
	if (ahead == iter->trial)
		iter->trial_ns = lc__clock_ns();
	return LC_OK;
}

/* ---- the public face ------------------------------------------------------ */

static lc_status
start_walk(struct lc_iter *iter, const void *prefix, size_t prefix_size)
{
	if (prefix_size > 0) {
		iter->prefix = malloc(prefix_size);
		if (iter->prefix == NULL)
			return lc__no_memory("iterate");
		memcpy(iter->prefix, prefix, prefix_size);
		iter->prefix_size = prefix_size;
	}
	if ((iter->flags & (LC_BY_ORDER | LC_BY_INPUT)) && iter->snapshot->filled)
		return lc__order_list(iter->snapshot, (iter->flags & LC_BY_INPUT) != 0,
		    NULL, &iter->placed, &iter->n_placed);
	if (iter->flags & BY_CHUNK)
		return LC_OK;
	iter->keys = lc__run_merge_open(iter->snapshot->runs, iter->snapshot->state.nruns,
	    iter->prefix, prefix_size);
	if (iter->keys == NULL)
		return lc__no_memory("iterate");
	return LC_OK;
}

lc_status
lc_iter_open(lc_cache *cache, unsigned flags, const void *prefix, size_t prefix_size,
    lc_iter **out)
{
	struct lc_iter *iter;
	lc_status status;

	if ((flags & ~(BY_CHUNK | LC_ITER_LISTED)) != 0)
		return lc__error(LC_INVALID, 0, "iterate: unknown flag");
	if (__builtin_popcount(flags & BY_CHUNK) > 1)
		return lc__error(LC_INVALID, 0, "iterate: more than one order");
	if (prefix == NULL && prefix_size > 0)
		return lc__error(LC_INVALID, 0, "iterate: no prefix");
	return_if_error(lc__flush_all(cache));
	iter = calloc(1, sizeof(*iter));
	if (iter == NULL)
		return lc__no_memory("iterate");
	iter->cache = cache;
	lc__cache_hold(cache);
	iter->flags = flags;
	iter->verify = cache->options.verify && !(flags & LC_ITER_LISTED);
	iter->reads = iter->verify;
	iter->until_trial = iter->verify || (flags & LC_ITER_LISTED) ? UINT64_MAX : 1;
	status = lc__snapshot_take(cache->env, &iter->snapshot);
	if (status == LC_OK) {
		lc__snapshot_keep(iter->snapshot);
		status = start_walk(iter, prefix, prefix_size);
	}
	if (status != LC_OK) {
		lc_iter_close(iter);
		return status;
	}
	*out = iter;
	return LC_OK;
}

/* Free what was decoded of the current record. */
static void
leave_record(struct lc_iter *iter)
{
	if (iter->decoder.values != NULL)
		lc__decoder_close(&iter->decoder);
	if (iter->decoded != NULL)
		lc__block_drop(iter->decoded);
	iter->decoded = NULL;
	iter->decoder.schema = NULL;
	iter->location = 0;
}

/* Step to the next record and parse it. */
static lc_status
next(struct lc_iter *iter)
{
	uint64_t location = 0;

	leave_record(iter);
	if (iter->flags & BY_CHUNK)
		return_if_error(next_by_chunk(iter, &iter->decoder.record, &location));
	else
		return_if_error(next_by_key(iter, &iter->decoder.record, &location));
	iter->location = location;
	return LC_OK;
}

/* Prepare the decoder for the current record. The step has verified it already, if it was
 * to. */
static lc_status
read_record(struct lc_iter *iter)
{
	if (iter->decoder.schema != NULL)
		return LC_OK;
	return_if_error(lc__decoder_open(&iter->decoder, iter->cache, iter->snapshot,
	    iter->location, false));
	iter->decoder.listed = (iter->flags & LC_ITER_LISTED) != 0;
	return LC_OK;
}

static lc_status
describe_tensor(struct lc_iter *iter, lc_item *out)
{
	const struct lc__decoder *decoder = &iter->decoder;
	struct lc__record_part part;

	lc__record_tensors(&decoder->record, decoder->schema, 0, &out->tensor, &part);
	out->kind = LC_TENSOR;
	out->codec = part.codec;
	if (part.codec == LC_CODEC_NONE)
		return LC_OK;
	out->tensor.data = NULL;
	return iter->flags & LC_ITER_LISTED
	    ? LC_OK
	    : lc__decoder_tensor(&iter->decoder, &out->tensor, &iter->decoded);
}

static lc_status
describe_value(struct lc_iter *iter, lc_item *out)
{
	memset(&out->tensor, 0, sizeof(out->tensor));
	out->codec = lc__record_first_codec(&iter->decoder.record);
	return lc__decoder_kind(&iter->decoder, &out->kind);
}

lc_status
lc__iter_step(lc_iter *iter, const struct lc__record **out, uint64_t *location)
{
	return_if_error(next(iter));
	return_if_error(read_record(iter));
	*out = &iter->decoder.record;
	*location = iter->location;
	return LC_OK;
}

lc_status
lc_iter_next(lc_iter *iter, lc_item *out)
{
	const struct lc__record *record = &iter->decoder.record;

	return_if_error(next(iter));
	out->id = record->id;
	out->chunk = lc__location_chunk(iter->location);
	out->stored_size = record->size;
	if (!record->has_parts) {
		/* The short way for most records. */
		out->kind = LC_TENSOR;
		out->codec = LC_CODEC_NONE;
		return lc__decode_alone(iter->cache, iter->snapshot, record,
		    iter->location, false, &out->tensor);
	}
	return_if_error(read_record(iter));
	return lc__schema_is_tensor(iter->decoder.schema) ? describe_tensor(iter, out)
							  : describe_value(iter, out);
}

lc_status
lc_iter_value(lc_iter *iter, const char *path, const lc_value **out)
{
	if (iter->location == 0)
		return lc__error(LC_INVALID, 0, "iterate: on no record");
	return_if_error(read_record(iter));
	return lc__decoder_value(&iter->decoder, path, out);
}

lc_status
lc__iter_open_checked(lc_cache *cache, const void *prefix, size_t prefix_size,
    lc_iter **out)
{
	return_if_error(lc_iter_open(cache, LC_BY_COMMIT, prefix, prefix_size, out));
	(*out)->verify = true;
	return LC_OK;
}

void
lc__iter_rewind(lc_iter *iter)
{
	leave_record(iter);
	iter->chunk = 0;
	iter->bytes.id = 0;
	iter->next_placed = 0;
	iter->ended = false;
}

void
lc__iter_only_input(lc_iter *iter, uint32_t input)
{
	size_t kept = 0;

	for (size_t i = 0; i < iter->n_placed; i++)
		if (iter->placed[i].input == input)
			iter->placed[kept++] = iter->placed[i];
	iter->n_placed = kept;
}

uint32_t
lc__iter_input(const lc_iter *iter)
{
	return iter->placed != NULL ? iter->placed[iter->next_placed - 1].input : 0;
}

struct lc__snapshot *
lc__iter_snapshot(const lc_iter *iter)
{
	return iter->snapshot;
}

const struct lc__schema *
lc__iter_schema(const lc_iter *iter)
{
	return iter->decoder.schema;
}

void
lc_iter_close(lc_iter *iter)
{
	if (iter == NULL)
		return;
	leave_record(iter);
	lc__run_merge_close(iter->keys);
	if (iter->snapshot != NULL)
		lc__snapshot_end_keep(iter->snapshot);
	lc__cache_let_go(iter->cache);
	free(iter->placed);
	free(iter->prefix);
	free(iter);
}
