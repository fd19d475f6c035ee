/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread needs to read batches, and which records a batch needs. */
#include "stream/job.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "stream/source.h"
#include "value/tensor.h"

/* ---- making and freeing ---------------------------------------------------------- */

lc_status
lc__job_new(struct lc__reader_rule *rule, struct lc__job **out)
{
	const uint32_t n = rule->stream->n;
	struct lc__job *job = calloc(1, sizeof(*job));

	if (job == NULL)
		return lc__no_memory("reader");
	job->rule = rule;
	job->examples = calloc(n, sizeof(*job->examples));
	job->cursors = calloc(n, sizeof(struct lc__cursor *));
	job->begun = calloc(n, sizeof(*job->begun));
	job->positions = calloc(rule->rows + 1, sizeof(*job->positions));
	job->fractions = calloc(n, sizeof(*job->fractions));
	if (job->examples == NULL || job->cursors == NULL || job->begun == NULL ||
	    job->positions == NULL || job->fractions == NULL) {
		lc__job_free(job);
		return lc__no_memory("reader");
	}
	*out = job;
	return LC_OK;
}

static void
free_cursors(struct lc__job *job)
{
	for (uint32_t i = 0; i < job->rule->stream->n; i++) {
		lc__cursor_free(job->cursors[i]);
		job->cursors[i] = NULL;
	}
}

static void
end_examples(struct lc__job *job)
{
	for (uint32_t i = 0; i < job->rule->stream->n; i++)
		lc__sequence_cursor_end(&job->examples[i]);
}

void
lc__job_free(struct lc__job *job)
{
	if (job == NULL)
		return;
	if (job->cursors != NULL)
		free_cursors(job);
	if (job->examples != NULL)
		end_examples(job);
	lc__stream_state_drop(job->state);
	lc__requests_free(&job->rows);
	lc__requests_free(&job->pieces);
	lc__requests_free(&job->requests);
	free(job->extents.item);
	free(job->fractions);
	free(job->places);
	free(job->tensors);
	free(job->positions);
	free(job->begun);
	free(job->cursors);
	free(job->examples);
	free(job);
}

lc_status
lc__job_need_tensors(struct lc__job *job, size_t n)
{
	n += n == 0; /* a record without fields uses a slot too */
	return lc__array_reserve(&job->tensors, &job->tensor_room, n, "reader");
}

/* ---- the state and the cursors --------------------------------------------------------- */

/* The cursors count directories over their lifetime: their counts before the batch are
 * subtracted, and those after it are added. */
static void
count_directories(struct lc__job *job, bool before)
{
	for (uint32_t i = 0; i < job->state->n; i++) {
		uint64_t hits = 0, misses = 0;

		if (job->cursors[i] == NULL)
			continue;
		lc__cursor_counts(job->cursors[i], &hits, &misses);
		job->counts.directory_hits += before ? -hits : hits;
		job->counts.directory_misses += before ? -misses : misses;
	}
}

void
lc__job_begin(struct lc__job *job, struct lc__stream_state *state)
{
	if (job->state != state) {
		free_cursors(job);
		end_examples(job);
		lc__stream_state_drop(job->state);
		job->state = lc__stream_state_hold(state);
		for (uint32_t i = 0; i < state->n; i++)
			lc__sequence_cursor_init(&job->examples[i], state->sequences[i]);
	}
	memset(&job->counts, 0, sizeof(job->counts));
	count_directories(job, true);
}

lc_status
lc__job_end(struct lc__job *job, struct lc__batch *batch, lc_status status)
{
	const bool keep = status == LC_OK && job->rule->views;

	count_directories(job, false);
	for (uint32_t i = 0; i < job->state->n; i++) {
		if (!job->begun[i])
			continue;
		job->begun[i] = false;
		if (keep && status == LC_OK)
			status = lc__cursor_pin(job->cursors[i], &batch->pins[i]);
		else
			lc__cursor_end(job->cursors[i]);
	}
	return status;
}

lc_status
lc__job_cursor(struct lc__job *job, uint32_t source, struct lc__cursor **out)
{
	*out = job->cursors[source];
	if (job->begun[source])
		return LC_OK;
	if (*out == NULL) {
		return_if_error(lc__cursor_new(job->rule->stream->sources[source],
		    job->state->sequences[source]->layout, out));
		job->cursors[source] = *out;
	}
	return_if_error(lc__cursor_begin(*out));
	job->begun[source] = true;
	return LC_OK;
}

