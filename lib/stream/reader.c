/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Readers. Workers, the threads of a reader, claim the numbers of batches in order, read
 * them, each with its own job, and put them into the slots of a ring, from which
 * lc_reader_next() takes them in order. Without threads, batches are read in the caller's
 * thread.
 *
 * One lock guards a reader. A function whose name ends in _locked is called with the lock
 * held and returns with it held; some release it while they read or wait, and say so.
 * Batches are freed without the lock, by unlock(): that may call functions of the caller.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "stream/job.h"
#include "stream/source_shards.h"
#include "stream/visits.h"

/* How often next() checks whether the source grew, while that may give the workers more
 * to read. */
#define LOOK_NS ((uint64_t)20000000)

enum slot_state {
	SLOT_FREE,  /* not claimed, or to be read again */
	SLOT_TAKEN, /* a worker is reading it */
	SLOT_READY,
	SLOT_FAILED
};

struct slot {
	enum slot_state state;
	struct lc__batch *batch; /* of a ready one */
	lc_error error;          /* of a failed one */
};

struct worker {
	lc_reader *reader;
	struct lc__job *job;
	pthread_t thread;
};

struct lc_reader {
	struct lc__reader_rule rule;
	pid_t process;      /* the process that opened it */
	unsigned n_threads; /* asked for */
	unsigned ahead;     /* slots, at least 1 */
	uint64_t memory;    /* bytes of batches at most */
	uint64_t timeout_ms;
	struct worker *workers;
	unsigned started; /* of them */
	struct lc__fetched_list fetched;

	pthread_mutex_t lock;    /* guards the members below */
	pthread_cond_t work;     /* signalled if a worker may have work */
	pthread_cond_t done;     /* signalled for lc_reader_next() */
	_Atomic bool stop;       /* workers give up what they wait for, too */
	uint64_t next;           /* the next batch to return */
	uint64_t claim;          /* the next batch to claim; from next to next + ahead */
	uint64_t turn;           /* increases with each seek */
	struct slot *slots;      /* batch b has slot b % ahead */
	unsigned working;        /* batches being read by workers, including those of
	                          * earlier turns */
	unsigned held;           /* returned by lc_reader_next() and not released */
	unsigned ready;          /* in slots */
	uint64_t used;           /* size of the batches that are ready or held */
	uint64_t largest;        /* size of the largest batch so far */
	struct lc__batch *spare; /* clear ones, the most recently used first */
	struct lc__batch *dead;  /* to be freed by unlock() */
	struct lc__job *jobs;    /* idle jobs for reading in callers' threads */
	uint64_t looked_ns;      /* when next() last checked whether the source grew */
	lc_reader_stats stats;   /* buffer_bytes is of all batches, those in use too */
};

/* A forked child has the memory of its parent's readers, but not their threads: there
 * they and their batches are left alone until it exits. */
static bool
is_parents(const lc_reader *reader)
{
	return reader->process != getpid();
}

static lc_status
check_process(const lc_reader *reader)
{
	return is_parents(reader)
	    ? lc__error(LC_INVALID, 0,
		  "reader: opened by the process that this one was forked from: open another")
	    : LC_OK;
}

/* ---- the memory of batches ------------------------------------------------------------- */

/* May another batch be started? A batch being read counts with the largest size so far.
 * One for each thread is always allowed. */
static bool
may_begin_locked(const lc_reader *reader)
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

/* Keep a clear batch for the next one, or free it if batches take too much memory. */
static void
recycle_locked(lc_reader *reader, struct lc__batch *batch)
{
	struct lc__batch **list = &reader->spare;

	if (reader->stats.buffer_bytes > reader->memory) {
		reader->stats.buffer_bytes -= lc__batch_bytes(batch);
		list = &reader->dead;
	}
	batch->next = *list;
	*list = batch;
}

static void
free_list(struct lc__batch *list)
{
	while (list != NULL) {
		struct lc__batch *batch = list;

		list = batch->next;
		lc__batch_end(batch);
	}
}

static void
unlock(lc_reader *reader)
{
	struct lc__batch *dead = reader->dead;

	reader->dead = NULL;
	pthread_mutex_unlock(&reader->lock);
	free_list(dead);
}

