/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handle of a module: the type Cache, what holds a record in place, and the iterator of
 * keys. Every call into the engine runs without the interpreter's lock.
 */
#include "core.h"

#include <stddef.h>
#include <structmember.h>
#include <stdlib.h>

struct cache {
	PyObject_HEAD
	lc_cache *handle;  /* NULL: closed */
	PyObject *options; /* dict of open()'s arguments, for pickling */
	enum like like;
	Py_ssize_t held;    /* views and iterators */
	Py_ssize_t running; /* calls, of other threads too */
	PyObject *weak;
};

static PyTypeObject *cache_type, *hold_type, *keys_type;

/* A record in place: tensors that borrow from it keep it. */
struct hold {
	PyObject_HEAD
	struct cache *cache;
	lc_view view;
};

/* Begin a call: returns 0 with an exception if the handle is closed. */
static int
enter(struct cache *self)
{
	if (self->handle == NULL) {
		PyErr_SetString(PyExc_ValueError, "the module is closed");
		return 0;
	}
	self->running++;
	return 1;
}

static void
leave(struct cache *self)
{
	self->running--;
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

static PyObject *
cache_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
	PyObject *root, *options, *like, *path = NULL;
	const char *root_text, *module_text;
	struct cache *self = NULL;
	lc_options how;
	lc_cache *handle;
	lc_status status;
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	int form;

	if (!PyArg_ParseTuple(args, "OsO!O", &root, &module_text, &PyDict_Type, &options,
		&like))
		return NULL;
	form = like_of(like);
	if (form < 0 || read_options(options, &how) < 0 ||
	    !PyUnicode_FSConverter(root, &path))
		return NULL;
	root_text = PyBytes_AsString(path);
	Py_BEGIN_ALLOW_THREADS
	status = lc_open(root_text, module_text, &how, &handle);
	Py_END_ALLOW_THREADS
	Py_DECREF(path);
	if (status != LC_OK)
		return raise_status(status, NULL);
	self = (struct cache *)alloc(type, 0);
	if (self == NULL) {
		lc_discard(handle);
		return NULL;
	}
	self->handle = handle;
	self->like = (enum like)form;
	self->options = Py_NewRef(options);
	return (PyObject *)self;
}

/* Take the handle out, unless something of it is held. */
static lc_cache *
take_handle(struct cache *self)
{
	lc_cache *handle = self->handle;

	if (self->held > 0 || self->running > 0) {
		PyErr_Format(PyExc_BufferError,
		    "close: %zd views or iterators are held, %zd calls are running",
		    self->held, self->running);
		return NULL;
	}
	self->handle = NULL;
	return handle;
}

static PyObject *
cache_close(struct cache *self, PyObject *Py_UNUSED(none))
{
	lc_cache *handle;
	lc_status status;

	if (self->handle == NULL)
		Py_RETURN_NONE;
	handle = take_handle(self);
	if (handle == NULL)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = lc_close(handle);
	Py_END_ALLOW_THREADS
	if (status != LC_OK)
		return raise_status(status, NULL);
	Py_RETURN_NONE;
}

static PyObject *
cache_discard(struct cache *self, PyObject *Py_UNUSED(none))
{
	lc_cache *handle;

	if (self->handle == NULL)
		Py_RETURN_NONE;
	handle = take_handle(self);
	if (handle == NULL)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	lc_discard(handle);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}

/* In the child of a fork: the calls of other threads are not in this process. */
static PyObject *
cache_forked(struct cache *self, PyObject *Py_UNUSED(none))
{
	self->running = 0;
	Py_RETURN_NONE;
}

static void
cache_dealloc(struct cache *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	if (self->weak != NULL)
		PyObject_ClearWeakRefs((PyObject *)self);
	if (self->handle != NULL) {
		lc_status status;

		Py_BEGIN_ALLOW_THREADS
		status = lc_close(self->handle);
		Py_END_ALLOW_THREADS
		if (status != LC_OK) {
			PyObject *type_, *value, *traceback;

			PyErr_Fetch(&type_, &value, &traceback);
			raise_status(status, NULL);
			PyErr_WriteUnraisable(NULL);
			PyErr_Restore(type_, value, traceback);
		}
	}
	Py_XDECREF(self->options);
	release(self);
	Py_DECREF(type);
}

