/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/chunk_order.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/change.h"
#include "store/input_lock.h"
#include "store/inputs.h"
#include "store/settings.h"

/* ---- publishing ----------------------------------------------------------- */

static uint64_t
hash_numbers(const uint64_t *numbers, size_t n)
{
	unsigned char bytes[48];

	for (size_t i = 0; i < n; i++)
		lc__set64(bytes + 8 * i, numbers[i]);
	return lc__hash64(bytes, 8 * n);
}

uint64_t
lc__order_chain(uint64_t prefix_hash, const struct lc__order_row *row)
{
	const uint64_t numbers[] = { prefix_hash, row->input, row->ordinal, row->records,
		row->length, row->digest };

	return hash_numbers(numbers, sizeof(numbers) / sizeof(*numbers));
}

/* Publish the chunk (input, ordinal), whose turn it is. */
static lc_status
publish_one(struct lc__change *change, struct lc__fill_row *fill, uint32_t input,
    uint64_t ordinal)
{
	struct lc__snapshot *s = &change->snapshot;
	struct lc__order_row row;
	const lc_status status = lc__order_get_waiting(s, input, ordinal, &row);

	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0,
		    "%s: the order row of chunk %llu of input %u is missing",
		    lc__env_dir(s->env), (unsigned long long)ordinal, input);
	return_if_error(status);
	if (row.chunk == LC__ORDER_LOST)
		return LC_OK;
	row.first_record = fill->records;
	row.first_unit = fill->length;
	row.prefix_hash = lc__order_chain(fill->prefix_hash, &row);
	return_if_error(lc__order_place(change, fill->published, input, ordinal, &row));
	fill->published++;
	fill->records += row.records;
	fill->length += row.length;
	fill->prefix_hash = row.prefix_hash;
	return LC_OK;
}

/* Reads inputs for lc__round_robin_next(). A failure is kept until that returns. */
struct asked {
	struct lc__snapshot *snapshot;
	lc_status status;
};

static struct lc__round_input
ask(void *ctx, uint32_t input)
{
	struct asked *asked = ctx;
	struct lc__input_row row = { 0 };
	const lc_status status = lc__input_get(asked->snapshot, input, &row);

	if (status != LC_OK) {
		asked->status = status;
		return (struct lc__round_input){ 0, false };
	}
	return (struct lc__round_input){ row.chunks, row.finished };
}

lc_status
lc__order_publish(struct lc__change *change, struct lc__fill_row *fill)
{
	struct asked asked = { &change->snapshot, LC_OK };
	uint64_t ordinal = 0;
	uint32_t input = 0;

	while (lc__round_robin_next(&fill->rounds, (uint32_t)fill->inputs, ask, &asked,
		   &input, &ordinal) == LC__TURN_CHUNK)
		return_if_error(publish_one(change, fill, input, ordinal));
	return asked.status;
}

uint64_t
lc__plain_chain(uint64_t prefix_hash, uint64_t chunk, const struct lc__ledger_row *row,
    uint64_t units)
{
	const uint64_t numbers[] = { prefix_hash, chunk, row->live, units, row->ordinal };

	return hash_numbers(numbers, sizeof(numbers) / sizeof(*numbers));
}

/* ---- the commit of an input ---------------------------------------------- */

lc_status
lc__input_check(struct lc__change *change, const struct lc__input_step *step)
{
	struct lc__snapshot *s = &change->snapshot;
	const char *dir = lc__env_dir(s->env);
	struct lc__input_row row;
	bool filled;

	return_if_error(lc__has_inputs(s, &filled));
	if (!filled)
		return lc__error(LC_INVALID, 0, "%s: %s is no longer declared", dir,
		    step->name);
	return_if_error(lc__input_get(s, step->index, &row));
	if (!lc__input_has_name(&row, step->name))
		return lc__error(LC_INVALID, 0, "%s: %s is no longer declared", dir,
		    step->name);
	if (row.chunks != step->chunks)
		return lc__error(LC_BUSY, 0,
		    "%s: %s: has %llu chunks, and had %llu: another writer holds it", dir,
		    step->name, (unsigned long long)row.chunks,
		    (unsigned long long)step->chunks);
	if (row.finished)
		return lc__error(LC_INVALID, 0, "%s: %s is finished", dir, step->name);
	return LC_OK;
}

lc_status
lc__input_advance(struct lc__change *change, struct lc__input_step *step, uint64_t chunk,
    const struct lc__ledger_row *ledger)
{
	const struct lc__order_row order = {
		.chunk = chunk,
		.input = step->index,
		.ordinal = step->chunks,
		.records = ledger->records,
		.length = ledger->length,
		.digest = step->digest,
	};
	struct lc__fill_row fill;
	struct lc__input_row row;

	return_if_error(lc__fill_get(&change->snapshot, &fill));
	if (chunk != 0)
		return_if_error(lc__order_wait(change, &order));
	return_if_error(lc__input_get(&change->snapshot, step->index, &row));
	row.chunks += chunk != 0;
	row.records += ledger->records;
	row.length += ledger->length;
	row.finished = step->finish;
	row.cursor = step->cursor;
	return_if_error(lc__input_put(change, step->index, &row));
	step->after = (struct lc__input_row){
		.chunks = row.chunks,
		.records = row.records,
		.length = row.length,
		.finished = row.finished,
	};
	fill.committed += chunk != 0;
	fill.finished += step->finish;
	return_if_error(lc__order_publish(change, &fill));
	return lc__fill_put(change, &fill);
}

