/* SPDX-License-Identifier: BSD-2-Clause */
/* Workers of a reader, and the memory of its batches. */
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
