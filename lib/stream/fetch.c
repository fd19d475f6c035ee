/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a batch: records into the rows of its fields. */
#include "stream/job.h"

#include <string.h>

#include "base/error.h"
#include "stream/source.h"
#include "value/tensor.h"

/* ---- records of one shape --------------------------------------------------------- */

static lc_status
shape_even(const struct lc__job *job, struct lc__batch *batch, const lc_tensor *forms)
{
	const uint64_t rows = job->rule->rows;

	for (size_t f = 0; f < batch->n_fields; f++)
		return_if_error(
		    lc__batch_shape(batch, f, &rows, 1, &forms[f], 0, job->rule->views));
	return LC_OK;
}

static void
copy_row(struct lc__batch *batch, const struct lc__request *r, const lc_tensor *tensors)
{
	for (size_t f = 0; f < batch->n_fields; f++) {
		const size_t size = tensors[f].nbytes;

		if (size > 0)
			memcpy((unsigned char *)batch->fields[f].data + r->row * size,
			    tensors[f].data, size);
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
pad_rows(struct lc__batch *batch, size_t filled)
{
	for (size_t f = 0; f < batch->n_fields; f++) {
		lc_batch_field *field = &batch->fields[f];
		const size_t size = batch->rows > 0 ? (size_t)field->nbytes / batch->rows
						    : 0;

		if (field->data != NULL && size > 0 && filled < batch->rows)
			memset((unsigned char *)field->data + filled * size, 0,
			    (batch->rows - filled) * size);
		for (size_t row = filled; field->rows != NULL && row < batch->rows; row++)
			batch->rooms[f].rows[row] = NULL;
	}
}

/* Read one record after another, and copy each while it is in the processor's caches.
 * job->tensors has the tensors of the first record, and after them those of the one at hand.
 * Stops with *even false at a record of another shape. */
static lc_status
copy_even(struct lc__job *job, struct lc__batch *batch, size_t filled, bool *even)
{
	const size_t n = batch->n_fields;
	lc_id id;

	return_if_error(lc__job_need_tensors(job, 2 * n));
	for (size_t i = 0; i < job->requests.n; i++) {
		const struct lc__request *r = &job->requests.item[i];
		lc_tensor *tensors = job->tensors + (i > 0 ? n : 0);

		lc__prefetch_lines(job, i);
		return_if_error(lc__job_read_next(job, r, NULL, tensors, &id));
		if (i == 0)
			return_if_error(shape_even(job, batch, tensors));
		*even = all_alike(job->tensors, tensors, n);
		if (!*even)
			return LC_OK;
		copy_row(batch, r, tensors);
		return_if_error(lc__batch_set_id(batch, r->row, id));
	}
	pad_rows(batch, filled);
	return LC_OK;
}

/* ---- records of several shapes, and views ------------------------------------------------ */

/* Read all records before any is copied: job->tensors gets the fields of one row after
 * another. They stay in place until the cursors end. */
static lc_status
read_rows(struct lc__job *job, struct lc__batch *batch, size_t filled)
{
	const size_t n = batch->n_fields;
	lc_id id;

	return_if_error(lc__job_need_tensors(job, filled * n));
	for (size_t i = 0; i < job->requests.n; i++) {
		const struct lc__request *r = &job->requests.item[i];

		lc__prefetch_lines(job, i);
		return_if_error(
		    lc__job_read_record(job, r, NULL, job->tensors + r->row * n, &id));
		return_if_error(lc__batch_set_id(batch, r->row, id));
	}
	return LC_OK;
}

/* Do they differ in the first axis only, so that they can follow each other? */
static bool
can_join(const lc_tensor *a, const lc_tensor *b)
{
	return a->dtype == b->dtype && a->ndim == b->ndim && a->ndim > 0 &&
	    memcmp(a->shape + 1, b->shape + 1, (a->ndim - 1) * sizeof(*a->shape)) == 0;
}

/* Have all rows the same shape of a field? LC_SCHEMA if they differ in more than the first
 * axis. */
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
			return lc__job_differs(job, batch->sources[row],
			    (lc_id){ batch->id_bytes.data + (uintptr_t)id->data,
				id->size },
			    f, tensor, first);
	}
	return LC_OK;
}

static lc_status
shape_ragged(const struct lc__job *job, struct lc__batch *batch, size_t f, size_t filled)
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
	return_if_error(
	    lc__batch_shape(batch, f, &sum, 1, &job->tensors[f], 1, job->rule->views));
	batch->fields[f].offsets = offsets;
	return LC_OK;
}