/* ---- all chunks ----------------------------------------------------------- */

/* The chunks, as a growing list. */
struct chunk_list {
	struct lc__placed_chunk *chunks;
	size_t n, room;
};

/* A chunk that recovery could not find has no records. */
static lc_status
list_chunk(struct chunk_list *list, const struct lc__order_row *row)
{
	if (row->chunk == LC__ORDER_LOST)
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&list->chunks, &list->room, list->n + 1, "inputs"));
	list->chunks[list->n++] = (struct lc__placed_chunk){
		.chunk = row->chunk,
		.input = row->input,
		.ordinal = row->ordinal,
		.records = row->records,
		.length = row->length,
		.digest = row->digest,
	};
	return LC_OK;
}

static lc_status
list_published(struct lc__snapshot *s, const struct lc__fill_row *fill, const bool *only,
    struct chunk_list *list)
{
	struct lc__order_row row;

	for (uint64_t position = 0; position < fill->published; position++) {
		const lc_status status = lc__order_get(s, position, &row);

		if (status == LC_NOT_FOUND)
			return lc__error(LC_CORRUPT, 0, "%s: order row %llu is missing",
			    lc__env_dir(s->env), (unsigned long long)position);
		return_if_error(status);
		if (only == NULL || (row.input < fill->inputs && only[row.input]))
			return_if_error(list_chunk(list, &row));
	}
	return LC_OK;
}

/* The waiting chunks are the last ones of their input. */
static lc_status
list_waiting(struct lc__snapshot *s, uint32_t input, struct chunk_list *list)
{
	struct lc__order_row order;
	struct lc__input_row row;
	lc_status status = LC_OK;
	uint64_t first;

	return_if_error(lc__input_get(s, input, &row));
	for (first = row.chunks; first > 0; first--) {
		status = lc__order_get_waiting(s, input, first - 1, &order);
		if (status != LC_OK)
			break;
	}
	if (status != LC_OK && status != LC_NOT_FOUND)
		return status;
	for (; first < row.chunks; first++) {
		return_if_error(lc__order_get_waiting(s, input, first, &order));
		return_if_error(list_chunk(list, &order));
	}
	return LC_OK;
}

static int
compare_by_input(const void *a, const void *b)
{
	const struct lc__placed_chunk *x = a, *y = b;

	if (x->input != y->input)
		return x->input < y->input ? -1 : 1;
	return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

lc_status
lc__order_list(struct lc__snapshot *s, bool by_input, const bool *only,
    struct lc__placed_chunk **out, size_t *n)
{
	struct chunk_list list = { NULL, 0, 0 };
	struct lc__fill_row fill;
	lc_status status = lc__fill_get(s, &fill);

	if (status == LC_OK)
		status = list_published(s, &fill, only, &list);
	for (uint32_t i = 0; status == LC_OK && i < fill.inputs; i++)
		if (only == NULL || only[i])
			status = list_waiting(s, i, &list);
	if (status != LC_OK) {
		free(list.chunks);
		return status;
	}
	if (by_input && list.n > 0)
		qsort(list.chunks, list.n, sizeof(*list.chunks), compare_by_input);
	*out = list.chunks;
	*n = list.n;
	return LC_OK;
}

/* ---- progress -------------------------------------------------------------------- */

/* Plain puts count as one implicit input: its chunks are those with live records, in the
 * order of their commits. */
static lc_status
load_plain(struct lc__snapshot *s, lc_fill *out)
{
	struct lc__ledger_row row;
	lc_settings settings;
	lc_status status;
	uint64_t id = 0;
	bool intact;

	return_if_error(lc__settings_load(s->env, s->txn, &settings));
	while ((status = lc__ledger_after(s, id, &id, &row, &intact)) == LC_OK) {
		if (!intact)
			return lc__error(LC_CORRUPT, 0,
			    "%s: the ledger row of chunk %llu is damaged",
			    lc__env_dir(s->env), (unsigned long long)id);
		if (row.live == 0)
			continue;
		out->committed++;
		out->published++;
		out->records += row.live;
		out->length += row.length;
		out->prefix_hash = lc__plain_chain(out->prefix_hash, id, &row,
		    *settings.length_field != '\0' ? row.length : row.live);
	}
	return status == LC_END ? LC_OK : status;
}

lc_status
lc__fill_load(struct lc__snapshot *s, lc_fill *out)
{
	struct lc__fill_row fill;
	unsigned char *held;
	lc_status status;

	*out = (lc_fill){ .struct_size = out->struct_size };
	status = lc__fill_get(s, &fill);
	if (status == LC_NOT_FOUND)
		return load_plain(s, out);
	return_if_error(status);
	out->inputs = (uint32_t)fill.inputs;
	out->finished = (uint32_t)fill.finished;
	out->final = fill.finished == fill.inputs;
	out->committed = fill.committed;
	out->published = fill.published;
	out->records = fill.records;
	out->length = fill.length;
	out->prefix_hash = fill.prefix_hash;

	held = calloc(out->inputs, 1);
	if (held == NULL)
		return lc__no_memory("inputs");
	status = lc__input_locks_list(s->env, out->inputs, held);
	for (uint32_t i = 0; i < out->inputs && status == LC_OK && !out->final; i++) {
		struct lc__input_row row;

		if (!held[i])
			continue;
		status = lc__input_get(s, i, &row);
		if (status == LC_NOT_FOUND)
			status = lc__error_as(LC_CORRUPT);
		out->held += status == LC_OK && !row.finished;
	}
	free(held);
	return status;
}
