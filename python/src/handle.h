/* SPDX-License-Identifier: BSD-2-Clause */
/* What a Cache makes its calls on: opened, entered, left and closed. */
#ifndef LMDBCACHE_PYTHON_HANDLE_H
#define LMDBCACHE_PYTHON_HANDLE_H

#include "core.h"

/*
 * The object that calls use. The Cache, and tasks without a waiting caller, hold it: the last
 * of them closes it.
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

/* ---- calls under way ------------------------------------------------------------------ */

/** Wake those that wait to close the handle. */
void wake_closers(struct handle *handle);

/* End a call. */
static inline void
leave(struct handle *handle)
{
	if (atomic_fetch_sub(&handle->running, 1) == 1 && atomic_load(&handle->closing))
		wake_closers(handle);
}

/* Begin a call; NULL with an exception if the handle is closed, or about to be. */
static inline lc_cache *
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

static inline uint64_t
slice_of(uint64_t limit_ms)
{
	return limit_ms < SLICE_MS ? limit_ms : SLICE_MS;
}

static inline struct wait
wait_of(const struct cache *self, const char *operation)
{
	return (struct wait){ .operation = operation, .limit_ms = self->limit_ms };
}

/* cache_again(), whose usual answer is no. */
static inline bool
again(struct cache *self, struct wait *wait, lc_status *status)
{
	return *status == LC_TIMEOUT && cache_again((PyObject *)self, wait, status);
}

/* ---- of the type Cache ---------------------------------------------------------------- */

/** The limit of a wait in ms, from seconds; None: for ever. -1 with an exception. */
int timeout_of(PyObject *value, uint64_t *out);

PyObject *cache_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
PyObject *cache_close(struct cache *self, PyObject *none);
PyObject *cache_discard(struct cache *self, PyObject *none);
PyObject *cache_forked(struct cache *self, PyObject *none);
int cache_traverse(struct cache *self, visitproc visit, void *arg);
int cache_clear(struct cache *self);
void cache_dealloc(struct cache *self);

#endif