/* This batch is no longer wanted. */
static void
discard_locked(lc_reader *reader, struct lc__batch *batch)
{
	reader->stats.buffer_bytes -= lc__batch_clear(batch);
	recycle_locked(reader, batch);
}

static void
count_locked(lc_reader *reader, const struct lc__job_counts *counts, uint64_t ns)
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

/* Read a batch into new memory or that of a spare one. Releases the lock while it reads:
 * other state of the reader may have changed when this returns. The size of a batch
 * changes only while it is filled, so it is counted here. */
static lc_status
read_locked(lc_reader *reader, struct lc__job *job, struct lc__stream_state *state,
    const struct lc__job_batch *which, struct lc__batch **out)
{
	const struct lc__reader_rule *rule = &reader->rule;
	struct lc__batch *batch = reader->spare;
	uint64_t start, ns, bytes, before = 0;
	lc_status status = LC_OK;

	if (batch != NULL) {
		reader->spare = batch->next;
		before = lc__batch_bytes(batch);
	}
	unlock(reader);
	start = lc__clock_ns();
	if (batch == NULL) {
		status = lc__batch_make(rule->rows, rule->documents ? rule->window : 0,
		    rule->stream->n, &rule->memory, &batch);
		if (status == LC_OK)
			batch->reader = reader;
	}
	if (status == LC_OK)
		status = lc__fetch_batch(job, state, which, batch);
	if (status != LC_OK && batch != NULL)
		lc__batch_clear(batch);
	ns = lc__clock_ns() - start;
	pthread_mutex_lock(&reader->lock);
	bytes = batch != NULL ? lc__batch_bytes(batch) : 0;
	reader->stats.buffer_bytes += bytes - before;
	if (reader->largest < bytes)
		reader->largest = bytes;
	if (status == LC_OK) {
		count_locked(reader, &job->counts, ns);
		*out = batch;
	} else if (batch != NULL) {
		recycle_locked(reader, batch);
	}
	return status;
}

/* ---- workers ---------------------------------------------------------------------------- */

/* A worker's next step. */
struct task {
	struct lc__stream_state *state; /* held */
	struct lc__job_batch batch;
	uint64_t turn;
};

static lc_status
find_batch(const lc_reader *reader, const struct lc__stream_state *state,
    struct lc__job_batch *which)
{
	return lc__stream_batch(reader->rule.stream, state, which->number, &which->first,
	    &which->end);
}

/* The next number that is not claimed; or the one for which lc_reader_next() waits, if it
 * failed and is to be read again. Until the first batch has defined the fields only one
 * is read at a time. */
static bool
find_task_locked(lc_reader *reader, struct task *task)
{
	const struct slot *slot = &reader->slots[reader->next % reader->ahead];

	if (reader->working > 0 && !lc__reader_rule_named(&reader->rule))
		return false;
	if (reader->next < reader->claim && slot->state == SLOT_FREE)
		task->batch.number = reader->next;
	else if (may_begin_locked(reader))
		task->batch.number = reader->claim;
	else
		return false;
	task->state = lc__stream_state_now(reader->rule.stream);
	if (find_batch(reader, task->state, &task->batch) == LC_OK)
		return true;
	lc__stream_state_drop(task->state);
	return false;
}

/* Claim the batch of a task, read it, and put it into its slot. Releases the lock while
 * it reads; a batch of an earlier turn is discarded, because of a seek meanwhile. */
static void
do_task_locked(lc_reader *reader, struct lc__job *job, struct task *task)
{
	struct slot *slot = &reader->slots[task->batch.number % reader->ahead];
	struct lc__batch *batch = NULL;
	lc_status status;

	if (task->batch.number == reader->claim)
		reader->claim++;
	slot->state = SLOT_TAKEN;
	task->turn = reader->turn;
	reader->working++;
	if (may_begin_locked(reader))
		pthread_cond_signal(&reader->work);

	status = read_locked(reader, job, task->state, &task->batch, &batch);
	lc__stream_state_drop(task->state);

	reader->working--;
	if (task->turn != reader->turn) {
		if (status == LC_OK)
			discard_locked(reader, batch);
	} else if (status == LC_OK) {
		slot->state = SLOT_READY;
		slot->batch = batch;
		reader->ready++;
		reader->used += lc__batch_bytes(batch);
	} else {
		slot->state = SLOT_FAILED;
		slot->error = *lc_last_error();
	}
	if (task->turn != reader->turn || task->batch.number <= reader->next)
		pthread_cond_broadcast(&reader->done);
}

