/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handle of a module: the type Cache, what holds a record in place, and the iterator of
 * keys. Every call into the engine runs without the interpreter's lock.
 */
#include "core.h"

#include <stddef.h>
#include <structmember.h>
#include <stdlib.h>
#include <time.h>

/*
 * What calls are made on. Of the Cache, and of tasks that nobody awaits any more: the last of
 * them closes it.
 */
struct handle {
	_Atomic(lc_cache *) cache; /* NULL: closed */
	atomic_uint refs;
	atomic_uint running; /* calls */
	atomic_bool closing; /* no call may begin; set by the one who closes it */
	pthread_mutex_t lock;
	pthread_cond_t idle; /* running is 0, or closing is false again */
};

struct cache {
	PyObject_HEAD
	struct handle *handle;
	PyObject *options; /* dict of open()'s arguments, for pickling */
	enum like like;
	uint64_t limit_ms; /* of a call that waits */
	PyObject *weak;
};

static PyTypeObject *cache_type, *hold_type, *keys_type;

/* A record in place: tensors that borrow from it keep it. It needs no handle. */
struct hold {
	PyObject_HEAD
	lc_view view;
};

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

static void
wake_closers(struct handle *handle)
{
	pthread_mutex_lock(&handle->lock);
	pthread_cond_broadcast(&handle->idle);
	pthread_mutex_unlock(&handle->lock);
}

/* End a call. */
static void
leave(struct handle *handle)
{
	if (atomic_fetch_sub(&handle->running, 1) == 1 && atomic_load(&handle->closing))
		wake_closers(handle);
}

/* Begin a call; NULL with an exception if the handle is closed, or about to be. */
static lc_cache *
enter(struct handle *handle)
{
	lc_cache *cache;

	atomic_fetch_add(&handle->running, 1);
	cache = atomic_load(&handle->closing) ? NULL : atomic_load(&handle->cache);
	if (cache == NULL) {
		leave(handle);
		PyErr_SetString(PyExc_ValueError, "the module is closed");
	}
	return cache;
}

/* Let go of a handle, without the interpreter. */
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

static uint64_t
slice_of(uint64_t limit_ms)
{
	return limit_ms < SLICE_MS ? limit_ms : SLICE_MS;
}

static struct wait
wait_of(const struct cache *self, const char *operation)
{
	return (struct wait){ .operation = operation, .limit_ms = self->limit_ms };
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
	PyErr_SetString(PyExc_ValueError, "the module was closed meanwhile");
	*status = LC_CANCELLED;
	return false;
}

static bool
again(struct cache *self, struct wait *wait, lc_status *status)
{
	return *status == LC_TIMEOUT && cache_again((PyObject *)self, wait, status);
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
	    option_bool(dict, "verify", &out->verify) < 0 ||
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

/* The limit of a wait in ms, from seconds; None: for ever. */
static int
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

static PyObject *
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

static PyObject *
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

static PyObject *
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
static PyObject *
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

/* Close what nobody has any more. The exception of a signal ends the wait: then the handle
 * stays open, and the end of the process commits what is pending. */
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

static int
cache_traverse(struct cache *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE((PyObject *)self));
	Py_VISIT(self->options);
	return 0;
}

static int
cache_clear(struct cache *self)
{
	Py_CLEAR(self->options);
	return 0;
}

static void
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

/* ---- reading ------------------------------------------------------------------------ */

PyObject *
view_copy(lc_view *view, enum like like)
{
	const lc_value *value;
	void *memory;
	lc_status status;

	if (view->kind == LC_TENSOR) {
		memory = tensor_memory(view->tensor.nbytes);
		if (memory == NULL)
			return PyErr_NoMemory();
		if (view->tensor.nbytes < 65536) {
			memcpy(memory, view->tensor.data, view->tensor.nbytes);
		} else {
			Py_BEGIN_ALLOW_THREADS
			memcpy(memory, view->tensor.data, view->tensor.nbytes);
			Py_END_ALLOW_THREADS
		}
		return tensor_own(&view->tensor, memory, like);
	}
	Py_BEGIN_ALLOW_THREADS
	status = lc_view_value(view, NULL, &value);
	Py_END_ALLOW_THREADS
	if (status != LC_OK)
		return raise_status(status, NULL);
	return value_to(value, NULL, like);
}

