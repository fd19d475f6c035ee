/* SPDX-License-Identifier: BSD-2-Clause */
/* Workers of a reader, and the memory of its batches. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "stream/reader.h"

/* ---- memory ------------------------------------------------------------------------ */

/* Batches that take memory or are about to: those at work count as the largest. */
bool
lc__reader_may_begin(const struct lc_reader *reader)
{
	const unsigned least = reader->n_threads > 0 ? reader->n_threads : 1;
	const uint64_t begun = reader->working + 1;

	if (reader->claim - reader->next + reader->held >= reader->ahead)
		return false;
	if (reader->ready + reader->held + reader->working < least)
		return true;
	return reader->largest > 0 && reader->used <= reader->memory &&
	    begun <= (reader->memory - reader->used) / reader->largest;
}

/* A worker goes on until no more may be begun: it is woken for several batches, as that
 * may take as long as reading one. */
void
lc__reader_wake(struct lc_reader *reader)
{
	const uint64_t begun = reader->claim - reader->next;

	if (begun <= (reader->ahead - reader->held) / 2)
		pthread_cond_signal(&reader->work);
}

static struct lc__batch *
take_spare(struct lc_reader *reader)
{
	struct lc__batch *batch = reader->spare;

	if (batch != NULL)
		reader->spare = batch->next;
	return batch;
}

void
lc__reader_recycle(struct lc_reader *reader, struct lc__batch *batch)
{
	if (reader->stats.buffer_bytes <= reader->memory) {
		batch->next = reader->spare;
		reader->spare = batch;
		return;
	}
	reader->stats.buffer_bytes -= lc__batch_bytes(batch);
	lc__batch_end(batch);
}

static lc_status
need_batch(struct lc_reader *reader, struct lc__batch **batch)
{
	const struct lc__reader_rule *rule = &reader->rule;

	if (*batch != NULL)
		return LC_OK;
	return_if_error(lc__batch_make(rule->rows,
	    rule->documents ? rule->window : 0, rule->stream->n, batch));
	(*batch)->reader = reader;
	return LC_OK;
}

/* ---- one batch ------------------------------------------------------------------------ */

static void
count(struct lc_reader *reader, const struct lc__job_counts *counts, uint64_t ns)
{
	lc_reader_stats *stats = &reader->stats;

	stats->batches++;
	stats->examples += counts->examples;
	stats->bytes += counts->bytes;
	stats->stored_bytes += counts->stored_bytes;
	stats->reads += counts->reads;
	stats->runs += counts->runs;
	stats->chunks += counts->chunks;
	stats->directory_hits += counts->directory_hits;
	stats->directory_misses += counts->directory_misses;
	stats->work_ns += ns;
}

/* Memory of a batch changes only while it is filled. */
lc_status
lc__reader_make(struct lc_reader *reader, struct lc__job *job,
    struct lc__standing *standing, const struct lc__job_batch *which,
    struct lc__batch **out)
{
	struct lc__batch *batch = take_spare(reader);
	const uint64_t before = batch != NULL ? lc__batch_bytes(batch) : 0;
	uint64_t start, ns, bytes;
	lc_status status;

	pthread_mutex_unlock(&reader->lock);
	start = lc__clock_ns();
	status = need_batch(reader, &batch);
	if (status == LC_OK)
		status = lc__job_read(job, standing, which, batch);
	if (status != LC_OK && batch != NULL)
		lc__batch_clear(batch);
	ns = lc__clock_ns() - start;
	pthread_mutex_lock(&reader->lock);
	bytes = batch != NULL ? lc__batch_bytes(batch) : 0;
	reader->stats.buffer_bytes += bytes - before;
	if (reader->largest < bytes)
		reader->largest = bytes;
	if (status == LC_OK) {
		count(reader, &job->counts, ns);
		*out = batch;
	} else if (batch != NULL) {
		lc__reader_recycle(reader, batch);
	}
	return status;
}

/* ---- workers ---------------------------------------------------------------------------- */

/* What a worker does next. */
struct task {
	struct lc__standing *standing; /* held */
	struct lc__job_batch batch;
	uint64_t turn;
};

/* The number that is to be claimed: one that failed at its turn, or the next one. Until
 * the fields are known, which the first batch tells, there is one at a time. */
