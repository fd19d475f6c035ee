/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The type Cache: records in and out of a module, what holds a record in place, and the
 * iterator of keys. Every call into the engine runs without the interpreter's lock.
 */
#include "handle.h"

#include <stddef.h>
#include <structmember.h>
#include <stdlib.h>

static PyTypeObject *cache_type, *hold_type, *keys_type;

/* A record in place: tensors that borrow from it keep it. It needs no handle. */
struct hold {
	PyObject_HEAD
	lc_view view;
};

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
	    "A copy of the value stored under a cache_id; default if it is missing. Puts of all\n"
	    "handles of this process are visible at once." },
	{ "view", (PyCFunction)cache_view, METH_O,
	    "view($self, id, /)\n--\n\n"
	    "The value with its tensors in place, read-only: each is a Tensor, which is a\n"
	    "buffer and supports DLPack. It stays valid after close(). The space of old commits\n"
	    "cannot be reused while a view is held, so do not hold views for hours." },
	{ "put", KEYWORDS(cache_put), METH_VARARGS | METH_KEYWORDS,
	    "put($self, id, value, codec=None, level=0)\n--\n\n"
	    "Store a value: a torch tensor or NumPy array, anything with a typed buffer, None,\n"
	    "bool, int, float, complex, str, bytes, bytearray, Tagged, or dicts, lists, tuples\n"
	    "and sets of them. The caller may change it when the call returns; it is durable\n"
	    "after the next flush() or close(), or within flush_interval_ms. codec and level\n"
	    "are as for open(), for this value. TypeError, with its position, for an object of\n"
	    "another type; SchemaError if a strict module has another structure." },
	{ "put_many", (PyCFunction)cache_put_many, METH_VARARGS,
	    "put_many($self, ids, values, /)\n--\n\n"
	    "Store many values: a list with a value for each cache_id, or a tensor, dict or\n"
	    "tuple of tensors with one row of the first axis for each. After an error the\n"
	    "values before the item in the error are stored." },
	{ "compute", cache_compute, METH_VARARGS,
	    "compute($self, ids, function, /)\n--\n\n"
	    "A list of copies of the values of many cache_ids. For cache_ids that are not\n"
	    "stored, or damaged, function(missing) is called with a list of them and returns\n"
	    "their values in that order, which are stored. If another thread is computing a\n"
	    "value through this Cache, the call waits for it and does not compute it again. An\n"
	    "exception of the function is raised, and nothing of that call is stored. The\n"
	    "function may use the cache, but must not close it, or compute the same cache_ids\n"
	    "with it." },
	{ "delete", (PyCFunction)cache_delete, METH_O,
	    "delete($self, id, /)\n--\n\n"
	    "Delete a record. Returns whether it existed." },
	{ "gather", KEYWORDS(cache_gather), METH_VARARGS | METH_KEYWORDS,
	    "gather($self, ids, out=None, field=None, threads=1, *, fields=None)\n--\n\n"
	    "Return many tensors of one dtype and shape as one of shape [len(ids), ...], and\n"
	    "the list of missing positions; their rows are 0. out is written instead of a new\n"
	    "tensor; field is the part of structured values to read (\"boxes.0\"). If nothing is\n"
	    "found the first result is out, or None. With fields, a list of names, it is a dict\n"
	    "with one tensor for each, all read in one pass, and out is such a dict." },
	{ "missing", cache_missing, METH_O,
	    "missing($self, ids, /)\n--\n\n"
	    "The positions in ids of cache_ids that are not stored, ascending. Reads no data." },
	{ "keys", KEYWORDS(cache_keys), METH_VARARGS | METH_KEYWORDS,
	    "keys($self, prefix='', order='key', *, raw=False)\n--\n\n"
	    "An iterator over the cache_ids of the newest commit that begin with prefix: in the\n"
	    "order of their bytes, or with order='commit' in the order of puts. As text, with\n"
	    "surrogates for bytes that are not UTF-8, like os.fsdecode(); with raw=True as\n"
	    "bytes." },
	{ "flush", (PyCFunction)cache_flush, METH_NOARGS,
	    "flush($self, /)\n--\n\n"
	    "Commit all puts. They are on disk when this returns." },
	{ "close", (PyCFunction)cache_close, METH_NOARGS,
	    "close($self, /)\n--\n\n"
	    "flush() and close. Waits for calls of other threads; later calls raise ValueError.\n"
	    "Views, iterators and readers remain usable. If it is interrupted or times out, the\n"
	    "module stays open and nothing is lost." },
	{ "discard", (PyCFunction)cache_discard, METH_NOARGS,
	    "discard($self, /)\n--\n\n"
	    "Close without committing pending writes. They are lost if this was the last handle\n"
	    "of this process that writes to the module." },
	{ "_forked", (PyCFunction)cache_forked, METH_NOARGS, NULL },
	{ "stats", (PyCFunction)cache_stats, METH_NOARGS,
	    "stats($self, /)\n--\n\n"
	    "A dict of numbers of the newest commit: \"records\", \"dead_records\" (replaced or\n"
	    "deleted), \"chunks\" and \"schemas\" are counts, names that end in \"_bytes\" are bytes;\n"
	    "\"generation\" is the number of commits, \"created_ms\" milliseconds since 1970,\n"
	    "\"uuid\" the module's identity." },
	{ 0 },
};

static PyGetSetDef cache_getset[] = {
	{ "closed", (getter)get_closed, NULL, "Is it closed?", NULL },
	{ "like", (getter)get_like, NULL,
	    "The type of returned tensors: \"numpy\", \"torch\" or \"buffer\".", NULL },
	{ "timeout", (getter)get_timeout, (setter)set_timeout,
	    "The longest time in seconds that a call waits, or None for no limit.",
	    NULL },
	{ "_options", (getter)get_options, NULL, NULL, NULL },
	{ 0 },
};

static PyMemberDef cache_members[] = {
	{ "__weaklistoffset__", T_PYSSIZET, offsetof(struct cache, weak), READONLY,
	    NULL },
	{ 0 },
};

static PyType_Slot cache_slots[] = {
	{ Py_tp_doc, (char *)"The handle of a module; the base of lmdbcache.Cache." },
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