/* A record, copied; NULL with an exception, or without one if it is not there. */
static PyObject *
get(struct cache *self, PyObject *key)
{
	PyObject *kept, *object = NULL;
	lc_cache *handle;
	lc_status status;
	lc_view view;
	lc_id id;

	if (id_from(key, &id, &kept) < 0)
		return NULL;
	handle = enter(self->handle);
	if (handle == NULL) {
		Py_XDECREF(kept);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS
	status = lc_get(handle, id.data, id.size, &view);
	Py_END_ALLOW_THREADS
	if (status == LC_OK) {
		object = view_copy(&view, self->like);
		lc_view_release(&view);
	} else if (status != LC_NOT_FOUND) {
		raise_status(status, key);
	}
	leave(self->handle);
	Py_XDECREF(kept);
	return object;
}

static PyObject *
cache_subscript(struct cache *self, PyObject *key)
{
	PyObject *object = get(self, key);

	if (object == NULL && !PyErr_Occurred())
		raise_status(LC_NOT_FOUND, key);
	return object;
}

static PyObject *
cache_get(struct cache *self, PyObject *const *args, Py_ssize_t n)
{
	PyObject *object;

	if (n < 1 || n > 2) {
		PyErr_SetString(PyExc_TypeError, "get(id, default=None)");
		return NULL;
	}
	object = get(self, args[0]);
	if (object == NULL && !PyErr_Occurred())
		return Py_NewRef(n == 2 ? args[1] : Py_None);
	return object;
}

static int
cache_contains(struct cache *self, PyObject *key)
{
	lc_cache *handle;
	lc_status status;
	PyObject *kept;
	lc_id id;

	if (id_from(key, &id, &kept) < 0)
		return -1;
	handle = enter(self->handle);
	if (handle == NULL) {
		Py_XDECREF(kept);
		return -1;
	}
	Py_BEGIN_ALLOW_THREADS
	status = lc_contains(handle, id.data, id.size);
	Py_END_ALLOW_THREADS
	leave(self->handle);
	Py_XDECREF(kept);
	if (status == LC_OK || status == LC_NOT_FOUND)
		return status == LC_OK;
	raise_status(status, key);
	return -1;
}

static Py_ssize_t
cache_length(struct cache *self)
{
	struct wait wait = wait_of(self, "len");
	lc_cache *handle = enter(self->handle);
	lc_status status;
	uint64_t n;

	if (handle == NULL)
		return -1;
	do {
		Py_BEGIN_ALLOW_THREADS
		status = lc_count(handle, &n);
		Py_END_ALLOW_THREADS
	} while (again(self, &wait, &status));
	leave(self->handle);
	if (status == LC_OK)
		return (Py_ssize_t)n;
	raise_status(status, NULL);
	return -1;
}

PyObject *
view_in_place(lc_view *view, enum like like)
{
	struct hold *hold = PyObject_New(struct hold, hold_type);
	PyObject *object = NULL;
	const lc_value *value;
	lc_status status = LC_OK;

	if (hold == NULL) {
		lc_view_release(view);
		return NULL;
	}
	/* From here it releases the view. */
	hold->view = *view;
	if (view->kind == LC_TENSOR) {
		object = tensor_view(&hold->view.tensor, (PyObject *)hold, like);
	} else {
		Py_BEGIN_ALLOW_THREADS
		status = lc_view_value(&hold->view, NULL, &value);
		Py_END_ALLOW_THREADS
		object = status == LC_OK ? value_to(value, (PyObject *)hold, like)
					 : raise_status(status, NULL);
	}
	Py_DECREF(hold);
	return object;
}

static PyObject *
cache_view(struct cache *self, PyObject *key)
{
	PyObject *kept;
	lc_cache *handle;
	lc_status status;
	lc_view view;
	lc_id id;

	if (id_from(key, &id, &kept) < 0)
		return NULL;
	handle = enter(self->handle);
	if (handle == NULL) {
		Py_XDECREF(kept);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS
	status = lc_get(handle, id.data, id.size, &view);
	Py_END_ALLOW_THREADS
	leave(self->handle);
	Py_XDECREF(kept);
	return status == LC_OK ? view_in_place(&view, LIKE_BUFFER)
			       : raise_status(status, key);
}

static void
hold_dealloc(struct hold *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);

	lc_view_release(&self->view);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyType_Slot hold_slots[] = {
	{ Py_tp_dealloc, hold_dealloc },
	{ 0, NULL },
};

static PyType_Spec hold_spec = {
	.name = "lmdbcache._core.Hold",
	.basicsize = sizeof(struct hold),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = hold_slots,
};

/* ---- writing -------------------------------------------------------------------------- */

/* Store an object, which is item @p item of a batch, or -1; -1 with an exception. */
static int
put(struct cache *self, PyObject *key, Py_ssize_t item, PyObject *object,
    const char *codec_name, int level)
{
	struct borrowed borrowed = { 0 };
	struct wait wait = wait_of(self, "put");
	lc_codec codec = LC_CODEC_DEFAULT;
	lc_cache *handle = NULL;
	lc_value *value = NULL;
	lc_status status;
	lc_tensor tensor;
	PyObject *kept;
	int answer, result = -1;
	lc_id id;

	if (codec_name != NULL && lc_codec_parse(codec_name, &codec) != LC_OK) {
		raise_status(LC_INVALID, NULL);
		return -1;
	}
	if (id_from(key, &id, &kept) < 0)
		return -1;
	answer = tensor_borrow(object, &borrowed, &tensor);
	if (answer == 0 || (answer == 1 && codec_name != NULL))
		value = answer == 1 ? lc_value_tensor(&tensor)
				    : value_from(object, &borrowed);
	if (answer < 0 || ((answer == 0 || codec_name != NULL) && value == NULL))
		goto done;
	handle = enter(self->handle);
	if (handle == NULL)
		goto done;
	do {
		Py_BEGIN_ALLOW_THREADS
		if (value == NULL)
			status = lc_put(handle, id.data, id.size, &tensor);
		else if (codec_name != NULL)
			status = lc_put_coded(handle, id.data, id.size, value, codec,
			    level);
		else
			status = lc_put_value(handle, id.data, id.size, value);
		Py_END_ALLOW_THREADS
	} while (again(self, &wait, &status));
	leave(self->handle);
	if (status == LC_OK)
		result = 0;
	else
		raise_item(status, key, item);
done:
	lc_value_free(value);
	borrowed_release(&borrowed);
	Py_XDECREF(kept);
	return result;
}

static PyObject *
cache_put(struct cache *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "id", "value", "codec", "level", NULL };
	PyObject *key, *object;
	const char *codec = NULL;
	int level = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|zi", names, &key, &object,
		&codec, &level) ||
	    put(self, key, -1, object, codec, level) < 0)
		return NULL;
	Py_RETURN_NONE;
}