static bool
find_number(const struct lc_reader *reader, uint64_t *number)
{
	if (reader->working > 0 && !lc__reader_rule_named(&reader->rule))
		return false;
	*number = reader->next;
	if (reader->next < reader->claim &&
	    reader->slots[reader->next % reader->ahead].state == LC__SLOT_FREE)
		return true;
	*number = reader->claim;
	return lc__reader_may_begin(reader);
}

static bool
find_task(struct lc_reader *reader, struct task *task)
{
	lc_stream *stream = reader->rule.stream;

	if (!find_number(reader, &task->batch.number))
		return false;
	task->standing = lc__stream_standing(stream);
	if (lc__stream_batch(stream, task->standing, task->batch.number,
	    &task->batch.first, &task->batch.end) == LC_OK)
		return true;
	lc__standing_drop(task->standing);
	return false;
}

static void
claim(struct lc_reader *reader, struct task *task)
{
	if (task->batch.number == reader->claim)
		reader->claim++;
	reader->slots[task->batch.number % reader->ahead].state = LC__SLOT_TAKEN;
	task->turn = reader->turn;
	reader->working++;
	if (lc__reader_may_begin(reader))
		pthread_cond_signal(&reader->work);
}

static void
deliver(struct lc_reader *reader, const struct task *task, lc_status status,
    struct lc__batch *batch)
{
	struct lc__slot *slot =
	    &reader->slots[task->batch.number % reader->ahead];

	reader->working--;
	if (task->turn != reader->turn) {
		if (status == LC_OK) {
			reader->stats.buffer_bytes -= lc__batch_clear(batch);
			lc__reader_recycle(reader, batch);
		}
	} else if (status == LC_OK) {
		slot->state = LC__SLOT_READY;
		slot->batch = batch;
		reader->ready++;
		reader->used += lc__batch_bytes(batch);
	} else {
		slot->state = LC__SLOT_FAILED;
		slot->error = *lc_last_error();
	}
	if (task->turn != reader->turn || task->batch.number <= reader->next)
		pthread_cond_broadcast(&reader->done);
}

static void
do_task(struct lc_reader *reader, struct lc__job *job, struct task *task)
{
	struct lc__batch *batch = NULL;
	lc_status status;

	claim(reader, task);
	status = lc__reader_make(reader, job, task->standing, &task->batch,
	    &batch);
	lc__standing_drop(task->standing);
	deliver(reader, task, status, batch);
}

static void *
work(void *arg)
{
	struct lc__worker *worker = arg;
	struct lc_reader *reader = worker->reader;
	struct task task;

	pthread_mutex_lock(&reader->lock);
	while (!reader->stop) {
		if (find_task(reader, &task))
			do_task(reader, worker->job, &task);
		else
			pthread_cond_wait(&reader->work, &reader->lock);
	}
	pthread_mutex_unlock(&reader->lock);
	return NULL;
}

static lc_status
start_one(struct lc_reader *reader)
{
	struct lc__worker *worker = &reader->workers[reader->started];
	int error;

	return_if_error(lc__job_new(&reader->rule, &worker->job));
	worker->reader = reader;
	error = pthread_create(&worker->thread, NULL, work, worker);
	if (error != 0) {
		lc__job_free(worker->job);
		return lc__error_sys(error, "reader: cannot start a thread");
	}
	reader->started++;
	return LC_OK;
}

/* Fewer than were asked for do as well. */
lc_status
lc__reader_start(struct lc_reader *reader)
{
	while (reader->started < reader->n_threads) {
		const lc_status status = start_one(reader);

		if (status == LC_OK)
			continue;
		if (reader->started == 0)
			return status;
		reader->n_threads = reader->started;
	}
	return LC_OK;
}

void
lc__reader_stop(struct lc_reader *reader)
{
	pthread_mutex_lock(&reader->lock);
	reader->stop = true;
	pthread_cond_broadcast(&reader->work);
	pthread_mutex_unlock(&reader->lock);
	for (unsigned i = 0; i < reader->started; i++) {
		pthread_join(reader->workers[i].thread, NULL);
		lc__job_free(reader->workers[i].job);
	}
	reader->started = 0;
}