/* ---- reading ------------------------------------------------------------------------ */

/* What a view shows, copied. */
static PyObject *
copy_view(lc_view *view, enum like like)
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
	lc_status status;
	lc_view view;
	lc_id id;

	if (id_from(key, &id, &kept) < 0)
		return NULL;
	if (!enter(self)) {
		Py_XDECREF(kept);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS
	status = lc_get(self->handle, id.data, id.size, &view);
	Py_END_ALLOW_THREADS
	if (status == LC_OK) {
		object = copy_view(&view, self->like);
		lc_view_release(&view);
	} else if (status != LC_NOT_FOUND) {
		raise_status(status, key);
	}
	leave(self);
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
	lc_status status;
	PyObject *kept;
	lc_id id;

	if (id_from(key, &id, &kept) < 0)
		return -1;
	if (!enter(self)) {
		Py_XDECREF(kept);
		return -1;
	}
	Py_BEGIN_ALLOW_THREADS
	status = lc_contains(self->handle, id.data, id.size);
	Py_END_ALLOW_THREADS
	leave(self);
	Py_XDECREF(kept);
	if (status == LC_OK || status == LC_NOT_FOUND)
		return status == LC_OK;
	raise_status(status, key);
	return -1;
}

static Py_ssize_t
cache_length(struct cache *self)
{
	lc_status status;
	uint64_t n;

	if (!enter(self))
		return -1;
	Py_BEGIN_ALLOW_THREADS
	status = lc_count(self->handle, &n);
	Py_END_ALLOW_THREADS
	leave(self);
	if (status == LC_OK)
		return (Py_ssize_t)n;
	raise_status(status, NULL);
	return -1;
}

static PyObject *
cache_view(struct cache *self, PyObject *key)
{
	PyObject *kept, *object = NULL;
	struct hold *hold;
	const lc_value *value;
	lc_status status;
	lc_id id;

	if (id_from(key, &id, &kept) < 0)
		return NULL;
	if (!enter(self)) {
		Py_XDECREF(kept);
		return NULL;
	}
	hold = PyObject_New(struct hold, hold_type);
	if (hold == NULL) {
		leave(self);
		Py_XDECREF(kept);
		return NULL;
	}
	/* From here the hold releases the view. */
	hold->cache = (struct cache *)Py_NewRef((PyObject *)self);
	self->held++;
	memset(&hold->view, 0, sizeof(hold->view));
	Py_BEGIN_ALLOW_THREADS
	status = lc_get(self->handle, id.data, id.size, &hold->view);
	if (status == LC_OK && hold->view.kind != LC_TENSOR)
		status = lc_view_value(&hold->view, NULL, &value);
	Py_END_ALLOW_THREADS
	leave(self);
	if (status != LC_OK)
		raise_status(status, key);
	else if (hold->view.kind == LC_TENSOR)
		object = tensor_view(&hold->view.tensor, (PyObject *)hold, LIKE_BUFFER);
	else
		object = value_to(value, (PyObject *)hold, LIKE_BUFFER);
	Py_DECREF(hold);
	Py_XDECREF(kept);
	return object;
}

static void
hold_dealloc(struct hold *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);

	lc_view_release(&self->view);
	self->cache->held--;
	Py_DECREF(self->cache);
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

/* ---- gathering ---------------------------------------------------------------------- */