/* 1: deleted, 0: was not there, -1: an exception. */
static int
forget(struct cache *self, PyObject *key)
{
	struct wait wait = wait_of(self, "delete");
	lc_cache *handle;
	lc_status status;
	PyObject *kept;
	lc_id id;

	if (id_from(key, &id, &kept) < 0)
		return -1;
	handle = enter(self->handle);
	if (handle == NULL) {
		Py_XDECREF(kept);
		return -1;
	}
	do {
		Py_BEGIN_ALLOW_THREADS
		status = lc_delete(handle, id.data, id.size);
		Py_END_ALLOW_THREADS
	} while (again(self, &wait, &status));
	leave(self->handle);
	Py_XDECREF(kept);
	if (status == LC_OK || status == LC_NOT_FOUND)
		return status == LC_OK;
	raise_status(status, key);
	return -1;
}

static PyObject *
cache_delete(struct cache *self, PyObject *key)
{
	const int found = forget(self, key);

	return found < 0 ? NULL : PyBool_FromLong(found);
}

static int
cache_ass_subscript(struct cache *self, PyObject *key, PyObject *object)
{
	int found;

	if (object != NULL)
		return put(self, key, -1, object, NULL, 0);
	found = forget(self, key);
	if (found == 0)
		raise_status(LC_NOT_FOUND, key);
	return found == 1 ? 0 : -1;
}

