/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the extension share: its types, conversions and exceptions. */
#ifndef LMDBCACHE_PYTHON_CORE_H
#define LMDBCACHE_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
/* A build without the interpreter's lock has no limited API. */
#if !defined(Py_LIMITED_API) && !defined(Py_GIL_DISABLED)
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>

#include <lmdbcache.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct handle;

/* ---- errors (errors.c) ------------------------------------------------------ */

/** Make the exceptions and add them to the module. */
int errors_init(PyObject *module);

/**
 * Set the exception of a status, with the text of lc_last_error(). @p key, if it is not
 * NULL, becomes its attribute `key`. An exception that is set, such as the one of a
 * signal's handler, stays. Returns NULL.
 */
PyObject *raise_status(lc_status status, PyObject *key);

/** The same for item @p item of a batch. */
PyObject *raise_item(lc_status status, PyObject *key, Py_ssize_t item);

/** The same with the error of a task, which says what was not found, too. */
PyObject *raise_error(lc_status status, const lc_error *error);

/** The same with a text of one's own, as printf() writes it. */
PyObject *raise_text(lc_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- waiting and signals (wait.c) ------------------------------------------- */

/** The most that a call of the engine waits before signals are asked for, in ms. */
#define SLICE_MS 100

/**
 * Run the handlers of signals that have come; -1 with an exception, if one raised it.
 * @param what  what the calling thread is in the middle of, such as a handle
 */
int signals_check(const void *what);

/** While a call runs code of the caller's: what this thread is in the middle of. */
struct middle {
	const void *what; /* a handle */
	const struct middle *outer;
};

void middle_begin(struct middle *here, const void *what);
void middle_end(const struct middle *here);

/** Does the caller's code run in this thread, called in the middle of @p what? */
bool middle_of(const void *what);

/** Has this thread not asked for some time? Costs a few ns. */
bool signals_due(void);

/** lc_options.stop: signals_check() now and then, without the interpreter's lock. */
int signals_stop(void *what);

/** A call that is made again while it times out. */
struct wait {
	const char *operation; /* for the message */
	const void *what;      /* as for signals_check() */
	uint64_t limit_ms;     /* the caller's; UINT64_MAX: for ever */
	uint64_t deadline_ms;  /* 0 before the first slice is over */
};

/**
 * After a call that waits for SLICE_MS at most, with the interpreter's lock: is it to be
 * made again? If a signal ends the wait, or the limit does, an exception is set and
 * *status is LC_CANCELLED.
 */
bool wait_again(struct wait *wait, lc_status *status);

/**
 * A long call in a thread of its own. The caller fills work and drop, which a struct
 * around it may follow, and zeroes the rest before task_init().
 */
struct task {
	/** Do it, without the interpreter. It ends soon when progress.step() says so. */
	lc_status (*work)(struct task *task);
	/** Free it and its data, without the interpreter. In another thread if no caller
	 *  waited for the end. */
	void (*drop)(struct task *task);
	/** Called by the waiting thread ten times a second and at the end, with the
	 *  interpreter's lock; -1 with an exception stops the task. NULL: not. */
	int (*poll)(struct task *task);
	const void *also;     /* a second thing that the caller is in the middle of */
	lc_progress progress; /* for work */
	lc_status status;     /* of work */
	lc_error error;       /* unless LC_OK */
	atomic_bool stop;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t done;
	bool ended, left;
};

void task_init(struct task *task);

/**
 * Start it and await its end, or an exception of poll or of a signal's handler: then it is
 * asked to stop, and this is LC_CANCELLED. With the interpreter's lock.
 * @param what  as for signals_check()
 * @return the status of work.
 */
lc_status task_run(struct task *task, const void *what);

/** The caller is done with it: its drop() is called now, or when it has ended. */
void task_drop(struct task *task);

/* ---- tensors (tensor.c) ----------------------------------------------------- */

int tensor_init(PyObject *module);

/** The type `Tensor`. */
extern PyTypeObject *tensor_type;

/** How tensors are given to the caller. */
enum like { LIKE_BUFFER, LIKE_NUMPY, LIKE_TORCH };

/** "numpy", "torch", "buffer", or None for NumPy where it is installed; -1 with an
 *  exception. Imports what it names. */
int like_of(PyObject *name);
PyObject *like_name(enum like like);

/** Memory for the data of a tensor, 64-byte aligned, never NULL for 0 bytes; free(). */
void *tensor_memory(size_t size);

/**
 * A tensor that owns @p memory, writable, in the form that @p like says. Takes over the
 * memory, also when it fails.
 */
PyObject *tensor_own(const lc_tensor *tensor, void *memory, enum like like);

/** A read-only tensor whose data is borrowed from @p holder, which it keeps. */
PyObject *tensor_view(const lc_tensor *tensor, PyObject *holder, enum like like);

/** A writable tensor whose data @p holder lends, which it keeps. */
PyObject *tensor_lent(const lc_tensor *tensor, PyObject *holder, enum like like);

/** The dtype of a name or an object with a name ("f32", torch.float32, numpy.dtype);
 *  -1 with an exception. */
int dtype_of(PyObject *object);

/** A shape of a sequence of integers, LC_MAX_NDIM at most; -1 with an exception. */
int shape_of_sizes(PyObject *object, uint64_t *shape, uint32_t *ndim);

/** What was borrowed from objects while they are stored. */
struct borrowed {
	Py_buffer *buffers;
	size_t n_buffers, buffers_room;
	PyObject *kept; /* list of objects; NULL before the first */
};

void borrowed_release(struct borrowed *borrowed);

/**
 * Is @p object a tensor: of this module, of torch, an array, or anything with a typed
 * buffer or __dlpack__? Fills @p out with its data in C order, borrowed or copied.
 * Returns 1, 0 if it is not a tensor, -1 with an exception.
 */
int tensor_borrow(PyObject *object, struct borrowed *borrowed, lc_tensor *out);

/** A writable buffer for results, of this tensor's size or larger: fills @p out. */
int tensor_borrow_writable(PyObject *object, struct borrowed *borrowed, lc_tensor *out);

/* ---- values (value.c) ------------------------------------------------------- */

/** A value of any plain data, dicts, lists and tuples with tensors in them; NULL with an
 *  exception. */
lc_value *value_from(PyObject *object, struct borrowed *borrowed);

/** The object of a value. Tensors are copied, or with @p holder borrowed from it. */
PyObject *value_to(const lc_value *value, PyObject *holder, enum like like);

/* ---- cache_ids (ids.c) ------------------------------------------------------ */

/**
 * A cache_id: bytes as they are, text as UTF-8; what no UTF-8 is in a text that came from
 * keys() becomes the bytes that it was (surrogateescape).
 * @param kept  gets a new reference that @p out borrows from, or NULL
 */
int id_from(PyObject *object, lc_id *out, PyObject **kept);

/** Many of them, of any iterable of text and bytes. */
struct ids {
	PyObject *sequence; /* a tuple, or the list that they were copied from */
	lc_id *all;
	size_t n;
	PyObject *kept; /* list; NULL if all are borrowed from the sequence's items */
	char *bytes;    /* of all, one after the other; NULL if they are borrowed */
};

int ids_from(PyObject *object, struct ids *out);

/** The same with their bytes copied, which is faster for very many: the objects are looked at
 *  once, and need not be kept. */
int ids_copied(PyObject *object, struct ids *out);
void ids_free(struct ids *ids);

/** The text of a cache_id, or its bytes. */
PyObject *id_to(const lc_id *id, bool raw);

/* ---- options (options.c) ------------------------------------------------------ */

/** An option of a dict, a borrowed reference; NULL if it is not there or None. */
PyObject *option(PyObject *dict, const char *name);

/** Its value; *out stays as it is without one. -1 with an exception. A text is borrowed
 *  from the dict. */
int option_u64(PyObject *dict, const char *name, uint64_t *out);
int option_u32(PyObject *dict, const char *name, uint32_t *out);
int option_int(PyObject *dict, const char *name, int *out);
int option_bool(PyObject *dict, const char *name, int *out);
/* "always", "once" or "never"; True is the first of them, False the last. */
int option_verify(PyObject *dict, const char *name, lc_verify_mode *out);
int option_text(PyObject *dict, const char *name, const char **out);

/* ---- the handle (cache.c, handle.c) ----------------------------------------- */

int cache_init(PyObject *module);

/** What a view shows, in place and read-only; takes over the view, which the objects keep. */
PyObject *view_in_place(lc_view *view, enum like like);

/** Is it a Cache? */
bool cache_is(PyObject *object);

/** How it gives tensors. */
enum like cache_like(PyObject *cache);

/**
 * Begin a call on a Cache: its handle, which stays open until cache_leave(); NULL with an
 * exception if it is closed. Its calls that wait do so for SLICE_MS at most.
 */
lc_cache *cache_enter(PyObject *cache);
void cache_leave(PyObject *cache);

/** The same for a task: what it is a call on ends by handle_end(), without the interpreter. */
struct handle *cache_begin(PyObject *cache, lc_cache **out);
void handle_end(struct handle *handle);

/** Methods that other files give the type. */
int cache_add_methods(PyMethodDef *methods);

/** While such a call runs code of the caller's, which cannot close the handle. */
void cache_middle(PyObject *cache, struct middle *here);

/** The wait of such a call, and whether it is to be made again: see wait_again(). Handlers
 *  of signals run outside of the call, so that they can close the handle. */
struct wait cache_wait(PyObject *cache, const char *operation);
bool cache_again(PyObject *cache, struct wait *wait, lc_status *status);

/** What a view shows, copied. */
PyObject *view_copy(lc_view *view, enum like like);

/* ---- compute() (compute.c) -------------------------------------------------- */

/** A method of Cache. */
PyObject *cache_compute(PyObject *cache, PyObject *args);

/* ---- many records (gather.c) ------------------------------------------------ */

/** Methods of Cache. */
PyObject *cache_gather(PyObject *cache, PyObject *args, PyObject *kwargs);
PyObject *cache_missing(PyObject *cache, PyObject *ids);

/* ---- reservations (reserve.c) ------------------------------------------------- */

/** Gives the Cache its method reserve(). */
int reserve_init(PyObject *module);

/* ---- the life of modules (life.c) --------------------------------------------- */

/** Adds its methods to the Cache, and its functions to the module. */
int life_init(PyObject *module);

/* ---- sources (source.c) -------------------------------------------------------- */

int source_init(PyObject *module);

/** Open a Cache or a path of shards as the options of a dict say, or a tuple of them, and of
 *  Sources, as a list; -1 with an exception. */
int source_open(PyObject *from, PyObject *dict, lc_source **out);

/** A dict of what the shards of a source of a store have cost; NULL with an exception. */
PyObject *fetch_stats(const lc_source *source);

/* ---- stores of Python objects (store.c) ------------------------------------------ */

int store_init(PyObject *module);

/** Is it a Store? */
bool store_is(PyObject *object);

/** Open it, with the interpreter's lock. Without it, what the store does waits for it. */
lc_status store_open(PyObject *store, lc_store **out);

/** Python ends: no method of a Store is called after this. A function of the module. */
PyObject *stores_end(PyObject *module, PyObject *none);

/* ---- streams (reader.c) ------------------------------------------------------- */

int reader_init(PyObject *module);

#endif
