/* SPDX-License-Identifier: BSD-2-Clause */
/* cache_ids: text and bytes of Python, bytes of the engine. */
#include "core.h"

int
id_from(PyObject *object, lc_id *out, PyObject **kept)
{
	char *bytes;
	Py_ssize_t size;

	*kept = NULL;
	if (PyUnicode_Check(object)) {
		out->data = PyUnicode_AsUTF8AndSize(object, &size);
		if (out->data == NULL) {
			PyErr_Clear();
			*kept = PyUnicode_AsEncodedString(object, "utf-8",
			    "surrogateescape");
			if (*kept == NULL ||
			    PyBytes_AsStringAndSize(*kept, &bytes, &size) < 0)
				return -1;
			out->data = bytes;
		}
	} else if (PyBytes_Check(object)) {
		if (PyBytes_AsStringAndSize(object, &bytes, &size) < 0)
			return -1;
		out->data = bytes;
	} else {
		PyErr_Format(PyExc_TypeError, "a cache_id is str or bytes, not %R",
		    (PyObject *)Py_TYPE(object));
		return -1;
	}
	out->size = (size_t)size;
	return 0;
}

int
ids_from(PyObject *object, struct ids *out)
{
	Py_ssize_t n;

	memset(out, 0, sizeof(*out));
	if (PyUnicode_Check(object) || PyBytes_Check(object)) {
		PyErr_SetString(PyExc_TypeError, "one cache_id where many are expected");
		return -1;
	}
	/* A tuple of their own: another thread may change a list meanwhile. */
	out->sequence = PySequence_Tuple(object);
	if (out->sequence == NULL)
		return -1;
	n = PyTuple_Size(out->sequence);
	out->all = PyMem_Malloc((size_t)(n > 0 ? n : 1) * sizeof(*out->all));
	if (out->all == NULL) {
		PyErr_NoMemory();
		goto failed;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *item = PyTuple_GetItem(out->sequence, i);
		PyObject *kept;

		if (item == NULL || id_from(item, &out->all[i], &kept) < 0)
			goto failed;
		if (kept == NULL)
			continue;
		if (out->kept == NULL)
			out->kept = PyList_New(0);
		if (out->kept == NULL || PyList_Append(out->kept, kept) < 0) {
			Py_DECREF(kept);
			goto failed;
		}
		Py_DECREF(kept);
	}
	out->n = (size_t)n;
	return 0;
failed:
	ids_free(out);
	return -1;
}

void
ids_free(struct ids *ids)
{
	PyMem_Free(ids->all);
	Py_CLEAR(ids->sequence);
	Py_CLEAR(ids->kept);
	ids->all = NULL;
}

PyObject *
id_to(const lc_id *id, bool raw)
{
	if (raw)
		return PyBytes_FromStringAndSize(id->data, (Py_ssize_t)id->size);
	return PyUnicode_DecodeUTF8(id->data, (Py_ssize_t)id->size, "surrogateescape");
}
