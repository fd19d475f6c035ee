/* SPDX-License-Identifier: BSD-2-Clause */
/* Many cache_ids in one call: get, gather, put, delete. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/team.h"
#include "store/get.h"
#include "value/tensor.h"

/* ---- reading -------------------------------------------------------------- */

/*
 * The look-ups of a window go through the steps together: the buckets of the index, then
 * the head of each record, then its data. Each step prefetches the memory that the next
 * one reads, so that the waits overlap.
 */
#define WINDOW 16

/* The status of an item that neither the check nor the uncommitted writes decided. */
#define UNDECIDED ((lc_status)-1)

struct batch {
	struct lc_cache *cache;
	const char *operation; /* for messages */
	struct lc__snapshot *snapshot;
	const lc_id *ids;
	size_t n;
	size_t base; /* index of the first id among the caller's ids */
	/* Result i is at statuses + i * stride: an array of statuses, or the first member
	 * of an array of structs. */
	unsigned char *statuses;
	size_t stride;
	unsigned pins;  /* views that borrow from the snapshot */
	lc_error first; /* failure of the first item that failed */
	size_t failed;  /* its index among the caller's */

	/* Fill in item i from an uncommitted write, and from a committed record. */
	lc_status (
	    *uncommitted)(struct batch *batch, size_t i, enum lc__uncommitted *answer);
	lc_status (
	    *committed)(struct batch *batch, size_t i, const struct lc__lookup *lookup);
	void *out;       /* the caller's views */
	bool reads_data; /* read the data of the records that are found */
	bool copies;     /* copy all of the data, whether it is verified or not */
	bool counts;     /* count hits and misses */
	struct gather *gather;
	bool helps; /* this is not the caller's thread */
};

/* The parameters of a gather. */
struct gather {
	lc_cache *cache;
	const lc_id *ids;
	const lc_column *columns;
	size_t n_columns;
	lc_status *statuses;
	atomic_bool stopped; /* guards data shared by the threads */
	struct part {
		size_t first, n;
		lc_status status;
		lc_error error;
	} * parts;
};

/* Has the caller cancelled it? Each thread of a gather checks this. */
static bool
is_stopped(struct batch *batch)
{
	if (batch->helps)
		return atomic_load_explicit(&batch->gather->stopped,
		    memory_order_relaxed);
	if (!lc__cache_wants_end(batch->cache))
		return false;
	if (batch->gather != NULL)
		atomic_store(&batch->gather->stopped, true);
	return true;
}

static lc_status
stopped(const char *operation)
{
	return lc__error(LC_CANCELLED, 0, "%s: cancelled", operation);
}

static lc_status *
status_of(const struct batch *batch, size_t i)
{
	return (lc_status *)(void *)(batch->statuses + i * batch->stride);
}

static void
fail_item(struct batch *batch, size_t i, lc_status status)
{
	*status_of(batch, i) = status;
	if (status == LC_NOT_FOUND)
		return;
	/* Items of a window fail in the order of steps, not of positions. */
	if (batch->first.status != LC_OK && batch->failed < batch->base + i)
		return;
	(void)lc__error_item(batch->base + i);
	batch->first = *lc_last_error();
	batch->failed = batch->base + i;
}

/* Fill in an item from the uncommitted writes, or leave it undecided. */
static void
try_uncommitted(struct batch *batch, size_t i)
{
	const lc_id *id = &batch->ids[i];
	enum lc__uncommitted answer = LC__UNCOMMITTED_NONE;
	lc_status status = lc__check_id(batch->operation, id->data, id->size);

	if (status == LC_OK)
		status = batch->uncommitted(batch, i, &answer);
	if (status == LC_OK && answer == LC__UNCOMMITTED_DELETED)
		status = LC_NOT_FOUND;
	if (status != LC_OK)
		fail_item(batch, i, status);
	else
		*status_of(batch, i) = answer == LC__UNCOMMITTED_NONE ? UNDECIDED : LC_OK;
}

/* Find the record's location, and prefetch its head. */
static lc_status
guess_item(struct batch *batch, struct lc__lookup *lookup)
{
	const unsigned char *record;
	struct lc__mapped_chunk chunk;

	return_if_error(
	    lc__index_guess(batch->snapshot, lookup, batch->cache->options.verify));
	if (lookup->location & LC__TOMBSTONE)
		return LC_OK;
	/* find_item() meets any damage again, and names the key. */
	if (lc__snapshot_chunk(batch->snapshot, lc__location_chunk(lookup->location),
		&chunk) != LC_OK ||
	    lc__location_offset(lookup->location) >= chunk.end)
		return LC_OK;
	record = chunk.bytes + lc__location_offset(lookup->location);
	__builtin_prefetch(record);
	if (lookup->once != NULL)
		lc__lookup_fetch_seen(batch->snapshot, lookup, &chunk);
	if (batch->reads_data && !lookup->reads) {
		/* The cache_id, after a table of parts if there is one, and the start of
		 * small data. If all of the data is read, find_item() prefetches more. */
		__builtin_prefetch(record + 64);
		__builtin_prefetch(record + 128);
	}
	return LC_OK;
}

