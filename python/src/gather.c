/* SPDX-License-Identifier: BSD-2-Clause */
/* Many records in one call: gather() and missing() of a Cache. */
#include "core.h"

#include <stdlib.h>

/* Raise the error of a batch, of the item that it names. */
static void
raise_batch(lc_status status, const struct ids *ids)
{
	const lc_error *error = lc_last_error();
	PyObject *key;

	if (error->status != status || error->item >= ids->n) {
		raise_status(status, NULL);
		return;
	}
	key = PySequence_GetItem(ids->sequence, (Py_ssize_t)error->item);
	if (key != NULL)
		raise_item(status, key, (Py_ssize_t)error->item);
	Py_XDECREF(key);
}

/* ---- gather ------------------------------------------------------------------------- */

/* What is gathered of each record, and where to. */
struct part {
	lc_column column;
	PyObject *out; /* the caller's array, borrowed; NULL: a new one is made */
	void *memory;  /* of a new one */
	bool absent;   /* no record is there, so that no shape is known */
};

struct gathering {
	struct ids ids;
	struct part *parts;
	lc_column *columns; /* of the parts that are not absent */
	size_t n;           /* parts */
	struct borrowed borrowed;
	lc_status *statuses;
	bool no_memory;
};

static void
free_gathering(struct gathering *g)
{
	for (size_t i = 0; g->parts != NULL && i < g->n; i++)
		free(g->parts[i].memory);
	PyMem_Free(g->parts);
	PyMem_Free(g->columns);
	PyMem_Free(g->statuses);
	borrowed_release(&g->borrowed);
	ids_free(&g->ids);
}

/* Take an array of the caller for a part. */
static int
borrow_out(struct gathering *g, struct part *part, PyObject *out)
{
	lc_tensor whole;
	lc_status status;

	if (tensor_borrow_writable(out, &g->borrowed, &whole) < 0)
		return -1;
	if (whole.ndim == 0 || whole.shape[0] != g->ids.n) {
		PyErr_Format(PyExc_ValueError, "out: its first axis is not %zu",
		    g->ids.n);
		return -1;
	}
	status = lc_tensor_init(&part->column.row, whole.dtype, whole.ndim - 1,
	    whole.shape + 1, NULL);
	if (status != LC_OK) {
		raise_status(status, NULL);
		return -1;
	}
	part->out = out;
	part->column.rows = (void *)(uintptr_t)whole.data;
	part->column.room = whole.nbytes;
	return 0;
}

/* The parts, from the arguments. @p fields is a tuple of names, or NULL for one part. */
static int
begin(struct gathering *g, PyObject *fields, const char *field, PyObject *out)
{
	g->n = fields != NULL ? (size_t)PyTuple_Size(fields) : 1;
	g->parts = PyMem_Calloc(g->n + 1, sizeof(*g->parts));
	g->columns = PyMem_Calloc(g->n + 1, sizeof(*g->columns));
	g->statuses = PyMem_Calloc(g->ids.n + 1, sizeof(*g->statuses));
	if (g->parts == NULL || g->columns == NULL || g->statuses == NULL) {
		PyErr_NoMemory();
		return -1;
	}
	if (fields != NULL && out != Py_None && !PyDict_Check(out)) {
		PyErr_SetString(PyExc_TypeError,
		    "out: with fields it is a dict of arrays");
		return -1;
	}
	for (size_t i = 0; i < g->n; i++) {
		struct part *part = &g->parts[i];
		PyObject *name = fields ? PyTuple_GetItem(fields, (Py_ssize_t)i) : NULL;
		PyObject *array = out; /* borrowed */

		part->column.field = field;
		if (name != NULL) {
			part->column.field = PyUnicode_AsUTF8AndSize(name, NULL);
			if (part->column.field == NULL)
				return -1;
			array = PyDict_Check(out) ? PyDict_GetItemWithError(out, name)
						  : NULL;
			if (array == NULL && PyErr_Occurred())
				return -1;
		}
		if (array != NULL && array != Py_None && borrow_out(g, part, array) < 0)
			return -1;
	}
	return 0;
}

/* Find the shape of a part that has no array yet, and memory for it. Without the
 * interpreter. */
static lc_status
make_block(struct gathering *g, lc_cache *cache, struct part *part)
{
	lc_column *column = &part->column;
	lc_status status = lc_gather_row(cache, g->ids.n, g->ids.all, column->field,
	    &column->row);

	if (status == LC_NOT_FOUND) {
		part->absent = true;
		return LC_OK;
	}
	if (status != LC_OK)
		return status;
	column->room = g->ids.n * column->row.nbytes;
	if (column->row.nbytes == 0 || g->ids.n <= PY_SSIZE_T_MAX / column->row.nbytes)
		part->memory = tensor_memory(column->room);
	column->rows = part->memory;
	g->no_memory = part->memory == NULL;
	return g->no_memory ? LC_NO_MEMORY : LC_OK;
}