/* Row @p i of the tensors of a value; plain data is the same in each row. */
static lc_value *
row_of(const lc_value *columns, size_t i)
{
	const lc_kind kind = lc_value_kind(columns);
	lc_value *row;
	lc_tensor tensor;

	if (kind == LC_TENSOR) {
		if (lc_value_as_tensor(columns, &tensor) != LC_OK || tensor.ndim == 0)
			return NULL;
		tensor.nbytes /= tensor.shape[0];
		tensor.data = (const char *)tensor.data + i * tensor.nbytes;
		tensor.ndim--;
		memmove(tensor.shape, tensor.shape + 1,
		    tensor.ndim * sizeof(tensor.shape[0]));
		return lc_value_tensor(&tensor);
	}
	if (kind == LC_TAGGED)
		return lc_value_tagged(lc_value_name(columns, 0),
		    row_of(lc_value_at(columns, 0), i));
	if (kind != LC_MAP && kind != LC_LIST && kind != LC_TUPLE && kind != LC_PAIRS)
		return lc_value_copy(columns);
	row = kind == LC_MAP   ? lc_value_map()
	    : kind == LC_LIST  ? lc_value_list()
	    : kind == LC_TUPLE ? lc_value_tuple()
			       : lc_value_pairs();
	for (size_t j = 0; j < lc_value_count(columns); j++) {
		lc_value *part = row_of(lc_value_at(columns, j), i);

		if (kind == LC_MAP)
			lc_value_set(row, lc_value_name(columns, j), part);
		else if (kind == LC_PAIRS)
			lc_value_pair(row, part, row_of(lc_value_at(columns, ++j), i));
		else
			lc_value_append(row, part);
	}
	return row;
}

/* Has each tensor of a value @p n rows? */
static bool
has_rows(const lc_value *columns, size_t n)
{
	lc_tensor tensor;

	if (lc_value_kind(columns) == LC_TENSOR)
		return lc_value_as_tensor(columns, &tensor) == LC_OK && tensor.ndim > 0 &&
		    tensor.shape[0] == n;
	for (size_t j = 0; j < lc_value_count(columns); j++)
		if (!has_rows(lc_value_at(columns, j), n))
			return false;
	return true;
}

static PyObject *
put_list(struct cache *self, const struct ids *ids, PyObject *list)
{
	if ((size_t)PyList_Size(list) != ids->n) {
		PyErr_Format(PyExc_ValueError, "put_many: %zd values for %zu cache_ids",
		    PyList_Size(list), ids->n);
		return NULL;
	}
	for (size_t i = 0; i < ids->n; i++) {
		PyObject *object = Py_XNewRef(PyList_GetItem(list, (Py_ssize_t)i));
		const int failed = object == NULL ||
		    (signals_due() && PyErr_CheckSignals() < 0) ||
		    put(self, PyTuple_GetItem(ids->sequence, (Py_ssize_t)i),
			(Py_ssize_t)i, object, NULL, 0) < 0;

		Py_XDECREF(object);
		if (failed)
			return NULL;
	}
	Py_RETURN_NONE;
}

/* Put rows from *i on, until one fails or signals are to be asked for. */
static lc_status
put_rows(lc_cache *handle, const struct ids *ids, const lc_value *columns, size_t *i)
{
	lc_status status = LC_OK;

	do {
		lc_value *row = row_of(columns, *i);

		status = lc_put_value(handle, ids->all[*i].data, ids->all[*i].size, row);
		lc_value_free(row);
	} while (status == LC_OK && ++*i < ids->n && !signals_due());
	return status;
}

static PyObject *
put_columns(struct cache *self, const struct ids *ids, const lc_value *columns)
{
	struct wait wait = wait_of(self, "put_many");
	lc_cache *handle = enter(self->handle);
	lc_status status = LC_OK;
	size_t i = 0;

	if (handle == NULL)
		return NULL;
	while (status == LC_OK && i < ids->n) {
		do {
			Py_BEGIN_ALLOW_THREADS
			status = put_rows(handle, ids, columns, &i);
			Py_END_ALLOW_THREADS
		} while (again(self, &wait, &status));
		if (status == LC_OK && signals_check(self->handle) < 0)
			status = LC_CANCELLED;
	}
	leave(self->handle);
	if (status == LC_OK)
		Py_RETURN_NONE;
	/* A signal may have come after the last of them. */
	return raise_item(status,
	    i < ids->n ? PyTuple_GetItem(ids->sequence, (Py_ssize_t)i) : NULL,
	    (Py_ssize_t)i);
}