/* Find the record, and prefetch the part of it that will be read. */
static lc_status
find_item(struct batch *batch, struct lc__lookup *lookup)
{
	return_if_error(
	    lc__index_find(batch->snapshot, lookup, batch->cache->options.verify));
	if (batch->reads_data)
		lc__view_willneed(batch->cache, &lookup->record, lookup->location,
		    batch->copies || lc__view_reads(batch->cache, &lookup->verified));
	return LC_OK;
}

/* Do one step for all items of a window, at positions @p at, that have not failed yet. */
static void
step_all(struct batch *batch, struct lc__lookup *lookups, const size_t *at, size_t n,
    lc_status (*step)(struct batch *, struct lc__lookup *))
{
	for (size_t j = 0; j < n; j++) {
		lc_status status;

		if (*status_of(batch, at[j]) != UNDECIDED)
			continue;
		status = step(batch, &lookups[j]);
		if (batch->counts)
			batch->snapshot->misses += status == LC_NOT_FOUND;
		if (status != LC_OK)
			fail_item(batch, at[j], status);
	}
}

/* Read the undecided items from the snapshot, window by window. */
static lc_status
read_undecided(struct batch *batch)
{
	struct lc__lookup lookups[WINDOW];
	size_t at[WINDOW];

	for (size_t i = 0; i < batch->n;) {
		size_t used = 0;

		for (; i < batch->n && used < WINDOW; i++) {
			if (*status_of(batch, i) != UNDECIDED)
				continue;
			lc__view_lookup(&lookups[used], batch->cache, batch->ids[i].data,
			    batch->ids[i].size, batch->copies);
			lookups[used].reads &= batch->reads_data;
			lc__index_prefetch(batch->snapshot, &lookups[used]);
			at[used++] = i;
		}
		if (used > 0 && is_stopped(batch))
			return stopped(batch->operation);
		step_all(batch, lookups, at, used, guess_item);
		step_all(batch, lookups, at, used, find_item);
		for (size_t j = 0; j < used; j++) {
			lc_status status;

			if (*status_of(batch, at[j]) != UNDECIDED)
				continue;
			if (batch->counts)
				batch->snapshot->hits++;
			status = batch->committed(batch, at[j], &lookups[j]);
			if (status == LC_OK)
				*status_of(batch, at[j]) = LC_OK;
			else
				fail_item(batch, at[j], status);
		}
	}
	return LC_OK;
}

/* Fill in all items. The status returned concerns all undecided ones; batch->first is the
 * failure of one item. */
static lc_status
read_batch(struct batch *batch)
{
	lc_status status = LC_OK;

	for (size_t i = 0; i < batch->n; i++)
		*status_of(batch, i) = UNDECIDED;
	/* The uncommitted writes first: a commit may take them before the snapshot is
	 * taken. */
	for (size_t i = 0; i < batch->n && status == LC_OK; i++) {
		try_uncommitted(batch, i);
		if (i % 256 == 255 && is_stopped(batch))
			status = stopped(batch->operation);
	}
	if (status == LC_OK)
		status = lc__snapshot_take(batch->cache->env, &batch->snapshot);
	if (status == LC_OK) {
		status = read_undecided(batch);
		lc__snapshot_give(batch->snapshot, batch->pins);
	}
	for (size_t i = 0; i < batch->n && status != LC_OK; i++)
		if (*status_of(batch, i) == UNDECIDED)
			*status_of(batch, i) = status;
	return status;
}

/* List the positions of missing items, and count them. */
static void
list_missing(const struct batch *batch, size_t *missing, size_t *n_missing)
{
	size_t absent = 0;

	for (size_t i = 0; i < batch->n; i++) {
		if (*status_of(batch, i) != LC_NOT_FOUND)
			continue;
		if (missing != NULL)
			missing[absent] = i;
		absent++;
	}
	if (n_missing != NULL)
		*n_missing = absent;
}

/* ---- get -------------------------------------------------------------------- */