/* ---- from examples to records ---------------------------------------------------------- */

/* Add a row to the list, by the position of its first unit. */
static lc_status
add_row(struct lc__job *job, uint32_t source, size_t row)
{
	const struct lc__sequence_position *position = &job->positions[row];
	const bool flat = !lc__sequence_by_chunk(job->examples[source].sequence);
	struct lc__request *r = lc__requests_add(&job->rows);

	if (r == NULL)
		return lc__no_memory("reader");
	*r = (struct lc__request){
		.source = source,
		.row = (uint32_t)row,
		.position = flat ? 0 : position->place.chunk,
		.record = flat ? position->unit : position->place.offset,
	};
	return LC_OK;
}

static lc_status
add_example(struct lc__job *job, uint64_t example, size_t row, struct lc__batch *batch)
{
	struct lc__sequence_position *position = &job->positions[row];
	uint32_t source;
	uint64_t index;

	lc__stream_state_find(job->state, example, &source, &index);
	return_if_error(lc__sequence_seek(&job->examples[source], index, position));
	batch->mask[row] = 1;
	batch->examples[row] = example;
	batch->epochs[row] = position->epoch;
	/* For the caller all sizes of image are one source. */
	batch->sources[row] = job->state->series != NULL ? 0 : source;
	batch->lengths[row] = position->left;
	return add_row(job, source, row);
}

/* Add the pieces of a row to the list. */
static lc_status
add_pieces(struct lc__job *job, const struct lc__request *row, struct lc__requests *list)
{
	struct lc__sequence_position position = job->positions[row->row];
	uint64_t at = 0;

	while (position.left > 0) {
		struct lc__request *r = lc__requests_add(list);
		struct lc__piece piece;

		if (r == NULL)
			return lc__no_memory("reader");
		return_if_error(
		    lc__sequence_next(&job->examples[row->source], &position, &piece));
		*r = (struct lc__request){
			.source = row->source,
			.row = row->row,
			.position = piece.position,
			.record = piece.first,
			.units = piece.units,
			.at = at,
		};
		at += piece.units;
	}
	return LC_OK;
}

/* The records of which a piece of a window consists. */
static lc_status
add_records(struct lc__job *job, const struct lc__request *piece)
{
	struct lc__cursor *cursor;
	uint64_t record, before, from, left = piece->units;

	return_if_error(lc__job_cursor(job, piece->source, &cursor));
	return_if_error(lc__cursor_go(cursor, piece->position));
	return_if_error(lc__cursor_find(cursor, piece->record, &record, &before));
	for (from = piece->record - before; left > 0; record++, from = 0) {
		const uint64_t here = lc__cursor_units(cursor, record) - from;
		struct lc__request *r;

		if (here == 0)
			continue;
		r = lc__requests_add(&job->requests);
		if (r == NULL)
			return lc__no_memory("reader");
		*r = *piece;
		r->record = record;
		r->from = from;
		r->units = here < left ? here : left;
		r->at = piece->at + piece->units - left;
		left -= r->units;
	}
	return LC_OK;
}

/* Turn the listed rows into requests of records. Overlapping windows need the same
 * records, which sorting brings together. */
static lc_status
make_requests(struct lc__job *job)
{
	const bool windows = job->rule->window > 0;
	struct lc__requests *list = windows ? &job->pieces : &job->requests;

	return_if_error(lc__requests_sort(&job->rows));
	list->n = 0;
	for (size_t i = 0; i < job->rows.n; i++)
		return_if_error(add_pieces(job, &job->rows.item[i], list));
	return_if_error(lc__requests_sort(list));
	if (!windows)
		return LC_OK;
	job->requests.n = 0;
	for (size_t i = 0; i < job->pieces.n; i++)
		return_if_error(add_records(job, &job->pieces.item[i]));
	return lc__requests_sort(&job->requests);
}

/* Padding follows all examples, whatever the split. */
lc_status
lc__job_request(struct lc__job *job, const struct lc__job_batch *which,
    struct lc__batch *batch, size_t *filled)
{
	const struct lc__reader_rule *rule = job->rule;

