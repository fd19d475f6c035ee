/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a handle: opened and closed beside its calls in other threads, forked, and
 * collected. Every call into the engine runs without the interpreter's lock.
 */
#include "handle.h"

#include <stdlib.h>
#include <time.h>

/* ---- calls under way ------------------------------------------------------------------ */

static void
init_locks(struct handle *handle)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&handle->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&handle->idle, &attr);
	pthread_condattr_destroy(&attr);
}

void
wake_closers(struct handle *handle)
{
	pthread_mutex_lock(&handle->lock);
	pthread_cond_broadcast(&handle->idle);
	pthread_mutex_unlock(&handle->lock);
}

/* Release a handle, without the interpreter. */
static void
drop_handle(struct handle *handle)
{
	lc_cache *cache;

	if (atomic_fetch_sub(&handle->refs, 1) > 1)
		return;
	cache = atomic_load(&handle->cache);
	if (cache != NULL) {
		lc_set_timeout(cache, UINT64_MAX);
		(void)lc_close(cache);
	}
	pthread_mutex_destroy(&handle->lock);
	pthread_cond_destroy(&handle->idle);
	free(handle);
}

/*
 * After a call of the engine that is under way by enter(): is it to be made again? Handlers
 * of signals run outside of the call, so that they can close the handle.
 */
bool
cache_again(PyObject *cache, struct wait *wait, lc_status *status)
{
	struct handle *handle = ((struct cache *)cache)->handle;
	bool repeat;

	if (*status != LC_TIMEOUT)
		return false;
	leave(handle);
	repeat = wait_again(wait, status);
	atomic_fetch_add(&handle->running, 1);
	if (!repeat || !atomic_load(&handle->closing))
		return repeat;
	PyErr_SetString(PyExc_ValueError, "the module was closed during the call");
	*status = LC_CANCELLED;
	return false;
}

lc_cache *
cache_enter(PyObject *cache)
{
	return enter(((struct cache *)cache)->handle);
}

void
cache_leave(PyObject *cache)
{
	leave(((struct cache *)cache)->handle);
}

struct handle *
cache_begin(PyObject *cache, lc_cache **out)
{
	struct handle *handle = ((struct cache *)cache)->handle;

	*out = enter(handle);
	if (*out == NULL)
		return NULL;
	atomic_fetch_add(&handle->refs, 1);
	return handle;
}

void
handle_end(struct handle *handle)
{
	leave(handle);
	drop_handle(handle);
}

void
cache_middle(PyObject *cache, struct middle *here)
{
	middle_begin(here, ((struct cache *)cache)->handle);
}

struct wait
cache_wait(PyObject *cache, const char *operation)
{
	return wait_of((struct cache *)cache, operation);
}

/* ---- opening and closing ---------------------------------------------------------- */

/* Arguments by their names; the Python function open() has made a dict of them. */
static int
read_options(PyObject *dict, lc_options *out)
{
	const char *codec = NULL, *durability = NULL;
	int read_only = 0, create = 1, force_fs = 0;

	lc_options_init(out);
	if (option_bool(dict, "readonly", &read_only) < 0 ||
	    option_bool(dict, "create", &create) < 0 ||
	    option_bool(dict, "force_fs", &force_fs) < 0 ||
	    option_verify(dict, "verify", &out->verify) < 0 ||
	    option_u64(dict, "flush_every", &out->flush_every) < 0 ||
	    option_u64(dict, "chunk_bytes", &out->chunk_bytes) < 0 ||
	    option_u64(dict, "flush_interval_ms", &out->flush_interval_ms) < 0 ||
	    option_u64(dict, "map_size", &out->map_size) < 0 ||
	    option_u64(dict, "lru_bytes", &out->lru_bytes) < 0 ||
	    option_int(dict, "level", &out->level) < 0 ||
	    option_int(dict, "rank", &out->rank) < 0 ||
	    option_int(dict, "writer_rank", &out->writer_rank) < 0 ||
	    option_text(dict, "codec", &codec) < 0 ||
	    option_text(dict, "durability", &durability) < 0)
		return -1;
	out->flags = read_only ? LC_RDONLY : create ? LC_CREATE : 0;
	if (force_fs)
		out->flags |= LC_FORCE_FS;
	if (codec != NULL && lc_codec_parse(codec, &out->codec) != LC_OK) {
		raise_status(LC_INVALID, NULL);
		return -1;
	}
	if (durability != NULL && strcmp(durability, "relaxed") == 0)
		out->durability = LC_DURABLE_RELAXED;
	else if (durability != NULL && strcmp(durability, "full") != 0) {
		PyErr_SetString(PyExc_ValueError, "durability: \"full\" or \"relaxed\"");
		return -1;
	}
	return PyErr_Occurred() ? -1 : 0;
}