static PyObject *
cache_put_many(struct cache *self, PyObject *args)
{
	struct borrowed borrowed = { 0 };
	PyObject *ids_object, *object, *result = NULL;
	lc_value *columns = NULL;
	struct ids ids;

	if (!PyArg_ParseTuple(args, "OO", &ids_object, &object) ||
	    ids_from(ids_object, &ids) < 0)
		return NULL;
	if (PyList_Check(object)) {
		result = put_list(self, &ids, object);
		goto done;
	}
	columns = value_from(object, &borrowed);
	if (columns == NULL)
		goto done;
	if (lc_value_check(columns) != LC_OK)
		raise_status(lc_last_error()->status, NULL);
	else if (!has_rows(columns, ids.n))
		PyErr_Format(PyExc_ValueError,
		    "put_many: a tensor's first axis is not %zu", ids.n);
	else
		result = put_columns(self, &ids, columns);
done:
	lc_value_free(columns);
	borrowed_release(&borrowed);
	ids_free(&ids);
	return result;
}

static PyObject *
cache_flush(struct cache *self, PyObject *Py_UNUSED(none))
{
	struct wait wait = wait_of(self, "flush");
	lc_cache *handle = enter(self->handle);
	lc_status status;

	if (handle == NULL)
		return NULL;
	do {
		Py_BEGIN_ALLOW_THREADS
		status = lc_flush(handle);
		Py_END_ALLOW_THREADS
	} while (again(self, &wait, &status));
	leave(self->handle);
	if (status != LC_OK)
		return raise_status(status, NULL);
	Py_RETURN_NONE;
}

/* ---- keys -------------------------------------------------------------------------------- */

/* It needs no handle. */
struct keys {
	PyObject_HEAD
	lc_iter *iter; /* NULL: at its end */
	bool raw;
	atomic_flag running; /* a thread is in keys_next() */
};

static PyObject *
cache_keys(struct cache *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "prefix", "order", "raw", NULL };
	PyObject *prefix = NULL, *kept = NULL;
	const char *order = "key";
	struct keys *keys;
	unsigned flags = LC_ITER_LISTED;
	struct wait wait = wait_of(self, "keys");
	lc_cache *handle = NULL;
	lc_id start = { NULL, 0 };
	lc_iter *iter;
	lc_status status;
	int raw = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Os$p", names, &prefix, &order,
		&raw))
		return NULL;
	if (strcmp(order, "commit") == 0) {
		flags |= LC_BY_COMMIT;
	} else if (strcmp(order, "key") != 0) {
		PyErr_SetString(PyExc_ValueError, "order: \"key\" or \"commit\"");
		return NULL;
	}
	if (prefix != NULL && id_from(prefix, &start, &kept) < 0)
		return NULL;
	handle = enter(self->handle);
	if (handle == NULL) {
		Py_XDECREF(kept);
		return NULL;
	}
	do {
		Py_BEGIN_ALLOW_THREADS
		status = lc_iter_open(handle, flags, start.size > 0 ? start.data : NULL,
		    start.size, &iter);
		Py_END_ALLOW_THREADS
	} while (again(self, &wait, &status));
	leave(self->handle);
	Py_XDECREF(kept);
	if (status != LC_OK)
		return raise_status(status, NULL);
	keys = PyObject_New(struct keys, keys_type);
	if (keys == NULL) {
		lc_iter_close(iter);
		return NULL;
	}
	keys->iter = iter;
	keys->raw = raw;
	atomic_flag_clear(&keys->running);
	return (PyObject *)keys;
}

static PyObject *
keys_next(struct keys *self)
{
	PyObject *key = NULL;
	lc_status status;
	lc_item item;

	/* What consumes it, such as list(), may be C and never ask. */
	if (signals_due() && PyErr_CheckSignals() < 0)
		return NULL;
	if (atomic_flag_test_and_set(&self->running)) {
		PyErr_SetString(PyExc_ValueError,
		    "keys: another thread is in this iterator");
		return NULL;
	}
	if (self->iter == NULL)
		goto done;
	Py_BEGIN_ALLOW_THREADS
	status = lc_iter_next(self->iter, &item);
	Py_END_ALLOW_THREADS
	if (status == LC_OK) {
		key = id_to(&item.id, self->raw);
	} else if (status != LC_END) {
		raise_status(status, NULL);
	} else {
		/* At its end it holds nothing any more. */
		lc_iter_close(self->iter);
		self->iter = NULL;
	}
done:
	atomic_flag_clear(&self->running);
	return key;
}

