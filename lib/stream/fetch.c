/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a batch: records, or windows of records, into the rows of its fields. */
#include "stream/job.h"

#include <string.h>

#include "base/array.h"
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

/* The destination row of a record. */
struct even_row {
	struct lc__copier copier;
	struct lc__job *job;
	struct lc__batch *batch;
	size_t row;
	bool first; /* the form of the batch follows from its tensors */
	bool even;  /* its dtypes and shapes equal those of the first one */
};

static lc_status
place_row(struct lc__copier *copier, const lc_tensor *tensors)
{
	struct even_row *r = (struct even_row *)copier;
	const size_t n = r->batch->n_fields;

	if (r->first)
		return_if_error(shape_even(r->job, r->batch, tensors));
	r->even = all_alike(r->job->tensors, tensors, n);
	copier->all = 0;
	for (size_t f = 0; f < n; f++) {
		copier->all += r->batch->rows * tensors[f].nbytes;
		copier->to[f] = r->even && tensors[f].nbytes > 0
		    ? (unsigned char *)r->batch->fields[f].data +
			r->row * tensors[f].nbytes
		    : NULL;
	}
	return LC_OK;
}

/* Read one record after another, and copy each while it is verified. job->tensors has the
 * tensors of the first record, followed by those of the present one. Stops with *even
 * false at a record of another shape. */