static void *
work(void *arg)
{
	struct worker *worker = arg;
	lc_reader *reader = worker->reader;
	struct task task;

	lc__thread_stop_by(&reader->stop);
	pthread_mutex_lock(&reader->lock);
	while (!reader->stop) {
		if (find_task_locked(reader, &task)) {
			do_task_locked(reader, worker->job, &task);
		} else if (reader->dead != NULL) {
			unlock(reader);
			pthread_mutex_lock(&reader->lock);
		} else {
			pthread_cond_wait(&reader->work, &reader->lock);
		}
	}
	unlock(reader);
	return NULL;
}

/* Start the workers, once. Fewer threads than the caller asked for are enough. */
static lc_status
start_locked(lc_reader *reader)
{
	while (reader->started < reader->n_threads) {
		struct worker *worker = &reader->workers[reader->started];
		lc_status status = lc__job_new(&reader->rule, &worker->job);
		int error;

		if (status == LC_OK) {
			worker->reader = reader;
			error = pthread_create(&worker->thread, NULL, work, worker);
			if (error != 0) {
				lc__job_free(worker->job);
				status = lc__error_sys(error,
				    "reader: cannot start a thread");
			}
		}
		if (status == LC_OK)
			reader->started++;
		else if (reader->started == 0)
			return status;
		else
			reader->n_threads = reader->started;
	}
	return LC_OK;
}

/* Without the lock: stop the workers and wait for them. */
static void
stop(lc_reader *reader)
{
	pthread_mutex_lock(&reader->lock);
	reader->stop = true;
	pthread_cond_broadcast(&reader->work);
	unlock(reader);
	for (unsigned i = 0; i < reader->started; i++) {
		pthread_join(reader->workers[i].thread, NULL);
		lc__job_free(reader->workers[i].job);
	}
	reader->started = 0;
}

/* Empty the ring; the caller sets next and claim afterwards. */
static void
forget_locked(lc_reader *reader)
{
	reader->turn++;
	for (unsigned i = 0; i < reader->ahead; i++) {
		struct slot *slot = &reader->slots[i];

		if (slot->state == SLOT_READY) {
			reader->used -= lc__batch_bytes(slot->batch);
			discard_locked(reader, slot->batch);
		}
		slot->state = SLOT_FREE;
		slot->batch = NULL;
	}
	reader->ready = 0;
}

/* ---- foresight ------------------------------------------------------------------- */

/* Find what of the stream's sources is fetched. */
static lc_status
find_fetched(lc_reader *reader)
{
	struct lc__stream_state *state = lc__stream_state_now(reader->rule.stream);
	lc_status status = LC_OK;
	uint64_t first = 0;

	for (uint32_t i = 0; i < state->n && status == LC_OK; i++) {
		struct lc__layout *layout = state->sequences[i]->layout;

		status = lc__source_fetched(reader->rule.stream->sources[i], layout,
		    first, &reader->fetched);
		first += lc__layout_info(layout)->chunks;
	}
	lc__stream_state_drop(state);
	return status;
}

/* Tell the sources what will be read from a batch on. If the order cannot tell, they fetch on
 * request. */
static lc_status
foresee(const lc_reader *reader, uint64_t from)
{
	const struct lc__share *share = &reader->rule.share;
	const struct lc__fetched_list *fetched = &reader->fetched;
	const struct lc__ranks rank = { share->reader, 1, share->readers };
	lc_status status;

	if (fetched->n == 0)
		return LC_OK;
	status = lc__shards_source_of(fetched->all[0].source)
		     ->fetch->foresee(reader->rule.stream, rank, from, fetched->all,
			 fetched->n);
	return status == LC_UNSUPPORTED ? LC_OK : status;
}

