/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/job.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

/* ---- making and freeing ---------------------------------------------------------- */

static lc_status
make(struct lc__job *job)
{
	const uint32_t n = job->rule->stream->n;

	job->walks = calloc(n, sizeof(*job->walks));
	job->cursors = calloc(n, sizeof(struct lc__cursor *));
	job->begun = calloc(n, sizeof(*job->begun));
	job->spots = calloc(job->rule->rows + 1, sizeof(*job->spots));
	job->portions = calloc(n, sizeof(*job->portions));
	return job->walks != NULL && job->cursors != NULL && job->begun != NULL &&
	    job->spots != NULL && job->portions != NULL ? LC_OK : lc__no_memory("reader");
}

lc_status
lc__job_new(struct lc__reader_rule *rule, struct lc__job **out)
{
	struct lc__job *job = calloc(1, sizeof(*job));
	lc_status status;

	if (job == NULL)
		return lc__no_memory("reader");
	job->rule = rule;
	status = make(job);
	if (status == LC_OK)
		*out = job;
	else
		lc__job_free(job);
	return status;
}

static void
free_cursors(struct lc__job *job)
{
	for (uint32_t i = 0; i < job->rule->stream->n; i++) {
		lc__cursor_free(job->cursors[i]);
		job->cursors[i] = NULL;
	}
}

void
lc__job_free(struct lc__job *job)
{
	if (job == NULL)
		return;
	if (job->cursors != NULL)
		free_cursors(job);
	lc__standing_drop(job->standing);
	lc__requests_free(&job->wants);
	lc__requests_free(&job->parts);
	lc__requests_free(&job->requests);
	free(job->extents.item);
	free(job->portions);
	free(job->tensors);
	free(job->spots);
	free(job->begun);
	free(job->cursors);
	free(job->walks);
	free(job);
}

lc_status
lc__job_need_tensors(struct lc__job *job, size_t n)
{
	n += n == 0; /* a record without fields has a place too */
	return lc__array_reserve(&job->tensors, &job->tensor_room, n, "reader");
}

/* ---- standing and cursors ----------------------------------------------------------- */

static void
stand_on(struct lc__job *job, struct lc__standing *standing)
{
	if (job->standing == standing)
		return;
	free_cursors(job);
	lc__standing_drop(job->standing);
	job->standing = lc__standing_hold(standing);
	for (uint32_t i = 0; i < standing->n; i++)
		lc__walk_init(&job->walks[i], standing->sequences[i]);
}

lc_status
lc__job_cursor(struct lc__job *job, uint32_t source, struct lc__cursor **out)
{
	*out = job->cursors[source];
	if (job->begun[source])
		return LC_OK;
	if (*out == NULL) {
		return_if_error(lc__cursor_new(
		    job->rule->stream->sources[source],
		    job->standing->sequences[source]->layout, out));
		job->cursors[source] = *out;
	}
	return_if_error(lc__cursor_begin(*out));
	job->begun[source] = true;
	return LC_OK;
}

/* Add to the counts what the cursors counted, or take it off before. */
static void
count_directories(struct lc__job *job, bool before)
{
	for (uint32_t i = 0; i < job->standing->n; i++) {
		uint64_t hits = 0, misses = 0;

		if (job->cursors[i] == NULL)
			continue;
		lc__cursor_counts(job->cursors[i], &hits, &misses);
		job->counts.directory_hits += before ? -hits : hits;
		job->counts.directory_misses += before ? -misses : misses;
	}
}

/* Let go of the snapshots, or give them to the batch that shows what is in them. */
static lc_status
end_cursors(struct lc__job *job, struct lc__batch *batch, lc_status status)
{
	const bool keep = status == LC_OK && job->rule->views;

	for (uint32_t i = 0; i < job->standing->n; i++) {
		if (!job->begun[i])
			continue;
		job->begun[i] = false;
		if (keep && status == LC_OK)
			status = lc__cursor_pin(job->cursors[i],
			    &batch->pins[i]);
		else
			lc__cursor_end(job->cursors[i]);
	}
	return status;
}

