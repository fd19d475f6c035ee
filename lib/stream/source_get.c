/* SPDX-License-Identifier: BSD-2-Clause */
/* The records of a source by ordinal, one at a time and many at once. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/team.h"
#include "store/get.h"
#include "stream/cursor.h"
#include "stream/source.h"
#include "value/tensor.h"

/* A cursor over this layout: the one that the source keeps, unless another thread is
 * using it or it is for an older layout. */
static lc_status
take_cursor(lc_source *source, struct lc__layout *layout, struct lc__cursor **out)
{
	struct lc__cursor *cursor;

	pthread_mutex_lock(&source->lock);
	cursor = source->cursor;
	source->cursor = NULL;
	pthread_mutex_unlock(&source->lock);
	if (cursor != NULL && cursor->layout == layout) {
		*out = cursor;
		return LC_OK;
	}
	lc__cursor_free(cursor);
	return lc__cursor_new(source, layout, out);
}

static void
give_cursor(lc_source *source, struct lc__cursor *cursor)
{
	struct lc__cursor *before;

	pthread_mutex_lock(&source->lock);
	before = source->cursor;
	source->cursor = cursor;
	pthread_mutex_unlock(&source->lock);
	lc__cursor_free(before);
}

static lc_status
no_record(const lc_source *source, uint64_t ordinal, uint64_t records)
{
	return lc__error(LC_INVALID, 0, "%s: no record %llu; it has %llu records, from 0",
	    source->name, (unsigned long long)ordinal, (unsigned long long)records);
}

/* A cursor, begun and at the chunk of the record, and the record's number in the
 * chunk. */
static lc_status
go_to(lc_source *source, uint64_t ordinal, struct lc__cursor **out, uint64_t *record)
{
	struct lc__layout *layout = lc__source_layout(source);
	const uint64_t records = lc__layout_info(layout)->records;
	struct lc__cursor *cursor = NULL;
	struct lc__chunk_row row;
	uint64_t position = 0;
	lc_status status;

	if (ordinal >= records)
		status = no_record(source, ordinal, records);
	else
		status = lc__layout_find_record(layout, ordinal, &position, &row);
	if (status == LC_OK)
		status = take_cursor(source, layout, &cursor);
	lc__layout_drop(layout);
	return_if_error(status);

	status = lc__cursor_begin(cursor);
	if (status == LC_OK) {
		status = lc__cursor_go(cursor, position);
		if (status == LC_OK) {
			*out = cursor;
			*record = ordinal - row.first_record;
			return LC_OK;
		}
		lc__cursor_end(cursor);
	}
	give_cursor(source, cursor);
	return status;
}

lc_status
lc_source_get(lc_source *source, uint64_t ordinal, lc_view *out)
{
	struct lc__cursor *cursor;
	uint64_t record;
	lc_status status = go_to(source, ordinal, &cursor, &record);

	if (status == LC_OK) {
		status = lc__cursor_view(cursor, record, out);
		give_cursor(source, cursor);
	}
	if (status != LC_OK)
		lc__view_clear(out, status);
	return status;
}

lc_status
lc_source_id(lc_source *source, uint64_t ordinal, void *out, size_t room, size_t *size)
{
	static const char *const no_fields[] = { NULL };
	struct lc__cursor *cursor;
	lc_tensor no_tensors[1];
	uint64_t record;
	lc_status status;
	lc_id id;

	return_if_error(go_to(source, ordinal, &cursor, &record));
	status = lc__cursor_read(cursor, record, no_fields, 0, NULL, no_tensors, &id);
	if (status == LC_OK) {
		*size = id.size;
		if (id.size > room)
			status = lc__error(LC_INVALID, 0,
			    "%s: the cache_id of record %llu has %zu bytes, and there is "
			    "room for %zu",
			    source->name, (unsigned long long)ordinal, id.size, room);
		else if (id.size > 0)
			memcpy(out, id.data, id.size);
	}
	lc__cursor_end(cursor);
	give_cursor(source, cursor);
	return status;
}

/* ---- many at once ------------------------------------------------------------------ */

/* A record to read, and its destination row. */
struct item {
	uint64_t ordinal;
	size_t row;
};

/* The arguments of a call. */
struct gather {
	lc_source *source;
	struct lc__layout *layout; /* held */
	const char *field;
	lc_tensor row;      /* of each record; data is the block of all rows */
	struct item *items; /* sorted by ordinal: one chunk after another */
	lc_status *statuses;
	atomic_bool stopped; /* for the threads that help */
	struct part {
		size_t first, n; /* of items */
		bool helps;      /* it is not in the caller's thread */
		lc_error error;  /* failure of the first row that failed */
		size_t failed;   /* which */
	} * parts;
};

/* Records read between two checks for cancellation. */
#define UNASKED 64

/* Has the caller cancelled it? Each thread checks this. */
static bool
is_stopped(struct gather *gather, const struct part *part)
{
	if (atomic_load_explicit(&gather->stopped, memory_order_relaxed))
		return true;
	if (part->helps || !lc__source_wants_end(gather->source))
		return false;
	atomic_store(&gather->stopped, true);
	return true;
}

