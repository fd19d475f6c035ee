/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions for sources of all kinds: options, opening, the present layout, refreshing,
 * waiting. */
#include "stream/source.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/record.h"
#include "stream/cursor.h"

#define DIRECTORY_BYTES ((uint64_t)64 << 20)

/* The interval between two checks of a growing source increases from the first to the
 * second. */
#define SHORTEST_WAIT_NS ((uint64_t)1000000)
#define LONGEST_WAIT_NS ((uint64_t)50000000)

/* ---- options --------------------------------------------------------------- */

void
lc_source_options_init(lc_source_options *options)
{
	memset(options, 0, sizeof(*options));
	options->struct_size = sizeof(*options);
	options->generation = LC_NEWEST;
	options->directory_bytes = DIRECTORY_BYTES;
	options->verify = LC_VERIFY_ONCE;
}

lc_status
lc__source_options_of(const lc_source_options *given, lc_source_options *out)
{
	lc_source_options_init(out);
	if (given == NULL)
		return LC_OK;
	if (given->struct_size != sizeof(*given))
		return lc__error(LC_INVALID, 0,
		    "source: options were not made by lc_source_options_init()");
	if (lc_verify_mode_name(given->verify) == NULL)
		return lc__error(LC_INVALID, 0, "source: no verify %d",
		    (int)given->verify);
	if ((unsigned)given->sources > LC_SOURCES_IGNORE)
		return lc__error(LC_INVALID, 0, "source: no sources %d",
		    (int)given->sources);
	if (given->length_field != NULL &&
	    strlen(given->length_field) > LC_LENGTH_FIELD_MAX)
		return lc__error(LC_INVALID, 0,
		    "source: the length field is longer than %d bytes",
		    LC_LENGTH_FIELD_MAX);
	if (given->length_field != NULL && !lc__is_length_field(given->length_field))
		return lc__error(LC_INVALID, 0,
		    "source: \"%s\" is not a path of a tensor", given->length_field);
	*out = *given;
	return LC_OK;
}

/* ---- opening --------------------------------------------------------------- */

lc_status
lc__source_begin(lc_source *source, const struct lc__source_kind *kind, const char *name,
    const lc_source_options *options)
{
	source->kind = kind;
	atomic_init(&source->refs, 1);
	source->verify = options->verify;
	source->stop = options->stop;
	source->stop_ctx = options->stop_ctx;
	source->pinned = options->generation != LC_NEWEST;
	if (options->length_field != NULL)
		strcpy(source->length_field, options->length_field);
	pthread_mutex_init(&source->refresh, NULL);
	pthread_mutex_init(&source->lock, NULL);
	source->name = strdup(name);
	return source->name != NULL ? LC_OK : lc__no_memory("source");
}

/* The part of a layout that existed at a generation; LC_CHANGED if the layout has not
 * reached it. */
static lc_status
cut(lc_source *source, struct lc__layout *layout, uint64_t generation,
    struct lc__layout **out)
{
	const lc_source_info *info = lc__layout_info(layout);
	uint64_t chunks = 0;

	if (generation == info->generation) {
		*out = lc__layout_hold(layout);
		return LC_OK;
	}
	if (generation > info->generation)
		return lc__error(LC_CHANGED, 0, "%s: is at generation %llu, not at %llu",
		    source->name, (unsigned long long)info->generation,
		    (unsigned long long)generation);
	return_if_error(source->kind->chunks_at(source, layout, generation, &chunks));
	return lc__layout_cut(layout, chunks, generation, out);
}