void
lc__reader_forget(struct lc_reader *reader)
{
	reader->turn++;
	for (unsigned i = 0; i < reader->ahead; i++) {
		struct lc__slot *slot = &reader->slots[i];

		if (slot->state == LC__SLOT_READY) {
			reader->used -= lc__batch_bytes(slot->batch);
			reader->stats.buffer_bytes -=
			    lc__batch_clear(slot->batch);
			lc__reader_recycle(reader, slot->batch);
		}
		slot->state = LC__SLOT_FREE;
		slot->batch = NULL;
	}
	reader->ready = 0;
}

/* How often next() looks whether the source grew, where that would let the workers go
 * on. */
#define LOOK_NS ((uint64_t)20000000)

/* ---- opening and closing ----------------------------------------------------------- */

static lc_status
open_reader(lc_reader *reader, lc_stream *stream, const lc_reader_options *o)
{
	reader->n_threads = o->threads;
	reader->ahead = o->ahead > 0 ? o->ahead : 1;
	reader->memory = o->memory;
	reader->timeout_ms = o->timeout_ms;
	reader->next = reader->claim = stream->first_batch;
	return_if_error(lc__reader_rule_begin(&reader->rule, stream, o));
	reader->slots = calloc(reader->ahead, sizeof(*reader->slots));
	reader->workers = calloc(reader->n_threads + 1, sizeof(*reader->workers));
	return reader->slots != NULL && reader->workers != NULL ? LC_OK :
	    lc__no_memory("reader");
}

lc_status
lc_reader_open(lc_stream *stream, const lc_reader_options *options,
    lc_reader **out)
{
	lc_reader_options taken;
	lc_reader *reader;
	lc_status status;

	return_if_error(lc__reader_options_take(options, &taken));
	reader = calloc(1, sizeof(*reader));
	if (reader == NULL)
		return lc__no_memory("reader");
	pthread_mutex_init(&reader->lock, NULL);
	pthread_cond_init(&reader->work, NULL);
	pthread_cond_init(&reader->done, NULL);
	status = open_reader(reader, stream, &taken);
	if (status == LC_OK)
		*out = reader;
	else
		lc_reader_close(reader);
	return status;
}

static void
free_lists(lc_reader *reader)
{
	while (reader->spare != NULL) {
		struct lc__batch *batch = reader->spare;

		reader->spare = batch->next;
		lc__batch_end(batch);
	}
	while (reader->jobs != NULL) {
		struct lc__job *job = reader->jobs;

		reader->jobs = job->next;
		lc__job_free(job);
	}
}

void
lc_reader_close(lc_reader *reader)
{
	if (reader == NULL)
		return;
	lc__reader_stop(reader);
	if (reader->slots != NULL)
		lc__reader_forget(reader);
	free_lists(reader);
	free(reader->workers);
	free(reader->slots);
	lc__reader_rule_end(&reader->rule);
	pthread_cond_destroy(&reader->done);
	pthread_cond_destroy(&reader->work);
	pthread_mutex_destroy(&reader->lock);
	free(reader);
}

/* ---- reading in the caller's thread --------------------------------------------------- */

static lc_status
take_job(lc_reader *reader, struct lc__job **out)
{
	if (reader->jobs == NULL)
		return lc__job_new(&reader->rule, out);
	*out = reader->jobs;
	reader->jobs = (*out)->next;
	return LC_OK;
}

/* With the lock held. */
static lc_status
read_here(lc_reader *reader, struct lc__standing *standing,
    const struct lc__job_batch *which, struct lc__batch **out)
{
	struct lc__job *job;
	lc_status status;

	return_if_error(take_job(reader, &job));
	status = lc__reader_make(reader, job, standing, which, out);
	job->next = reader->jobs;
	reader->jobs = job;
	return status;
}

static lc_status
find_batch(lc_reader *reader, struct lc__standing *standing,
    struct lc__job_batch *which)
{
	return lc__stream_batch(reader->rule.stream, standing, which->number,
	    &which->first, &which->end);
}