/* Raise the error of a batch, which begins with the position of an item: "item 7: ". */
static void
raise_failed_item(lc_status status, const struct ids *ids)
{
	const char *text = lc_last_error()->text, *digit = text + 5;
	size_t item = 0;

	if (strncmp(text, "item ", 5) != 0) {
		raise_status(status, NULL);
		return;
	}
	for (; *digit >= '0' && *digit <= '9'; digit++)
		item = 10 * item + (size_t)(*digit - '0');
	raise_item(status,
	    item < ids->n ? PyTuple_GetItem(ids->sequence, (Py_ssize_t)item) : NULL,
	    (Py_ssize_t)item);
}

/* The positions of what was not found. */
static PyObject *
missing_list(const lc_status *statuses, size_t n)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list != NULL && i < n; i++) {
		PyObject *at;

		if (statuses[i] != LC_NOT_FOUND)
			continue;
		at = PyLong_FromSize_t(i);
		if (at == NULL || PyList_Append(list, at) < 0)
			Py_CLEAR(list);
		Py_XDECREF(at);
	}
	return list;
}

static PyObject *
cache_gather(struct cache *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "ids", "out", "field", "threads", NULL };
	PyObject *ids_object, *out = Py_None, *block = NULL, *list = NULL, *result = NULL;
	struct borrowed borrowed = { 0 };
	const char *field = NULL;
	lc_status *statuses = NULL, status = LC_OK;
	unsigned threads = 1;
	void *memory = NULL; /* of a new block */
	lc_tensor row, whole = { .nbytes = 0 };
	struct ids ids;
	size_t n_missing = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OzI", names, &ids_object, &out,
		&field, &threads))
		return NULL;
	if (ids_from(ids_object, &ids) < 0)
		return NULL;
	if (out != Py_None) {
		if (tensor_borrow_writable(out, &borrowed, &whole) < 0)
			goto done;
		if (whole.ndim == 0 || whole.shape[0] != ids.n) {
			PyErr_Format(PyExc_ValueError, "out: its first axis is not %zu",
			    ids.n);
			goto done;
		}
		status = lc_tensor_init(&row, whole.dtype, whole.ndim - 1,
		    whole.shape + 1, NULL);
		if (status != LC_OK) {
			raise_status(status, NULL);
			goto done;
		}
	}
	statuses = PyMem_Malloc((ids.n + 1) * sizeof(*statuses));
	if (statuses == NULL) {
		PyErr_NoMemory();
		goto done;
	}
	if (!enter(self))
		goto done;
	Py_BEGIN_ALLOW_THREADS
	if (out == Py_None) {
		status = lc_gather_row(self->handle, ids.n, ids.all, field, &row);
		if (status == LC_OK && row.nbytes > 0 && ids.n > SIZE_MAX / row.nbytes) {
			status = LC_NO_MEMORY;
		} else if (status == LC_OK) {
			whole.nbytes = ids.n * row.nbytes;
			memory = tensor_memory(whole.nbytes);
			whole.data = memory;
			if (memory == NULL)
				status = LC_NO_MEMORY;
		}
	}
	if (status == LC_OK)
		status = lc_gather(self->handle, ids.n, ids.all, field, &row,
		    (void *)(uintptr_t)whole.data, whole.nbytes, threads, statuses,
		    &n_missing);
	Py_END_ALLOW_THREADS
	leave(self);
	if (status == LC_NOT_FOUND) {
		/* Nothing is there: no shape either. */
		for (size_t i = 0; i < ids.n; i++)
			statuses[i] = LC_NOT_FOUND;
	} else if (status != LC_OK) {
		raise_failed_item(status, &ids);
		goto done;
	}
	list = missing_list(statuses, ids.n);
	if (out != Py_None) {
		block = Py_NewRef(out);
	} else if (memory == NULL) {
		block = Py_NewRef(Py_None);
	} else if (row.ndim == LC_MAX_NDIM) {
		PyErr_SetString(PyExc_ValueError,
		    "gather: the rows have as many dimensions as a tensor may");
	} else {
		whole.dtype = row.dtype;
		whole.ndim = row.ndim + 1;
		whole.shape[0] = ids.n;
		memcpy(whole.shape + 1, row.shape, row.ndim * sizeof(row.shape[0]));
		block = tensor_own(&whole, memory, self->like);
		memory = NULL;
	}
	if (list != NULL && block != NULL)
		result = PyTuple_Pack(2, block, list);
