/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/job.h"

#include <string.h>

#include "base/error.h"
#include "stream/source.h"
#include "value/tensor.h"

/* ---- records -------------------------------------------------------------------- */

const struct lc__row_span *
lc__fetch_rows(const struct lc__job *job, size_t i, struct lc__row_span *room)
{
	if (job->rule->window == 0 || !job->rule->has_lengths)
		return NULL;
	lc__requests_rows(&job->requests, i, room);
	return room;
}

lc_status
lc__fetch_record(struct lc__job *job, const struct lc__request *r,
    const struct lc__row_span *rows, lc_tensor *tensors, lc_id *id)
{
	const struct lc__reader_rule *rule = job->rule;
	struct lc__read_share *portion = &job->portions[r->source];
	struct lc__cursor *cursor;
	uint64_t touched;

	return_if_error(lc__job_cursor(job, r->source, &cursor));
	return_if_error(lc__cursor_go(cursor, r->position));
	touched = lc__cursor_touched(cursor);
	return_if_error(lc__cursor_read(cursor, r->record,
	    (const char *const *)rule->names, rule->n_fields, rows, tensors, id));
	touched = lc__cursor_touched(cursor) - touched;
	job->counts.stored_bytes += touched;
	portion->touched += touched;
	if (rows == NULL || rows->done == 0)
		portion->stored += lc__cursor_stored(cursor, r->record);
	return LC_OK;
}

lc_status
lc__fetch_instead(struct lc__job *job, const struct lc__request *r,
    const struct lc__row_span *rows, lc_tensor *tensors, lc_id *id)
{
	struct lc__cursor *cursor;

	return_if_error(lc__job_cursor(job, r->source, &cursor));
	lc__cursor_forget(cursor);
	return lc__fetch_record(job, r, rows, tensors, id);
}

lc_status
lc__fetch_differs(const struct lc__job *job, uint32_t source, lc_id id,
    size_t field, const lc_tensor *tensor, const lc_tensor *others)
{
	char is[LC__TENSOR_TEXT], are[LC__TENSOR_TEXT];

	return lc__error(LC_SCHEMA, 0, "%s: key %s: field '%s' is %s, and %s in "
	    "other records of the batch",
	    lc__source_name(job->rule->stream->sources[source]),
	    lc__quote_id(id.data, id.size), job->rule->names[field],
	    lc__tensor_describe(tensor, is, sizeof(is)),
	    lc__tensor_describe(others, are, sizeof(are)));
}

/* ---- records that are all alike --------------------------------------------------- */

static lc_status
shape_even(const struct lc__job *job, struct lc__batch *batch,
    const lc_tensor *forms)
{
	const uint64_t rows = job->rule->rows;

	for (size_t f = 0; f < batch->n_fields; f++)
		return_if_error(lc__batch_shape(batch, f, &rows, 1, &forms[f], 0,
		    job->rule->views));
	return LC_OK;
}

static void
copy_row(struct lc__batch *batch, const struct lc__request *r,
    const lc_tensor *tensors)
{
	for (size_t f = 0; f < batch->n_fields; f++) {
		const size_t size = tensors[f].nbytes;

		if (size > 0)
			memcpy((unsigned char *)batch->fields[f].data +
			    r->row * size, tensors[f].data, size);
	}
}

static bool
all_alike(const lc_tensor *a, const lc_tensor *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!lc__tensor_same_type(&a[i], &b[i]))
			return false;
	return true;
}

static void
zero_rows(struct lc__batch *batch, size_t filled)
{
	for (size_t f = 0; f < batch->n_fields; f++) {
		lc_batch_field *field = &batch->fields[f];
		const size_t size = batch->rows > 0 ?
		    (size_t)field->nbytes / batch->rows : 0;

		if (field->data != NULL && size > 0 && filled < batch->rows)
			memset((unsigned char *)field->data + filled * size, 0,
			    (batch->rows - filled) * size);
		for (size_t row = filled; field->rows != NULL &&
		    row < batch->rows; row++)
			batch->rooms[f].rows[row] = NULL;
	}
}

