/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/inputs.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/module.h"
#include "store/published.h"

/* ---- bytes ---------------------------------------------------------------- */

enum { head_size = 40, flag_finished = 1 };

static bool
encode(const struct lc__input_row *row, uint32_t index, struct lc__buf *out)
{
	unsigned char head[head_size];

	lc__set64(head, row->chunks);
	lc__set64(head + 8, row->records);
	lc__set64(head + 16, row->length);
	lc__set32(head + 24, row->finished ? flag_finished : 0);
	lc__set32(head + 28, (uint32_t)row->name.size);
	lc__set32(head + 32, (uint32_t)row->fingerprint.size);
	lc__set32(head + 36, (uint32_t)row->cursor.size);
	lc__buf_append(out, head, sizeof(head));
	lc__buf_append(out, row->name.data, row->name.size);
	lc__buf_append(out, row->fingerprint.data, row->fingerprint.size);
	lc__buf_append(out, row->cursor.data, row->cursor.size);
	if (!out->failed)
		lc__buf_append64(out, lc__row_sum(out->data, out->size, index));
	return !out->failed;
}

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
	if (flags > flag_finished || name == 0 || name > LC_INPUT_NAME_MAX ||
	    fingerprint > LC_INPUT_FINGERPRINT_MAX ||
	    cursor > LC_INPUT_CURSOR_MAX || (size_t)name + fingerprint +
	    cursor != size - head_size - LC__ROW_SUM ||
	    lc__get64(p) > LC__CHUNK_ID_MAX)
		return false;
	out->chunks = lc__get64(p);
	out->records = lc__get64(p + 8);
	out->length = lc__get64(p + 16);
	out->finished = flags == flag_finished;
	p += head_size;
	out->name = (lc_id){ p, name };
	out->fingerprint = (lc_id){ p + name, fingerprint };
	out->cursor = (lc_id){ p + name + fingerprint, cursor };
	return true;
}

/* ---- rows ----------------------------------------------------------------- */

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
		return lc__error(LC_CORRUPT, 0, "%s: the row of input %u is "
		    "damaged", lc__env_dir(s->env), index);
	return LC_OK;
}

lc_status
lc__input_put(struct lc__change *change, uint32_t index,
    const struct lc__input_row *row)
{
	struct lc__buf bytes = { 0 };
	lc_status status;

	if (!encode(row, index, &bytes))
		status = lc__no_memory("inputs");
	else
		status = lc__txn_put(change->snapshot.txn, LC__INPUT, index,
		    bytes.data, bytes.size);
	lc__buf_free(&bytes);
	return status;
}

static bool
has_name(const struct lc__input_row *row, const char *name)
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

		/* That of another input is no obstacle. */
		if (status != LC_OK && status != LC_CORRUPT &&
		    status != LC_NOT_FOUND)
			return status;
		if (status == LC_OK && has_name(out, name))
			return LC_OK;
	}
	return LC_NOT_FOUND;
}

/* ---- a commit ------------------------------------------------------------- */

lc_status
lc__input_check(struct lc__change *change, const struct lc__input_step *step)
{
	struct lc__snapshot *s = &change->snapshot;
	const char *dir = lc__env_dir(s->env);
	struct lc__input_row row;
	bool filled;

	return_if_error(lc__has_inputs(s, &filled));
	if (!filled)
		return lc__error(LC_INVALID, 0, "%s: %s is not declared any "
		    "more", dir, step->name);
	return_if_error(lc__input_get(s, step->index, &row));
	if (!has_name(&row, step->name))
		return lc__error(LC_INVALID, 0, "%s: %s is not declared any "
		    "more", dir, step->name);
	if (row.chunks != step->chunks)
		return lc__error(LC_BUSY, 0, "%s: %s: has %llu chunks, and had "
		    "%llu: another writer holds it", dir, step->name,
		    (unsigned long long)row.chunks,
		    (unsigned long long)step->chunks);
	if (row.finished)
		return lc__error(LC_INVALID, 0, "%s: %s is finished", dir,
		    step->name);
	return LC_OK;
}

/* The new chunk waits for its place, perhaps not for long. */
static lc_status
add_chunk(struct lc__change *change, const struct lc__input_step *step,
    uint64_t chunk, const struct lc__ledger_row *row)
{
	const struct lc__order_row order = {
		.chunk = chunk, .input = step->index, .ordinal = step->chunks,
		.records = row->records, .length = row->length,
		.digest = step->digest
	};

	return lc__order_wait(change, &order);
}

lc_status
lc__input_advance(struct lc__change *change, struct lc__input_step *step,
    uint64_t chunk, const struct lc__ledger_row *ledger)
{
	struct lc__fill_row fill;
	struct lc__input_row row;

	return_if_error(lc__fill_get(&change->snapshot, &fill));
	if (chunk != 0)
		return_if_error(add_chunk(change, step, chunk, ledger));
	return_if_error(lc__input_get(&change->snapshot, step->index, &row));
	row.chunks += chunk != 0;
	row.records += ledger->records;
	row.length += ledger->length;
	row.finished = step->finish;
	row.cursor = step->cursor;
	return_if_error(lc__input_put(change, step->index, &row));
	step->after = (struct lc__input_row){
		.chunks = row.chunks, .records = row.records,
		.length = row.length, .finished = row.finished
	};
	fill.committed += chunk != 0;
	fill.finished += step->finish;
	return_if_error(lc__order_publish(change, &fill));
	return lc__fill_put(change, &fill);
}

/* ---- who may not put ------------------------------------------------------ */

static lc_status
refuse(const struct lc__env *env, const char *operation)
{
	return lc__error(LC_INVALID, 0, "%s: %s is filled by its inputs",
	    operation, lc__env_dir(env));
}

lc_status
lc__check_plain(struct lc_cache *cache, const char *operation)
{
	const struct lc__module *module = lc__module_of(cache->env);
	struct lc__snapshot *snapshot;
	bool filled;

	if (!atomic_load_explicit(&module->filled, memory_order_relaxed))
		return LC_OK;
	/* It may have been cleared since. */
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	filled = snapshot->filled;
	lc__snapshot_give(snapshot, 0);
	return filled ? refuse(cache->env, operation) : LC_OK;
}

lc_status
lc__check_plain_now(struct lc__snapshot *snapshot, const char *operation)
{
	bool filled;

	return_if_error(lc__has_inputs(snapshot, &filled));
	return filled ? refuse(snapshot->env, operation) : LC_OK;
}