done:
	free(memory);
	Py_XDECREF(block);
	Py_XDECREF(list);
	PyMem_Free(statuses);
	borrowed_release(&borrowed);
	ids_free(&ids);
	return result;
}

static PyObject *
cache_missing(struct cache *self, PyObject *ids_object)
{
	PyObject *list = NULL;
	lc_status status;
	struct ids ids;
	size_t *missing, n;

	if (ids_from(ids_object, &ids) < 0)
		return NULL;
	missing = PyMem_Malloc((ids.n + 1) * sizeof(*missing));
	if (missing == NULL) {
		PyErr_NoMemory();
	} else if (enter(self)) {
		Py_BEGIN_ALLOW_THREADS
		status = lc_contains_batch(self->handle, ids.n, ids.all, missing, &n);
		Py_END_ALLOW_THREADS
		leave(self);
		if (status != LC_OK)
			raise_failed_item(status, &ids);
		else
			list = PyList_New((Py_ssize_t)n);
		for (size_t i = 0; list != NULL && i < n; i++) {
			PyObject *at = PyLong_FromSize_t(missing[i]);

			if (at == NULL || PyList_SetItem(list, (Py_ssize_t)i, at) < 0)
				Py_CLEAR(list);
		}
	}
	PyMem_Free(missing);
	ids_free(&ids);
	return list;
}

/* ---- writing -------------------------------------------------------------------------- */

/* Store an object, which is item @p item of a batch, or -1; -1 with an exception. */
static int
put(struct cache *self, PyObject *key, Py_ssize_t item, PyObject *object,
    const char *codec_name, int level)
{
	struct borrowed borrowed = { 0 };
	lc_codec codec = LC_CODEC_DEFAULT;
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
	if (answer < 0 || ((answer == 0 || codec_name != NULL) && value == NULL) ||
	    !enter(self))
		goto done;
	Py_BEGIN_ALLOW_THREADS
	if (value == NULL)
		status = lc_put(self->handle, id.data, id.size, &tensor);
	else if (codec_name != NULL)
		status = lc_put_coded(self->handle, id.data, id.size, value, codec,
		    level);
	else
		status = lc_put_value(self->handle, id.data, id.size, value);
	Py_END_ALLOW_THREADS
	leave(self);
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
	lc_status status;
	PyObject *kept;
	lc_id id;

	if (id_from(key, &id, &kept) < 0)
		return -1;
	if (!enter(self)) {
		Py_XDECREF(kept);
		return -1;
	}
	Py_BEGIN_ALLOW_THREADS
	status = lc_delete(self->handle, id.data, id.size);
	Py_END_ALLOW_THREADS
	leave(self);
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
	if (kind != LC_MAP && kind != LC_LIST && kind != LC_TUPLE)
		return lc_value_copy(columns);
	row = kind == LC_MAP  ? lc_value_map()
	    : kind == LC_LIST ? lc_value_list()
			      : lc_value_tuple();
	for (size_t j = 0; j < lc_value_count(columns); j++) {
		lc_value *part = row_of(lc_value_at(columns, j), i);

		if (kind == LC_MAP)
			lc_value_set(row, lc_value_name(columns, j), part);
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
		    put(self, PyTuple_GetItem(ids->sequence, (Py_ssize_t)i),
			(Py_ssize_t)i, object, NULL, 0) < 0;

		Py_XDECREF(object);
		if (failed)
			return NULL;
	}
	Py_RETURN_NONE;
}