/* Read and copy one record after another, while it is in the caches. job->tensors has
 * the first record's tensors, and behind them those of the one at hand. */
static lc_status
copy_even(struct lc__job *job, struct lc__batch *batch, size_t filled, bool *even)
{
	const size_t n = batch->n_fields;
	lc_id id;

	return_if_error(lc__job_need_tensors(job, 2 * n));
	for (size_t i = 0; i < job->requests.n; i++) {
		const struct lc__request *r = &job->requests.item[i];
		lc_tensor *tensors = job->tensors + (i > 0 ? n : 0);

		lc__fetch_ahead(job, i);
		return_if_error(lc__fetch_instead(job, r, NULL, tensors, &id));
		if (i == 0)
			return_if_error(shape_even(job, batch, tensors));
		*even = all_alike(job->tensors, tensors, n);
		if (!*even)
			return LC_OK;
		copy_row(batch, r, tensors);
		return_if_error(lc__batch_set_id(batch, r->row, id));
	}
	zero_rows(batch, filled);
	return LC_OK;
}

/* ---- records that differ, and views --------------------------------------------------- */

/* Read all: job->tensors has the fields of row after row. What is read stays in place
 * until the cursors end. */
static lc_status
read_rows(struct lc__job *job, struct lc__batch *batch, size_t filled)
{
	const size_t n = batch->n_fields;
	lc_id id;

	return_if_error(lc__job_need_tensors(job, filled * n));
	for (size_t i = 0; i < job->requests.n; i++) {
		const struct lc__request *r = &job->requests.item[i];

		lc__fetch_ahead(job, i);
		return_if_error(lc__fetch_record(job, r, NULL,
		    job->tensors + r->row * n, &id));
		return_if_error(lc__batch_set_id(batch, r->row, id));
	}
	return LC_OK;
}

/* May they be one behind the other? */
static bool
can_join(const lc_tensor *a, const lc_tensor *b)
{
	return a->dtype == b->dtype && a->ndim == b->ndim && a->ndim > 0 &&
	    memcmp(a->shape + 1, b->shape + 1,
	    (a->ndim - 1) * sizeof(*a->shape)) == 0;
}

/* Whether all rows have the same shape of a field. LC_SCHEMA if they do not even differ
 * in the first axis only. */
static lc_status
compare_rows(const struct lc__job *job, const struct lc__batch *batch, size_t f,
    size_t filled, bool *even)
{
	const size_t n = batch->n_fields;
	const lc_tensor *first = &job->tensors[f];

	*even = true;
	for (size_t row = 1; row < filled; row++) {
		const lc_tensor *tensor = &job->tensors[row * n + f];
		const lc_id *id = &batch->ids[row];

		if (lc__tensor_same_type(first, tensor))
			continue;
		*even = false;
		if (!can_join(first, tensor))
			return lc__fetch_differs(job, batch->sources[row],
			    (lc_id){ batch->id_bytes.data + (uintptr_t)id->data,
			    id->size }, f, tensor, first);
	}
	return LC_OK;
}

static lc_status
shape_ragged(const struct lc__job *job, struct lc__batch *batch, size_t f,
    size_t filled)
{
	const size_t n = batch->n_fields;
	uint64_t sum = 0, *offsets;

	return_if_error(lc__batch_offsets(batch, f));
	offsets = batch->rooms[f].offsets;
	for (size_t row = 0; row < batch->rows; row++) {
		offsets[row] = sum;
		if (row < filled)
			sum += job->tensors[row * n + f].shape[0];
	}
	offsets[batch->rows] = sum;
	return_if_error(lc__batch_shape(batch, f, &sum, 1, &job->tensors[f], 1,
	    job->rule->views));
	batch->fields[f].offsets = offsets;
	return LC_OK;
}