/* Rows follow each other; those of even fields are all of one length. */
static void
copy_field(const struct lc__job *job, struct lc__batch *batch, size_t f, size_t filled)
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

/* In a ragged field padding takes no bytes. */
static void
pad_field(const struct lc__job *job, struct lc__batch *batch, size_t f, size_t filled)
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
		return_if_error(even ? lc__batch_shape(batch, f, &rows, 1,
					   &job->tensors[f], 0, job->rule->views)
				     : shape_ragged(job, batch, f, filled));
		copy_field(job, batch, f, filled);
		pad_field(job, batch, f, filled);
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
	return job->rule->views || job->uneven ? copy_uneven(job, batch, filled) : LC_OK;
}

/* ---- the batch ------------------------------------------------------------------------ */

/* The first batch that any thread reads names the fields of all: those of the first record
 * of its first example. All readers of a stream look at the same one, so that all have the
 * same fields. */
static lc_status
name_fields(struct lc__job *job, const struct lc__job_batch *which)
{
	struct lc__request first;
	struct lc__cursor *cursor;
	char **names;
	size_t n;

	return_if_error(lc__job_request_example(job, which->first, &first));
	return_if_error(lc__job_cursor(job, first.source, &cursor));
	return_if_error(lc__cursor_go(cursor, first.position));
	return_if_error(lc__cursor_fields(cursor, first.record, &names, &n));
	lc__reader_rule_name(job->rule, names, n);
	return LC_OK;
}

/* All rows are padding, of the shapes that the batch's first example gives other
 * readers. */
static lc_status
fetch_padding(struct lc__job *job, const struct lc__job_batch *which,
    struct lc__batch *batch)
{
	const bool windows = job->rule->window > 0;
	struct lc__request first;
	lc_id id;

	return_if_error(lc__job_request_example(job, which->first, &first));
	return_if_error(lc__job_need_tensors(job, batch->n_fields));
	return_if_error(lc__job_read_record(job, &first, NULL, job->tensors, &id));
	job->counts.stored_bytes = 0;
	if (!windows)
		return_if_error(shape_even(job, batch, job->tensors));
	for (size_t f = 0; windows && f < batch->n_fields; f++)
		return_if_error(lc__fetch_window_shape(job, batch, f, &job->tensors[f]));
	if (batch->documents != NULL && batch->rows > 0) {
		const size_t words = batch->rows * batch->window;

		memset(batch->documents, 0xff, words * sizeof(uint32_t));
		memset(batch->positions, 0, words * sizeof(uint32_t));
	}
	pad_rows(batch, 0);
	return LC_OK;
}

static lc_status
fetch_share(struct lc__job *job, const struct lc__job_batch *which,
    struct lc__batch *batch, size_t *filled)
{
	struct lc__reader_rule *rule = job->rule;

	if (!lc__reader_rule_named(rule))
		return_if_error(name_fields(job, which));
	return_if_error(lc__batch_set_fields(batch, (const char *const *)rule->names,
	    rule->n_fields));
	return_if_error(lc__job_request(job, which, batch, filled));
	if (*filled == 0) {
		return_if_error(fetch_padding(job, which, batch));
	} else {
		return_if_error(lc__prefetch(job));
		return_if_error(rule->window > 0 ? lc__fetch_windows(job, batch, *filled)
						 : fetch_records(job, batch, *filled));
	}
	for (size_t f = 0; f < batch->n_fields; f++)
		job->counts.bytes += batch->fields[f].nbytes;
	return LC_OK;
}

lc_status
lc__fetch_batch(struct lc__job *job, struct lc__stream_state *state,
    const struct lc__job_batch *which, struct lc__batch *batch)
{
	size_t filled = 0;
	lc_status status;

	lc__job_begin(job, state);
	status = fetch_share(job, which, batch, &filled);
	return_if_error(lc__job_end(job, batch, status));
	job->counts.examples = filled;
	lc__batch_end_ids(batch, filled);
	batch->seen = (lc_batch){
		.number = which->number,
		.first = which->first,
		.rows = job->rule->rows,
		.filled = filled,
		.mask = batch->mask,
		.examples = batch->examples,
		.epochs = batch->epochs,
		.sources = batch->sources,
		.lengths = batch->lengths,
		.ids = batch->ids,
		.documents = batch->documents,
		.positions = batch->positions,
		.n_fields = batch->n_fields,
		.fields = batch->fields,
		.lc_private = batch,
	};
	return LC_OK;
}