static PyObject *
cache_put_many(struct cache *self, PyObject *args)
{
	struct borrowed borrowed = { 0 };
	PyObject *ids_object, *object, *result = NULL;
	lc_value *columns = NULL, *row;
	lc_status status = LC_OK;
	struct ids ids;
	size_t i;

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
	if (lc_value_check(columns) != LC_OK) {
		raise_status(lc_last_error()->status, NULL);
		goto done;
	}
	if (!has_rows(columns, ids.n)) {
		PyErr_Format(PyExc_ValueError,
		    "put_many: a tensor's first axis is not %zu", ids.n);
		goto done;
	}
	if (!enter(self))
		goto done;
	Py_BEGIN_ALLOW_THREADS
	for (i = 0; i < ids.n; i++) {
		row = row_of(columns, i);
		status = lc_put_value(self->handle, ids.all[i].data, ids.all[i].size,
		    row);
		lc_value_free(row);
		if (status != LC_OK)
			break;
	}
	Py_END_ALLOW_THREADS
	leave(self);
	if (status != LC_OK)
		raise_item(status, PyTuple_GetItem(ids.sequence, (Py_ssize_t)i),
		    (Py_ssize_t)i);
	else
		result = Py_NewRef(Py_None);
done:
	lc_value_free(columns);
	borrowed_release(&borrowed);
	ids_free(&ids);
	return result;
}

static PyObject *
cache_flush(struct cache *self, PyObject *Py_UNUSED(none))
{
	lc_status status;

	if (!enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = lc_flush(self->handle);
	Py_END_ALLOW_THREADS
	leave(self);
	if (status != LC_OK)
		return raise_status(status, NULL);
	Py_RETURN_NONE;
}

/* ---- keys -------------------------------------------------------------------------------- */

struct keys {
	PyObject_HEAD
	struct cache *cache;
	lc_iter *iter; /* NULL: at its end */
	bool raw;
	bool running; /* a thread is in keys_next() */
};

static PyObject *
cache_keys(struct cache *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "prefix", "order", "raw", NULL };
	PyObject *prefix = NULL, *kept = NULL;
	const char *order = "key";
	struct keys *keys;
	unsigned flags = LC_ITER_LISTED;
	lc_id start = { NULL, 0 };
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
	if (!enter(self)) {
		Py_XDECREF(kept);
		return NULL;
	}
	keys = PyObject_New(struct keys, keys_type);
	if (keys == NULL) {
		leave(self);
		Py_XDECREF(kept);
		return NULL;
	}
	keys->cache = (struct cache *)Py_NewRef((PyObject *)self);
	keys->iter = NULL;
	keys->raw = raw;
	keys->running = false;
	Py_BEGIN_ALLOW_THREADS
	status = lc_iter_open(self->handle, flags, start.size > 0 ? start.data : NULL,
	    start.size, &keys->iter);
	Py_END_ALLOW_THREADS
	leave(self);
	Py_XDECREF(kept);
	if (status != LC_OK) {
		keys->iter = NULL;
		Py_DECREF(keys);
		return raise_status(status, NULL);
	}
	self->held++;
	return (PyObject *)keys;
}

static PyObject *
keys_next(struct keys *self)
{
	lc_status status;
	lc_item item;

	if (self->iter == NULL)
		return NULL;
	if (self->running) {
		PyErr_SetString(PyExc_ValueError,
		    "keys: another thread is in this iterator");
		return NULL;
	}
	self->running = true;
	Py_BEGIN_ALLOW_THREADS
	status = lc_iter_next(self->iter, &item);
	Py_END_ALLOW_THREADS
	self->running = false;
	if (status == LC_OK)
		return id_to(&item.id, self->raw);
	if (status != LC_END)
		return raise_status(status, NULL);
	lc_iter_close(self->iter);
	self->iter = NULL;
	/* At its end it holds nothing any more. */
	self->cache->held--;
	return NULL;
}