static void
keys_dealloc(struct keys *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);

	lc_iter_close(self->iter);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyType_Slot keys_slots[] = {
	{ Py_tp_dealloc, keys_dealloc },
	{ Py_tp_iter, PyObject_SelfIter },
	{ Py_tp_iternext, keys_next },
	{ 0, NULL },
};

static PyType_Spec keys_spec = {
	.name = "lmdbcache._core.Keys",
	.basicsize = sizeof(struct keys),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = keys_slots,
};

static PyObject *
cache_iter(struct cache *self)
{
	PyObject *args = PyTuple_New(0), *keys;

	keys = args != NULL ? cache_keys(self, args, NULL) : NULL;
	Py_XDECREF(args);
	return keys;
}

/* ---- the module as a whole ------------------------------------------------------------------ */

#define NUMBER(field) \
	{ \
#field, offsetof(lc_stats, field) \
	}
static const struct {
	const char *name;
	size_t offset;
} numbers[] = {
	NUMBER(created_ms),
	NUMBER(generation),
	NUMBER(records),
	NUMBER(dead_records),
	NUMBER(chunks),
	NUMBER(live_bytes),
	NUMBER(dead_bytes),
	NUMBER(index_bytes),
	NUMBER(index_runs),
	NUMBER(file_bytes),
	NUMBER(free_bytes),
	NUMBER(map_bytes),
};

static PyObject *
cache_stats(struct cache *self, PyObject *Py_UNUSED(none))
{
	lc_stats stats = { .struct_size = sizeof(stats) };
	struct wait wait = wait_of(self, "stats");
	lc_cache *handle = enter(self->handle);
	PyObject *dict;
	lc_status status;

	if (handle == NULL)
		return NULL;
	do {
		Py_BEGIN_ALLOW_THREADS
		status = lc_stat(handle, &stats);
		Py_END_ALLOW_THREADS
	} while (again(self, &wait, &status));
	leave(self->handle);
	if (status != LC_OK)
		return raise_status(status, NULL);
	dict = Py_BuildValue("{s:y#,s:I,s:I}", "uuid", stats.uuid,
	    (Py_ssize_t)sizeof(stats.uuid), "format", (unsigned)stats.format, "schemas",
	    (unsigned)stats.schemas);
	for (size_t i = 0; dict != NULL && i < sizeof(numbers) / sizeof(numbers[0]);
	     i++) {
		uint64_t number;
		PyObject *object;

		memcpy(&number, (const char *)&stats + numbers[i].offset, sizeof(number));
		object = PyLong_FromUnsignedLongLong(number);
		if (object == NULL ||
		    PyDict_SetItemString(dict, numbers[i].name, object) < 0)
			Py_CLEAR(dict);
		Py_XDECREF(object);
	}
	return dict;
}

/* ---- attributes ------------------------------------------------------------------------ */

static PyObject *
get_closed(struct cache *self, void *Py_UNUSED(none))
{
	return PyBool_FromLong(atomic_load(&self->handle->cache) == NULL);
}

static PyObject *
get_like(struct cache *self, void *Py_UNUSED(none))
{
	return like_name(self->like);
}

static PyObject *
get_options(struct cache *self, void *Py_UNUSED(none))
{
	return Py_NewRef(self->options != NULL ? self->options : Py_None);
}

static PyObject *
get_timeout(struct cache *self, void *Py_UNUSED(none))
{
	const uint64_t limit_ms = self->limit_ms;

	if (limit_ms == UINT64_MAX)
		return Py_NewRef(Py_None);
	return PyFloat_FromDouble((double)limit_ms / 1000);
}

