/* SPDX-License-Identifier: BSD-2-Clause */
/* Records by their ordinals: the type Source, over a module, shards, a warehouse, or a list
 * of these. */
#include "core.h"

#include <stdlib.h>

struct source {
	PyObject_HEAD
	lc_source *source;
	atomic_uint users; /* 1 until it is closed, and calls; 0: it is gone */
	atomic_bool closed;
	enum like like;
};

static PyTypeObject *source_type;

/* ---- calls ------------------------------------------------------------------------------ */

/* End a call. What it gave stays: the engine keeps what views need. */
static void
leave(struct source *self)
{
	if (atomic_fetch_sub(&self->users, 1) > 1)
		return;
	Py_BEGIN_ALLOW_THREADS
	lc_source_close(self->source);
	Py_END_ALLOW_THREADS
}

/* Begin a call; NULL with an exception if it is closed. */
static lc_source *
enter(struct source *self)
{
	unsigned users = atomic_load(&self->users);

	while (users > 0 && !atomic_load(&self->closed))
		if (atomic_compare_exchange_weak(&self->users, &users, users + 1))
			return self->source;
	PyErr_SetString(PyExc_ValueError, "the source is closed");
	return NULL;
}

static PyObject *
source_close(struct source *self, PyObject *Py_UNUSED(none))
{
	if (!atomic_exchange(&self->closed, true))
		leave(self);
	Py_RETURN_NONE;
}

static void
source_dealloc(struct source *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	if (self->source != NULL && !atomic_load(&self->closed))
		leave(self);
	release(self);
	Py_DECREF(type);
}

/* ---- opening ------------------------------------------------------------------------------ */

/* Shards, which may take long to open. */
struct opening {
	struct task task;
	char *path, *length_field, *part, *split, *dataset; /* malloc'ed */
	char *cache, *endpoint, *region, *profile, *ca_file;
	lc_source_options options;
	lc_store_options store; /* of a path that is the URL of a store */
	lc_fetch_options fetch; /* likewise; without a cache the path is that of shards */
	lc_store *given;        /* a Store, instead of the path; or NULL */
	lc_source *source;
};

static lc_status
open_store(struct opening *opening)
{
	lc_store *store = opening->given;
	lc_status status = LC_OK;

	opening->given = NULL;
	if (store == NULL)
		status = lc_store_open(opening->path, &opening->store, &store);
	if (status != LC_OK)
		return status;
	status = lc_source_open_store(store, &opening->fetch, &opening->options,
	    &opening->source);
	if (status != LC_OK)
		lc_store_close(store);
	return status;
}

static lc_status
open_work(struct task *task)
{
	struct opening *opening = (struct opening *)task;

	opening->options.progress = task->progress;
	if (opening->fetch.cache != NULL)
		return open_store(opening);
	return lc_source_open_shards(opening->path, &opening->options, &opening->source);
}

static void
open_drop(struct task *task)
{
	struct opening *opening = (struct opening *)task;

	lc_source_close(opening->source);
	lc_store_close(opening->given);
	free(opening->path);
	free(opening->length_field);
	free(opening->part);
	free(opening->split);
	free(opening->dataset);
	free(opening->cache);
	free(opening->endpoint);
	free(opening->region);
	free(opening->profile);
	free(opening->ca_file);
	free(opening);
}

/* A copy of a text, which an option becomes; NULL stays. */
static int
keep(const char **option, char **copy)
{
	if (*option == NULL)
		return 0;
	*copy = strdup(*option);
	*option = *copy;
	return *copy != NULL ? 0 : -1;
}

/* How a store is reached and its shards are fetched; the generation is that of the store. */
static int
store_options(PyObject *dict, struct opening *opening)
{
	lc_store_options_init(&opening->store);
	lc_fetch_options_init(&opening->fetch);
	if (option_text(dict, "cache", &opening->fetch.cache) < 0)
		return -1;
	if (opening->fetch.cache == NULL)
		return 0;
	if (opening->options.generation != LC_NEWEST)
		opening->fetch.generation = opening->options.generation;
	opening->options.generation = LC_NEWEST;
	if (option_u64(dict, "cache_size", &opening->fetch.cache_bytes) < 0 ||
	    option_u32(dict, "fetch_ahead", &opening->fetch.ahead) < 0 ||
	    option_text(dict, "endpoint", &opening->store.endpoint) < 0 ||
	    option_text(dict, "region", &opening->store.region) < 0 ||
	    option_text(dict, "profile", &opening->store.profile) < 0 ||
	    option_text(dict, "ca_file", &opening->store.ca_file) < 0)
		return -1;
	return 0;
}