int
timeout_of(PyObject *value, uint64_t *out)
{
	double seconds;

	*out = UINT64_MAX;
	if (value == Py_None)
		return 0;
	seconds = PyFloat_AsDouble(value);
	if (seconds == -1 && PyErr_Occurred())
		return -1;
	if (!(seconds >= 0)) {
		PyErr_SetString(PyExc_ValueError, "timeout: not a number of seconds");
		return -1;
	}
	if (seconds < 1e9)
		*out = (uint64_t)(seconds * 1000);
	return 0;
}

/* lc_open(): it waits for a process that is making the module, for ever if that is stopped. */
struct opening {
	struct task task;
	lc_options options;
	uint64_t slice_ms; /* of the handle's calls */
	struct handle *handle;
	char *root, *module;
};

static lc_status
open_work(struct task *task)
{
	struct opening *opening = (struct opening *)task;
	lc_cache *cache;
	const lc_status status = lc_open(opening->root, opening->module,
	    &opening->options, &cache);

	if (status == LC_OK) {
		lc_set_timeout(cache, opening->slice_ms);
		atomic_store(&opening->handle->cache, cache);
	}
	return status;
}

static void
open_drop(struct task *task)
{
	struct opening *opening = (struct opening *)task;

	drop_handle(opening->handle);
	free(opening->root);
	free(opening->module);
	free(opening);
}

/* A handle, or NULL with an exception. */
static struct handle *
open_handle(const char *root, const char *module, PyObject *options, uint64_t limit_ms)
{
	struct opening *opening = calloc(1, sizeof(*opening));
	struct handle *handle = calloc(1, sizeof(*handle));
	lc_status status;

	if (opening != NULL) {
		opening->root = strdup(root);
		opening->module = strdup(module);
	}
	if (handle == NULL || opening == NULL || opening->root == NULL ||
	    opening->module == NULL) {
		if (opening != NULL) {
			free(opening->root);
			free(opening->module);
		}
		free(opening);
		free(handle);
		PyErr_NoMemory();
		return NULL;
	}
	init_locks(handle);
	atomic_init(&handle->refs, 1);
	opening->handle = handle;
	opening->task.work = open_work;
	opening->task.drop = open_drop;
	task_init(&opening->task);
	if (read_options(options, &opening->options) < 0) {
		opening->task.ended = true;
		task_drop(&opening->task);
		return NULL;
	}
	opening->options.timeout_ms = limit_ms;
	opening->options.stop = signals_stop;
	opening->options.stop_ctx = handle;
	opening->slice_ms = slice_of(limit_ms);
	status = task_run(&opening->task, NULL);
	if (status == LC_OK)
		atomic_fetch_add(&handle->refs, 1);
	else
		raise_error(status, &opening->task.error);
	task_drop(&opening->task);
	return status == LC_OK ? handle : NULL;
}