lc_status
lc__source_start(lc_source *source, const lc_source_options *options)
{
	struct lc__layout *newest = NULL;
	lc_status status;

	return_if_error(source->kind->newest(source, NULL, &newest));
	if (!source->pinned) {
		source->layout = newest;
		return LC_OK;
	}
	if (options->generation > lc__layout_info(newest)->generation)
		status = lc__error(LC_NOT_FOUND, 0,
		    "%s: generation %llu is not reached; the last is %llu", source->name,
		    (unsigned long long)options->generation,
		    (unsigned long long)lc__layout_info(newest)->generation);
	else
		status = cut(source, newest, options->generation, &source->layout);
	lc__layout_drop(newest);
	if (status == LC_OK)
		lc__layout_set_final(source->layout);
	return status;
}

lc_source *
lc__source_hold(lc_source *source)
{
	atomic_fetch_add_explicit(&source->refs, 1, memory_order_relaxed);
	return source;
}

void
lc_source_close(lc_source *source)
{
	if (source == NULL ||
	    atomic_fetch_sub_explicit(&source->refs, 1, memory_order_acq_rel) > 1)
		return;
	lc__cursor_free(source->cursor);
	lc__layout_drop(source->layout);
	pthread_mutex_destroy(&source->lock);
	pthread_mutex_destroy(&source->refresh);
	free(source->name);
	source->kind->free(source);
}

/* ---- the layout ------------------------------------------------------------- */

const char *
lc__source_length_field(const lc_source *source)
{
	return source->length_field;
}

lc_verify_mode
lc__source_verifies(const lc_source *source)
{
	return source->verify;
}

bool
lc__source_wants_end(const lc_source *source)
{
	return source->stop != NULL && source->stop(source->stop_ctx) != 0;
}

const char *
lc__source_name(const lc_source *source)
{
	return source->name;
}

struct lc__layout *
lc__source_layout(lc_source *source)
{
	struct lc__layout *layout;

	pthread_mutex_lock(&source->lock);
	layout = lc__layout_hold(source->layout);
	pthread_mutex_unlock(&source->lock);
	return layout;
}

lc_status
lc_source_info_get(const lc_source *source, lc_source_info *out)
{
	struct lc__layout *layout;

	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0,
		    "source: struct_size of the info is not set");
	/* A const source may be locked: that does not change its value. */
	layout = lc__source_layout((lc_source *)source);
	*out = *lc__layout_info(layout);
	lc__layout_drop(layout);
	return LC_OK;
}

lc_status
lc__source_fetched(lc_source *source, struct lc__layout *layout, uint64_t first,
    struct lc__fetched_list *out)
{
	return source->kind->fetched == NULL
	    ? LC_OK
	    : source->kind->fetched(source, layout, first, out);
}

lc_status
lc__source_file_bytes(lc_source *source, uint64_t shard, uint64_t *bytes)
{
	*bytes = 0;
	return source->kind->file_bytes == NULL
	    ? LC_OK
	    : source->kind->file_bytes(source, shard, bytes);
}

/* ---- refreshing ------------------------------------------------------------- */

/* The newest layout; LC_CHANGED if it does not begin with what is known. */
static lc_status
newest_layout(lc_source *source, struct lc__layout *known, struct lc__layout **out)
{
	struct lc__layout *newest = NULL;
	lc_status status;

	return_if_error(source->kind->newest(source, known, &newest));
	status = lc__layout_check_prefix(newest, known, source->name);
	if (status == LC_OK)
		*out = newest;
	else
		lc__layout_drop(newest);
	return status;
}

lc_status
lc__source_layout_at(lc_source *source, uint64_t generation, struct lc__layout **out)
{
	struct lc__layout *known = lc__source_layout(source), *newest = NULL;
	lc_status status;

	if (generation <= lc__layout_info(known)->generation || source->pinned) {
		status = cut(source, known, generation, out);
		lc__layout_drop(known);
		return status;
	}
	status = newest_layout(source, known, &newest);
	if (status == LC_OK)
		status = cut(source, newest, generation, out);
	lc__layout_drop(newest);
	lc__layout_drop(known);
	return status;
}

