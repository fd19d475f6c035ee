/* SPDX-License-Identifier: BSD-2-Clause */
/* One exception a kind of failure: an Error, and also the built-in one that fits. */
#include "core.h"

#include <stdarg.h>
#include <stdio.h>

static PyObject *error_type;

static struct {
	const char *name;
	const char *doc;
	PyObject **also; /* a built-in exception */
	PyObject *type;
} kinds[] = {
	{ "NotFoundError", "There is no such cache_id, part or input.", &PyExc_KeyError,
	    NULL },
	{ "InvalidError", "The caller's mistake: an argument, option, dtype or name.",
	    &PyExc_ValueError, NULL },
	{ "CorruptError", "Stored bytes are damaged.", NULL, NULL },
	{ "NotModuleError", "The path exists but holds no module.", NULL, NULL },
	{ "VersionError", "Written by a newer format than this library reads.", NULL,
	    NULL },
	{ "ReadOnlyError", "A write on a handle that only reads.", NULL, NULL },
	{ "NoSpaceError", "The file system is full or a limit is reached.",
	    &PyExc_OSError, NULL },
	{ "BusyError", "Another holder has the resource.", NULL, NULL },
	{ "AccessError", "The system refused access.", &PyExc_PermissionError, NULL },
	{ "SystemFailure", "Any other failure of the system.", &PyExc_OSError, NULL },
	{ "UnsupportedError", "Valid, but not possible in the requested format.", NULL,
	    NULL },
	{ "SchemaError",
	    "The structure of a value differs from the one asked for or allowed.",
	    &PyExc_TypeError, NULL },
	{ "ExistsError", "The cache_id or file exists and may not be replaced.", NULL,
	    NULL },
	{ "WaitTimeout", "The wait was longer than the time limit.", &PyExc_TimeoutError,
	    NULL },
	{ "AbandonedError",
	    "The wait would not end: no writer has the unfinished input open.", NULL,
	    NULL },
	{ "StaleError",
	    "The sources have changed, or a token belongs to another source or order.",
	    NULL, NULL },
	{ "NoFileError", "There is no such module, file or directory.",
	    &PyExc_FileNotFoundError, NULL },
	{ "MemoryFailure", "An allocation failed.", &PyExc_MemoryError, NULL },
};

/* The row of a status, or -1 for a plain Error. */
static int
kind_of(lc_status status)
{
	switch (status) {
	case LC_NOT_FOUND: return 0;
	case LC_INVALID: return 1;
	case LC_CORRUPT: return 2;
	case LC_NOT_MODULE: return 3;
	case LC_VERSION: return 4;
	case LC_READONLY: return 5;
	case LC_NO_SPACE:
	case LC_MAP_FULL: return 6;
	case LC_BUSY: return 7;
	case LC_PERMISSION: return 8;
	case LC_IO:
	case LC_FILESYSTEM: return 9;
	case LC_UNSUPPORTED: return 10;
	case LC_SCHEMA: return 11;
	case LC_EXISTS: return 12;
	case LC_TIMEOUT: return 13;
	case LC_ABANDONED: return 14;
	case LC_STALE:
	case LC_OTHER_CACHE:
	case LC_OTHER_ORDER:
	case LC_CHANGED: return 15;
	case LC_NO_FILE: return 16;
	case LC_NO_MEMORY: return 17;
	default: return -1;
	}
}