	job->rows.n = 0;
	*filled = 0;
	for (size_t row = 0; row < rule->rows; row++) {
		const uint64_t example = which->first + lc__share_at(&rule->share, row);

		if (example < which->end) {
			return_if_error(add_example(job, example, row, batch));
			*filled = row + 1;
			continue;
		}
		batch->mask[row] = 0;
		batch->examples[row] = UINT64_MAX;
		batch->epochs[row] = 0;
		batch->sources[row] = 0;
		batch->lengths[row] = 0;
		batch->ids[row] = (lc_id){ NULL, 0 };
	}
	return make_requests(job);
}

lc_status
lc__job_request_example(struct lc__job *job, uint64_t example, struct lc__request *out)
{
	struct lc__request *r;
	uint32_t source;
	uint64_t index;

	lc__stream_state_find(job->state, example, &source, &index);
	return_if_error(
	    lc__sequence_seek(&job->examples[source], index, &job->positions[0]));
	job->rows.n = 0;
	return_if_error(add_row(job, source, 0));
	return_if_error(make_requests(job));
	r = job->requests.item;
	for (size_t i = 1; r->at != 0 && i < job->requests.n; i++)
		r = &job->requests.item[i];
	*out = *r;
	job->requests.n = 0;
	return LC_OK;
}

/* ---- reading the record of a request ----------------------------------------------------- */

const struct lc__row_span *
lc__job_rows(const struct lc__job *job, size_t i, struct lc__row_span *room)
{
	if (job->rule->window == 0 || !job->rule->has_lengths)
		return NULL;
	lc__requests_rows(&job->requests, i, room);
	return room;
}

static lc_status
read_record(struct lc__job *job, const struct lc__request *r,
    const struct lc__row_span *rows, struct lc__copier *copier, lc_tensor *tensors,
    lc_id *id)
{
	const struct lc__reader_rule *rule = job->rule;
	struct lc__read_fraction *fraction = &job->fractions[r->source];
	struct lc__cursor *cursor;
	uint64_t touched;

	return_if_error(lc__job_cursor(job, r->source, &cursor));
	return_if_error(lc__cursor_go(cursor, r->position));
	cursor = cursor->at;
	touched = lc__cursor_touched(cursor);
	return_if_error(cursor->kind->read(cursor, r->record,
	    (const char *const *)rule->names, rule->n_fields, rows, copier, tensors, id));
	touched = lc__cursor_touched(cursor) - touched;
	job->counts.stored_bytes += touched;
	fraction->touched += touched;
	if (rows == NULL || rows->done == 0)
		fraction->stored += lc__cursor_stored(cursor, r->record);
	return LC_OK;
}

lc_status
lc__job_read_record(struct lc__job *job, const struct lc__request *r,
    const struct lc__row_span *rows, lc_tensor *tensors, lc_id *id)
{
	return read_record(job, r, rows, NULL, tensors, id);
}

/* The previous record is no longer needed: the memory of its decoded tensors is
 * reused. */
static lc_status
forget_decoded(struct lc__job *job, const struct lc__request *r)
{
	struct lc__cursor *cursor;

	return_if_error(lc__job_cursor(job, r->source, &cursor));
	lc__cursor_forget(cursor);
	return LC_OK;
}

lc_status
lc__job_read_next(struct lc__job *job, const struct lc__request *r,
    const struct lc__row_span *rows, lc_tensor *tensors, lc_id *id)
{
	return_if_error(forget_decoded(job, r));
	return read_record(job, r, rows, NULL, tensors, id);
}

lc_status
lc__job_copy_next(struct lc__job *job, const struct lc__request *r,
    struct lc__copier *copier, lc_tensor *tensors, lc_id *id)
{
	return_if_error(forget_decoded(job, r));
	return read_record(job, r, NULL, copier, tensors, id);
}

lc_status
lc__job_differs(const struct lc__job *job, const struct lc__request *r, lc_id id,
    size_t field, const lc_tensor *tensor, const lc_tensor *others)
{
	struct lc__cursor *cursor = job->cursors[r->source];
	char is[LC__TENSOR_TEXT], are[LC__TENSOR_TEXT];

	return_if_error(lc__cursor_go(cursor, r->position));
	return lc__error(LC_SCHEMA, 0,
	    "%s: key %s: field '%s' is %s, and %s in other records of the batch",
	    lc__source_name(lc__cursor_member(cursor)), lc__quote_id(id.data, id.size),
	    job->rule->names[field], lc__tensor_describe(tensor, is, sizeof(is)),
	    lc__tensor_describe(others, are, sizeof(are)));
}