static int
set_timeout(struct cache *self, PyObject *value, void *Py_UNUSED(none))
{
	uint64_t limit_ms;
	lc_cache *handle;

	if (value == NULL) {
		PyErr_SetString(PyExc_TypeError, "timeout: cannot be deleted");
		return -1;
	}
	if (timeout_of(value, &limit_ms) < 0)
		return -1;
	handle = enter(self->handle);
	if (handle == NULL)
		return -1;
	self->limit_ms = limit_ms;
	lc_set_timeout(handle, slice_of(limit_ms));
	leave(self->handle);
	return 0;
}

#define KEYWORDS(f) ((PyCFunction)(void (*)(void))(f))

static PyMethodDef cache_methods[] = {
	{ "get", (PyCFunction)(void (*)(void))cache_get, METH_FASTCALL,
	    "get($self, id, default=None, /)\n--\n\n"
	    "The value stored under a cache_id, a copy of the caller's own; default if there\n"
	    "is none. What any handle of this process has put is seen at once." },
	{ "view", (PyCFunction)cache_view, METH_O,
	    "view($self, id, /)\n--\n\n"
	    "The value with its tensors in place, read-only: each a Tensor, which is a buffer\n"
	    "and speaks DLPack. It stays after close(). The space of old commits cannot be\n"
	    "reused while one is held, so do not hold views for hours." },
	{ "put", KEYWORDS(cache_put), METH_VARARGS | METH_KEYWORDS,
	    "put($self, id, value, codec=None, level=0)\n--\n\n"
	    "Store a value: a tensor of torch or NumPy, anything with a typed buffer, None,\n"
	    "bool, int, float, complex, str, bytes, bytearray, Tagged, or dicts, lists, tuples\n"
	    "and sets of them. It may be changed as soon as this returns, and is durable after the\n"
	    "next flush() or close(), or within flush_interval_ms. codec and level are those of\n"
	    "open(), for this value. TypeError for an object of another kind, which says where it\n"
	    "is; SchemaError where the module takes other structures." },
	{ "put_many", (PyCFunction)cache_put_many, METH_VARARGS,
	    "put_many($self, ids, values, /)\n--\n\n"
	    "Store many: a list with a value for each cache_id, or a tensor, dict or tuple of\n"
	    "tensors whose first axis has a row for each. After an error those before the\n"
	    "item that it names are stored." },
	{ "compute", cache_compute, METH_VARARGS,
	    "compute($self, ids, function, /)\n--\n\n"
	    "The values of many cache_ids, a list of copies. For those that are not stored, or\n"
	    "damaged, function(missing) is called with a list of them and returns their values in\n"
	    "that order, which are stored. What another thread is computing through this Cache is\n"
	    "awaited, not computed again. An exception of the function is raised, and nothing of\n"
	    "that call is stored. The function may use the cache, but not close it nor ask it to\n"
	    "compute the same cache_ids." },
	{ "delete", (PyCFunction)cache_delete, METH_O,
	    "delete($self, id, /)\n--\n\n"
	    "Forget a cache_id. Returns whether it was there." },
	{ "gather", KEYWORDS(cache_gather), METH_VARARGS | METH_KEYWORDS,
	    "gather($self, ids, out=None, field=None, threads=1, *, fields=None)\n--\n\n"
	    "Many tensors of one dtype and shape as one of shape [len(ids), ...], and the list\n"
	    "of positions that are missing, whose rows are 0. out is written instead of a new\n"
	    "one; field is the part of structured values to read (\"boxes.0\"). With nothing\n"
	    "found the first result is out, or None. With fields, many names, it is a dict of\n"
	    "one tensor for each, all read in one pass, and out is such a dict." },
	{ "missing", cache_missing, METH_O,
	    "missing($self, ids, /)\n--\n\n"
	    "The positions in ids of those that are not stored, ascending. Their data is not\n"
	    "read." },
	{ "keys", KEYWORDS(cache_keys), METH_VARARGS | METH_KEYWORDS,
	    "keys($self, prefix='', order='key', *, raw=False)\n--\n\n"
	    "An iterator over cache_ids that begin with prefix, of the commit that is the\n"
	    "newest now: in the order of their bytes, or with order='commit' as they were\n"
	    "stored. As text, in which bytes that are not UTF-8 are surrogates, as os.fsdecode()\n"
	    "has them; with raw=True as bytes." },
	{ "flush", (PyCFunction)cache_flush, METH_NOARGS,
	    "flush($self, /)\n--\n\nCommit what was put so far. It is on disk when this returns." },
	{ "close", (PyCFunction)cache_close, METH_NOARGS,
	    "close($self, /)\n--\n\n"
	    "flush() and close. It awaits the calls of other threads; those that begin later are\n"
	    "ValueError. Views, iterators and readers stay. When it is interrupted or times out,\n"
	    "the module stays open and has lost nothing." },
	{ "discard", (PyCFunction)cache_discard, METH_NOARGS,
	    "discard($self, /)\n--\n\n"
	    "Close without committing what is pending, which is lost with the last handle of this\n"
	    "process that writes the module." },
	{ "_forked", (PyCFunction)cache_forked, METH_NOARGS, NULL },
	{ "stats", (PyCFunction)cache_stats, METH_NOARGS,
	    "stats($self, /)\n--\n\n"
	    "A dict of numbers of the newest commit: \"records\", \"dead_records\" (replaced or\n"
	    "deleted), \"chunks\" and \"schemas\" are counts, those that end in \"_bytes\" are bytes;\n"
	    "\"generation\" is the number of commits, \"created_ms\" milliseconds since 1970, \"uuid\"\n"
	    "the module's identity." },
	{ 0 },
};