/* All batches before this one have been read. */
static void
reach(const lc_reader *reader, uint64_t batch)
{
	for (size_t i = 0; i < reader->fetched.n; i++) {
		const struct lc__shards_source *s = lc__shards_source_of(
		    reader->fetched.all[i].source);

		s->fetch->reach(s->ctx, batch);
	}
}

/* ---- opening and closing ----------------------------------------------------------- */

lc_status
lc_reader_open(lc_stream *stream, const lc_reader_options *options, lc_reader **out)
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
	reader->process = getpid();
	reader->n_threads = taken.threads;
	reader->ahead = taken.ahead > 0 ? taken.ahead : 1;
	reader->memory = taken.memory;
	reader->timeout_ms = taken.timeout_ms;
	reader->next = reader->claim = stream->first_batch;
	status = lc__reader_rule_begin(&reader->rule, stream, &taken);
	if (status == LC_OK) {
		reader->slots = calloc(reader->ahead, sizeof(*reader->slots));
		reader->workers = calloc(reader->n_threads + 1, sizeof(*reader->workers));
		if (reader->slots == NULL || reader->workers == NULL)
			status = lc__no_memory("reader");
	}
	if (status == LC_OK)
		status = find_fetched(reader);
	if (status == LC_OK)
		status = foresee(reader, reader->next);
	if (status == LC_OK)
		*out = reader;
	else
		lc_reader_close(reader);
	return status;
}

void
lc_reader_close(lc_reader *reader)
{
	if (reader == NULL || is_parents(reader))
		return;
	stop(reader);
	if (reader->slots != NULL)
		forget_locked(reader);
	free_list(reader->spare);
	free_list(reader->dead);
	while (reader->jobs != NULL) {
		struct lc__job *job = reader->jobs;

		reader->jobs = job->next;
		lc__job_free(job);
	}
	free(reader->workers);
	free(reader->slots);
	free(reader->fetched.all);
	lc__reader_rule_end(&reader->rule);
	pthread_cond_destroy(&reader->done);
	pthread_cond_destroy(&reader->work);
	pthread_mutex_destroy(&reader->lock);
	free(reader);
}

/* ---- reading in the caller's thread --------------------------------------------------- */

/* As read_locked(), with a job of the reader; releases the lock while it reads. */
static lc_status
read_here_locked(lc_reader *reader, struct lc__stream_state *state,
    const struct lc__job_batch *which, struct lc__batch **out)
{
	struct lc__job *job = reader->jobs;
	lc_status status;

	if (job != NULL)
		reader->jobs = job->next;
	else
		return_if_error(lc__job_new(&reader->rule, &job));
	status = read_locked(reader, job, state, which, out);
	job->next = reader->jobs;
	reader->jobs = job;
	return status;
}

/* For a batch that is not known yet: check once whether the source has it now. */
lc_status
lc_reader_read(lc_reader *reader, uint64_t batch, const lc_batch **out)
{
	lc_stream *stream = reader->rule.stream;
	struct lc__job_batch which = { .number = batch };
	struct lc__stream_state *state;
	struct lc__batch *made = NULL;
	lc_status status;

	return_if_error(check_process(reader));
	state = lc__stream_state_now(stream);
	status = find_batch(reader, state, &which);
	if (status == LC_TIMEOUT) {
		lc__stream_state_drop(state);
		return_if_error(lc_source_refresh(stream->sources[0]));
		return_if_error(lc__stream_follow(stream));
		state = lc__stream_state_now(stream);
		status = find_batch(reader, state, &which);
	}
	if (status == LC_OK) {
		pthread_mutex_lock(&reader->lock);
		status = read_here_locked(reader, state, &which, &made);
		unlock(reader);
	} else {
		status = lc__stream_lacks(stream, state, "batch", batch,
		    status == LC_END);
	}
	lc__stream_state_drop(state);
	if (status == LC_OK)
		*out = &made->seen;
	return status;
}

/* ---- the next batch -------------------------------------------------------------------- */