static lc_status
get_uncommitted(struct batch *batch, size_t i, enum lc__uncommitted *answer)
{
	lc_view *view = (lc_view *)batch->out + i;
	const lc_status status = lc__view_uncommitted(batch->cache, batch->ids[i].data,
	    batch->ids[i].size, view, answer);

	if (status != LC_OK)
		lc__view_clear(view, status);
	return status;
}

static lc_status
get_committed(struct batch *batch, size_t i, const struct lc__lookup *lookup)
{
	lc_view *view = (lc_view *)batch->out + i;
	const lc_status status = lc__view_record(batch->cache, batch->snapshot,
	    &lookup->record, lookup->location,
	    lc__view_verifies(batch->cache, &lookup->verified), view, &batch->pins);

	if (status != LC_OK)
		lc__view_clear(view, status);
	return status;
}

lc_status
lc_get_batch(lc_cache *cache, size_t n, const lc_id *ids, lc_view *views, size_t *missing,
    size_t *n_missing)
{
	struct batch batch = {
		.cache = cache,
		.operation = "get",
		.ids = ids,
		.n = n,
		.statuses = n > 0 ? (unsigned char *)&views[0].status : NULL,
		.stride = sizeof(*views),
		.uncommitted = get_uncommitted,
		.committed = get_committed,
		.out = views,
		.reads_data = true,
		.counts = true,
	};

	for (size_t i = 0; i < n; i++)
		lc__view_clear(&views[i], UNDECIDED);
	return_if_error(read_batch(&batch));
	list_missing(&batch, missing, n_missing);
	return batch.first.status == LC_OK ? LC_OK : lc__error_raise(&batch.first);
}

/* ---- gather -------------------------------------------------------------------- */

/* Row @p i of a thread's part of the batch. */
static unsigned char *
row_at(const struct batch *batch, const lc_column *column, size_t i)
{
	return (unsigned char *)column->rows + (batch->base + i) * column->row.nbytes;
}

/* Copy the tensor of a column into row @p i. */
static lc_status
copy_part(const struct batch *batch, const lc_column *column, size_t i,
    struct lc__decoder *decoder)
{
	const struct lc__schema *schema = decoder->schema;
	const lc_id *id = &batch->ids[i];
	char found[LC__TENSOR_TEXT], wanted[LC__TENSOR_TEXT];
	struct lc__record_part part;
	const lc_value *value;
	lc_tensor tensor;
	lc_status status;
	uint32_t node;

	if (!lc__schema_find(schema, column->field, &node) ||
	    schema->node[node].kind != LC_TENSOR) {
		status = lc__decoder_value(decoder, column->field, &value);
		if (status == LC_NOT_FOUND)
			return lc__error_as(LC_SCHEMA);
		return_if_error(status);
		return lc__error(LC_SCHEMA, 0, "gather: %s: a %s, not a tensor",
		    lc__quote_id(id->data, id->size), lc_kind_name(lc_value_kind(value)));
	}
	lc__record_tensors(&decoder->record, schema, node, &tensor, &part);
	if (!lc__tensor_same_type(&tensor, &column->row))
		return lc__error(LC_SCHEMA, 0, "gather: %s: %s, not %s",
		    lc__quote_id(id->data, id->size),
		    lc__tensor_describe(&tensor, found, sizeof(found)),
		    lc__tensor_describe(&column->row, wanted, sizeof(wanted)));
	return lc__decoder_copy(decoder, node, &tensor, &part, row_at(batch, column, i),
	    batch->n * tensor.nbytes);
}

/* The destinations of a record's tensors. */
struct row {
	const struct batch *batch;
	size_t i;
};

static lc_status
copy_row(struct lc__decoder *decoder, void *ctx)
{
	const struct row *row = ctx;
	const struct gather *gather = row->batch->gather;

	for (size_t c = 0; c < gather->n_columns; c++)
		return_if_error(
		    copy_part(row->batch, &gather->columns[c], row->i, decoder));
	return LC_OK;
}

static lc_status
gather_uncommitted(struct batch *batch, size_t i, enum lc__uncommitted *answer)
{
	struct row row = { batch, i };

	return lc__copy_uncommitted(batch->cache, batch->ids[i].data, batch->ids[i].size,
	    copy_row, &row, answer);
}

static lc_status
gather_committed(struct batch *batch, size_t i, const struct lc__lookup *lookup)
{
	struct row row = { batch, i };

	return lc__copy_record(batch->cache, batch->snapshot, lookup, copy_row, &row);
}