static int
compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

static void *
row_of(const struct gather *gather, size_t row)
{
	return (unsigned char *)(uintptr_t)gather->row.data + row * gather->row.nbytes;
}

/* Items [begin, end) failed by the last error of this thread. */
static void
fail_items(const struct gather *gather, struct part *part, size_t begin, size_t end)
{
	const lc_error *why = lc_last_error();

	for (size_t i = begin; i < end; i++) {
		const size_t row = gather->items[i].row;

		gather->statuses[row] = why->status;
		if (gather->row.nbytes > 0)
			memset(row_of(gather, row), 0, gather->row.nbytes);
		if (part->error.status != LC_OK && part->failed < row)
			continue;
		part->error = *why;
		part->failed = row;
	}
}

/* The destination row of a record. */
struct gathered {
	struct lc__copier copier;
	const struct gather *gather;
	void *to[1];
	size_t row;
};

static lc_status
place_row(struct lc__copier *copier, const lc_tensor *tensor)
{
	const struct gathered *to = (const struct gathered *)copier;

	copier->to[0] = lc__tensor_same_type(tensor, &to->gather->row)
	    ? row_of(to->gather, to->row)
	    : NULL;
	return LC_OK;
}

static lc_status
copy_record(const struct gather *gather, const struct part *part,
    struct lc__cursor *cursor, uint64_t record, const char *const *field,
    const struct item *item)
{
	struct gathered to = {
		.copier.place = place_row,
		.copier.all = part->n * gather->row.nbytes,
		.gather = gather,
		.row = item->row,
	};
	char found[LC__TENSOR_TEXT], wanted[LC__TENSOR_TEXT];
	lc_tensor tensor;
	lc_id id;

	to.copier.to = to.to;
	return_if_error(
	    lc__cursor_copy(cursor, record, field, 1, &to.copier, &tensor, &id));
	if (lc__tensor_same_type(&tensor, &gather->row))
		return LC_OK;
	return lc__error(LC_SCHEMA, 0, "%s: record %llu%s, %s: %s, not %s",
	    lc__source_name(lc__cursor_member(cursor)), (unsigned long long)item->ordinal,
	    cursor->at != cursor ? " of the list" : "", lc__quote_id(id.data, id.size),
	    lc__tensor_describe(&tensor, found, sizeof(found)),
	    lc__tensor_describe(&gather->row, wanted, sizeof(wanted)));
}

/* Prefetch the records of a chunk, adjacent ones together. */
static void
ask_for(struct lc__cursor *cursor, const struct item *items, size_t n, uint64_t first)
{
	for (size_t i = 0, next; i < n; i = next) {
		next = i + 1;
		while (next < n && items[next].ordinal <= items[next - 1].ordinal + 1)
			next++;
		lc__cursor_willneed(cursor, items[i].ordinal - first,
		    items[next - 1].ordinal - items[i].ordinal + 1);
	}
}

/* Read items [begin, end), which are in one chunk; @p first is the chunk's first record. */
static void
gather_chunk(struct gather *gather, struct part *part, struct lc__cursor *cursor,
    uint64_t first, size_t begin, size_t end)
{
	const char *const *field = lc__cursor_field(cursor, gather->field);

	if (field == NULL) {
		(void)lc__no_memory("gather");
		fail_items(gather, part, begin, end);
		return;
	}
	ask_for(cursor, gather->items + begin, end - begin, first);
	for (size_t i = begin; i < end; i++) {
		const struct item *item = &gather->items[i];

		if ((i - begin) % UNASKED == 0 && is_stopped(gather, part)) {
			(void)lc__error(LC_CANCELLED, 0, "gather: cancelled");
			fail_items(gather, part, i, end);
			return;
		}
		if (i + 1 < end)
			__builtin_prefetch(
			    lc__cursor_address(cursor, item[1].ordinal - first));
		if (copy_record(gather, part, cursor, item->ordinal - first, field,
			item) != LC_OK)
			fail_items(gather, part, i, i + 1);
		else
			gather->statuses[item->row] = LC_OK;
		lc__cursor_forget(cursor);
	}
}

static void
gather_items(struct gather *gather, struct part *part, struct lc__cursor *cursor)
{
	const uint64_t records = lc__layout_info(gather->layout)->records;
	const size_t end = part->first + part->n;

	for (size_t i = part->first, next; i < end; i = next) {
		const uint64_t ordinal = gather->items[i].ordinal;
		struct lc__chunk_row row = { .records = 1, .first_record = ordinal };
		uint64_t position = 0;
		lc_status status = ordinal < records
		    ? lc__layout_find_record(gather->layout, ordinal, &position, &row)
		    : no_record(gather->source, ordinal, records);

		if (status == LC_OK)
			status = lc__cursor_go(cursor, position);
		for (next = i; next < end &&
		     gather->items[next].ordinal - row.first_record < row.records;)
			next++;
		if (status == LC_OK)
			gather_chunk(gather, part, cursor, row.first_record, i, next);
		else
			fail_items(gather, part, i, next);
	}
}

