/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/chunk_order.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "store/change.h"
#include "store/inputs.h"
#include "store/module.h"

/* ---- bytes ---------------------------------------------------------------- */

/* Both kinds of rows are numbers and then a row's checksum. */
static void
encode(const uint64_t *numbers, size_t n, uint64_t seed, unsigned char *out)
{
	for (size_t i = 0; i < n; i++)
		lc__set64(out + 8 * i, numbers[i]);
	lc__set64(out + 8 * n, lc__row_sum(out, 8 * n, seed));
}

static bool
decode(const unsigned char *bytes, size_t size, uint64_t seed, uint64_t *numbers,
    size_t n)
{
	if (size != 8 * (n + 1) || !lc__row_intact(bytes, size, seed))
		return false;
	for (size_t i = 0; i < n; i++)
		numbers[i] = lc__get64(bytes + 8 * i);
	return true;
}

static void
encode_order(const struct lc__order_row *row, uint64_t key,
    unsigned char out[LC__ORDER_ROW])
{
	const uint64_t numbers[] = {
		row->chunk, row->input, row->ordinal, row->first_record,
		row->records, row->first_unit, row->length, row->digest,
		row->prefix_hash
	};

	encode(numbers, sizeof(numbers) / sizeof(*numbers), key, out);
}

bool
lc__order_decode(const void *bytes, size_t size, uint64_t key,
    struct lc__order_row *out)
{
	uint64_t n[9];

	if (!decode(bytes, size, key, n, 9) || n[1] >= LC__INPUTS_MAX ||
	    n[2] > LC__CHUNK_ID_MAX)
		return false;
	*out = (struct lc__order_row){
		.chunk = n[0], .input = (uint32_t)n[1], .ordinal = n[2],
		.first_record = n[3], .records = n[4], .first_unit = n[5],
		.length = n[6], .digest = n[7], .prefix_hash = n[8]
	};
	return true;
}

static void
encode_fill(const struct lc__fill_row *row,
    unsigned char out[LC__FILL_ROW])
{
	const uint64_t numbers[] = {
		row->inputs, row->finished, row->committed, row->published,
		row->records, row->length, row->prefix_hash, row->rounds.round,
		row->rounds.input
	};

	encode(numbers, sizeof(numbers) / sizeof(*numbers),
	    lc__row_seed("fill"), out);
}

bool
lc__fill_decode(const void *bytes, size_t size, struct lc__fill_row *out)
{
	uint64_t n[9];

	if (!decode(bytes, size, lc__row_seed("fill"), n, 9) || n[0] == 0 || n[0] > LC__INPUTS_MAX ||
	    n[1] > n[0] || n[3] > n[2] || n[8] >= n[0])
		return false;
	*out = (struct lc__fill_row){
		.inputs = n[0], .finished = n[1], .committed = n[2],
		.published = n[3], .records = n[4], .length = n[5],
		.prefix_hash = n[6],
		.rounds = { .round = n[7], .input = (uint32_t)n[8] }
	};
	return true;
}

/* ---- rows ----------------------------------------------------------------- */

lc_status
lc__has_inputs(struct lc__snapshot *s, bool *out)
{
	struct lc__slice value;
	uint64_t inputs = 0;
	const lc_status status = lc__txn_get_meta(s->txn, "fill", &value);

	/* A module that has lost the fill row has inputs all the same, and takes no
	 * puts. */
	if (status == LC_NOT_FOUND)
		return_if_error(lc__txn_count(s->txn, LC__INPUT, &inputs));
	else
		return_if_error(status);
	*out = status == LC_OK || inputs > 0;
	return LC_OK;
}

lc_status
lc__fill_get(struct lc__snapshot *s, struct lc__fill_row *out)
{
	struct lc__slice value;
	uint64_t inputs = 0;
	const lc_status status = lc__txn_get_meta(s->txn, "fill", &value);

	if (status == LC_NOT_FOUND) {
		return_if_error(lc__txn_count(s->txn, LC__INPUT, &inputs));
		return inputs == 0 ? LC_NOT_FOUND : lc__error(LC_CORRUPT, 0,
		    "%s: the fill row is missing", lc__env_dir(s->env));
	}
	return_if_error(status);
	if (!lc__fill_decode(value.data, value.size, out))
		return lc__error(LC_CORRUPT, 0, "%s: the fill row is damaged",
		    lc__env_dir(s->env));
	return LC_OK;
}

lc_status
lc__fill_put(struct lc__change *change, const struct lc__fill_row *row)
{
	unsigned char bytes[LC__FILL_ROW];

	encode_fill(row, bytes);
	return lc__txn_put_meta(change->snapshot.txn, "fill", bytes,
	    sizeof(bytes));
}

/* The key of a waiting chunk. */
static uint64_t
waiting_key(uint32_t input, uint64_t ordinal)
{
	return LC__ORDER_WAITING | (uint64_t)input << 40 | ordinal;
}