/* ---- from examples to records ---------------------------------------------------------- */

/* What sorts an example: where its first unit is. */
static lc_status
want(struct lc__job *job, uint32_t source, size_t row)
{
	const struct lc__spot *spot = &job->spots[row];
	const bool flat = job->walks[source].sequence->rstar == NULL;
	struct lc__request *r = lc__requests_add(&job->wants);

	if (r == NULL)
		return lc__no_memory("reader");
	*r = (struct lc__request){
		.source = source,
		.row = (uint32_t)row,
		.position = flat ? 0 : spot->place.chunk,
		.record = flat ? spot->unit : spot->place.offset
	};
	return LC_OK;
}

static lc_status
want_example(struct lc__job *job, uint64_t example, size_t row,
    struct lc__batch *batch)
{
	struct lc__spot *spot = &job->spots[row];
	uint32_t source;
	uint64_t index;

	lc__standing_find(job->standing, example, &source, &index);
	lc__walk_example(&job->walks[source], index, spot);
	batch->mask[row] = 1;
	batch->examples[row] = example;
	batch->epochs[row] = spot->epoch;
	/* The sizes of one source are one. */
	batch->sources[row] = job->standing->series != NULL ? 0 : source;
	batch->lengths[row] = spot->left;
	return want(job, source, row);
}

static void
pad(struct lc__batch *batch, size_t row)
{
	batch->mask[row] = 0;
	batch->examples[row] = UINT64_MAX;
	batch->epochs[row] = 0;
	batch->sources[row] = 0;
	batch->lengths[row] = 0;
	batch->ids[row] = (lc_id){ NULL, 0 };
}

/* Padding is behind all examples, whatever the split. */
static lc_status
want_all(struct lc__job *job, const struct lc__job_batch *which,
    struct lc__batch *batch, size_t *filled)
{
	const struct lc__reader_rule *rule = job->rule;

	job->wants.n = 0;
	*filled = 0;
	for (size_t row = 0; row < rule->rows; row++) {
		const uint64_t example = which->first +
		    lc__share_at(&rule->share, row);

		if (example >= which->end) {
			pad(batch, row);
			continue;
		}
		return_if_error(want_example(job, example, row, batch));
		*filled = row + 1;
	}
	return lc__requests_sort(&job->wants);
}

/* The parts of a row, into a list. */
static lc_status
expand(struct lc__job *job, const struct lc__request *wanted,
    struct lc__requests *list)
{
	struct lc__spot spot = job->spots[wanted->row];
	uint64_t at = 0;

	while (spot.left > 0) {
		struct lc__request *r = lc__requests_add(list);
		struct lc__example_part part;

		if (r == NULL)
			return lc__no_memory("reader");
		return_if_error(lc__walk_part(&job->walks[wanted->source], &spot,
		    &part));
		*r = (struct lc__request){
			.source = wanted->source,
			.row = wanted->row,
			.position = part.position,
			.record = part.first,
			.units = part.units,
			.at = at
		};
		at += part.units;
	}
	return LC_OK;
}

static lc_status
expand_all(struct lc__job *job, struct lc__requests *list)
{
	list->n = 0;
	for (size_t i = 0; i < job->wants.n; i++)
		return_if_error(expand(job, &job->wants.item[i], list));
	return lc__requests_sort(list);
}

/* The records that a part of a window is made of. */
static lc_status
look_up(struct lc__job *job, const struct lc__request *part)
{
	struct lc__cursor *cursor;
	uint64_t record, before, from, left = part->units;

	return_if_error(lc__job_cursor(job, part->source, &cursor));
	return_if_error(lc__cursor_go(cursor, part->position));
	return_if_error(lc__cursor_find(cursor, part->record, &record, &before));
	for (from = part->record - before; left > 0; record++, from = 0) {
		const uint64_t here = lc__cursor_units(cursor, record) - from;
		struct lc__request *r;

		if (here == 0)
			continue;
		r = lc__requests_add(&job->requests);
		if (r == NULL)
			return lc__no_memory("reader");
		*r = *part;
		r->record = record;
		r->from = from;
		r->units = here < left ? here : left;
		r->at = part->at + part->units - left;
		left -= r->units;
	}
	return LC_OK;
}