int
errors_init(PyObject *module)
{
	PyObject *unset = Py_BuildValue("{s:s,s:O,s:O,s:i}", "status", "", "key", Py_None,
	    "item", Py_None, "sys", 0);
	char name[64];

	if (unset == NULL)
		return -1;
	error_type = PyErr_NewExceptionWithDoc("lmdbcache.Error",
	    "The error of a call of the library.\n\n"
	    "status   its name, as in lmdbcache(3): \"corrupt\", \"busy\" ...\n"
	    "key      the cache_id that it is about, or None\n"
	    "item     its position in a batch, or None\n"
	    "sys      errno of the system call that failed, or 0",
	    NULL, unset);
	Py_DECREF(unset);
	if (error_type == NULL || PyModule_AddObjectRef(module, "Error", error_type) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		PyObject *bases = kinds[i].also != NULL
		    ? PyTuple_Pack(2, error_type, *kinds[i].also)
		    : PyTuple_Pack(1, error_type);

		if (bases == NULL)
			return -1;
		PyOS_snprintf(name, sizeof(name), "lmdbcache.%s", kinds[i].name);
		kinds[i].type = PyErr_NewExceptionWithDoc(name, kinds[i].doc, bases,
		    NULL);
		Py_DECREF(bases);
		if (kinds[i].type == NULL ||
		    PyModule_AddObjectRef(module, kinds[i].name, kinds[i].type) < 0)
			return -1;
	}
	return 0;
}

/* Add what each exception says of itself. */
static int
describe(PyObject *exception, lc_status status, PyObject *key, Py_ssize_t item, int sys)
{
	PyObject *parts[] = {
		PyUnicode_FromString(lc_status_name(status)),
		Py_NewRef(key != NULL ? key : Py_None),
		item < 0 ? Py_NewRef(Py_None) : PyLong_FromSsize_t(item),
		PyLong_FromLong(sys),
	};
	static const char *const names[] = { "status", "key", "item", "sys" };
	int failed = 0;

	for (int i = 0; i < 4; i++) {
		failed |= parts[i] == NULL ||
		    PyObject_SetAttrString(exception, names[i], parts[i]) < 0;
		Py_XDECREF(parts[i]);
	}
	if (!failed && sys > 0 && PyObject_IsInstance(exception, PyExc_OSError) == 1) {
		PyObject *number = PyLong_FromLong(sys);

		failed = number == NULL ||
		    PyObject_SetAttrString(exception, "errno", number) < 0;
		Py_XDECREF(number);
	}
	return failed ? -1 : 0;
}

/* @p text is NULL for a result that has none, such as "not found". */
static PyObject *
raise(lc_status status, const char *text, PyObject *key, Py_ssize_t item, int sys)
{
	const int kind = kind_of(status);
	PyObject *type = kind == -1 ? error_type : kinds[kind].type;
	PyObject *argument, *exception = NULL;

	if (PyErr_Occurred())
		return NULL;
	if (text == NULL && key == NULL)
		text = lc_status_name(status);
	/* Paths may be any bytes, and a long text is cut. */
	argument = text != NULL
	    ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace")
	    : Py_NewRef(key);
	if (argument != NULL)
		exception = PyObject_CallFunctionObjArgs(type, argument, NULL);
	Py_XDECREF(argument);
	if (exception != NULL && describe(exception, status, key, item, sys) == 0)
		PyErr_SetObject(type, exception);
	Py_XDECREF(exception);
	return NULL;
}

static PyObject *
raise_with(lc_status status, const lc_error *error, PyObject *key, Py_ssize_t item)
{
	const bool told = error->status == status && error->text[0] != '\0' &&
	    status != LC_NOT_FOUND;

	return raise(status, told ? error->text : NULL, key, item, told ? error->sys : 0);
}

PyObject *
raise_item(lc_status status, PyObject *key, Py_ssize_t item)
{
	return raise_with(status, lc_last_error(), key, item);
}

PyObject *
raise_status(lc_status status, PyObject *key)
{
	return raise_item(status, key, -1);
}

PyObject *
raise_error(lc_status status, const lc_error *error)
{
	const bool told = error->status == status && error->text[0] != '\0';

	return raise(status, told ? error->text : NULL, NULL, -1, told ? error->sys : 0);
}

PyObject *
raise_text(lc_status status, const char *format, ...)
{
	char text[1000];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return raise(status, text, NULL, -1, 0);
}