static PyGetSetDef cache_getset[] = {
	{ "closed", (getter)get_closed, NULL, "Is it closed?", NULL },
	{ "like", (getter)get_like, NULL,
	    "What tensors are given as: \"numpy\", \"torch\" or \"buffer\".", NULL },
	{ "timeout", (getter)get_timeout, (setter)set_timeout,
	    "Seconds that a call waits at most, or None: for ever.", NULL },
	{ "_options", (getter)get_options, NULL, NULL, NULL },
	{ 0 },
};

static PyMemberDef cache_members[] = {
	{ "__weaklistoffset__", T_PYSSIZET, offsetof(struct cache, weak), READONLY,
	    NULL },
	{ 0 },
};

static PyType_Slot cache_slots[] = {
	{ Py_tp_doc,
	    (char *)"The handle of a module; lmdbcache.Cache has the rest of it." },
	{ Py_tp_new, cache_new },
	{ Py_tp_dealloc, cache_dealloc },
	{ Py_tp_traverse, cache_traverse },
	{ Py_tp_clear, cache_clear },
	{ Py_tp_methods, cache_methods },
	{ Py_tp_members, cache_members },
	{ Py_tp_getset, cache_getset },
	{ Py_tp_iter, cache_iter },
	{ Py_mp_subscript, cache_subscript },
	{ Py_mp_ass_subscript, cache_ass_subscript },
	{ Py_mp_length, cache_length },
	{ Py_sq_contains, cache_contains },
	{ 0, NULL },
};

static PyType_Spec cache_spec = {
	.name = "lmdbcache._core.Cache",
	.basicsize = sizeof(struct cache),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = cache_slots,
};

bool
cache_is(PyObject *object)
{
	return PyObject_TypeCheck(object, cache_type);
}

enum like
cache_like(PyObject *cache)
{
	return ((struct cache *)cache)->like;
}

lc_cache *
cache_enter(PyObject *cache)
{
	return enter(((struct cache *)cache)->handle);
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

int
cache_add_methods(PyMethodDef *methods)
{
	for (; methods->ml_name != NULL; methods++) {
		PyObject *method = PyDescr_NewMethod(cache_type, methods);
		int failed = method == NULL ||
		    PyObject_SetAttrString((PyObject *)cache_type, methods->ml_name,
			method) < 0;

		Py_XDECREF(method);
		if (failed)
			return -1;
	}
	return 0;
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

void
cache_leave(PyObject *cache)
{
	leave(((struct cache *)cache)->handle);
}

int
cache_init(PyObject *module)
{
	cache_type = (PyTypeObject *)PyType_FromSpec(&cache_spec);
	hold_type = (PyTypeObject *)PyType_FromSpec(&hold_spec);
	keys_type = (PyTypeObject *)PyType_FromSpec(&keys_spec);
	if (cache_type == NULL || hold_type == NULL || keys_type == NULL)
		return -1;
	return PyModule_AddObjectRef(module, "Cache", (PyObject *)cache_type);
}