/* Gather one part of the ids. A failure there does not stop the others. */
static lc_status
gather_part(struct lc__team *team, unsigned thread, uint64_t job)
{
	struct gather *gather = team->ctx;
	struct part *part = &gather->parts[job];
	struct batch batch = {
		.cache = gather->cache,
		.operation = "gather",
		.ids = gather->ids + part->first,
		.n = part->n,
		.base = part->first,
		.statuses = (unsigned char *)(gather->statuses + part->first),
		.stride = sizeof(*gather->statuses),
		.uncommitted = gather_uncommitted,
		.committed = gather_committed,
		.reads_data = true,
		.copies = true,
		.counts = true,
		.gather = gather,
		.helps = thread > 0,
	};

	part->status = read_batch(&batch);
	if (part->status != LC_OK)
		part->error = *lc_last_error();
	else if (batch.first.status != LC_OK)
		part->error = batch.first;
	for (size_t i = 0; i < part->n; i++) {
		if (*status_of(&batch, i) == LC_OK)
			continue;
		for (size_t c = 0; c < gather->n_columns; c++)
			if (gather->columns[c].row.nbytes > 0)
				memset(row_at(&batch, &gather->columns[c], i), 0,
				    gather->columns[c].row.nbytes);
	}
	return LC_OK;
}

static lc_status
gather_all(struct gather *gather, size_t n, unsigned threads)
{
	const uint64_t jobs = lc__team_shares(n, threads);
	struct part parts[LC__SHARES_MOST];
	struct lc__team team = {
		.work = gather_part,
		.ctx = gather,
		.jobs = jobs,
		.threads = (unsigned)jobs,
	};

	for (uint64_t job = 0; job < jobs; job++) {
		parts[job] = (struct part){ .first = 0 };
		lc__team_share(n, jobs, job, &parts[job].first, &parts[job].n);
	}
	gather->parts = parts;
	if (jobs == 1)
		(void)gather_part(&team, 0, 0);
	else
		return_if_error(lc__team_run(&team));
	for (uint64_t job = 0; job < jobs; job++)
		if (parts[job].error.status != LC_OK)
			return lc__error_raise(&parts[job].error);
	return LC_OK;
}

/* Gather columns that check_column() has accepted. */
static lc_status
gather_checked(struct gather *gather, size_t n, unsigned threads, lc_status *statuses,
    size_t *n_missing)
{
	size_t absent = 0;
	lc_status status;

	gather->statuses = statuses != NULL ? statuses
					    : malloc((n > 0 ? n : 1) * sizeof(*statuses));
	if (gather->statuses == NULL)
		return lc__no_memory("gather");
	atomic_init(&gather->stopped, false);
	status = gather_all(gather, n, threads);
	for (size_t i = 0; i < n; i++)
		absent += gather->statuses[i] == LC_NOT_FOUND;
	if (n_missing != NULL)
		*n_missing = absent;
	if (statuses == NULL)
		free(gather->statuses);
	return status;
}

/* Convert a column of the caller and compute the size of its rows, if @p n of them
 * fit. */
static lc_status
check_column(const lc_column *column, size_t n, lc_column *out)
{
	const lc_tensor *row = &column->row;
	uint64_t bytes;

	*out = *column;
	return_if_error(
	    lc_tensor_init(&out->row, row->dtype, row->ndim, row->shape, NULL));
	if (!lc__mul64(out->row.nbytes, n, &bytes) || bytes > column->room)
		return lc__error(LC_INVALID, 0,
		    "gather: %zu rows of %zu bytes do not fit into %zu", n,
		    out->row.nbytes, column->room);
	return LC_OK;
}

lc_status
lc_gather_columns(lc_cache *cache, size_t n, const lc_id *ids, const lc_column *columns,
    size_t n_columns, unsigned threads, lc_status *statuses, size_t *n_missing)
{
	lc_column *checked = calloc(n_columns > 0 ? n_columns : 1, sizeof(*checked));
	struct gather gather = {
		.cache = cache,
		.ids = ids,
		.columns = checked,
		.n_columns = n_columns,
	};
	lc_status status = checked != NULL ? LC_OK : lc__no_memory("gather");

	for (size_t c = 0; c < n_columns && status == LC_OK; c++)
		status = check_column(&columns[c], n, &checked[c]);
	if (status == LC_OK)
		status = gather_checked(&gather, n, threads, statuses, n_missing);
	free(checked);
	return status;
}