/* Look once whether the source has it by now. */
static lc_status
read_any(lc_reader *reader, struct lc__job_batch *which, struct lc__batch **out)
{
	lc_stream *stream = reader->rule.stream;
	struct lc__standing *standing = lc__stream_standing(stream);
	lc_status status = find_batch(reader, standing, which);

	if (status == LC_TIMEOUT) {
		lc__standing_drop(standing);
		return_if_error(lc_source_refresh(stream->sources[0]));
		return_if_error(lc__stream_go_on(stream));
		standing = lc__stream_standing(stream);
		status = find_batch(reader, standing, which);
	}
	if (status == LC_OK) {
		pthread_mutex_lock(&reader->lock);
		status = read_here(reader, standing, which, out);
		pthread_mutex_unlock(&reader->lock);
	} else {
		status = lc__stream_lacks(stream, standing, "batch", which->number,
		    status == LC_END);
	}
	lc__standing_drop(standing);
	return status;
}

lc_status
lc_reader_read(lc_reader *reader, uint64_t batch, const lc_batch **out)
{
	struct lc__job_batch which = { .number = batch };
	struct lc__batch *made = NULL;

	return_if_error(read_any(reader, &which, &made));
	*out = &made->seen;
	return LC_OK;
}

/* ---- the next batch -------------------------------------------------------------------- */

static void
hand_out(lc_reader *reader, struct lc__batch *batch, const lc_batch **out)
{
	batch->counted = true;
	reader->held++;
	reader->next++;
	*out = &batch->seen;
}

/* Wait without the lock until the source has enough for the batch, or never will. */
static lc_status
wait_for_source(lc_reader *reader, const struct lc__job_batch *which)
{
	lc_stream *stream = reader->rule.stream;
	const uint64_t start = lc__clock_ns();
	lc_status status;

	pthread_mutex_unlock(&reader->lock);
	status = lc_stream_wait(stream, which->end, reader->timeout_ms);
	pthread_mutex_lock(&reader->lock);
	reader->stats.wait_ns += lc__clock_ns() - start;
	pthread_cond_broadcast(&reader->work);
	return status == LC_END ? LC_OK : status;
}

static void
wait_for_workers(lc_reader *reader)
{
	const uint64_t start = lc__clock_ns();

	pthread_cond_wait(&reader->done, &reader->lock);
	reader->stats.wait_ns += lc__clock_ns() - start;
}

static lc_status
busy(const lc_reader *reader)
{
	return lc__error(LC_BUSY, 0, "reader: %u batches are held, and there is no "
	    "room for more: release one", reader->held);
}

/* The next batch is claimed, or may be: have it from the workers. */
static lc_status
take_claimed(lc_reader *reader, const lc_batch **out, bool *taken)
{
	struct lc__slot *slot = &reader->slots[reader->next % reader->ahead];

	*taken = false;
	if (reader->next == reader->claim && reader->working == 0 &&
	    !lc__reader_may_begin(reader))
		return busy(reader);
	if (reader->next < reader->claim && slot->state == LC__SLOT_READY) {
		*taken = true;
		slot->state = LC__SLOT_FREE;
		reader->ready--;
		hand_out(reader, slot->batch, out);
		slot->batch = NULL;
		return LC_OK;
	}
	if (reader->next < reader->claim && slot->state == LC__SLOT_FAILED) {
		slot->state = LC__SLOT_FREE;
		return lc__error_raise(&slot->error);
	}
	pthread_cond_broadcast(&reader->work);
	wait_for_workers(reader);
	return LC_OK;
}

static lc_status
take_here(lc_reader *reader, struct lc__standing *standing,
    const struct lc__job_batch *which, const lc_batch **out, bool *taken)
{
	const uint64_t turn = reader->turn;
	struct lc__batch *batch = NULL;

	*taken = false;
	if (!lc__reader_may_begin(reader))
		return busy(reader);
	return_if_error(read_here(reader, standing, which, &batch));
	if (turn != reader->turn) { /* another thread sought */
		reader->stats.buffer_bytes -= lc__batch_clear(batch);
		lc__reader_recycle(reader, batch);
		return LC_OK;
	}
	*taken = true;
	reader->used += lc__batch_bytes(batch);
	hand_out(reader, batch, out);
	reader->claim = reader->next;
	return LC_OK;
}