static int
open_shards(PyObject *from, PyObject *dict, const lc_source_options *options,
    lc_source **out)
{
	struct opening *opening;
	const char *path = "";
	PyObject *bytes = NULL;
	lc_status status;

	if (!store_is(from)) {
		if (!PyUnicode_FSConverter(from, &bytes))
			return -1;
		path = PyBytes_AsString(bytes);
	}
	opening = calloc(1, sizeof(*opening));
	if (opening == NULL) {
		Py_XDECREF(bytes);
		PyErr_NoMemory();
		return -1;
	}
	opening->task.work = open_work;
	opening->task.drop = open_drop;
	opening->options = *options;
	task_init(&opening->task);
	if (store_options(dict, opening) < 0) {
		opening->task.ended = true;
		task_drop(&opening->task);
		Py_XDECREF(bytes);
		return -1;
	}
	status = store_is(from) ? store_open(from, &opening->given) : LC_OK;
	if (status != LC_OK) {
		opening->task.ended = true;
		opening->task.error = *lc_last_error();
	} else if (keep(&path, &opening->path) < 0 ||
	    keep(&opening->fetch.cache, &opening->cache) < 0 ||
	    keep(&opening->store.endpoint, &opening->endpoint) < 0 ||
	    keep(&opening->store.region, &opening->region) < 0 ||
	    keep(&opening->store.profile, &opening->profile) < 0 ||
	    keep(&opening->store.ca_file, &opening->ca_file) < 0 ||
	    keep(&opening->options.length_field, &opening->length_field) < 0 ||
	    keep(&opening->options.part, &opening->part) < 0 ||
	    keep(&opening->options.split, &opening->split) < 0 ||
	    keep(&opening->options.dataset, &opening->dataset) < 0) {
		opening->task.ended = true;
		PyErr_NoMemory();
		status = LC_CANCELLED;
	} else {
		status = task_run(&opening->task, NULL);
	}
	Py_XDECREF(bytes);
	if (status == LC_OK) {
		*out = opening->source;
		opening->source = NULL;
	} else {
		raise_error(status, &opening->task.error);
	}
	task_drop(&opening->task);
	return status == LC_OK ? 0 : -1;
}

static int
open_module(PyObject *cache, const lc_source_options *options, lc_source **out)
{
	struct wait wait = cache_wait(cache, "source");
	lc_cache *handle = cache_enter(cache);
	lc_status status;

	if (handle == NULL)
		return -1;
	do {
		Py_BEGIN_ALLOW_THREADS
		status = lc_source_open_module(handle, options, out);
		Py_END_ALLOW_THREADS
	} while (cache_again(cache, &wait, &status));
	cache_leave(cache);
	if (status == LC_OK)
		return 0;
	raise_status(status, NULL);
	return -1;
}

/* One member of a list: that of a Source once more, or one that is opened. */
static int
open_member(PyObject *from, PyObject *dict, lc_source **out)
{
	struct source *member = (struct source *)from;
	lc_source *source;
	lc_status status;

	if (PyTuple_Check(from)) {
		PyErr_SetString(PyExc_TypeError,
		    "a list of sources in a list of sources");
		return -1;
	}
	if (!PyObject_TypeCheck(from, source_type))
		return source_open(from, dict, out);
	source = enter(member);
	if (source == NULL)
		return -1;
	Py_BEGIN_ALLOW_THREADS
	status = lc_source_open_list(&source, 1, out);
	Py_END_ALLOW_THREADS
	leave(member);
	if (status == LC_OK)
		return 0;
	raise_status(status, NULL);
	return -1;
}

static int
open_list(PyObject *tuple, PyObject *dict, lc_source **out)
{
	const Py_ssize_t n = PyTuple_Size(tuple);
	lc_source **members = calloc((size_t)n + 1, sizeof(lc_source *));
	lc_status status = LC_OK;
	Py_ssize_t opened = 0;

	if (members == NULL) {
		PyErr_NoMemory();
		return -1;
	}
	while (opened < n &&
	    open_member(PyTuple_GetItem(tuple, opened), dict, &members[opened]) == 0)
		opened++;
	Py_BEGIN_ALLOW_THREADS
	if (opened == n)
		status = lc_source_open_list(members, (size_t)n, out);
	for (Py_ssize_t i = 0; i < opened; i++)
		lc_source_close(members[i]);
	Py_END_ALLOW_THREADS
	free(members);
	if (opened == n && status != LC_OK)
		raise_status(status, NULL);
	return opened == n && status == LC_OK ? 0 : -1;
}

