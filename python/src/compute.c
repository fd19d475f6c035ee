/* SPDX-License-Identifier: BSD-2-Clause */
/* compute() of a Cache: what is missing is made by a function of the caller's, once. */
#include "core.h"

struct computing {
	PyObject *cache;
	const struct ids *ids;
	PyObject *function;
	PyObject *made;       /* dict of values by cache_id, of this and earlier calls */
	PyThreadState *state; /* of the calling thread, while the engine has it */
	PyObject *error[3];   /* what the function raised, as PyErr_Fetch() gives it */
};

/* Call the function for the cache_ids that it has not been called for yet. */
static int
make(struct computing *c, const size_t *missing, size_t n)
{
	PyObject *wanted = PyList_New(0), *values = NULL, *list = NULL;
	Py_ssize_t count = 0;
	int failed = wanted == NULL;

	for (size_t j = 0; j < n && !failed; j++) {
		PyObject *id = PyTuple_GetItem(c->ids->sequence, (Py_ssize_t)missing[j]);

		if (PyDict_GetItemWithError(c->made, id) == NULL)
			failed = PyErr_Occurred() || PyList_Append(wanted, id) < 0;
	}
	if (!failed && PyList_Size(wanted) > 0) {
		values = PyObject_CallFunctionObjArgs(c->function, wanted, NULL);
		list = values != NULL ? PySequence_List(values) : NULL;
		failed = list == NULL;
		count = failed ? 0 : PyList_Size(list);
	}
	if (!failed && count != PyList_Size(wanted)) {
		PyErr_Format(PyExc_ValueError,
		    "compute: the function returned %zd values for %zd cache_ids", count,
		    PyList_Size(wanted));
		failed = 1;
	}
	for (Py_ssize_t i = 0; i < count && !failed; i++)
		failed = PyDict_SetItem(c->made, PyList_GetItem(wanted, i),
			     PyList_GetItem(list, i)) < 0;
	Py_XDECREF(wanted);
	Py_XDECREF(values);
	Py_XDECREF(list);
	return failed ? -1 : 0;
}

/* Give a value to the engine. One that it refuses fails by itself. */
static int
give(struct computing *c, lc_results *results, size_t j, size_t position)
{
	PyObject *id = PyTuple_GetItem(c->ids->sequence, (Py_ssize_t)position);
	PyObject *object = PyDict_GetItemWithError(c->made, id);
	struct borrowed borrowed = { 0 };
	lc_value *value = object != NULL ? value_from(object, &borrowed) : NULL;

	if (value != NULL)
		(void)lc_result_value(results, j, value);
	lc_value_free(value);
	borrowed_release(&borrowed);
	return value != NULL ? 0 : -1;
}

/* What the function raises is kept: the engine may run handlers of signals before it ends. */
static lc_status
compute(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	struct computing *c = ctx;
	struct middle here;
	int failed;

	(void)keys;
	PyEval_RestoreThread(c->state);
	cache_middle(c->cache, &here);
	/* A signal's handler may have ended the look-up of others. */
	failed = PyErr_Occurred() != NULL || make(c, missing, n) < 0;
	for (size_t j = 0; j < n && !failed; j++)
		failed = give(c, results, j, missing[j]);
	middle_end(&here);
	if (failed)
		PyErr_Fetch(&c->error[0], &c->error[1], &c->error[2]);
	c->state = PyEval_SaveThread();
	return failed ? LC_FAILED : LC_OK;
}

static PyObject *
copy_all(lc_view *views, const struct ids *ids, enum like like)
{
	PyObject *list = PyList_New((Py_ssize_t)ids->n);

	for (size_t i = 0; i < ids->n && list != NULL; i++) {
		PyObject *object = view_copy(&views[i], like);

		if (object == NULL || PyList_SetItem(list, (Py_ssize_t)i, object) < 0)
			Py_CLEAR(list);
	}
	return list;
}

/* Raise the error of the first item that failed. */
static void
raise_failed(lc_status status, const lc_view *views, const struct ids *ids)
{
	size_t i = 0;

	while (i < ids->n && views[i].status == LC_OK)
		i++;
	if (i == ids->n)
		raise_status(status, NULL);
	else
		raise_item(status, PyTuple_GetItem(ids->sequence, (Py_ssize_t)i),
		    (Py_ssize_t)i);
}

PyObject *
cache_compute(PyObject *cache, PyObject *args)
{
	struct wait wait = cache_wait(cache, "compute");
	struct computing c = { 0 };
	PyObject *ids_object, *result = NULL;
	lc_view *views = NULL;
	lc_cache *handle = NULL;
	lc_status status;
	struct ids ids;

	if (!PyArg_ParseTuple(args, "OO", &ids_object, &c.function) ||
	    ids_from(ids_object, &ids) < 0)
		return NULL;
	c.cache = cache;
	c.ids = &ids;
	c.made = PyDict_New();
	views = PyMem_Calloc(ids.n + 1, sizeof(*views));
	if (views == NULL)
		PyErr_NoMemory();
	if (views != NULL && c.made != NULL)
		handle = cache_enter(cache);
	if (handle == NULL)
		goto done;
	do {
		lc_views_release(views, ids.n);
		c.state = PyEval_SaveThread();
		status = lc_get_or_compute(handle, ids.all, ids.n, compute, &c, views);
		PyEval_RestoreThread(c.state);
	} while (c.error[0] == NULL && cache_again(cache, &wait, &status));
	if (c.error[0] != NULL)
		PyErr_Restore(c.error[0], c.error[1], c.error[2]);
	else if (status == LC_OK)
		result = copy_all(views, &ids, cache_like(cache));
	else
		raise_failed(status, views, &ids);
	lc_views_release(views, ids.n);
	cache_leave(cache);
done:
	PyMem_Free(views);
	Py_XDECREF(c.made);
	ids_free(&ids);
	return result;
}