/* Overlapping windows ask for the same records: they are brought together. */
static lc_status
look_up_all(struct lc__job *job)
{
	job->requests.n = 0;
	for (size_t i = 0; i < job->parts.n; i++)
		return_if_error(look_up(job, &job->parts.item[i]));
	return lc__requests_sort(&job->requests);
}

static lc_status
make_requests(struct lc__job *job)
{
	if (job->rule->window == 0)
		return expand_all(job, &job->requests);
	return_if_error(expand_all(job, &job->parts));
	return look_up_all(job);
}

/* ---- the batch ----------------------------------------------------------------------------- */

/* The fields of all batches are those of the first record of the first batch. */
static lc_status
name_fields(struct lc__job *job, const struct lc__request *r)
{
	struct lc__cursor *cursor;
	char **names;
	size_t n;

	return_if_error(lc__job_cursor(job, r->source, &cursor));
	return_if_error(lc__cursor_go(cursor, r->position));
	return_if_error(lc__cursor_fields(cursor, r->record, &names, &n));
	lc__reader_rule_name(job->rule, names, n);
	return LC_OK;
}

/* The request of the batch's first example, whosever it is: all readers have the same
 * fields, and those whose rows are all padding the same shapes. */
static lc_status
first_request(struct lc__job *job, uint64_t example, struct lc__request *out)
{
	struct lc__request *r;
	uint32_t source;
	uint64_t index;

	lc__standing_find(job->standing, example, &source, &index);
	lc__walk_example(&job->walks[source], index, &job->spots[0]);
	job->wants.n = 0;
	return_if_error(want(job, source, 0));
	return_if_error(make_requests(job));
	r = job->requests.item;
	for (size_t i = 1; r->at != 0 && i < job->requests.n; i++)
		r = &job->requests.item[i];
	*out = *r;
	job->requests.n = 0;
	return LC_OK;
}

static lc_status
prepare(struct lc__job *job, const struct lc__job_batch *which,
    struct lc__batch *batch)
{
	struct lc__reader_rule *rule = job->rule;
	struct lc__request first;

	if (!lc__reader_rule_named(rule)) {
		return_if_error(first_request(job, which->first, &first));
		return_if_error(name_fields(job, &first));
	}
	return lc__batch_set_fields(batch, (const char *const *)rule->names,
	    rule->n_fields);
}

static lc_status
read_share(struct lc__job *job, const struct lc__job_batch *which,
    struct lc__batch *batch, size_t *filled)
{
	struct lc__request first;

	return_if_error(prepare(job, which, batch));
	return_if_error(want_all(job, which, batch, filled));
	if (*filled == 0) {
		return_if_error(first_request(job, which->first, &first));
		return lc__fetch_shapes(job, &first, batch);
	}
	return_if_error(make_requests(job));
	return lc__fetch(job, batch, *filled);
}

/* What the caller sees of it. */
static void
present(const struct lc__reader_rule *rule, const struct lc__job_batch *which,
    size_t filled, struct lc__batch *batch)
{
	lc__batch_end_ids(batch, filled);
	batch->seen = (lc_batch){
		.number = which->number,
		.first = which->first,
		.rows = rule->rows,
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
		.lc_private = batch
	};
}

lc_status
lc__job_read(struct lc__job *job, struct lc__standing *standing,
    const struct lc__job_batch *which, struct lc__batch *batch)
{
	size_t filled = 0;
	lc_status status;

	stand_on(job, standing);
	memset(&job->counts, 0, sizeof(job->counts));
	count_directories(job, true);
	status = read_share(job, which, batch, &filled);
	count_directories(job, false);
	status = end_cursors(job, batch, status);
	if (status != LC_OK)
		return status;
	job->counts.examples = filled;
	present(job->rule, which, filled, batch);
	return LC_OK;
}