static void
hand_out_locked(lc_reader *reader, struct lc__batch *batch, const lc_batch **out)
{
	batch->counted = true;
	reader->held++;
	reader->next++;
	*out = &batch->seen;
}

static lc_status
busy(const lc_reader *reader)
{
	return lc__error(LC_BUSY, 0,
	    "reader: %u batches are held, and there is no room for more: release one",
	    reader->held);
}

/* Take the next batch from its slot, if a worker has read it. Otherwise wait for one,
 * with the lock released, and return with *taken false. */
static lc_status
take_slot_locked(lc_reader *reader, const lc_batch **out, bool *taken)
{
	struct slot *slot = &reader->slots[reader->next % reader->ahead];
	const bool claimed = reader->next < reader->claim;
	uint64_t start;

	if (!claimed && reader->working == 0 && !may_begin_locked(reader))
		return busy(reader);
	if (claimed && slot->state == SLOT_READY) {
		*taken = true;
		slot->state = SLOT_FREE;
		reader->ready--;
		hand_out_locked(reader, slot->batch, out);
		slot->batch = NULL;
		return LC_OK;
	}
	if (claimed && slot->state == SLOT_FAILED) {
		slot->state = SLOT_FREE;
		return lc__error_raise(&slot->error);
	}
	pthread_cond_broadcast(&reader->work);
	start = lc__clock_ns();
	pthread_cond_wait(&reader->done, &reader->lock);
	reader->stats.wait_ns += lc__clock_ns() - start;
	return LC_OK;
}

/* Read the next batch in this thread, without the lock. *taken stays false if another
 * thread called seek meanwhile. */
static lc_status
take_here_locked(lc_reader *reader, struct lc__stream_state *state,
    const struct lc__job_batch *which, const lc_batch **out, bool *taken)
{
	const uint64_t turn = reader->turn;
	struct lc__batch *batch = NULL;

	if (!may_begin_locked(reader))
		return busy(reader);
	return_if_error(read_here_locked(reader, state, which, &batch));
	if (turn != reader->turn) {
		discard_locked(reader, batch);
		return LC_OK;
	}
	*taken = true;
	reader->used += lc__batch_bytes(batch);
	hand_out_locked(reader, batch, out);
	reader->claim = reader->next;
	return LC_OK;
}

/* Take the next batch, or wait for what it needs and leave *taken false. Releases the
 * lock while it waits until the source has enough for the batch or never will. */
static lc_status
try_next_locked(lc_reader *reader, const lc_batch **out, bool *taken)
{
	lc_stream *stream = reader->rule.stream;
	struct lc__job_batch which = { .number = reader->next };
	struct lc__stream_state *state = lc__stream_state_now(stream);
	lc_status status = find_batch(reader, state, &which);

	if (status == LC_TIMEOUT) {
		const uint64_t start = lc__clock_ns();

		unlock(reader);
		status = lc_stream_wait(stream, which.end, reader->timeout_ms);
		pthread_mutex_lock(&reader->lock);
		reader->stats.wait_ns += lc__clock_ns() - start;
		pthread_cond_broadcast(&reader->work);
		if (status == LC_END)
			status = LC_OK;
	} else if (status == LC_END) {
		lc__stream_lacks(stream, state, "batch", which.number, true);
	} else if (reader->n_threads > 0) {
		status = take_slot_locked(reader, out, taken);
	} else {
		status = take_here_locked(reader, state, &which, out, taken);
	}
	lc__stream_state_drop(state);
	return status;
}

/* Workers may have reached the end of what is known of a growing source: now and then,
 * check for more without the lock. An error is not reported here but when a call waits
 * for it. */
static void
look_for_more_locked(lc_reader *reader)
{
	lc_stream *stream = reader->rule.stream;
	const uint64_t now = lc__clock_coarse_ns();
	struct lc__stream_state *state;
	bool complete;
	lc_error before;

	if (!stream->options.follow || reader->n_threads == 0 ||
	    now - reader->looked_ns < LOOK_NS)
		return;
	state = lc__stream_state_now(stream);
	complete = state->complete;
	lc__stream_state_drop(state);
	if (complete)
		return;
	reader->looked_ns = now;
	unlock(reader);
	before = *lc_last_error();
	if (lc_source_refresh(stream->sources[0]) != LC_OK ||
	    lc__stream_follow(stream) != LC_OK)
		lc__error_raise(&before);
	pthread_mutex_lock(&reader->lock);
	pthread_cond_broadcast(&reader->work);
}