int
source_open(PyObject *from, PyObject *dict, lc_source **out)
{
	lc_source_options options;

	if (PyTuple_Check(from))
		return open_list(from, dict, out);

	lc_source_options_init(&options);
	options.stop = signals_stop;
	if (option_text(dict, "length_field", &options.length_field) < 0 ||
	    option_text(dict, "part", &options.part) < 0 ||
	    option_text(dict, "split", &options.split) < 0 ||
	    option_text(dict, "dataset", &options.dataset) < 0 ||
	    option_u64(dict, "split_seed", &options.split_seed) < 0 ||
	    option_u64(dict, "generation", &options.generation) < 0 ||
	    option_u64(dict, "directory_bytes", &options.directory_bytes) < 0 ||
	    option_u32(dict, "open_shards", &options.open_shards) < 0 ||
	    option_bool(dict, "split_by_run", &options.split_by_run) < 0 ||
	    option_bool(dict, "ignore_thresholds", &options.ignore_thresholds) < 0 ||
	    option_verify(dict, "verify", &options.verify) < 0)
		return -1;
	return cache_is(from) ? open_module(from, &options, out)
			      : open_shards(from, dict, &options, out);
}

static PyObject *
source_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	PyObject *from, *dict, *like_object;
	lc_source *source = NULL;
	struct source *self;
	int like;

	if (!PyArg_ParseTuple(args, "OO!O", &from, &PyDict_Type, &dict, &like_object))
		return NULL;
	like = like_of(like_object);
	if (like < 0 || source_open(from, dict, &source) < 0)
		return NULL;
	self = (struct source *)alloc(type, 0);
	if (self == NULL) {
		lc_source_close(source);
		return NULL;
	}
	self->source = source;
	atomic_init(&self->users, 1);
	atomic_init(&self->closed, false);
	self->like = (enum like)like;
	return (PyObject *)self;
}

/* ---- what it has ---------------------------------------------------------------------------- */

/* LC_OK, or LC_CANCELLED with an exception. */
static lc_status
info_of(struct source *self, lc_source_info *out)
{
	lc_source *source = enter(self);
	lc_status status;

	if (source == NULL)
		return LC_CANCELLED;
	out->struct_size = sizeof(*out);
	status = lc_source_info_get(source, out);
	leave(self);
	if (status == LC_OK)
		return LC_OK;
	raise_status(status, NULL);
	return LC_CANCELLED;
}

static Py_ssize_t
source_length(struct source *self)
{
	lc_source_info info;

	return info_of(self, &info) == LC_OK ? (Py_ssize_t)info.records : -1;
}

static PyObject *
source_info(struct source *self, PyObject *Py_UNUSED(none))
{
	lc_source_info info;

	if (info_of(self, &info) != LC_OK)
		return NULL;
	return Py_BuildValue("{s:y#,s:K,s:K,s:K,s:K,s:K,s:N,s:N}", "uuid", info.uuid,
	    (Py_ssize_t)sizeof(info.uuid), "generation",
	    (unsigned long long)info.generation, "chunks",
	    (unsigned long long)info.chunks, "records", (unsigned long long)info.records,
	    "length", (unsigned long long)info.length, "prefix_hash",
	    (unsigned long long)info.prefix_hash, "final", PyBool_FromLong(info.final),
	    "has_lengths", PyBool_FromLong(info.has_lengths));
}

