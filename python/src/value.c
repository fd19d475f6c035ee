/* SPDX-License-Identifier: BSD-2-Clause */
/* Dicts, lists, tuples, plain data and tensors of Python as values of the engine, and back. */
#include "core.h"

#include <stdlib.h>

static int fill(lc_value *to, PyObject *items, PyObject *names,
    struct borrowed *borrowed);

static lc_value *
integer_from(PyObject *object)
{
	int overflow;
	const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
	unsigned long long large;

	if (number == -1 && PyErr_Occurred())
		return NULL;
	if (overflow == 0)
		return lc_value_integer(number);
	large = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
	if (overflow < 0 || (large == (unsigned long long)-1 && PyErr_Occurred())) {
		PyErr_Clear();
		PyErr_SetString(PyExc_OverflowError,
		    "an int is stored from -2**63 to 2**64 - 1");
		return NULL;
	}
	return lc_value_unsigned(large);
}

/* A dict, list or tuple. */
static lc_value *
container_from(PyObject *object, struct borrowed *borrowed)
{
	lc_value *value = PyDict_Check(object) ? lc_value_map()
	    : PyList_Check(object)             ? lc_value_list()
					       : lc_value_tuple();
	/* Lists of their own: converting may run code that changes the object. */
	PyObject *names = PyDict_Check(object) ? PyDict_Keys(object) : NULL;
	PyObject *items = PyDict_Check(object) ? PyDict_Values(object)
					       : PySequence_List(object);
	int failed;

	failed = value == NULL || items == NULL ||
	    (PyDict_Check(object) && names == NULL) ||
	    Py_EnterRecursiveCall(" while a value is stored");
	if (!failed) {
		failed = fill(value, items, names, borrowed) < 0;
		Py_LeaveRecursiveCall();
	}
	Py_XDECREF(names);
	Py_XDECREF(items);
	if (!failed)
		return value;
	if (!PyErr_Occurred())
		PyErr_NoMemory();
	lc_value_free(value);
	return NULL;
}

/* A new value; NULL with an exception. */
static lc_value *
part_from(PyObject *object, struct borrowed *borrowed)
{
	lc_tensor tensor;
	Py_ssize_t size;
	const char *text;
	char *bytes;
	int answer;

	if (object == Py_None)
		return lc_value_nil();
	if (PyBool_Check(object))
		return lc_value_boolean(object == Py_True);
	if (PyLong_Check(object))
		return integer_from(object);
	if (PyFloat_Check(object))
		return lc_value_float(PyFloat_AsDouble(object));
	if (PyUnicode_Check(object)) {
		text = PyUnicode_AsUTF8AndSize(object, &size);
		return text != NULL ? lc_value_strn(text, (size_t)size) : NULL;
	}
	if (PyBytes_Check(object)) {
		if (PyBytes_AsStringAndSize(object, &bytes, &size) < 0)
			return NULL;
		return lc_value_bytes(bytes, (size_t)size);
	}
	if (PyByteArray_Check(object))
		return lc_value_bytes(PyByteArray_AsString(object),
		    (size_t)PyByteArray_Size(object));
	if (PyDict_Check(object) || PyList_Check(object) || PyTuple_Check(object))
		return container_from(object, borrowed);
	answer = tensor_borrow(object, borrowed, &tensor);
	if (answer == 1)
		return lc_value_tensor(&tensor);
	if (answer == 0)
		PyErr_Format(PyExc_TypeError, "a %R cannot be stored",
		    (PyObject *)Py_TYPE(object));
	return NULL;
}

/* The parts of a container. */
static int
fill(lc_value *to, PyObject *items, PyObject *names, struct borrowed *borrowed)
{
	const Py_ssize_t n = PyList_Size(items);

	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *key = names != NULL ? PyList_GetItem(names, i) : NULL;
		const char *name = NULL;
		Py_ssize_t size = 0;
		lc_value *part;

		if (key != NULL && !PyUnicode_Check(key)) {
			PyErr_Format(PyExc_TypeError,
			    "a dict that is stored has str for keys, not %R",
			    (PyObject *)Py_TYPE(key));
			return -1;
		}
		if (key != NULL && (name = PyUnicode_AsUTF8AndSize(key, &size)) == NULL)
			return -1;
		if (key != NULL && strlen(name) != (size_t)size) {
			PyErr_SetString(PyExc_ValueError,
			    "a key of a dict that is stored has no NUL in it");
			return -1;
		}
		part = part_from(PyList_GetItem(items, i), borrowed);
		if (part == NULL) {
			if (!PyErr_Occurred())
				PyErr_NoMemory();
			return -1;
		}
		/* What fails here marks the value; the put says what it is. */
		if (name != NULL)
			lc_value_set(to, name, part);
		else
			lc_value_append(to, part);
	}
	return 0;
}