lc_status
lc_reader_next(lc_reader *reader, const lc_batch **out)
{
	bool taken = false;
	uint64_t next;
	lc_status status;

	return_if_error(check_process(reader));
	pthread_mutex_lock(&reader->lock);
	status = start_locked(reader);
	while (status == LC_OK && !taken)
		status = try_next_locked(reader, out, &taken);
	if (taken)
		look_for_more_locked(reader);
	next = reader->next;
	unlock(reader);
	if (taken)
		reach(reader, next);
	return status;
}

/* A batch of @p bytes was released: another one may be read instead. */
static void
uncount_locked(lc_reader *reader, struct lc__batch *batch, uint64_t bytes)
{
	if (batch->counted) {
		reader->held--;
		reader->used -= bytes;
	}
	batch->counted = false;
	/* A worker that is woken reads until it may start no more. Waking one may take as
	 * long as reading a batch, so it is done once there are several to read. A caller
	 * that waits for a batch wakes all of them. */
	if (reader->claim - reader->next <= (reader->ahead - reader->held) / 2)
		pthread_cond_signal(&reader->work);
}

lc_status
lc_batch_detach(const lc_batch *seen)
{
	struct lc__batch *batch = seen != NULL ? seen->lc_private : NULL;
	lc_reader *reader;
	uint64_t bytes;

	if (batch == NULL || batch->reader == NULL || is_parents(batch->reader))
		return LC_OK;
	reader = batch->reader;
	return_if_error(
	    lc__batch_own_names(batch, (const char *const *)reader->rule.names));
	bytes = lc__batch_bytes(batch);
	pthread_mutex_lock(&reader->lock);
	reader->stats.buffer_bytes -= bytes;
	uncount_locked(reader, batch, bytes);
	unlock(reader);
	batch->reader = NULL;
	return LC_OK;
}

void
lc_batch_release(const lc_batch *seen)
{
	struct lc__batch *batch = seen != NULL ? seen->lc_private : NULL;
	lc_reader *reader;
	uint64_t bytes, freed;

	if (batch == NULL)
		return;
	reader = batch->reader;
	if (reader == NULL) {
		lc__batch_end(batch);
		return;
	}
	if (is_parents(reader))
		return;
	bytes = lc__batch_bytes(batch);
	freed = lc__batch_clear(batch);
	pthread_mutex_lock(&reader->lock);
	reader->stats.buffer_bytes -= freed;
	uncount_locked(reader, batch, bytes);
	recycle_locked(reader, batch);
	unlock(reader);
}

/* ---- positions ---------------------------------------------------------------------- */

lc_status
lc_reader_seek(lc_reader *reader, uint64_t batch)
{
	return_if_error(check_process(reader));
	pthread_mutex_lock(&reader->lock);
	forget_locked(reader);
	reader->next = reader->claim = batch;
	pthread_cond_broadcast(&reader->work);
	pthread_cond_broadcast(&reader->done);
	unlock(reader);
	return foresee(reader, batch);
}

lc_status
lc_reader_token(lc_reader *reader, void *out)
{
	uint64_t next;

	return_if_error(check_process(reader));
	pthread_mutex_lock(&reader->lock);
	next = reader->next;
	unlock(reader);
	return lc_stream_token(reader->rule.stream, next, out);
}

lc_status
lc_reader_stat(const lc_reader *reader, lc_reader_stats *out)
{
	/* A const reader may be locked: that does not change its value. */
	lc_reader *unlocked = (lc_reader *)reader;

	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0,
		    "reader: struct_size of the statistics is not set");
	return_if_error(check_process(reader));
	pthread_mutex_lock(&unlocked->lock);
	*out = reader->stats;
	pthread_mutex_unlock(&unlocked->lock);
	out->struct_size = sizeof(*out);
	return LC_OK;
}