static void
keys_dealloc(struct keys *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);

	if (self->iter != NULL)
		self->cache->held--;
	lc_iter_close(self->iter);
	Py_DECREF(self->cache);
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
	PyObject *dict;
	lc_status status;

	if (!enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = lc_stat(self->handle, &stats);
	Py_END_ALLOW_THREADS
	leave(self);
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

static PyObject *
cache_verify(struct cache *self, PyObject *Py_UNUSED(none))
{
	lc_verify_result result;
	lc_status status;

	if (!enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = lc_verify(self->handle, NULL, &result);
	Py_END_ALLOW_THREADS
	leave(self);
	if (status != LC_OK)
		return raise_status(status, NULL);
	return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K}", "chunks",
	    (unsigned long long)result.chunks, "records",
	    (unsigned long long)result.records, "live", (unsigned long long)result.live,
	    "bytes", (unsigned long long)result.bytes, "damaged",
	    (unsigned long long)result.damaged);
}

static PyObject *
cache_compact(struct cache *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "live_ratio", NULL };
	lc_compact_options options;
	lc_compact_result result;
	lc_status status;

	lc_compact_options_init(&options);
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|d", names,
		&options.live_ratio) ||
	    !enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = lc_compact(self->handle, &options, &result);
	Py_END_ALLOW_THREADS
	leave(self);
	if (status != LC_OK)
		return raise_status(status, NULL);
	return Py_BuildValue("{s:K,s:K,s:K,s:K}", "rewritten",
	    (unsigned long long)result.rewritten, "dropped",
	    (unsigned long long)result.dropped, "bytes_before",
	    (unsigned long long)result.bytes_before, "bytes_after",
	    (unsigned long long)result.bytes_after);
}

static PyObject *
cache_backup(struct cache *self, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "root", "compact", NULL };
	PyObject *path = NULL;
	const char *root;
	lc_status status;
	int compact = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|p", names,
		PyUnicode_FSConverter, &path, &compact))
		return NULL;
	if (!enter(self)) {
		Py_DECREF(path);
		return NULL;
	}
	root = PyBytes_AsString(path);
	Py_BEGIN_ALLOW_THREADS
	status = lc_backup(self->handle, root, compact ? LC_BACKUP_COMPACT : 0);
	Py_END_ALLOW_THREADS
	leave(self);
	Py_DECREF(path);
	if (status != LC_OK)
		return raise_status(status, NULL);
	Py_RETURN_NONE;
}

static PyObject *
get_closed(struct cache *self, void *Py_UNUSED(none))
{
	return PyBool_FromLong(self->handle == NULL);
}

static PyObject *
get_like(struct cache *self, void *Py_UNUSED(none))
{
	return like_name(self->like);
}

static PyObject *
get_options(struct cache *self, void *Py_UNUSED(none))
{
	return Py_NewRef(self->options);
}

#define KEYWORDS(f) ((PyCFunction)(void (*)(void))(f))

