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

/* A text is a sequence, too. */
static int
refuse_one(PyObject *object)
{
	if (!PyUnicode_Check(object) && !PyBytes_Check(object))
		return 0;
	PyErr_SetString(PyExc_TypeError, "one cache_id where many are expected");
	return -1;
}

int
ids_from(PyObject *object, struct ids *out)
{
	Py_ssize_t n;

	memset(out, 0, sizeof(*out));
	if (refuse_one(object) < 0)
		return -1;
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

/* Append a cache_id to the bytes. Its data is the offset there, as they move. */
static int
append(struct ids *ids, PyObject *item, size_t *used, size_t *room)
{
	PyObject *kept;
	lc_id id;

	if (id_from(item, &id, &kept) < 0)
		return -1;
	if (id.size > *room - *used) {
		const size_t wanted = 2 * *room + id.size;
		char *grown = PyMem_Realloc(ids->bytes, wanted);

		if (grown == NULL) {
			Py_XDECREF(kept);
			PyErr_NoMemory();
			return -1;
		}
		ids->bytes = grown;
		*room = wanted;
	}
	memcpy(ids->bytes + *used, id.data, id.size);
	Py_XDECREF(kept);
	ids->all[ids->n++] = (lc_id){ (const void *)*used, id.size };
	*used += id.size;
	return 0;
}

int
ids_copied(PyObject *object, struct ids *out)
{
	size_t used = 0, room;
	Py_ssize_t n;

	memset(out, 0, sizeof(*out));
	if (refuse_one(object) < 0)
		return -1;
	out->sequence = PyList_CheckExact(object) ? Py_NewRef(object)
						  : PySequence_Tuple(object);
	if (out->sequence == NULL)
		return -1;
	n = PySequence_Size(out->sequence);
	room = 32 * (size_t)n + 1;
	out->all = PyMem_Malloc((size_t)(n + 1) * sizeof(*out->all));
	out->bytes = PyMem_Malloc(room);
	if (out->all == NULL || out->bytes == NULL) {
		PyErr_NoMemory();
		goto failed;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *item = PySequence_GetItem(out->sequence, i);
		const int failed = item == NULL || append(out, item, &used, &room) < 0;

		Py_XDECREF(item);
		if (failed)
			goto failed;
	}
	for (size_t i = 0; i < out->n; i++)
		out->all[i].data = out->bytes + (size_t)out->all[i].data;
	return 0;
failed:
	ids_free(out);
	return -1;
}

void
ids_free(struct ids *ids)
{
	PyMem_Free(ids->all);
	PyMem_Free(ids->bytes);
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
