/* SPDX-License-Identifier: BSD-2-Clause */
#include "life/recover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "life/decoded.h"
#include "life/verify_inputs.h"
#include "store/chunk_order.h"
#include "store/inputs.h"
#include "store/lookup.h"
#include "store/record.h"

/* ---- places --------------------------------------------------------------- */

static int
by_chunk(const void *a, const void *b)
{
	const struct lc__recovery_origin *x = a, *y = b;

	return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

lc_status
lc__recovery_read_origins(struct lc__recovery *r)
{
	struct lc__order_row row;
	struct lc__slice value;
	uint64_t key = 0;
	struct lc__txn *txn = r->change->snapshot.txn;
	lc_status status = lc__txn_seek(txn, LC__ORDER, 0, &key, &value);

	for (; status == LC_OK;
	     status = lc__txn_seek_after(txn, LC__ORDER, key, &key, &value)) {
		if (!lc__order_decode(value.data, value.size, key, &row) ||
		    row.chunk == LC__ORDER_LOST)
			continue;
		return_if_error(lc__array_reserve(&r->origins, &r->origins_room,
		    r->norigins + 1, "recover"));
		r->origins[r->norigins++] = (struct lc__recovery_origin){ row.chunk,
			row.input, row.ordinal };
	}
	if (r->norigins > 0)
		qsort(r->origins, r->norigins, sizeof(*r->origins), by_chunk);
	return status == LC_END ? LC_OK : status;
}

void
lc__recovery_get_origin(const struct lc__recovery *r, uint64_t chunk,
    struct lc__ledger_row *row)
{
	const struct lc__recovery_origin key = { .chunk = chunk }, *place = NULL;

	if (r->norigins > 0)
		place = bsearch(&key, r->origins, r->norigins, sizeof(key), by_chunk);
	if (place == NULL)
		return;
	row->source = (uint64_t)place->input + 1;
	row->ordinal = place->ordinal;
}

/* ---- counting ------------------------------------------------------------- */

lc_status
lc__recovery_count_inputs(struct lc__recovery *r, uint32_t *out)
{
	struct lc__snapshot *s = &r->change->snapshot;
	struct lc__ledger_row row;
	struct lc__fill_row fill;
	uint64_t n = 0, id = 0;
	bool intact;
	lc_status status = lc__fill_get(s, &fill);

	*out = 0;
	if (status == LC_OK)
		*out = (uint32_t)fill.inputs;
	if (status == LC_OK || (status != LC_CORRUPT && status != LC_NOT_FOUND))
		return status;
	return_if_error(lc__txn_count(s->txn, LC__INPUT, &n));
	status = lc__ledger_seek(s, 0, &id, &row, &intact);
	for (; status == LC_OK; status = lc__ledger_after(s, id, &id, &row, &intact))
		if (row.source > n && row.source <= LC__INPUTS_MAX)
			n = row.source;
	*out = n > LC__INPUTS_MAX ? LC__INPUTS_MAX : (uint32_t)n;
	return status == LC_END ? LC_OK : status;
}

/* ---- looking -------------------------------------------------------------- */

/* The digest of a chunk's intact records. */
static lc_status
digest_chunk(struct lc__recovery *r, struct lc__recovery_chunk *chunk)
{
	for (uint64_t i = 0; i < chunk->count; i++) {
		const struct lc__recovery_record *sound = &r->records[chunk->first + i];
		struct lc__record record;
		struct lc__known *known;
		uint64_t digest = 0;
		lc_status status;

		(void)lc__record_parse(sound->bytes, sound->size, &record);
		return_if_error(
		    lc__snapshot_schema(&r->change->snapshot, record.schema, &known));
		status = lc__digest_stored(&record, known->schema, &digest);
		if (status != LC_OK && status != LC_CORRUPT)
			return status;
		chunk->digest = lc__digest_add(chunk->digest, digest);
	}
	return LC_OK;
}

static int
by_id(const void *a, const void *b)
{
	const struct lc__recovery_chunk *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static uint64_t
digest_of(void *ctx, uint64_t id)
{
	const struct lc__recovery *r = ctx;
	const struct lc__recovery_chunk key = { .id = id }, *found = NULL;

	if (r->nchunks > 0)
		found = bsearch(&key, r->chunks, r->nchunks, sizeof(key), by_id);
	return found == NULL ? 0 : found->digest;
}

static void
note_damage(void *ctx, const char *line)
{
	struct lc__recovery *r = ctx;

	r->inputs_damaged = true;
	lc__progress_damage(r->progress, "%s", line);
}

lc_status
lc__recovery_check_inputs(struct lc__recovery *r)
{
	const struct lc__verify_ask ask = {
		.digest = digest_of,
		.damage = note_damage,
		.ctx = r,
	};
	uint64_t inputs = 0;
	bool filled = false;

	return_if_error(lc__txn_count(r->change->snapshot.txn, LC__INPUT, &inputs));
	return_if_error(lc__has_inputs(&r->change->snapshot, &filled));
	for (uint64_t i = 0; i < r->nchunks && (filled || inputs > 0); i++)
		return_if_error(digest_chunk(r, &r->chunks[i]));
	return_if_error(lc__verify_inputs(&r->change->snapshot, &ask));
	r->result.rows += r->inputs_damaged;
	return LC_OK;
}

/* ---- writing -------------------------------------------------------------- */

/* What will be written. */
struct anew {
	struct lc__recovery *r;
	struct lc__fill_row fill;
	bool final;    /* all were finished, as far as known */
	uint64_t most; /* limit on the chunks that the file can ever have had: each has a
	                * row of the order, and the file never shrinks */
	struct lc__order_row *chunks; /* by input and ordinal; malloc'ed */
	uint64_t nchunks;
	size_t room;
};

static int
by_place(const void *a, const void *b)
{
	const struct lc__order_row *x = a, *y = b;

	if (x->input != y->input)
		return x->input < y->input ? -1 : 1;
	return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

/* All chunks of an input according to the ledger. */
static lc_status
list_chunks(struct anew *a)
{
	struct lc__recovery *r = a->r;

	for (uint64_t i = 0; i < r->nchunks; i++) {
		const struct lc__recovery_chunk *chunk = &r->chunks[i];
		struct lc__ledger_row row;
		bool intact = false;

		return_if_error(lc__recovery_row(r, chunk, &row, &intact));
		if (row.records == 0 || row.source == 0 || row.source > LC__INPUTS_MAX ||
		    row.ordinal >= a->most)
			continue;
		return_if_error(
		    lc__array_reserve(&a->chunks, &a->room, a->nchunks + 1, "recover"));
		a->chunks[a->nchunks++] = (struct lc__order_row){
			.chunk = chunk->id,
			.input = (uint32_t)row.source - 1,
			.ordinal = row.ordinal,
			.records = row.records,
			.length = row.length,
			.digest = chunk->digest,
		};
		if (row.source > a->fill.inputs)
			a->fill.inputs = row.source;
	}
	if (a->nchunks > 0)
		qsort(a->chunks, a->nchunks, sizeof(*a->chunks), by_place);
	return LC_OK;
}

/* The row `fill` has the number of inputs. Without it, count the rows, since their keys
 * prove nothing. */
static lc_status
count_inputs(struct anew *a)
{
	struct lc__fill_row old;
	uint32_t n = 0;
	const lc_status status = lc__fill_get(&a->r->change->snapshot, &old);

	if (status == LC_OK)
		a->final = old.finished == old.inputs;
	else if (status != LC_CORRUPT && status != LC_NOT_FOUND)
		return status;
	return_if_error(lc__recovery_count_inputs(a->r, &n));
	a->fill.inputs = n;
	return LC_OK;
}

/* The old row of an input, repaired if one byte is wrong; *bytes holds it. */
static lc_status
read_input(struct anew *a, uint32_t input, struct lc__buf *bytes,
    struct lc__input_row *row)
{
	struct lc__slice value = { NULL, 0 };
	const lc_status status = lc__txn_get(a->r->change->snapshot.txn, LC__INPUT, input,
	    &value);
	char name[40];

	if (status != LC_OK && status != LC_NOT_FOUND)
		return status;
	lc__buf_append(bytes, value.data, value.size);
	if (bytes->failed)
		return lc__no_memory("recover");
	if (lc__input_decode(bytes->data, bytes->size, input, row))
		return LC_OK;
	if (lc__row_mend(bytes->data, bytes->size, input) &&
	    lc__input_decode(bytes->data, bytes->size, input, row)) {
		lc__progress_damage(a->r->progress, "input %u: repaired", input);
		return LC_OK;
	}
	lc__progress_damage(a->r->progress, "input %u: its name and cursor are lost",
	    input);
	a->r->result.reset++;
	bytes->size = 0;
	lc__buf_append(bytes, name,
	    (size_t)snprintf(name, sizeof(name), "lost input %u", input));
	*row = (struct lc__input_row){
		.name = { bytes->data, bytes->size },
		.finished = a->final,
	};
	return bytes->failed ? lc__no_memory("recover") : LC_OK;
}

/* Write that chunk @p ordinal waits, or that it is lost. */
static lc_status
write_place(struct anew *a, const struct lc__order_row *chunk, uint32_t input,
    uint64_t ordinal, struct lc__input_row *row)
{
	struct lc__order_row place = {
		.chunk = LC__ORDER_LOST,
		.input = input,
		.ordinal = ordinal,
	};

	if (chunk != NULL) {
		place = *chunk;
		row->records += chunk->records;
		row->length += chunk->length;
		a->fill.committed++;
	}
	return lc__order_wait(a->r->change, &place);
}

/* The chunks of an input, from position *at on. */
static lc_status
write_places(struct anew *a, uint32_t input, uint64_t *at, struct lc__input_row *row)
{
	uint64_t ordinal = 0;

	row->records = row->length = 0;
	if (row->chunks > a->most) {
		lc__progress_damage(a->r->progress,
		    "input %u: claims %llu chunks, for which the "
		    "file has no room",
		    input, (unsigned long long)row->chunks);
		a->r->result.reset++;
		row->chunks = 0;
	}
	for (; *at < a->nchunks && a->chunks[*at].input == input; ordinal++) {
		const struct lc__order_row *next = &a->chunks[*at];

		if (next->ordinal < ordinal)
			return lc__error(LC_CORRUPT, 0,
			    "recover: two chunks are chunk %llu of input %u",
			    (unsigned long long)next->ordinal, input);
		return_if_error(write_place(a, next->ordinal == ordinal ? next : NULL,
		    input, ordinal, row));
		*at += next->ordinal == ordinal;
	}
	for (; ordinal < row->chunks; ordinal++)
		return_if_error(write_place(a, NULL, input, ordinal, row));
	row->chunks = ordinal;
	return LC_OK;
}

static lc_status
write_input(struct anew *a, uint32_t input, uint64_t *at)
{
	struct lc__buf bytes = { 0 };
	struct lc__input_row row;
	lc_status status = read_input(a, input, &bytes, &row);

	if (status == LC_OK)
		status = write_places(a, input, at, &row);
	if (status == LC_OK)
		status = lc__input_put(a->r->change, input, &row);
	if (status == LC_OK)
		a->fill.finished += row.finished;
	lc__buf_free(&bytes);
	return status;
}

static lc_status
write_all(struct anew *a)
{
	struct lc__change *change = a->r->change;
	uint64_t at = 0;

	a->most = lc__env_file_bytes(change->snapshot.env) / LC__ORDER_ROW;
	return_if_error(count_inputs(a));
	return_if_error(list_chunks(a));
	return_if_error(lc__txn_clear(change->snapshot.txn, LC__ORDER));
	if (a->fill.inputs == 0)
		return lc__txn_delete_meta(change->snapshot.txn, "fill");
	for (uint32_t i = 0; i < a->fill.inputs; i++)
		return_if_error(write_input(a, i, &at));
	return_if_error(lc__order_publish(change, &a->fill));
	return lc__fill_put(change, &a->fill);
}

lc_status
lc__recovery_write_inputs(struct lc__recovery *r)
{
	struct anew a = { .r = r };
	lc_status status;

	if (!r->inputs_damaged)
		return LC_OK;
	status = write_all(&a);
	free(a.chunks);
	return status;
}