static lc_status
copy_even(struct lc__job *job, struct lc__batch *batch, size_t filled, bool *even)
{
	const size_t n = batch->n_fields;
	struct even_row row = { .copier.place = place_row, .job = job, .batch = batch };
	lc_id id;

	return_if_error(lc__job_need_tensors(job, 2 * n));
	return_if_error(lc__array_reserve(&job->places, &job->place_room, n, "read"));
	row.copier.to = job->places;
	for (size_t i = 0; i < job->requests.n; i++) {
		const struct lc__request *r = &job->requests.item[i];

		row.row = r->row;
		row.first = i == 0;
		lc__prefetch_lines(job, i);
		return_if_error(lc__job_copy_next(job, r, &row.copier,
		    job->tensors + (i > 0 ? n : 0), &id));
		*even = row.even;
		if (!*even)
			return LC_OK;
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

/* The request of a row, if a row is one record. */
static const struct lc__request *
request_of(const struct lc__job *job, size_t row)
{
	const struct lc__request *r = job->requests.item;

	while (r->row != row)
		r++;
	return r;
}

/* Do all rows have the same shape of a field? LC_SCHEMA if they differ in more than the
 * first axis: such rows cannot be concatenated. */
static lc_status
compare_rows(const struct lc__job *job, const struct lc__batch *batch, size_t f,
    size_t filled, bool *even)
{
	const size_t n = batch->n_fields;
	const lc_tensor *a = &job->tensors[f];

	*even = true;
	for (size_t row = 1; row < filled; row++) {
		const lc_tensor *b = &job->tensors[row * n + f];
		const lc_id *id = &batch->ids[row];

		if (lc__tensor_same_type(a, b))
			continue;
		*even = false;
		if (a->dtype != b->dtype || a->ndim != b->ndim || a->ndim == 0 ||
		    memcmp(a->shape + 1, b->shape + 1,
			(a->ndim - 1) * sizeof(*a->shape)) != 0)
			return lc__job_differs(job, request_of(job, row),
			    (lc_id){ batch->id_bytes.data + (uintptr_t)id->data,
				id->size },
			    f, b, a);
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

/* Rows are adjacent; those of even fields have one length. Padding of a ragged field
 * takes no bytes. */
static void
copy_field(const struct lc__job *job, struct lc__batch *batch, size_t f, size_t filled)
{
	const lc_batch_field *field = &batch->fields[f];
	const size_t size = job->tensors[f].nbytes;
	unsigned char *at = field->data;

	if (job->rule->views) {
		const void **rows = batch->rooms[f].rows;

		for (size_t row = 0; row < batch->rows; row++)
			rows[row] = row < filled
			    ? job->tensors[row * batch->n_fields + f].data
			    : NULL;
		return;
	}
	for (size_t row = 0; row < filled; row++) {
		const lc_tensor *t = &job->tensors[row * batch->n_fields + f];

		if (t->nbytes == 0)
			continue;
		memcpy(at, t->data, t->nbytes);
		at += t->nbytes;
	}
	if (field->offsets == NULL && size > 0)
		memset(at, 0, (batch->rows - filled) * size);
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

/* ---- windows: each row consists of parts of consecutive records ------------------ */

/* Is a unit one row on the first axis? If not it is the whole record, or the only element
 * of a scalar. */
static bool
is_cut(const struct lc__job *job, const lc_tensor *tensor)
{
	return job->rule->has_lengths && tensor->ndim > 0;
}

/* The size of a unit; the tensor has at least one. */
static size_t
unit_bytes(const struct lc__job *job, const lc_tensor *tensor)
{
	return is_cut(job, tensor) ? tensor->nbytes / (size_t)tensor->shape[0]
				   : tensor->nbytes;
}

/* Set dtype and shape of all fields from the tensors of the first record. */
static lc_status
shape_windows(const struct lc__job *job, struct lc__batch *batch)
{
	const uint64_t first[] = { job->rule->rows, job->rule->window };

	for (size_t f = 0; f < batch->n_fields; f++) {
		const lc_tensor *form = &job->tensors[f];

		return_if_error(
		    lc__batch_shape(batch, f, first, 2, form, is_cut(job, form), false));
	}
	return LC_OK;
}

/* The record must have as many units as its source counts, and units of the dtype and shape
 * of @p forms. */
static lc_status
check_record(const struct lc__job *job, const struct lc__request *r, lc_id id,
    const lc_tensor *forms, const lc_tensor *tensors, size_t n)
{
	const uint64_t units = lc__cursor_units(job->cursors[r->source], r->record);
	char text[LC__TENSOR_TEXT];

	for (size_t f = 0; f < n; f++) {
		const lc_tensor *a = &forms[f], *b = &tensors[f];
		const uint32_t skip_a = is_cut(job, a), skip_b = is_cut(job, b);
		const uint32_t ndim = a->ndim - skip_a;

		if ((is_cut(job, b) ? b->shape[0] : 1) != units)
			return lc__error(LC_SCHEMA, 0,
			    "%s: key %s: field '%s' is %s, and the record's length is %llu",
			    lc__source_name(lc__cursor_member(job->cursors[r->source])),
			    lc__quote_id(id.data, id.size), job->rule->names[f],
			    lc__tensor_describe(b, text, sizeof(text)),
			    (unsigned long long)units);
		if (a->dtype != b->dtype || ndim != b->ndim - skip_b ||
		    memcmp(a->shape + skip_a, b->shape + skip_b,
			ndim * sizeof(*a->shape)) != 0)
			return lc__job_differs(job, r, id, f, b, a);
	}
	return LC_OK;
}

/* Read the record of a request, or more of it if the previous request was for the same
 * one. job->tensors has the tensors of the first record, followed by those of the present
 * one. */
static lc_status
read_next(struct lc__job *job, size_t i, size_t n, lc_id *id)
{
	const struct lc__request *r = &job->requests.item[i];
	lc_tensor *tensors = job->tensors + n;
	struct lc__row_span room;
	const struct lc__row_span *rows = lc__job_rows(job, i, &room);

	lc__prefetch_lines(job, i);
	if (rows == NULL && i > 0 && lc__requests_same(r, r - 1))
		return LC_OK;
	if (rows != NULL && rows->done > 0)
		return lc__job_read_record(job, r, rows, tensors, id);
	return_if_error(lc__job_read_next(job, r, rows, tensors, id));
	if (i == 0 && n > 0)
		memcpy(job->tensors, tensors, n * sizeof(*tensors));
	return check_record(job, r, *id, job->tensors, tensors, n);
}

/* This many words at a time: the compiler uses vectors for them. */
#define WORDS 16

static void
count_up(uint32_t *words, uint64_t n, uint32_t from)
{
	for (; n >= WORDS; n -= WORDS, words += WORDS, from += WORDS)
		for (uint32_t i = 0; i < WORDS; i++)
			words[i] = from + i;
	for (uint32_t i = 0; i < n; i++)
		words[i] = from + i;
}

static void
fill(uint32_t *words, uint64_t n, uint32_t word)
{
	for (; n >= WORDS; n -= WORDS, words += WORDS)
		for (uint32_t i = 0; i < WORDS; i++)
			words[i] = word;
	for (uint32_t i = 0; i < n; i++)
		words[i] = word;
}

static lc_status
copy_windows(struct lc__job *job, struct lc__batch *batch)
{
	const size_t n = batch->n_fields;
	const lc_tensor *tensors;
	lc_id id = { NULL, 0 };

	return_if_error(lc__job_need_tensors(job, 2 * n));
	tensors = job->tensors + n;
	for (size_t i = 0; i < job->requests.n; i++) {
		const struct lc__request *r = &job->requests.item[i];
		const uint64_t at = r->row * job->rule->window + r->at;

		return_if_error(read_next(job, i, n, &id));
		if (i == 0)
			return_if_error(shape_windows(job, batch));
		for (size_t f = 0; f < n; f++) {
			const size_t unit = unit_bytes(job, &tensors[f]);

			if (unit > 0)
				memcpy((unsigned char *)batch->fields[f].data + at * unit,
				    (const unsigned char *)tensors[f].data +
					r->from * unit,
				    (size_t)r->units * unit);
		}
		/* Store the number of units of a document at its first word, for
		 * number_documents(). It fits: a window has fewer than 2^32 units. */
		if (batch->documents != NULL) {
			batch->documents[at] = (uint32_t)r->units;
			count_up(batch->positions + at, r->units, (uint32_t)r->from);
		}
		if (r->at == 0)
			return_if_error(lc__batch_set_id(batch, r->row, id));
	}
	return LC_OK;
}

/* copy_windows() stored the number of units of each document at its first word: number
 * the documents, and turn the rest of the row into padding. */
static void
number_documents(struct lc__batch *batch, size_t row, uint64_t length)
{
	uint32_t *documents = batch->documents + row * batch->window;
	uint32_t *positions = batch->positions + row * batch->window;
	uint32_t number = 0;

	for (uint64_t at = 0, units; at < length; at += units) {
		units = documents[at];
		fill(documents + at, units, number++);
	}
	fill(documents + length, batch->window - length, UINT32_MAX);
	fill(positions + length, batch->window - length, 0);
}

static lc_status
fetch_windows(struct lc__job *job, struct lc__batch *batch, size_t filled)
{
	const uint64_t window = job->rule->window;

	return_if_error(copy_windows(job, batch));
	for (size_t row = 0; row < batch->rows; row++) {
		const uint64_t length = row < filled ? batch->lengths[row] : 0;

		for (size_t f = 0; length < window && f < batch->n_fields; f++) {
			const size_t unit = unit_bytes(job, &job->tensors[f]);
			unsigned char *data = batch->fields[f].data;

			if (unit > 0)
				memset(data + (row * window + length) * unit, 0,
				    (size_t)(window - length) * unit);
		}
		if (batch->documents != NULL)
			number_documents(batch, row, length);
	}
	return LC_OK;
}

/* ---- the batch ------------------------------------------------------------------------ */

/* The first batch that any thread reads defines the fields of all: those of the first
 * record of its first example. All readers of a stream use the same one, so that all have
 * the same fields. */
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

/* All rows are padding, with the shapes that the batch's first example gives to other
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
	return_if_error(
	    windows ? shape_windows(job, batch) : shape_even(job, batch, job->tensors));
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
		return_if_error(rule->window > 0 ? fetch_windows(job, batch, *filled)
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
