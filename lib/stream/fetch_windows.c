/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a batch of windows: each row is made of parts of records that follow each other. */
#include <string.h>

#include "base/error.h"
#include "stream/job.h"
#include "stream/source.h"
#include "value/tensor.h"

/* Is a unit one row on the first axis? Otherwise it is the whole record, or the only element
 * of a scalar. */
static bool
is_cut(const struct lc__job *job, const lc_tensor *tensor)
{
	return job->rule->has_lengths && tensor->ndim > 0;
}

/* Bytes of a unit; the tensor has at least one. */
static size_t
unit_bytes(const struct lc__job *job, const lc_tensor *tensor)
{
	return is_cut(job, tensor) ? tensor->nbytes / (size_t)tensor->shape[0]
				   : tensor->nbytes;
}

lc_status
lc__fetch_window_shape(const struct lc__job *job, struct lc__batch *batch, size_t field,
    const lc_tensor *form)
{
	const uint64_t first[] = { job->rule->rows, job->rule->window };

	return lc__batch_shape(batch, field, first, 2, form, is_cut(job, form), false);
}

/* ---- what a record has to be ----------------------------------------------------------- */

static lc_status
check_length(const struct lc__job *job, const struct lc__request *r, lc_id id, size_t f,
    const lc_tensor *tensor)
{
	const uint64_t length = is_cut(job, tensor) ? tensor->shape[0] : 1;
	const uint64_t units = lc__cursor_units(job->cursors[r->source], r->record);
	char text[LC__TENSOR_TEXT];

	if (length == units)
		return LC_OK;
	return lc__error(LC_SCHEMA, 0,
	    "%s: key %s: field '%s' is %s, and the record's length is %llu",
	    lc__source_name(job->rule->stream->sources[r->source]),
	    lc__quote_id(id.data, id.size), job->rule->names[f],
	    lc__tensor_describe(tensor, text, sizeof(text)), (unsigned long long)units);
}

/* Have the units of two records the same dtype and shape? */
static bool
same_units(const struct lc__job *job, const lc_tensor *a, const lc_tensor *b)
{
	const uint32_t skip_a = is_cut(job, a), skip_b = is_cut(job, b);
	const uint32_t ndim = a->ndim - skip_a;

	return a->dtype == b->dtype && ndim == b->ndim - skip_b &&
	    memcmp(a->shape + skip_a, b->shape + skip_b, ndim * sizeof(*a->shape)) == 0;
}

static lc_status
check_record(const struct lc__job *job, const struct lc__request *r, lc_id id,
    const lc_tensor *forms, const lc_tensor *tensors, size_t n)
{
	for (size_t f = 0; f < n; f++) {
		return_if_error(check_length(job, r, id, f, &tensors[f]));
		if (!same_units(job, &forms[f], &tensors[f]))
			return lc__job_differs(job, r->source, id, f, &tensors[f],
			    &forms[f]);
	}
	return LC_OK;
}

/* ---- copying ------------------------------------------------------------------------------ */

static void
copy_units(const struct lc__job *job, struct lc__batch *batch,
    const struct lc__request *r, const lc_tensor *tensors)
{
	for (size_t f = 0; f < batch->n_fields; f++) {
		const size_t unit = unit_bytes(job, &tensors[f]);
		unsigned char *to = batch->fields[f].data;

		if (unit == 0)
			continue;
		to += (r->row * job->rule->window + r->at) * unit;
		memcpy(to, (const unsigned char *)tensors[f].data + r->from * unit,
		    (size_t)r->units * unit);
	}
}

/* So many words at a time: the compiler makes vectors of them. */
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

/* Note the units of a document at its first word. They fit: a window has fewer than 2^32.
 * number_documents() replaces them when all are there. */
static void
note_positions(struct lc__batch *batch, const struct lc__request *r)
{
	const uint64_t at = r->row * batch->window + r->at;

	batch->documents[at] = (uint32_t)r->units;
	count_up(batch->positions + at, r->units, (uint32_t)r->from);
}

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

static void
zero_rest(const struct lc__job *job, struct lc__batch *batch, size_t row, uint64_t length)
{
	const uint64_t window = job->rule->window;

	for (size_t f = 0; f < batch->n_fields; f++) {
		const size_t unit = unit_bytes(job, &job->tensors[f]);
		unsigned char *data = batch->fields[f].data;

		if (length < window && unit > 0)
			memset(data + (row * window + length) * unit, 0,
			    (size_t)(window - length) * unit);
	}
}

/* ---- all of them ----------------------------------------------------------------------------- */

static lc_status
shape(struct lc__job *job, struct lc__batch *batch)
{
	for (size_t f = 0; f < batch->n_fields; f++)
		return_if_error(lc__fetch_window_shape(job, batch, f, &job->tensors[f]));
	return LC_OK;
}

/* Read the record of a request, or more of it if the request before was for the same one.
 * job->tensors has the tensors of the first record, and after them those of the one at
 * hand. */
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

static lc_status
copy_windows(struct lc__job *job, struct lc__batch *batch)
{
	const size_t n = batch->n_fields;
	lc_id id = { NULL, 0 };

	return_if_error(lc__job_need_tensors(job, 2 * n));
	for (size_t i = 0; i < job->requests.n; i++) {
		const struct lc__request *r = &job->requests.item[i];

		return_if_error(read_next(job, i, n, &id));
		if (i == 0)
			return_if_error(shape(job, batch));
		copy_units(job, batch, r, job->tensors + n);
		if (batch->documents != NULL)
			note_positions(batch, r);
		if (r->at == 0)
			return_if_error(lc__batch_set_id(batch, r->row, id));
	}
	return LC_OK;
}

lc_status
lc__fetch_windows(struct lc__job *job, struct lc__batch *batch, size_t filled)
{
	return_if_error(copy_windows(job, batch));
	for (size_t row = 0; row < batch->rows; row++) {
		const uint64_t length = row < filled ? batch->lengths[row] : 0;

		zero_rest(job, batch, row, length);
		if (batch->documents != NULL)
			number_documents(batch, row, length);
	}
	return LC_OK;
}