lc_value *
value_from(PyObject *object, struct borrowed *borrowed)
{
	lc_value *value = part_from(object, borrowed);

	if (value == NULL && !PyErr_Occurred())
		PyErr_NoMemory();
	return value;
}

/* ---- from the engine ------------------------------------------------------------ */

static PyObject *
tensor_to(const lc_value *value, PyObject *holder, enum like like)
{
	lc_tensor tensor;
	void *memory;
	lc_status status = lc_value_as_tensor(value, &tensor);

	if (status != LC_OK)
		return raise_status(status, NULL);
	if (holder != NULL)
		return tensor_view(&tensor, holder, like);
	memory = tensor_memory(tensor.nbytes);
	if (memory == NULL)
		return PyErr_NoMemory();
	memcpy(memory, tensor.data, tensor.nbytes);
	return tensor_own(&tensor, memory, like);
}

static PyObject *
map_to(const lc_value *value, PyObject *holder, enum like like)
{
	PyObject *map = PyDict_New();
	const size_t n = lc_value_count(value);

	for (size_t i = 0; map != NULL && i < n; i++) {
		const char *name = lc_value_name(value, i);
		PyObject *key = PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name),
		    "surrogateescape");
		PyObject *part = key != NULL
		    ? value_to(lc_value_at(value, i), holder, like)
		    : NULL;

		if (part == NULL || PyDict_SetItem(map, key, part) < 0)
			Py_CLEAR(map);
		Py_XDECREF(key);
		Py_XDECREF(part);
	}
	return map;
}

static PyObject *
list_to(const lc_value *value, PyObject *holder, enum like like)
{
	const bool tuple = lc_value_kind(value) == LC_TUPLE;
	const size_t n = lc_value_count(value);
	PyObject *list = tuple ? PyTuple_New((Py_ssize_t)n) : PyList_New((Py_ssize_t)n);

	for (size_t i = 0; list != NULL && i < n; i++) {
		PyObject *part = value_to(lc_value_at(value, i), holder, like);

		/* Both take over the reference. */
		if (part == NULL ||
		    (tuple ? PyTuple_SetItem(list, (Py_ssize_t)i, part)
			   : PyList_SetItem(list, (Py_ssize_t)i, part)) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *
integer_to(const lc_value *value)
{
	uint64_t large;
	int64_t number;

	if (lc_value_as_integer(value, &number) == LC_OK)
		return PyLong_FromLongLong(number);
	if (lc_value_as_unsigned(value, &large) == LC_OK)
		return PyLong_FromUnsignedLongLong(large);
	return raise_status(LC_CORRUPT, NULL);
}

PyObject *
value_to(const lc_value *value, PyObject *holder, enum like like)
{
	const char *text;
	const void *bytes;
	double real;
	size_t size;
	int truth;

	switch (lc_value_kind(value)) {
	case LC_TENSOR: return tensor_to(value, holder, like);
	case LC_MAP: return map_to(value, holder, like);
	case LC_LIST:
	case LC_TUPLE: return list_to(value, holder, like);
	case LC_NIL: return Py_NewRef(Py_None);
	case LC_INTEGER: return integer_to(value);
	case LC_BOOLEAN:
		if (lc_value_as_boolean(value, &truth) == LC_OK)
			return PyBool_FromLong(truth);
		break;
	case LC_FLOAT:
		if (lc_value_as_float(value, &real) == LC_OK)
			return PyFloat_FromDouble(real);
		break;
	case LC_STRING:
		if (lc_value_as_str(value, &text, &size) == LC_OK)
			return PyUnicode_DecodeUTF8(text, (Py_ssize_t)size,
			    "surrogateescape");
		break;
	case LC_BYTES:
		if (lc_value_as_bytes(value, &bytes, &size) == LC_OK)
			return PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size);
		break;
	case LC_TAGGED:
	case LC_PAIRS: break;
	}
	return raise_status(LC_SCHEMA, NULL);
}