lc_status
lc_source_refresh(lc_source *source)
{
	struct lc__layout *known, *before, *newest = NULL;
	lc_status status;

	if (source->pinned)
		return LC_OK;
	pthread_mutex_lock(&source->refresh);
	known = lc__source_layout(source);
	status = newest_layout(source, known, &newest);
	if (status == LC_OK) {
		pthread_mutex_lock(&source->lock);
		before = source->layout;
		source->layout = newest;
		pthread_mutex_unlock(&source->lock);
		lc__layout_drop(before);
	}
	lc__layout_drop(known);
	pthread_mutex_unlock(&source->refresh);
	return status;
}

/* ---- waiting ---------------------------------------------------------------- */

/* LC_OK if there are so many, LC_END if there never will be, else LC_TIMEOUT. */
static lc_status
has_records(lc_source *source, uint64_t records)
{
	struct lc__layout *layout = lc__source_layout(source);
	const lc_source_info info = *lc__layout_info(layout);

	lc__layout_drop(layout);
	if (info.records >= records)
		return LC_OK;
	if (!info.final)
		return LC_TIMEOUT;
	return lc__error(LC_END, 0,
	    "%s: is final with %llu records; %llu are not available", source->name,
	    (unsigned long long)info.records, (unsigned long long)records);
}

lc_status
lc__final_commit(lc_source *source, uint64_t *out)
{
	(void)source;
	*out = 0;
	return LC_OK;
}

lc_status
lc__final_never(lc_source *source, bool *out)
{
	(void)source;
	*out = false;
	return LC_OK;
}

/* Refresh, and check whether there are so many records. A writer may commit its last
 * chunk and leave after the refresh: if there is no writer, the source is refreshed once
 * more. */
static lc_status
look(lc_source *source, uint64_t records, uint64_t *commit)
{
	bool abandoned = false;
	lc_status status;

	return_if_error(source->kind->commit(source, commit));
	return_if_error(lc_source_refresh(source));
	status = has_records(source, records);
	if (status != LC_TIMEOUT || source->pinned)
		return status;
	return_if_error(source->kind->is_abandoned(source, &abandoned));
	if (!abandoned)
		return LC_TIMEOUT;
	return_if_error(lc_source_refresh(source));
	status = has_records(source, records);
	if (status != LC_TIMEOUT)
		return status;
	return lc__error(LC_ABANDONED, 0,
	    "%s: its inputs are not finished, and no process writes them", source->name);
}

/* Sleep until there is another commit, or the deadline. Returns now and then without one,
 * so that the caller can check whether the writers have left. */
static lc_status
await_commit(lc_source *source, uint64_t commit, uint64_t deadline)
{
	uint64_t ns = SHORTEST_WAIT_NS, now = commit;
	struct timespec pause = { 0 };

	for (;;) {
		const uint64_t time = lc__clock_ns();

		if (time >= deadline)
			return LC_OK;
		pause.tv_nsec = (long)(ns < deadline - time ? ns : deadline - time);
		(void)nanosleep(&pause, NULL);
		return_if_error(source->kind->commit(source, &now));
		if (now != commit || ns >= LONGEST_WAIT_NS)
			return LC_OK;
		ns = ns * 2 < LONGEST_WAIT_NS ? ns * 2 : LONGEST_WAIT_NS;
	}
}

lc_status
lc_source_wait(lc_source *source, uint64_t records, uint64_t timeout_ms)
{
	const uint64_t deadline = lc__clock_deadline(timeout_ms);
	uint64_t commit = 0;

	for (;;) {
		/* Read the clock before the check, so that the last check is after the
		 * deadline. */
		const bool last = lc__clock_ns() >= deadline;
		const lc_status status = look(source, records, &commit);

		if (status != LC_TIMEOUT)
			return status;
		if (last)
			return lc__error(LC_TIMEOUT, 0, "%s: has not %llu records yet",
			    source->name, (unsigned long long)records);
		return_if_error(await_commit(source, commit, deadline));
	}
}