PyObject *
fetch_stats(const lc_source *source)
{
	lc_fetch_stats stats = { .struct_size = sizeof(stats) };
	const lc_status status = lc_source_fetch_stats(source, &stats);

	if (status != LC_OK) {
		raise_status(status, NULL);
		return NULL;
	}
#define NUMBER(name) (unsigned long long)stats.name
	return Py_BuildValue(
	    "{s:K,s:K,s:N,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:d,s:K,s:K,s:d}",
	    "generation", NUMBER(generation), "least_cache", NUMBER(least_bytes),
	    "by_ranges", PyBool_FromLong(stats.ranges), "hits", NUMBER(hits), "misses",
	    NUMBER(misses), "fetched", NUMBER(fetched), "fetched_bytes",
	    NUMBER(fetched_bytes), "range_requests", NUMBER(range_requests), "evicted",
	    NUMBER(evicted), "refetched", NUMBER(refetched), "resumed", NUMBER(resumed),
	    "mended", NUMBER(mended), "failed", NUMBER(failed), "stalled",
	    (double)stats.stall_ns / 1e9, "requests", NUMBER(requests), "retries",
	    NUMBER(retries), "retry_wait", (double)stats.retry_wait_ns / 1e9);
#undef NUMBER
}

static PyObject *
source_fetch_stats(struct source *self, PyObject *Py_UNUSED(none))
{
	lc_source *source = enter(self);
	PyObject *stats;

	if (source == NULL)
		return NULL;
	stats = fetch_stats(source);
	leave(self);
	return stats;
}

static PyObject *
source_refresh(struct source *self, PyObject *Py_UNUSED(none))
{
	lc_source *source = enter(self);
	lc_status status;

	if (source == NULL)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = lc_source_refresh(source);
	Py_END_ALLOW_THREADS
	leave(self);
	if (status != LC_OK)
		return raise_status(status, NULL);
	return PyLong_FromSsize_t(source_length(self));
}

/* ---- records ---------------------------------------------------------------------------------- */

static PyObject *
get(struct source *self, uint64_t ordinal, enum like like)
{
	lc_source *source = enter(self);
	lc_status status;
	PyObject *record;
	lc_view view;

	if (source == NULL)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = lc_source_get(source, ordinal, &view);
	Py_END_ALLOW_THREADS
	leave(self);
	if (status != LC_OK)
		return raise_status(status, NULL);
	if (like != LIKE_TORCH)
		return view_in_place(&view, like);
	/* torch has no read-only tensors. */
	record = view_copy(&view, like);
	lc_view_release(&view);
	return record;
}

/* As Tensors, which say what NumPy cannot. */
static PyObject *
source_first(struct source *self, PyObject *Py_UNUSED(none))
{
	return get(self, 0, LIKE_BUFFER);
}

/* The sequence protocol asks for records until there is an IndexError. */
static PyObject *
source_item(struct source *self, Py_ssize_t i)
{
	const Py_ssize_t n = source_length(self);

	if (n < 0)
		return NULL;
	if (i < 0 || i >= n) {
		PyErr_Format(PyExc_IndexError, "there is no record %zd: there are %zd", i,
		    n);
		return NULL;
	}
	return get(self, (uint64_t)i, self->like);
}