/* Gather one part of the items, with a cursor of its own. */
static lc_status
gather_part(struct lc__team *team, unsigned thread, uint64_t job)
{
	struct gather *gather = team->ctx;
	struct part *part = &gather->parts[job];
	struct lc__cursor *cursor = NULL;
	lc_status status;

	part->helps = thread > 0;
	status = take_cursor(gather->source, gather->layout, &cursor);
	if (status == LC_OK)
		status = lc__cursor_begin(cursor);
	if (status == LC_OK) {
		gather_items(gather, part, cursor);
		lc__cursor_end(cursor);
	} else {
		fail_items(gather, part, part->first, part->first + part->n);
	}
	give_cursor(gather->source, cursor);
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
	const struct part *failed = NULL;

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
		if (parts[job].error.status != LC_OK &&
		    (failed == NULL || parts[job].failed < failed->failed))
			failed = &parts[job];
	if (failed == NULL)
		return LC_OK;
	if (lc__error_raise(&failed->error) == LC_CANCELLED)
		return LC_CANCELLED;
	return lc__error_item(failed->failed);
}

lc_status
lc_source_gather(lc_source *source, size_t n, const uint64_t *ordinals, const char *field,
    const lc_tensor *row, void *rows, size_t room, unsigned threads, lc_status *statuses)
{
	struct gather gather = { .source = source, .field = field ? field : "." };
	lc_status status = LC_OK;
	uint64_t bytes;
	bool sorted = true;

	return_if_error(
	    lc_tensor_init(&gather.row, row->dtype, row->ndim, row->shape, rows));
	if (!lc__mul64(gather.row.nbytes, n, &bytes) || bytes > room)
		return lc__error(LC_INVALID, 0,
		    "gather: %zu rows of %zu bytes do not fit into %zu", n,
		    gather.row.nbytes, room);
	gather.items = calloc(n > 0 ? n : 1, sizeof(*gather.items));
	gather.statuses = statuses != NULL ? statuses
					   : calloc(n > 0 ? n : 1, sizeof(*statuses));
	if (gather.items == NULL || gather.statuses == NULL)
		status = lc__no_memory("gather");
	if (status == LC_OK && n > 0) {
		for (size_t i = 0; i < n; i++) {
			gather.items[i] = (struct item){ ordinals[i], i };
			sorted = sorted && (i == 0 || ordinals[i - 1] <= ordinals[i]);
		}
		if (!sorted)
			qsort(gather.items, n, sizeof(*gather.items), compare_items);
		atomic_init(&gather.stopped, false);
		gather.layout = lc__source_layout(source);
		status = gather_all(&gather, n, threads);
		lc__layout_drop(gather.layout);
	}
	if (statuses == NULL)
		free(gather.statuses);
	free(gather.items);
	return status;
}

lc_status
lc_source_gather_row(lc_source *source, uint64_t ordinal, const char *field,
    lc_tensor *out)
{
	const char *const *path;
	struct lc__cursor *cursor;
	lc_tensor tensor;
	uint64_t record;
	lc_status status;
	lc_id id;

	return_if_error(go_to(source, ordinal, &cursor, &record));
	path = lc__cursor_field(cursor, field != NULL ? field : ".");
	status = path == NULL
	    ? lc__no_memory("gather")
	    : lc__cursor_read(cursor, record, path, 1, NULL, &tensor, &id);
	if (status == LC_OK) {
		tensor.data = NULL;
		*out = tensor;
	}
	lc__cursor_end(cursor);
	give_cursor(source, cursor);
	return status;
}

/* ---- by cache_id ---------------------------------------------------------------------- */

static lc_status
find_one(struct lc__cursor *cursor, lc_id id, uint64_t *ordinal)
{
	struct lc__chunk_row row;
	uint64_t position, record;
	lc_status status;

	return_if_error(lc__check_id("find", id.data, id.size));
	status = lc__cursor_locate(cursor, id, &position, &record);
	*ordinal = UINT64_MAX;
	if (status == LC_NOT_FOUND)
		return LC_OK;
	return_if_error(status);
	return_if_error(lc__layout_row(cursor->layout, position, &row));
	*ordinal = row.first_record + record;
	return LC_OK;
}

lc_status
lc_source_find(lc_source *source, size_t n, const lc_id *ids, uint64_t *ordinals)
{
	struct lc__layout *layout = lc__source_layout(source);
	struct lc__cursor *cursor = NULL;
	lc_status status;

	status = take_cursor(source, layout, &cursor);
	lc__layout_drop(layout);
	return_if_error(status);
	status = lc__cursor_begin(cursor);
	if (status == LC_OK) {
		for (size_t i = 0; status == LC_OK && i < n; i++) {
			if (i % UNASKED == 0 && lc__source_wants_end(source)) {
				status = lc__error(LC_CANCELLED, 0, "find: cancelled");
				break;
			}
			status = find_one(cursor, ids[i], &ordinals[i]);
			if (status != LC_OK)
				(void)lc__error_item(i);
		}
		lc__cursor_end(cursor);
	}
	give_cursor(source, cursor);
	return status;
}