PyObject *
cache_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
	PyObject *root, *options, *like, *timeout, *path = NULL;
	const char *module;
	struct handle *handle;
	struct cache *self;
	uint64_t limit_ms;
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	int form;

	if (!PyArg_ParseTuple(args, "OsO!O", &root, &module, &PyDict_Type, &options,
		&like))
		return NULL;
	form = like_of(like);
	timeout = PyDict_GetItemString(options, "timeout"); /* borrowed */
	if (form < 0 || timeout_of(timeout != NULL ? timeout : Py_None, &limit_ms) < 0 ||
	    !PyUnicode_FSConverter(root, &path))
		return NULL;
	handle = open_handle(PyBytes_AsString(path), module, options, limit_ms);
	Py_DECREF(path);
	if (handle == NULL)
		return NULL;
	self = (struct cache *)alloc(type, 0);
	if (self == NULL) {
		Py_BEGIN_ALLOW_THREADS
		drop_handle(handle);
		Py_END_ALLOW_THREADS
		return NULL;
	}
	self->handle = handle;
	self->like = (enum like)form;
	self->limit_ms = limit_ms;
	self->options = Py_NewRef(options);
	return (PyObject *)self;
}

/* ---- closing ------------------------------------------------------------------------ */

static struct timespec
slice_end(const struct cache *self)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)slice_of(self->limit_ms) * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return until;
}

/* Let no call begin any more. LC_END if the handle is closed; LC_TIMEOUT after a slice in
 * which another thread was closing it. */
static lc_status
keep_out(struct cache *self)
{
	struct handle *handle = self->handle;
	const struct timespec until = slice_end(self);
	lc_status status = LC_OK;

	pthread_mutex_lock(&handle->lock);
	while (status == LC_OK && atomic_load(&handle->closing) &&
	    atomic_load(&handle->cache) != NULL)
		if (pthread_cond_timedwait(&handle->idle, &handle->lock, &until) != 0)
			status = LC_TIMEOUT;
	if (atomic_load(&handle->cache) == NULL)
		status = LC_END;
	else if (status == LC_OK)
		atomic_store(&handle->closing, true);
	pthread_mutex_unlock(&handle->lock);
	return status;
}

/* Await the end of the calls under way, for a slice. */
static lc_status
await_calls(struct cache *self)
{
	struct handle *handle = self->handle;
	const struct timespec until = slice_end(self);
	lc_status status = LC_OK;

	pthread_mutex_lock(&handle->lock);
	while (status == LC_OK && atomic_load(&handle->running) > 0)
		if (pthread_cond_timedwait(&handle->idle, &handle->lock, &until) != 0)
			status = LC_TIMEOUT;
	pthread_mutex_unlock(&handle->lock);
	return status;
}

/* After keep_out(): closed now, with a handle of NULL, or open for calls again. */
static void
end_close(struct handle *handle, bool closed)
{
	if (closed)
		atomic_store(&handle->cache, NULL);
	else
		atomic_store(&handle->closing, false);
	wake_closers(handle);
}

/* Have the handle for oneself: 1; 0 if it is closed already; -1 with an exception. */
static int
begin_close(struct cache *self, struct wait *wait)
{
	struct handle *handle = self->handle;
	lc_status status;

	wait->what = handle;
	if (middle_of(handle)) {
		PyErr_SetString(PyExc_RuntimeError,
		    "close: this thread is in the middle of a call: close when it has "
		    "returned, or raise an exception to end it");
		return -1;
	}
	do {
		Py_BEGIN_ALLOW_THREADS
		status = keep_out(self);
		Py_END_ALLOW_THREADS
	} while (wait_again(wait, &status));
	if (status != LC_OK)
		return status == LC_END ? 0 : -1;
	do {
		Py_BEGIN_ALLOW_THREADS
		status = await_calls(self);
		Py_END_ALLOW_THREADS
	} while (wait_again(wait, &status));
	if (status == LC_OK)
		return 1;
	end_close(handle, false);
	return -1;
}

