/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that wait or work for long, and signals: Python's handlers run only when they are
 * asked for, by PyErr_CheckSignals() in the main thread. A call that waits does so in
 * slices; one that works asks for them itself; one that can do neither runs in a thread of
 * its own, while the calling thread asks.
 */
#include "core.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

static uint64_t
clock_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- handlers ---------------------------------------------------------------------- */

/* The calls that this thread is in the middle of, the innermost first. */
static _Thread_local const struct middle *middle;

void
middle_begin(struct middle *here, const void *what)
{
	*here = (struct middle){ what, middle };
	middle = here;
}

void
middle_end(const struct middle *here)
{
	middle = here->outer;
}

bool
middle_of(const void *what)
{
	for (const struct middle *i = middle; i != NULL; i = i->outer)
		if (i->what == what)
			return true;
	return false;
}

int
signals_check(const void *what)
{
	struct middle here;
	int result;

	middle_begin(&here, what);
	result = PyErr_CheckSignals();
	middle_end(&here);
	return result;
}

/* When this thread asks the next time. */
static _Thread_local uint64_t next_ms;

bool
signals_due(void)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC_COARSE);

	if (now < next_ms)
		return false;
	next_ms = now + SLICE_MS / 2;
	return true;
}

int
signals_stop(void *what)
{
	PyGILState_STATE state;
	int result;

	if (!signals_due())
		return 0;
	state = PyGILState_Ensure();
	result = signals_check(what);
	PyGILState_Release(state);
	return result;
}

/* ---- waits ------------------------------------------------------------------------- */

bool
wait_again(struct wait *wait, lc_status *status)
{
	const uint64_t slice = wait->limit_ms < SLICE_MS ? wait->limit_ms : SLICE_MS;
	uint64_t now;

	if (*status != LC_TIMEOUT)
		return false;
	if (signals_check(wait->what) < 0) {
		*status = LC_CANCELLED;
		return false;
	}
	if (wait->limit_ms == UINT64_MAX)
		return true;
	/* The first slice is over now. */
	now = clock_ms(CLOCK_MONOTONIC);
	if (wait->deadline_ms == 0)
		wait->deadline_ms = now - slice + wait->limit_ms;
	if (now < wait->deadline_ms)
		return true;
	raise_text(LC_TIMEOUT, "%s: not done after %llu ms; nothing is lost: call again",
	    wait->operation, (unsigned long long)wait->limit_ms);
	*status = LC_CANCELLED;
	return false;
}

/* ---- tasks ------------------------------------------------------------------------- */

static int
stop_task(void *ctx, uint64_t done, uint64_t total)
{
	const struct task *task = ctx;

	(void)done;
	(void)total;
	return atomic_load_explicit(&task->stop, memory_order_relaxed);
}

static void
work(struct task *task)
{
	task->status = task->work(task);
	if (task->status != LC_OK)
		task->error = *lc_last_error();
}

static void *
task_thread(void *arg)
{
	struct task *task = arg;
	bool left;

	work(task);
	pthread_mutex_lock(&task->lock);
	task->ended = true;
	left = task->left;
	pthread_cond_signal(&task->done);
	pthread_mutex_unlock(&task->lock);
	if (left)
		task->drop(task);
	return NULL;
}

/* Has it ended within a slice? */
static bool
await(struct task *task)
{
	struct timespec until;
	bool ended;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)SLICE_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&task->lock);
	while (
	    !task->ended && pthread_cond_timedwait(&task->done, &task->lock, &until) == 0)
		;
	ended = task->ended;
	pthread_mutex_unlock(&task->lock);
	return ended;
}

void
task_init(struct task *task)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&task->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&task->done, &attr);
	pthread_condattr_destroy(&attr);
	task->progress.step = stop_task;
	task->progress.ctx = task;
}

/* Does nothing end the wait? */
static bool
go_on(struct task *task, const void *what)
{
	struct middle one, also;
	bool result;

	middle_begin(&one, what);
	middle_begin(&also, task->also);
	result = PyErr_CheckSignals() == 0 &&
	    (task->poll == NULL || task->poll(task) == 0);
	middle_end(&also);
	middle_end(&one);
	return result;
}

lc_status
task_run(struct task *task, const void *what)
{
	sigset_t all, old;
	pthread_t thread;
	int rc;

	/* Handlers belong to the threads of Python. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, NULL, task_thread, task);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc != 0) {
		Py_BEGIN_ALLOW_THREADS
		work(task);
		task->ended = true;
		Py_END_ALLOW_THREADS
		return task->status;
	}
	pthread_detach(thread);
	for (;;) {
		bool ended;

		Py_BEGIN_ALLOW_THREADS
		ended = await(task);
		Py_END_ALLOW_THREADS
		if (ended && task->poll != NULL && task->poll(task) < 0)
			return LC_CANCELLED;
		if (ended)
			return task->status;
		if (go_on(task, what))
			continue;
		/* Most tasks stop at once. One that cannot ends later, by itself. */
		atomic_store(&task->stop, true);
		Py_BEGIN_ALLOW_THREADS
		await(task);
		Py_END_ALLOW_THREADS
		return LC_CANCELLED;
	}
}

void
task_drop(struct task *task)
{
	bool ended;

	pthread_mutex_lock(&task->lock);
	ended = task->ended;
	task->left = true;
	pthread_mutex_unlock(&task->lock);
	if (ended)
		task->drop(task);
}
