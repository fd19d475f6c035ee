/* SPDX-License-Identifier: BSD-2-Clause */
/* Options that the functions of Python hand over as a dict. */
#include "core.h"

#include <limits.h>

PyObject *
option(PyObject *dict, const char *name)
{
	PyObject *value = PyDict_GetItemString(dict, name);

	return value == Py_None ? NULL : value;
}

int
option_u64(PyObject *dict, const char *name, uint64_t *out)
{
	PyObject *value = option(dict, name);

	if (value == NULL)
		return 0;
	*out = PyLong_AsUnsignedLongLong(value);
	return PyErr_Occurred() ? -1 : 0;
}

int
option_u32(PyObject *dict, const char *name, uint32_t *out)
{
	uint64_t number = *out;

	if (option_u64(dict, name, &number) < 0)
		return -1;
	if (number > UINT32_MAX) {
		PyErr_Format(PyExc_OverflowError, "%s: too large", name);
		return -1;
	}
	*out = (uint32_t)number;
	return 0;
}

int
option_bool(PyObject *dict, const char *name, int *out)
{
	PyObject *value = option(dict, name);

	if (value != NULL)
		*out = PyObject_IsTrue(value);
	return *out < 0 ? -1 : 0;
}

int
option_verify(PyObject *dict, const char *name, lc_verify_mode *out)
{
	PyObject *value = option(dict, name);
	const char *text;
	Py_ssize_t size;

	if (value == NULL)
		return 0;
	if (PyBool_Check(value)) {
		*out = value == Py_True ? LC_VERIFY_ALWAYS : LC_VERIFY_NEVER;
		return 0;
	}
	text = PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &size) : NULL;
	if (text != NULL && strlen(text) == (size_t)size &&
	    lc_verify_mode_parse(text, out) == LC_OK)
		return 0;
	PyErr_Format(PyExc_ValueError,
	    "%s: %R is not one of \"always\", \"once\", \"never\", True, False", name,
	    value);
	return -1;
}

int
option_text(PyObject *dict, const char *name, const char **out)
{
	PyObject *value = option(dict, name);

	if (value == NULL)
		return 0;
	*out = PyUnicode_AsUTF8AndSize(value, NULL);
	return *out == NULL ? -1 : 0;
}

int
option_int(PyObject *dict, const char *name, int *out)
{
	PyObject *value = option(dict, name);
	long number;

	if (value == NULL)
		return 0;
	number = PyLong_AsLong(value);
	if (number == -1 && PyErr_Occurred())
		return -1;
	if (number < INT_MIN || number > INT_MAX) {
		PyErr_Format(PyExc_OverflowError, "%s: %ld", name, number);
		return -1;
	}
	*out = (int)number;
	return 0;
}