static PyMethodDef cache_methods[] = {
	{ "get", (PyCFunction)(void (*)(void))cache_get, METH_FASTCALL,
	    "get($self, id, default=None, /)\n--\n\n"
	    "The value stored under a cache_id, a copy of the caller's own; default if there\n"
	    "is none. What was put through this handle is seen at once." },
	{ "view", (PyCFunction)cache_view, METH_O,
	    "view($self, id, /)\n--\n\n"
	    "The value with its tensors in place, read-only: each a Tensor, which is a buffer\n"
	    "and speaks DLPack. It keeps the module open; close() is refused while one is\n"
	    "held. Old commits cannot be reused meanwhile, so do not hold views for hours." },
	{ "put", KEYWORDS(cache_put), METH_VARARGS | METH_KEYWORDS,
	    "put($self, id, value, codec=None, level=0)\n--\n\n"
	    "Store a value: a tensor of torch or NumPy, anything with a typed buffer, None,\n"
	    "bool, int, float, str, bytes, or dicts, lists and tuples of them. It is durable\n"
	    "after the next flush() or close(), or within flush_interval_ms." },
	{ "put_many", (PyCFunction)cache_put_many, METH_VARARGS,
	    "put_many($self, ids, values, /)\n--\n\n"
	    "Store many: a list with a value for each cache_id, or a tensor, dict or tuple of\n"
	    "tensors whose first axis has a row for each. After an error those before the\n"
	    "item that it names are stored." },
	{ "delete", (PyCFunction)cache_delete, METH_O,
	    "delete($self, id, /)\n--\n\nForget a cache_id. Was it there?" },
	{ "gather", KEYWORDS(cache_gather), METH_VARARGS | METH_KEYWORDS,
	    "gather($self, ids, out=None, field=None, threads=1)\n--\n\n"
	    "Many tensors of one dtype and shape as one of shape [len(ids), ...], and the list\n"
	    "of positions that are missing, whose rows are 0. out is written instead of a new\n"
	    "one; field is the part of structured values to read (\"boxes.0\"). With nothing\n"
	    "found the first result is out, or None." },
	{ "missing", (PyCFunction)cache_missing, METH_O,
	    "missing($self, ids, /)\n--\n\nThe positions in ids of those that are not stored.\n"
	    "Their data is not read." },
	{ "keys", KEYWORDS(cache_keys), METH_VARARGS | METH_KEYWORDS,
	    "keys($self, prefix='', order='key', *, raw=False)\n--\n\n"
	    "An iterator over cache_ids that begin with prefix, of the commit that is the\n"
	    "newest now: in the order of their bytes, or with order='commit' as they were\n"
	    "stored. As text, in which bytes that are not UTF-8 are surrogates, as os.fsdecode()\n"
	    "has them; with raw=True as bytes." },
	{ "flush", (PyCFunction)cache_flush, METH_NOARGS,
	    "flush($self, /)\n--\n\nCommit what was put so far. It is on disk when this returns." },
	{ "close", (PyCFunction)cache_close, METH_NOARGS,
	    "close($self, /)\n--\n\nflush() and close. BufferError while views or iterators are held." },
	{ "discard", (PyCFunction)cache_discard, METH_NOARGS,
	    "discard($self, /)\n--\n\nClose without committing what is pending." },
	{ "_forked", (PyCFunction)cache_forked, METH_NOARGS, NULL },
	{ "stats", (PyCFunction)cache_stats, METH_NOARGS,
	    "stats($self, /)\n--\n\nNumbers of the newest commit, in bytes unless they count." },
	{ "verify", (PyCFunction)cache_verify, METH_NOARGS,
	    "verify($self, /)\n--\n\nRead everything and compare it. CorruptError if it is damaged." },
	{ "compact", KEYWORDS(cache_compact), METH_VARARGS | METH_KEYWORDS,
	    "compact($self, live_ratio=0.5)\n--\n\n"
	    "Rewrite chunks with a smaller share of live bytes; others go on meanwhile." },
	{ "backup", KEYWORDS(cache_backup), METH_VARARGS | METH_KEYWORDS,
	    "backup($self, root, compact=False)\n--\n\n"
	    "A consistent copy of the newest commit in another root." },
	{ 0 },
};

static PyGetSetDef cache_getset[] = {
	{ "closed", (getter)get_closed, NULL, "is it closed?", NULL },
	{ "like", (getter)get_like, NULL, "what tensors are given as", NULL },
	{ "_options", (getter)get_options, NULL, NULL, NULL },
	{ 0 },
};

static PyMemberDef cache_members[] = {
	{ "__weaklistoffset__", T_PYSSIZET, offsetof(struct cache, weak), READONLY,
	    NULL },
	{ 0 },
};

static PyType_Slot cache_slots[] = {
	{ Py_tp_new, cache_new },
	{ Py_tp_dealloc, cache_dealloc },
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
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = cache_slots,
};

bool
cache_is(PyObject *object)
{
	return PyObject_TypeCheck(object, cache_type);
}

lc_cache *
cache_hold(PyObject *cache)
{
	struct cache *self = (struct cache *)cache;

	if (!enter(self))
		return NULL;
	leave(self);
	self->held++;
	return self->handle;
}

void
cache_release(PyObject *cache)
{
	((struct cache *)cache)->held--;
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