static lc_status
get_row(struct lc__snapshot *s, uint64_t key, struct lc__order_row *out)
{
	struct lc__slice value;

	return_if_error(lc__txn_get(s->txn, LC__ORDER, key, &value));
	if (!lc__order_decode(value.data, value.size, key, out))
		return lc__error(LC_CORRUPT, 0, "%s: order row %llu is damaged",
		    lc__env_dir(s->env), (unsigned long long)key);
	return LC_OK;
}

lc_status
lc__order_get(struct lc__snapshot *s, uint64_t position,
    struct lc__order_row *out)
{
	return position >= LC__ORDER_WAITING ? LC_NOT_FOUND :
	    get_row(s, position, out);
}

lc_status
lc__order_get_waiting(struct lc__snapshot *s, uint32_t input,
    uint64_t ordinal, struct lc__order_row *out)
{
	return get_row(s, waiting_key(input, ordinal), out);
}

static lc_status
put_row(struct lc__change *change, uint64_t key,
    const struct lc__order_row *row)
{
	unsigned char bytes[LC__ORDER_ROW];

	encode_order(row, key, bytes);
	return lc__txn_put(change->snapshot.txn, LC__ORDER, key, bytes,
	    sizeof(bytes));
}

lc_status
lc__order_wait(struct lc__change *change, const struct lc__order_row *row)
{
	return put_row(change, waiting_key(row->input, row->ordinal), row);
}

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
	const uint64_t numbers[] = {
		prefix_hash, row->input, row->ordinal, row->records,
		row->length, row->digest
	};

	return hash_numbers(numbers, sizeof(numbers) / sizeof(*numbers));
}

/* Publish the chunk (input, ordinal), whose turn it is. */
static lc_status
publish_one(struct lc__change *change, struct lc__fill_row *fill,
    uint32_t input, uint64_t ordinal)
{
	struct lc__snapshot *s = &change->snapshot;
	struct lc__order_row row;
	const lc_status status = lc__order_get_waiting(s, input, ordinal, &row);

	if (status == LC_NOT_FOUND)
		return lc__error(LC_CORRUPT, 0, "%s: the order row of chunk %llu "
		    "of input %u is missing", lc__env_dir(s->env),
		    (unsigned long long)ordinal, input);
	return_if_error(status);
	if (row.chunk == LC__ORDER_LOST)
		return LC_OK;
	row.first_record = fill->records;
	row.first_unit = fill->length;
	row.prefix_hash = lc__order_chain(fill->prefix_hash, &row);
	return_if_error(put_row(change, fill->published, &row));
	return_if_error(lc__txn_delete(s->txn, LC__ORDER,
	    waiting_key(input, ordinal)));
	fill->published++;
	fill->records += row.records;
	fill->length += row.length;
	fill->prefix_hash = row.prefix_hash;
	return LC_OK;
}

/* How lc__rounds_next() asks for inputs. A failure is kept until it returns. */
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

	while (lc__rounds_next(&fill->rounds, (uint32_t)fill->inputs, ask,
	    &asked, &input, &ordinal) == LC__TURN_CHUNK)
		return_if_error(publish_one(change, fill, input, ordinal));
	return asked.status;
}

uint64_t
lc__plain_chain(uint64_t prefix_hash, uint64_t chunk,
    const struct lc__ledger_row *row, uint64_t units)
{
	const uint64_t numbers[] = {
		prefix_hash, chunk, row->live, units, row->ordinal
	};

	return hash_numbers(numbers, sizeof(numbers) / sizeof(*numbers));
}

/* ---- how far it is -------------------------------------------------------- */

static void
add_plain(lc_fill *out, uint64_t chunk, const struct lc__ledger_row *row,
    bool has_lengths)
{
	out->committed++;
	out->published++;
	out->records += row->live;
	out->length += row->length;
	out->prefix_hash = lc__plain_chain(out->prefix_hash, chunk, row,
	    has_lengths ? row->length : row->live);
}

/* Plain puts are one implicit input: its chunks are those with live records, in the order
 * of their commits. */
static lc_status
load_plain(struct lc__snapshot *s, lc_fill *out)
{
	struct lc__ledger_row row;
	lc_settings settings;
	lc_status status;
	uint64_t id = 0;
	bool intact;

	return_if_error(lc__settings_load(s->env, s->txn, &settings));
	while ((status = lc__ledger_after(s, id, &id, &row, &intact)) ==
	    LC_OK) {
		if (!intact)
			return lc__error(LC_CORRUPT, 0, "%s: the ledger row of "
			    "chunk %llu is damaged", lc__env_dir(s->env),
			    (unsigned long long)id);
		if (row.live > 0)
			add_plain(out, id, &row, *settings.length_field != '\0');
	}
	return status == LC_END ? LC_OK : status;
}

static lc_status
count_held(struct lc__snapshot *s, lc_fill *out)
{
	unsigned char *held = calloc(out->inputs, 1);
	lc_status status;

	if (held == NULL)
		return lc__no_memory("inputs");
	status = lc__input_locks_list(s->env, out->inputs, held);
	for (uint32_t i = 0; i < out->inputs; i++)
		out->held += held[i];
	free(held);
	return status;
}

lc_status
lc__fill_load(struct lc__snapshot *s, lc_fill *out)
{
	struct lc__fill_row fill;
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
	return count_held(s, out);
}