/* Rows one behind the other: of even ones, all are as long. */
static void
place_rows(const struct lc__job *job, struct lc__batch *batch, size_t f,
    size_t filled)
{
	unsigned char *at = batch->fields[f].data;

	for (size_t row = 0; row < filled; row++) {
		const lc_tensor *t = &job->tensors[row * batch->n_fields + f];

		if (job->rule->views) {
			batch->rooms[f].rows[row] = t->data;
		} else if (t->nbytes > 0) {
			memcpy(at, t->data, t->nbytes);
			at += t->nbytes;
		}
	}
}

/* Of ragged fields padding takes nothing. */
static void
zero_field(const struct lc__job *job, struct lc__batch *batch, size_t f,
    size_t filled)
{
	const size_t size = job->tensors[f].nbytes;

	for (size_t row = filled; job->rule->views && row < batch->rows; row++)
		batch->rooms[f].rows[row] = NULL;
	if (!job->rule->views && batch->fields[f].offsets == NULL && size > 0)
		memset((unsigned char *)batch->fields[f].data + filled * size, 0,
		    (batch->rows - filled) * size);
}

static lc_status
copy_uneven(struct lc__job *job, struct lc__batch *batch, size_t filled)
{
	const uint64_t rows = batch->rows;
	bool even;

	return_if_error(read_rows(job, batch, filled));
	for (size_t f = 0; f < batch->n_fields; f++) {
		return_if_error(compare_rows(job, batch, f, filled, &even));
		return_if_error(even ?
		    lc__batch_shape(batch, f, &rows, 1, &job->tensors[f], 0,
		    job->rule->views) :
		    shape_ragged(job, batch, f, filled));
		place_rows(job, batch, f, filled);
		zero_field(job, batch, f, filled);
	}
	return LC_OK;
}

static lc_status
fetch_records(struct lc__job *job, struct lc__batch *batch, size_t filled)
{
	const uint64_t stored = job->counts.stored_bytes;
	bool even = true;

	if (!job->rule->views && !job->uneven)
		return_if_error(copy_even(job, batch, filled, &even));
	if (!even) {
		job->uneven = true;
		job->counts.stored_bytes = stored;
		batch->id_bytes.size = 0;
	}
	return job->rule->views || job->uneven ?
	    copy_uneven(job, batch, filled) : LC_OK;
}

/* ---- all of it -------------------------------------------------------------------------- */

static void
count_bytes(struct lc__job *job, const struct lc__batch *batch)
{
	for (size_t f = 0; f < batch->n_fields; f++)
		job->counts.bytes += batch->fields[f].nbytes;
}

lc_status
lc__fetch(struct lc__job *job, struct lc__batch *batch, size_t filled)
{
	return_if_error(lc__fetch_ask(job));
	return_if_error(job->rule->window > 0 ?
	    lc__fetch_windows(job, batch, filled) :
	    fetch_records(job, batch, filled));
	count_bytes(job, batch);
	return LC_OK;
}

lc_status
lc__fetch_shapes(struct lc__job *job, const struct lc__request *record,
    struct lc__batch *batch)
{
	lc_id id;

	return_if_error(lc__job_need_tensors(job, batch->n_fields));
	return_if_error(lc__fetch_record(job, record, NULL, job->tensors, &id));
	job->counts.stored_bytes = 0;
	if (job->rule->window == 0)
		return_if_error(shape_even(job, batch, job->tensors));
	for (size_t f = 0; job->rule->window > 0 && f < batch->n_fields; f++)
		return_if_error(lc__fetch_window_shape(job, batch, f,
		    &job->tensors[f]));
	if (batch->documents != NULL && batch->rows > 0) {
		const size_t words = batch->rows * batch->window;

		memset(batch->documents, 0xff, words * sizeof(uint32_t));
		memset(batch->positions, 0, words * sizeof(uint32_t));
	}
	zero_rows(batch, 0);
	count_bytes(job, batch);
	return LC_OK;
}