PyObject *
cache_close(struct cache *self, PyObject *Py_UNUSED(none))
{
	struct wait wait = wait_of(self, "close");
	lc_status status;
	const int mine = begin_close(self, &wait);

	if (mine != 1)
		return mine == 0 ? Py_NewRef(Py_None) : NULL;
	do {
		Py_BEGIN_ALLOW_THREADS
		status = lc_close(atomic_load(&self->handle->cache));
		Py_END_ALLOW_THREADS
	} while (wait_again(&wait, &status));
	end_close(self->handle, status != LC_CANCELLED);
	if (status != LC_OK)
		return raise_status(status, NULL);
	Py_RETURN_NONE;
}

/* lc_discard(), which waits for a commit that has begun. */
struct discarding {
	struct task task;
	lc_cache *cache;
};

static lc_status
discard_work(struct task *task)
{
	lc_discard(((struct discarding *)task)->cache);
	return LC_OK;
}

static void
discard_drop(struct task *task)
{
	free(task);
}

PyObject *
cache_discard(struct cache *self, PyObject *Py_UNUSED(none))
{
	struct wait wait = wait_of(self, "discard");
	struct discarding *discarding = calloc(1, sizeof(*discarding));
	lc_status status;
	int mine;

	if (discarding == NULL)
		return PyErr_NoMemory();
	mine = begin_close(self, &wait);
	if (mine != 1) {
		free(discarding);
		return mine == 0 ? Py_NewRef(Py_None) : NULL;
	}
	discarding->cache = atomic_load(&self->handle->cache);
	end_close(self->handle, true);
	discarding->task.work = discard_work;
	discarding->task.drop = discard_drop;
	task_init(&discarding->task);
	status = task_run(&discarding->task, self->handle);
	task_drop(&discarding->task);
	if (status != LC_OK)
		return raise_status(status, NULL);
	Py_RETURN_NONE;
}

/* In the child of a fork: the calls of other threads are not in this process. What one of
 * them was closing is closed here. */
PyObject *
cache_forked(struct cache *self, PyObject *Py_UNUSED(none))
{
	struct handle *handle = self->handle;

	init_locks(handle);
	atomic_store(&handle->running, 0);
	atomic_store(&handle->refs, 1);
	if (atomic_load(&handle->closing))
		atomic_store(&handle->cache, NULL);
	Py_RETURN_NONE;
}

/* Close a handle without references. The exception of a signal ends the wait: then the handle
 * stays open, and the end of the process commits pending writes. */
static void
close_last(struct handle *handle)
{
	struct wait wait = { .operation = "close", .limit_ms = UINT64_MAX };
	PyObject *type, *value, *traceback;
	lc_status status;

	PyErr_Fetch(&type, &value, &traceback);
	do {
		Py_BEGIN_ALLOW_THREADS
		status = lc_close(atomic_load(&handle->cache));
		Py_END_ALLOW_THREADS
	} while (wait_again(&wait, &status));
	atomic_store(&handle->cache, NULL);
	if (status != LC_OK) {
		raise_status(status, NULL);
		PyErr_WriteUnraisable(NULL);
	}
	PyErr_Restore(type, value, traceback);
}

int
cache_traverse(struct cache *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE((PyObject *)self));
	Py_VISIT(self->options);
	return 0;
}

int
cache_clear(struct cache *self)
{
	Py_CLEAR(self->options);
	return 0;
}

void
cache_dealloc(struct cache *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
	struct handle *handle = self->handle;

	PyObject_GC_UnTrack(self);
	if (self->weak != NULL)
		PyObject_ClearWeakRefs((PyObject *)self);
	if (handle != NULL) {
		if (atomic_load(&handle->cache) != NULL &&
		    atomic_load(&handle->refs) == 1)
			close_last(handle);
		drop_handle(handle);
	}
	cache_clear(self);
	release(self);
	Py_DECREF(type);
}