static lc_status
gather(struct gathering *g, lc_cache *cache, unsigned threads)
{
	lc_status status = LC_OK;
	bool absent = false;
	size_t n = 0;

	for (size_t i = 0; i < g->n && status == LC_OK; i++) {
		if (g->parts[i].out == NULL)
			status = make_block(g, cache, &g->parts[i]);
		absent |= g->parts[i].absent;
		if (!g->parts[i].absent)
			g->columns[n++] = g->parts[i].column;
	}
	if (status == LC_OK)
		status = lc_gather_columns(cache, g->ids.n, g->ids.all, g->columns, n,
		    threads, g->statuses, NULL);
	/* What has no shape was not there, also if it came meanwhile. */
	for (size_t i = 0; absent && i < g->ids.n; i++)
		g->statuses[i] = LC_NOT_FOUND;
	return status;
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

/* The array of a part. */
static PyObject *
array_of(struct gathering *g, struct part *part, enum like like)
{
	lc_tensor whole = part->column.row;
	void *memory = part->memory;

	if (part->out != NULL)
		return Py_NewRef(part->out);
	if (part->absent)
		return Py_NewRef(Py_None);
	if (whole.ndim == LC_MAX_NDIM) {
		PyErr_SetString(PyExc_ValueError,
		    "gather: the rows have too many dimensions");
		return NULL;
	}
	memmove(whole.shape + 1, whole.shape, whole.ndim * sizeof(whole.shape[0]));
	whole.shape[0] = g->ids.n;
	whole.ndim++;
	whole.data = memory;
	whole.nbytes = part->column.room;
	part->memory = NULL;
	return tensor_own(&whole, memory, like);
}

/* The first result: an array, or a dict of one for each field. */
static PyObject *
arrays_of(struct gathering *g, PyObject *fields, enum like like)
{
	PyObject *dict;

	if (fields == NULL)
		return array_of(g, &g->parts[0], like);
	dict = PyDict_New();
	for (size_t i = 0; dict != NULL && i < g->n; i++) {
		PyObject *array = array_of(g, &g->parts[i], like);

		if (array == NULL ||
		    PyDict_SetItem(dict, PyTuple_GetItem(fields, (Py_ssize_t)i), array) <
			0)
			Py_CLEAR(dict);
		Py_XDECREF(array);
	}
	return dict;
}

/* Do it; the tuple of both results. */
static PyObject *
run(struct gathering *g, PyObject *cache, PyObject *fields, unsigned threads)
{
	PyObject *arrays, *missing, *result = NULL;
	lc_cache *handle = cache_enter(cache);
	lc_status status;

	if (handle == NULL)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	status = gather(g, handle, threads);
	Py_END_ALLOW_THREADS
	cache_leave(cache);
	if (g->no_memory)
		return PyErr_NoMemory();
	if (status != LC_OK) {
		raise_batch(status, &g->ids);
		return NULL;
	}
	missing = missing_list(g->statuses, g->ids.n);
	arrays = missing != NULL ? arrays_of(g, fields, cache_like(cache)) : NULL;
	if (arrays != NULL)
		result = PyTuple_Pack(2, arrays, missing);
	Py_XDECREF(arrays);
	Py_XDECREF(missing);
	return result;
}

PyObject *
cache_gather(PyObject *cache, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "ids", "out", "field", "threads", "fields", NULL };
	PyObject *ids, *out = Py_None, *names_object = Py_None, *fields = NULL;
	struct gathering g = { .n = 0 };
	PyObject *result = NULL;
	const char *field = NULL;
	unsigned threads = 1;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OzI$O", names, &ids, &out,
		&field, &threads, &names_object))
		return NULL;
	if (names_object != Py_None) {
		if (field != NULL || PyUnicode_Check(names_object)) {
			PyErr_SetString(PyExc_TypeError,
			    "gather: fields is a list of names, and excludes field");
			return NULL;
		}
		fields = PySequence_Tuple(names_object);
		if (fields == NULL)
			return NULL;
	}
	if (ids_from(ids, &g.ids) == 0) {
		if (begin(&g, fields, field, out) == 0)
			result = run(&g, cache, fields, threads);
		free_gathering(&g);
	}
	Py_XDECREF(fields);
	return result;
}

/* ---- missing ------------------------------------------------------------------------ */

PyObject *
cache_missing(PyObject *cache, PyObject *ids_object)
{
	PyObject *list = NULL;
	lc_cache *handle;
	lc_status status;
	struct ids ids;
	size_t *missing, n;

	if (ids_copied(ids_object, &ids) < 0)
		return NULL;
	missing = PyMem_Malloc((ids.n + 1) * sizeof(*missing));
	if (missing == NULL) {
		PyErr_NoMemory();
	} else if ((handle = cache_enter(cache)) != NULL) {
		Py_BEGIN_ALLOW_THREADS
		status = lc_contains_batch(handle, ids.n, ids.all, missing, &n);
		Py_END_ALLOW_THREADS
		cache_leave(cache);
		if (status != LC_OK)
			raise_batch(status, &ids);
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
