/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/inputs.h"

#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "store/change.h"

/* ---- the rows of inputs -------------------------------------------------- */

enum { head_size = 40, flag_finished = 1, flag_merging = 2 };

bool
lc__input_decode(const void *bytes, size_t size, uint32_t index,
    struct lc__input_row *out)
{
	const unsigned char *p = bytes;
	uint32_t flags, name, fingerprint, cursor;

	if (size < head_size + LC__ROW_SUM || !lc__row_intact(p, size, index))
		return false;
	flags = lc__get32(p + 24);
	name = lc__get32(p + 28);
	fingerprint = lc__get32(p + 32);
	cursor = lc__get32(p + 36);
	if (flags > flag_merging || name == 0 || name > LC_INPUT_NAME_MAX ||
	    fingerprint > LC_INPUT_FINGERPRINT_MAX || cursor > LC_INPUT_CURSOR_MAX ||
	    (size_t)name + fingerprint + cursor != size - head_size - LC__ROW_SUM ||
	    lc__get64(p) > LC__CHUNK_ID_MAX)
		return false;
	out->chunks = lc__get64(p);
	out->records = lc__get64(p + 8);
	out->length = lc__get64(p + 16);
	out->finished = flags == flag_finished;
	out->merging = flags == flag_merging;
	p += head_size;
	out->name = (lc_id){ p, name };
	out->fingerprint = (lc_id){ p + name, fingerprint };
	out->cursor = (lc_id){ p + name + fingerprint, cursor };
	return true;
}

lc_status
lc__input_get(struct lc__snapshot *s, uint32_t index, struct lc__input_row *out)
{
	struct lc__slice value;
	const lc_status status = lc__txn_get(s->txn, LC__INPUT, index, &value);

	if (status == LC_NOT_FOUND)
		return lc__error(status, 0, "%s: the row of input %u is missing",
		    lc__env_dir(s->env), index);
	return_if_error(status);
	if (!lc__input_decode(value.data, value.size, index, out))
		return lc__error(LC_CORRUPT, 0, "%s: the row of input %u is damaged",
		    lc__env_dir(s->env), index);
	return LC_OK;
}

lc_status
lc__input_put(struct lc__change *change, uint32_t index, const struct lc__input_row *row)
{
	struct lc__buf bytes = { 0 };
	unsigned char head[head_size];
	lc_status status;

	lc__set64(head, row->chunks);
	lc__set64(head + 8, row->records);
	lc__set64(head + 16, row->length);
	lc__set32(head + 24,
	    row->finished      ? flag_finished
		: row->merging ? flag_merging
			       : 0);
	lc__set32(head + 28, (uint32_t)row->name.size);
	lc__set32(head + 32, (uint32_t)row->fingerprint.size);
	lc__set32(head + 36, (uint32_t)row->cursor.size);
	lc__buf_append(&bytes, head, sizeof(head));
	lc__buf_append(&bytes, row->name.data, row->name.size);
	lc__buf_append(&bytes, row->fingerprint.data, row->fingerprint.size);
	lc__buf_append(&bytes, row->cursor.data, row->cursor.size);
	if (!bytes.failed)
		lc__buf_append64(&bytes, lc__row_sum(bytes.data, bytes.size, index));
	status = bytes.failed
	    ? lc__no_memory("inputs")
	    : lc__txn_put(change->snapshot.txn, LC__INPUT, index, bytes.data, bytes.size);
	lc__buf_free(&bytes);
	return status;
}

bool
lc__input_has_name(const struct lc__input_row *row, const char *name)
{
	return row->name.size == strlen(name) &&
	    memcmp(row->name.data, name, row->name.size) == 0;
}

lc_status
lc__input_find(struct lc__snapshot *s, const char *name, uint32_t *index,
    struct lc__input_row *out)
{
	struct lc__fill_row fill;

	return_if_error(lc__fill_get(s, &fill));
	for (*index = 0; *index < fill.inputs; (*index)++) {
		const lc_status status = lc__input_get(s, *index, out);

		/* A damaged row of another input does not matter here. */
		if (status != LC_OK && status != LC_CORRUPT && status != LC_NOT_FOUND)
			return status;
		if (status == LC_OK && lc__input_has_name(out, name))
			return LC_OK;
	}
	return LC_NOT_FOUND;
}

/* ---- the row of the fill ------------------------------------------------- */

/* Both kinds of rows are numbers and then a row's checksum. */
static void
encode_numbers(const uint64_t *numbers, size_t n, uint64_t seed, unsigned char *out)
{
	for (size_t i = 0; i < n; i++)
		lc__set64(out + 8 * i, numbers[i]);
	lc__set64(out + 8 * n, lc__row_sum(out, 8 * n, seed));
}