static PyObject *
source_slice(struct source *self, PyObject *slice)
{
	Py_ssize_t n = source_length(self), start, stop, step_, count;
	PyObject *list;

	if (n < 0 || PySlice_Unpack(slice, &start, &stop, &step_) < 0)
		return NULL;
	count = PySlice_AdjustIndices(n, &start, &stop, step_);
	list = PyList_New(count);
	for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
		PyObject *record = get(self, (uint64_t)(start + i * step_), self->like);

		if (record == NULL || PyList_SetItem(list, i, record) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *
source_subscript(struct source *self, PyObject *key)
{
	Py_ssize_t i, n;

	if (PySlice_Check(key))
		return source_slice(self, key);
	i = PyNumber_AsSsize_t(key, PyExc_IndexError);
	if (i == -1 && PyErr_Occurred())
		return NULL;
	if (i >= 0)
		return source_item(self, i);
	n = source_length(self);
	if (n < 0)
		return NULL;
	if (i + n < 0) {
		PyErr_Format(PyExc_IndexError, "there is no record %zd: there are %zd", i,
		    n);
		return NULL;
	}
	return source_item(self, i + n);
}

static PyObject *
source_id(struct source *self, PyObject *number)
{
	char small[1024], *room = small;
	const uint64_t ordinal = PyLong_AsUnsignedLongLong(number);
	size_t size = 0;
	PyObject *id;
	lc_source *source;
	lc_status status;

	if (PyErr_Occurred())
		return NULL;
	source = enter(self);
	if (source == NULL)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = lc_source_id(source, ordinal, small, sizeof(small), &size);
	if (status == LC_INVALID && size > sizeof(small)) {
		room = malloc(size);
		status = room != NULL ? lc_source_id(source, ordinal, room, size, &size)
				      : LC_NO_MEMORY;
	}
	Py_END_ALLOW_THREADS
	leave(self);
	if (status != LC_OK)
		id = raise_status(status, NULL);
	else if (size == 0)
		id = Py_NewRef(Py_None);
	else
		id = id_to(&(lc_id){ room, size }, false);
	if (room != small)
		free(room);
	return id;
}

/* Raise the error of a batch, of the item that it names. */
static PyObject *
raise_batch(lc_status status, const struct ids *ids)
{
	const lc_error *error = lc_last_error();
	const size_t item = error->status == status ? error->item : SIZE_MAX;

	if (item == SIZE_MAX)
		return raise_status(status, NULL);
	return raise_item(status,
	    ids != NULL && item < ids->n
		? PyTuple_GetItem(ids->sequence, (Py_ssize_t)item)
		: NULL,
	    (Py_ssize_t)item);
}

static PyObject *
source_find(struct source *self, PyObject *ids_object)
{
	PyObject *list = NULL;
	uint64_t *ordinals;
	lc_source *source;
	lc_status status;
	struct ids ids;

	if (ids_from(ids_object, &ids) < 0)
		return NULL;
	ordinals = PyMem_Malloc((ids.n + 1) * sizeof(*ordinals));
	source = ordinals != NULL ? enter(self) : NULL;
	if (ordinals == NULL)
		PyErr_NoMemory();
	if (source == NULL)
		goto done;
	Py_BEGIN_ALLOW_THREADS
	status = lc_source_find(source, ids.n, ids.all, ordinals);
	Py_END_ALLOW_THREADS
	leave(self);
	if (status != LC_OK) {
		raise_batch(status, &ids);
		goto done;
	}
	list = PyList_New((Py_ssize_t)ids.n);
	for (size_t i = 0; list != NULL && i < ids.n; i++) {
		PyObject *at = ordinals[i] == UINT64_MAX
		    ? Py_NewRef(Py_None)
		    : PyLong_FromUnsignedLongLong(ordinals[i]);

		if (at == NULL || PyList_SetItem(list, (Py_ssize_t)i, at) < 0)
			Py_CLEAR(list);
	}
done:
	PyMem_Free(ordinals);
	ids_free(&ids);
	return list;
}

/* ---- many at once ----------------------------------------------------------------------------- */

/* Ordinals of any iterable of numbers, a range or an array; negative ones count from the
 * end. *out is freed by PyMem_Free(). */
static int
ordinals_from(PyObject *object, Py_ssize_t records, uint64_t **out, size_t *n)
{
	PyObject *sequence = PySequence_Tuple(object);
	const Py_ssize_t size = sequence != NULL ? PyTuple_Size(sequence) : -1;

	if (size < 0)
		return -1;
	*out = PyMem_Malloc((size_t)(size + 1) * sizeof(**out));
	if (*out == NULL)
		PyErr_NoMemory();
	for (Py_ssize_t i = 0; *out != NULL && i < size; i++) {
		const Py_ssize_t at = PyNumber_AsSsize_t(PyTuple_GetItem(sequence, i),
		    PyExc_IndexError);
		const Py_ssize_t from_start = at < 0 ? at + records : at;

		if (at == -1 && PyErr_Occurred())
			break;
		if (from_start < 0 || from_start >= records) {
			PyErr_Format(PyExc_IndexError,
			    "item %zd: there is no record %zd: there are %zd", i, at,
			    records);
			break;
		}
		(*out)[i] = (uint64_t)from_start;
	}
	Py_DECREF(sequence);
	*n = (size_t)size;
	if (!PyErr_Occurred())
		return 0;
	PyMem_Free(*out);
	*out = NULL;
	return -1;
}

/* What a gather is about, while it runs. */
struct gather {
	uint64_t *ordinals;
	size_t n;
	const char *field;
	lc_tensor row;
	void *rows;
	size_t room;
	unsigned threads;
};

static lc_status
run_gather(lc_source *source, const struct gather *gather)
{
	return lc_source_gather(source, gather->n, gather->ordinals, gather->field,
	    &gather->row, gather->rows, gather->room, gather->threads, NULL);
}

/* Into a tensor of the caller. */
static PyObject *
gather_into(struct source *self, struct gather *gather, PyObject *out)
{
	struct borrowed borrowed = { 0 };
	PyObject *result = NULL;
	lc_source *source;
	lc_tensor whole;
	lc_status status;

	if (tensor_borrow_writable(out, &borrowed, &whole) < 0)
		goto done;
	if (whole.ndim == 0 || whole.shape[0] != gather->n) {
		PyErr_Format(PyExc_ValueError, "out: its first axis is not %zu",
		    gather->n);
		goto done;
	}
	status = lc_tensor_init(&gather->row, whole.dtype, whole.ndim - 1,
	    whole.shape + 1, NULL);
	source = status == LC_OK ? enter(self) : NULL;
	if (source != NULL) {
		gather->rows = (void *)(uintptr_t)whole.data;
		gather->room = whole.nbytes;
		Py_BEGIN_ALLOW_THREADS
		status = run_gather(source, gather);
		Py_END_ALLOW_THREADS
		leave(self);
	}
	if (status != LC_OK)
		raise_batch(status, NULL);
	else if (source != NULL)
		result = Py_NewRef(out);
done:
	borrowed_release(&borrowed);
	return result;
}

/* Into a new one. */
static PyObject *
gather_new(struct source *self, struct gather *gather)
{
	lc_source *source;
	lc_tensor whole;
	lc_status status;

	if (gather->n == 0) {
		PyErr_SetString(PyExc_ValueError, "gather: no ordinals, and no out");
		return NULL;
	}
	source = enter(self);
	if (source == NULL)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = lc_source_gather_row(source, gather->ordinals[0], gather->field,
	    &gather->row);
	if (status == LC_OK && gather->row.nbytes > 0 &&
	    gather->n > SIZE_MAX / gather->row.nbytes)
		status = LC_NO_MEMORY;
	if (status == LC_OK) {
		gather->room = gather->n * gather->row.nbytes;
		gather->rows = tensor_memory(gather->room);
		status = gather->rows != NULL ? run_gather(source, gather) : LC_NO_MEMORY;
	}
	Py_END_ALLOW_THREADS
	leave(self);
	if (status == LC_OK && gather->row.ndim == LC_MAX_NDIM) {
		PyErr_SetString(PyExc_ValueError,
		    "gather: the rows have too many dimensions");
		status = LC_CANCELLED;
	}
	if (status != LC_OK) {
		free(gather->rows);
		return raise_batch(status, NULL);
	}
	whole = gather->row;
	whole.ndim++;
	whole.shape[0] = gather->n;
	memcpy(whole.shape + 1, gather->row.shape,
	    gather->row.ndim * sizeof(whole.shape[0]));
	whole.nbytes = gather->room;
	return tensor_own(&whole, gather->rows, self->like);
}

/* One field, into @p out if that is not None. */
static PyObject *
gather_one(struct source *self, struct gather *gather, PyObject *out)
{
	return out != Py_None ? gather_into(self, gather, out) : gather_new(self, gather);
}

/* A dict of one for each of many names. */
static PyObject *
gather_fields(struct source *self, const struct gather *asked, PyObject *names,
    PyObject *out)
{
	PyObject *fields = NULL, *dict = NULL;

	if (asked->field != NULL || PyUnicode_Check(names))
		PyErr_SetString(PyExc_TypeError,
		    "gather: fields is a list of names, and excludes field");
	else if (out != Py_None && !PyDict_Check(out))
		PyErr_SetString(PyExc_TypeError,
		    "out: with fields it is a dict of arrays");
	else
		fields = PySequence_Tuple(names);
	if (fields != NULL)
		dict = PyDict_New();
	for (Py_ssize_t i = 0; dict != NULL && i < PyTuple_Size(fields); i++) {
		PyObject *name = PyTuple_GetItem(fields, i), *array = NULL;
		PyObject *into = out == Py_None ? NULL
						: PyDict_GetItemWithError(out, name);
		struct gather one = *asked;

		if (!PyErr_Occurred())
			one.field = PyUnicode_AsUTF8AndSize(name, NULL);
		if (one.field != NULL)
			array = gather_one(self, &one, into != NULL ? into : Py_None);
		if (array == NULL || PyDict_SetItem(dict, name, array) < 0)
			Py_CLEAR(dict);
		Py_XDECREF(array);
	}
	Py_XDECREF(fields);
	return dict;
}

static PyObject *
source_gather(struct source *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "ordinals", "out", "field", "threads", "fields", NULL };
	PyObject *object, *out = Py_None, *fields = Py_None, *result;
	struct gather asked = { .threads = 1 };
	const Py_ssize_t records = source_length(self);

	if (records < 0 ||
	    !PyArg_ParseTupleAndKeywords(args, kwargs, "O|OzI$O", names, &object, &out,
		&asked.field, &asked.threads, &fields) ||
	    ordinals_from(object, records, &asked.ordinals, &asked.n) < 0)
		return NULL;
	result = fields != Py_None ? gather_fields(self, &asked, fields, out)
				   : gather_one(self, &asked, out);
	PyMem_Free(asked.ordinals);
	return result;
}

/* ---- the type ------------------------------------------------------------------------------------ */

static PyObject *
get_closed(struct source *self, void *Py_UNUSED(none))
{
	return PyBool_FromLong(atomic_load(&self->closed));
}

static PyObject *
get_like(struct source *self, void *Py_UNUSED(none))
{
	return like_name(self->like);
}

#define KEYWORDS(f) ((PyCFunction)(void (*)(void))(f)), METH_VARARGS | METH_KEYWORDS

static PyMethodDef source_methods[] = {
	{ "id", (PyCFunction)source_id, METH_O,
	    "id($self, ordinal, /)\n--\n\n"
	    "The cache_id of a record, or None in shards without cache_ids." },
	{ "find", (PyCFunction)source_find, METH_O,
	    "find($self, ids, /)\n--\n\n"
	    "The ordinals of cache_ids, None for a missing one. UnsupportedError for sources\n"
	    "without an index: shards, parts of a split, modules with inputs." },
	{ "gather", KEYWORDS(source_gather),
	    "gather($self, ordinals, out=None, field=None, threads=1, *, fields=None)\n--\n\n"
	    "Records as one tensor of shape [len(ordinals), ...], read in storage order. out is\n"
	    "written instead of a new tensor; field is the part of structured records to read,\n"
	    "in shards the image by default. With fields, a list of names, the result is a dict\n"
	    "with one tensor for each, and out is such a dict." },
	{ "info", (PyCFunction)source_info, METH_NOARGS,
	    "info($self, /)\n--\n\n"
	    "uuid, generation, chunks, records, length ... of the current generation." },
	{ "refresh", (PyCFunction)source_refresh, METH_NOARGS,
	    "refresh($self, /)\n--\n\n"
	    "Advance to the newest commit. Returns the number of records; known ones keep their\n"
	    "ordinals." },
	{ "fetch_stats", (PyCFunction)source_fetch_stats, METH_NOARGS,
	    "fetch_stats($self, /)\n--\n\n"
	    "For a store: a dict of the costs of fetching since it was opened, see\n"
	    "lmdbcache_store(3); \"stalled\" and \"retry_wait\" are in seconds. UnsupportedError "
	    "for other sources." },
	{ "_first", (PyCFunction)source_first, METH_NOARGS, NULL },
	{ "close", (PyCFunction)source_close, METH_NOARGS,
	    "close($self, /)\n--\n\n"
	    "Close the source. Records that the caller holds stay valid." },
	{ 0 },
};

static PyGetSetDef source_getset[] = {
	{ "closed", (getter)get_closed, NULL, "Is it closed?", NULL },
	{ "like", (getter)get_like, NULL,
	    "The type of returned tensors: \"numpy\", \"torch\" or \"buffer\".", NULL },
	{ 0 },
};

static PyType_Slot source_slots[] = {
	{ Py_tp_new, source_new },
	{ Py_tp_dealloc, source_dealloc },
	{ Py_tp_methods, source_methods },
	{ Py_tp_getset, source_getset },
	{ Py_mp_subscript, source_subscript },
	{ Py_mp_length, source_length },
	{ Py_sq_item, source_item },
	{ Py_tp_doc, "Records by their ordinals; the base of lmdbcache.Source." },
	{ 0, NULL },
};

static PyType_Spec source_spec = {
	.name = "lmdbcache._core.Source",
	.basicsize = sizeof(struct source),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = source_slots,
};

int
source_init(PyObject *module)
{
	source_type = (PyTypeObject *)PyType_FromSpec(&source_spec);
	return source_type == NULL
	    ? -1
	    : PyModule_AddObjectRef(module, "Source", (PyObject *)source_type);
}