/* One step towards it, or all of them. */
static lc_status
step(lc_reader *reader, const lc_batch **out, bool *taken)
{
	struct lc__job_batch which = { .number = reader->next };
	struct lc__standing *standing =
	    lc__stream_standing(reader->rule.stream);
	lc_status status = find_batch(reader, standing, &which);

	*taken = false;
	if (status == LC_TIMEOUT) {
		status = wait_for_source(reader, &which);
	} else if (status == LC_END) {
		lc__stream_lacks(reader->rule.stream, standing, "batch",
		    which.number, true);
	} else if (reader->n_threads > 0) {
		status = take_claimed(reader, out, taken);
	} else {
		status = take_here(reader, standing, &which, out, taken);
	}
	lc__standing_drop(standing);
	return status;
}

static bool
is_complete(lc_stream *stream)
{
	struct lc__standing *standing = lc__stream_standing(stream);
	const bool complete = standing->complete;

	lc__standing_drop(standing);
	return complete;
}

/* Workers that are at the end of what is known of a source that grows are helped on
 * now and then. What goes wrong is told when it is waited for. */
static void
look_for_more(lc_reader *reader)
{
	lc_stream *stream = reader->rule.stream;
	const uint64_t now = lc__clock_coarse_ns();
	lc_error before;

	if (!stream->options.follow || reader->n_threads == 0 ||
	    now - reader->looked_ns < LOOK_NS || is_complete(stream))
		return;
	reader->looked_ns = now;
	pthread_mutex_unlock(&reader->lock);
	before = *lc_last_error();
	if (lc_source_refresh(stream->sources[0]) != LC_OK ||
	    lc__stream_go_on(stream) != LC_OK)
		lc__error_raise(&before);
	pthread_mutex_lock(&reader->lock);
	pthread_cond_broadcast(&reader->work);
}

static lc_status
take_next(lc_reader *reader, const lc_batch **out)
{
	bool taken = false;
	lc_status status = reader->n_threads > 0 ? lc__reader_start(reader) :
	    LC_OK;

	while (status == LC_OK && !taken)
		status = step(reader, out, &taken);
	if (taken)
		look_for_more(reader);
	return status;
}

lc_status
lc_reader_next(lc_reader *reader, const lc_batch **out)
{
	lc_status status;

	pthread_mutex_lock(&reader->lock);
	status = take_next(reader, out);
	pthread_mutex_unlock(&reader->lock);
	return status;
}

void
lc_batch_release(const lc_batch *seen)
{
	struct lc__batch *batch = seen != NULL ? seen->lc_private : NULL;
	lc_reader *reader;
	uint64_t bytes, freed;
	bool counted;

	if (batch == NULL)
		return;
	reader = batch->reader;
	counted = batch->counted;
	bytes = lc__batch_bytes(batch);
	freed = lc__batch_clear(batch);
	pthread_mutex_lock(&reader->lock);
	if (counted) {
		reader->held--;
		reader->used -= bytes;
	}
	reader->stats.buffer_bytes -= freed;
	lc__reader_recycle(reader, batch);
	lc__reader_wake(reader);
	pthread_mutex_unlock(&reader->lock);
}

/* ---- positions ------------------------------------------------------------------------------ */

lc_status
lc_reader_seek(lc_reader *reader, uint64_t batch)
{
	pthread_mutex_lock(&reader->lock);
	lc__reader_forget(reader);
	reader->next = reader->claim = batch;
	pthread_cond_broadcast(&reader->work);
	pthread_cond_broadcast(&reader->done);
	pthread_mutex_unlock(&reader->lock);
	return LC_OK;
}

lc_status
lc_reader_token(lc_reader *reader, void *out)
{
	uint64_t next;

	pthread_mutex_lock(&reader->lock);
	next = reader->next;
	pthread_mutex_unlock(&reader->lock);
	return lc_stream_token(reader->rule.stream, next, out);
}

lc_status
lc_reader_stat(const lc_reader *reader, lc_reader_stats *out)
{
	/* The lock is not what a const reader is about. */
	lc_reader *unlocked = (lc_reader *)reader;

	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0, "reader: struct_size of the "
		    "statistics is not set");
	pthread_mutex_lock(&unlocked->lock);
	*out = reader->stats;
	pthread_mutex_unlock(&unlocked->lock);
	out->struct_size = sizeof(*out);
	return LC_OK;
}