static bool
decode_numbers(const unsigned char *bytes, size_t size, uint64_t seed, uint64_t *numbers,
    size_t n)
{
	if (size != 8 * (n + 1) || !lc__row_intact(bytes, size, seed))
		return false;
	for (size_t i = 0; i < n; i++)
		numbers[i] = lc__get64(bytes + 8 * i);
	return true;
}

bool
lc__fill_decode(const void *bytes, size_t size, struct lc__fill_row *out)
{
	uint64_t n[9];

	if (!decode_numbers(bytes, size, lc__row_seed("fill"), n, 9) || n[0] == 0 ||
	    n[0] > LC__INPUTS_MAX || n[1] > n[0] || n[3] > n[2] || n[8] >= n[0])
		return false;
	*out = (struct lc__fill_row){
		.inputs = n[0],
		.finished = n[1],
		.committed = n[2],
		.published = n[3],
		.records = n[4],
		.length = n[5],
		.prefix_hash = n[6],
		.rounds = { .round = n[7], .input = (uint32_t)n[8] },
	};
	return true;
}

lc_status
lc__has_inputs(struct lc__snapshot *s, bool *out)
{
	struct lc__slice value;
	uint64_t inputs = 0;
	const lc_status status = lc__txn_get_meta(s->txn, "fill", &value);

	/* A module that has lost the fill row still has inputs, and refuses puts. */
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
		return inputs == 0
		    ? LC_NOT_FOUND
		    : lc__error(LC_CORRUPT, 0, "%s: the fill row is missing",
			  lc__env_dir(s->env));
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
	const uint64_t numbers[] = { row->inputs, row->finished, row->committed,
		row->published, row->records, row->length, row->prefix_hash,
		row->rounds.round, row->rounds.input };
	unsigned char bytes[LC__FILL_ROW];

	encode_numbers(numbers, sizeof(numbers) / sizeof(*numbers), lc__row_seed("fill"),
	    bytes);
	return lc__txn_put_meta(change->snapshot.txn, "fill", bytes, sizeof(bytes));
}

/* ---- the rows of the order ----------------------------------------------- */

bool
lc__order_decode(const void *bytes, size_t size, uint64_t key, struct lc__order_row *out)
{
	uint64_t n[9];

	if (!decode_numbers(bytes, size, key, n, 9) || n[1] >= LC__INPUTS_MAX ||
	    n[2] > LC__CHUNK_ID_MAX)
		return false;
	*out = (struct lc__order_row){
		.chunk = n[0],
		.input = (uint32_t)n[1],
		.ordinal = n[2],
		.first_record = n[3],
		.records = n[4],
		.first_unit = n[5],
		.length = n[6],
		.digest = n[7],
		.prefix_hash = n[8],
	};
	return true;
}

/* The key of a waiting chunk. */
static uint64_t
waiting_key(uint32_t input, uint64_t ordinal)
{
	return LC__ORDER_WAITING | (uint64_t)input << 40 | ordinal;
}

static lc_status
get_order_row(struct lc__snapshot *s, uint64_t key, struct lc__order_row *out)
{
	struct lc__slice value;

	return_if_error(lc__txn_get(s->txn, LC__ORDER, key, &value));
	if (!lc__order_decode(value.data, value.size, key, out))
		return lc__error(LC_CORRUPT, 0, "%s: order row %llu is damaged",
		    lc__env_dir(s->env), (unsigned long long)key);
	return LC_OK;
}

lc_status
lc__order_get(struct lc__snapshot *s, uint64_t position, struct lc__order_row *out)
{
	return position >= LC__ORDER_WAITING ? LC_NOT_FOUND
					     : get_order_row(s, position, out);
}

lc_status
lc__order_get_waiting(struct lc__snapshot *s, uint32_t input, uint64_t ordinal,
    struct lc__order_row *out)
{
	return get_order_row(s, waiting_key(input, ordinal), out);
}

static lc_status
put_order_row(struct lc__change *change, uint64_t key, const struct lc__order_row *row)
{
	const uint64_t numbers[] = { row->chunk, row->input, row->ordinal,
		row->first_record, row->records, row->first_unit, row->length,
		row->digest, row->prefix_hash };
	unsigned char bytes[LC__ORDER_ROW];

	encode_numbers(numbers, sizeof(numbers) / sizeof(*numbers), key, bytes);
	return lc__txn_put(change->snapshot.txn, LC__ORDER, key, bytes, sizeof(bytes));
}

lc_status
lc__order_wait(struct lc__change *change, const struct lc__order_row *row)
{
	return put_order_row(change, waiting_key(row->input, row->ordinal), row);
}

lc_status
lc__order_place(struct lc__change *change, uint64_t position, uint32_t input,
    uint64_t ordinal, const struct lc__order_row *row)
{
	return_if_error(put_order_row(change, position, row));
	return lc__txn_delete(change->snapshot.txn, LC__ORDER,
	    waiting_key(input, ordinal));
}