lc_status
lc_gather(lc_cache *cache, size_t n, const lc_id *ids, const char *field,
    const lc_tensor *row, void *rows, size_t room, unsigned threads, lc_status *statuses,
    size_t *n_missing)
{
	const lc_column asked = {
		.field = field,
		.row = *row,
		.rows = rows,
		.room = room,
	};
	lc_column column;
	struct gather gather = {
		.cache = cache,
		.ids = ids,
		.columns = &column,
		.n_columns = 1,
	};

	return_if_error(check_column(&asked, n, &column));
	return gather_checked(&gather, n, threads, statuses, n_missing);
}

lc_status
lc_gather_row(lc_cache *cache, size_t n, const lc_id *ids, const char *field,
    lc_tensor *out)
{
	for (size_t i = 0; i < n; i++) {
		const lc_value *part;
		lc_tensor tensor;
		lc_view view;
		lc_status status = lc_get(cache, ids[i].data, ids[i].size, &view);

		if (status == LC_NOT_FOUND && i % WINDOW == WINDOW - 1 &&
		    lc__cache_wants_end(cache))
			return stopped("gather");
		if (status == LC_NOT_FOUND)
			continue;
		if (status == LC_OK) {
			status = lc_view_value(&view, field, &part);
			if (status == LC_NOT_FOUND)
				status = lc__error_as(LC_SCHEMA);
			if (status == LC_OK)
				status = lc_value_as_tensor(part, &tensor);
			lc_view_release(&view);
		}
		if (status != LC_OK)
			return lc__error_item(i);
		tensor.data = NULL;
		*out = tensor;
		return LC_OK;
	}
	return LC_NOT_FOUND;
}

/* ---- writing ---------------------------------------------------------------------- */

/* The results of a batch of puts. */
struct outcome {
	lc_status *statuses; /* of its items; NULL if the caller does not want them */
	lc_error first;      /* of the first item that failed */
	bool late; /* an item has timed out. Later ones are not tried: each would wait in
	            * vain, or overtake it */
};

static void
note_item(struct outcome *outcome, size_t i, lc_status status)
{
	if (outcome->statuses != NULL)
		outcome->statuses[i] = status;
	if (status == LC_TIMEOUT)
		outcome->late = true;
	if (status == LC_OK || outcome->first.status != LC_OK)
		return;
	(void)lc__error_item(i);
	outcome->first = *lc_last_error();
}

static lc_status
end_batch(const struct outcome *outcome)
{
	return outcome->first.status == LC_OK ? LC_OK : lc__error_raise(&outcome->first);
}

lc_status
lc_put_batch(lc_cache *cache, size_t n, const lc_id *ids, const lc_tensor *tensors,
    lc_status *statuses)
{
	struct outcome outcome = { .statuses = statuses };

	for (size_t i = 0; i < n; i++)
		note_item(&outcome, i,
		    outcome.late ? LC_TIMEOUT
				 : lc_put(cache, ids[i].data, ids[i].size, &tensors[i]));
	return end_batch(&outcome);
}

lc_status
lc_put_values(lc_cache *cache, size_t n, const lc_id *ids, const lc_value *const *values,
    lc_status *statuses)
{
	struct outcome outcome = { .statuses = statuses };

	for (size_t i = 0; i < n; i++)
		note_item(&outcome, i,
		    outcome.late
			? LC_TIMEOUT
			: lc_put_value(cache, ids[i].data, ids[i].size, values[i]));
	return end_batch(&outcome);
}

lc_status
lc_put_gathered(lc_cache *cache, size_t n, const lc_id *ids, const lc_tensor *row,
    const void *rows, lc_status *statuses)
{
	struct outcome outcome = { .statuses = statuses };
	lc_tensor tensor;

	return_if_error(lc_tensor_init(&tensor, row->dtype, row->ndim, row->shape, rows));
	for (size_t i = 0; i < n; i++) {
		if (tensor.nbytes > 0)
			tensor.data = (const unsigned char *)rows + i * tensor.nbytes;
		note_item(&outcome, i,
		    outcome.late ? LC_TIMEOUT
				 : lc_put(cache, ids[i].data, ids[i].size, &tensor));
	}
	return end_batch(&outcome);
}

lc_status
lc_delete_batch(lc_cache *cache, size_t n, const lc_id *ids, lc_status *statuses)
{
	struct outcome outcome = { .statuses = statuses };

	for (size_t i = 0; i < n; i++) {
		const lc_status status = outcome.late
		    ? LC_TIMEOUT
		    : lc_delete(cache, ids[i].data, ids[i].size);

		if (status != LC_NOT_FOUND)
			note_item(&outcome, i, status);
		else if (statuses != NULL)
			statuses[i] = status;
	}
	return end_batch(&outcome);
}
