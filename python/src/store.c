/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stores whose objects the methods of a Python object read and write: the type Store. They are
 * called by threads of the library, too, several at once, each with the interpreter's lock.
 * When Python ends no method is called any more: stores_end().
 */
#include "core.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

struct store {
	PyObject_HEAD
	PyObject *object; /* has the methods */
	PyObject *url;    /* a text, for messages */
};

static PyTypeObject *store_type;

bool
store_is(PyObject *object)
{
	return PyObject_TypeCheck(object, store_type);
}

/* ---- while Python runs -------------------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t none;
	unsigned calls; /* that run methods, or wait for the interpreter's lock */
	bool ended;
} python = { .lock = PTHREAD_MUTEX_INITIALIZER, .none = PTHREAD_COND_INITIALIZER };

/* Have the interpreter's lock; false if Python ends. */
static bool
enter(PyGILState_STATE *state)
{
	bool ended;

	pthread_mutex_lock(&python.lock);
	ended = python.ended;
	python.calls += !ended;
	pthread_mutex_unlock(&python.lock);
	if (!ended)
		*state = PyGILState_Ensure();
	return !ended;
}

static void
leave(PyGILState_STATE state)
{
	PyGILState_Release(state);
	pthread_mutex_lock(&python.lock);
	if (--python.calls == 0)
		pthread_cond_broadcast(&python.none);
	pthread_mutex_unlock(&python.lock);
}

PyObject *
stores_end(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
	Py_BEGIN_ALLOW_THREADS
	pthread_mutex_lock(&python.lock);
	python.ended = true;
	while (python.calls > 0)
		pthread_cond_wait(&python.none, &python.lock);
	pthread_mutex_unlock(&python.lock);
	Py_END_ALLOW_THREADS
	Py_RETURN_NONE;
}

/* ---- exceptions ----------------------------------------------------------------------------- */

/* The status of an exception. */
static lc_status
status_of(PyObject *error)
{
	PyObject *number;
	long sys = 0;

	if (PyErr_GivenExceptionMatches(error, PyExc_FileNotFoundError))
		return LC_NO_FILE;
	if (PyErr_GivenExceptionMatches(error, PyExc_FileExistsError))
		return LC_EXISTS;
	if (PyErr_GivenExceptionMatches(error, PyExc_PermissionError))
		return LC_PERMISSION;
	if (PyErr_GivenExceptionMatches(error, PyExc_MemoryError))
		return LC_NO_MEMORY;
	if (PyErr_GivenExceptionMatches(error, PyExc_NotImplementedError))
		return LC_UNSUPPORTED;
	if (PyErr_GivenExceptionMatches(error, PyExc_OSError)) {
		number = PyObject_GetAttrString(error, "errno");
		if (number != NULL && PyLong_Check(number))
			sys = PyLong_AsLong(number);
		Py_XDECREF(number);
		PyErr_Clear();
	}
	return sys == ENOSPC || sys == EDQUOT ? LC_NO_SPACE : LC_IO;
}

/* One line of text, as UTF-8; a new reference, or NULL. */
static PyObject *
line_of(PyObject *error)
{
	PyObject *name = PyType_GetName(Py_TYPE(error));
	PyObject *text = name != NULL ? PyUnicode_FromFormat("%U: %S", name, error)
				      : NULL;
	PyObject *line = text != NULL
	    ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace")
	    : NULL;

	for (char *at = line != NULL ? PyBytes_AsString(line) : ""; *at != '\0'; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = ' ';
	Py_XDECREF(text);
	Py_XDECREF(name);
	PyErr_Clear();
	return line;
}

/* The exception that is set becomes the error of the call: "RuntimeError: no such bucket". */
static lc_status
fail(void)
{
	PyObject *type, *error, *trace, *line;
	lc_status status;

	PyErr_Fetch(&type, &error, &trace);
	PyErr_NormalizeException(&type, &error, &trace);
	status = status_of(error);
	/* Handlers of signals may run in the method; the caller's thread sees it later. */
	if (PyErr_GivenExceptionMatches(error, PyExc_KeyboardInterrupt))
		(void)PyErr_SetInterruptEx(SIGINT);
	line = line_of(error);
	status = lc_store_error(status,
	    line != NULL ? PyBytes_AsString(line) : "a method of the store failed");
	Py_XDECREF(line);
	Py_XDECREF(type);
	Py_XDECREF(error);
	Py_XDECREF(trace);
	return status;
}

static lc_status
ended(void)
{
	return lc_store_error(LC_IO, "Python ends");
}

/* ---- what methods return --------------------------------------------------------------------- */

/* Seconds since 1970, or None. */
static int
take_time(PyObject *object, uint64_t *ms)
{
	double seconds;

	*ms = 0;
	if (object == NULL || object == Py_None)
		return 0;
	seconds = PyFloat_AsDouble(object);
	if (seconds == -1 && PyErr_Occurred())
		return -1;
	*ms = seconds > 0 && seconds < 1e12 ? (uint64_t)(seconds * 1e3) : 0;
	return 0;
}

/* Size, and time if there is one, of the items from @p first on. */
static int
take_about(PyObject *tuple, Py_ssize_t first, lc_store_object *about)
{
	const Py_ssize_t n = PyTuple_Size(tuple);

	about->size = PyLong_AsUnsignedLongLong(PyTuple_GetItem(tuple, first));
	if (PyErr_Occurred())
		return -1;
	return take_time(n > first + 1 ? PyTuple_GetItem(tuple, first + 1) : NULL,
	    &about->time_ms);
}

/* A tuple of 2 or 3. */
static int
is_row(PyObject *object, const char *method, const char *form)
{
	if (PyTuple_Check(object) && PyTuple_Size(object) >= 2 &&
	    PyTuple_Size(object) <= 3)
		return 0;
	PyErr_Format(PyExc_TypeError, "%s() returned %R, not %s or the same with a time",
	    method, object, form);
	return -1;
}

/* ---- the calls -------------------------------------------------------------------------------- */

/* (bytes, size) or (bytes, size, time) */
static int
take_range(PyObject *result, void *out, size_t size, size_t *got, lc_store_object *about)
{
	Py_buffer view;

	if (is_row(result, "get_range", "(data, size)") < 0 ||
	    take_about(result, 1, about) < 0 ||
	    PyObject_GetBuffer(PyTuple_GetItem(result, 0), &view, PyBUF_SIMPLE) < 0)
		return -1;
	*got = (size_t)view.len;
	if (*got <= size && *got > 0)
		memcpy(out, view.buf, *got);
	PyBuffer_Release(&view);
	return 0;
}

static lc_status
get_range(void *ctx, const char *name, uint64_t offset, void *out, size_t size,
    size_t *got, lc_store_object *about)
{
	lc_status status = LC_OK;
	PyGILState_STATE state;
	PyObject *result;

	if (!enter(&state))
		return ended();
	result = PyObject_CallMethod(ctx, "get_range", "sKn", name,
	    (unsigned long long)offset, (Py_ssize_t)size);
	if (result == NULL || take_range(result, out, size, got, about) < 0)
		status = fail();
	Py_XDECREF(result);
	leave(state);
	return status;
}

/* All bytes of a body; NULL with an exception, or with *status. */
static PyObject *
read_body(const lc_store_body *body, lc_status *status)
{
	PyObject *bytes;
	char *data;

	if (body->size > PY_SSIZE_T_MAX)
		return PyErr_NoMemory();
	bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)body->size);
	if (bytes == NULL)
		return NULL;
	data = PyBytes_AsString(bytes);
	Py_BEGIN_ALLOW_THREADS
	for (uint64_t at = 0; at < body->size && *status == LC_OK;) {
		const uint64_t left = body->size - at;
		const size_t n = left < 1 << 20 ? (size_t)left : 1 << 20;

		*status = body->read(body->ctx, at, data + at, n);
		at += n;
	}
	Py_END_ALLOW_THREADS
	if (*status != LC_OK)
		Py_CLEAR(bytes);
	return bytes;
}

/* put_new() returns False for what is there already. */
static lc_status
put_object(PyObject *object, const char *method, const char *name,
    const lc_store_body *body, bool once)
{
	lc_status status = LC_OK;
	PyGILState_STATE state;
	PyObject *bytes, *result = NULL;

	if (!enter(&state))
		return ended();
	bytes = read_body(body, &status);
	if (bytes != NULL)
		result = PyObject_CallMethod(object, method, "sO", name, bytes);
	if (status == LC_OK && result == NULL)
		status = fail();
	else if (status == LC_OK && once && result == Py_False)
		status = lc_store_error(LC_EXISTS, "is there already");
	Py_XDECREF(result);
	Py_XDECREF(bytes);
	leave(state);
	return status;
}

static lc_status
put_new(void *ctx, const char *name, const lc_store_body *body)
{
	return put_object(ctx, "put_new", name, body, true);
}

static lc_status
put(void *ctx, const char *name, const lc_store_body *body)
{
	return put_object(ctx, "put", name, body, false);
}

/* (name, size) or (name, size, time) */
static lc_status
visit(PyObject *row, lc_status (*fn)(void *, const lc_store_object *), void *fn_ctx)
{
	lc_store_object object = { NULL, 0, 0 };
	lc_status status;

	if (is_row(row, "list", "(name, size)") < 0 || take_about(row, 1, &object) < 0)
		return fail();
	object.name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(row, 0), NULL);
	if (object.name == NULL)
		return fail();
	Py_BEGIN_ALLOW_THREADS
	status = fn(fn_ctx, &object);
	Py_END_ALLOW_THREADS
	return status;
}

static lc_status
list(void *ctx, const char *prefix, lc_status (*fn)(void *, const lc_store_object *),
    void *fn_ctx)
{
	PyObject *result, *iterator, *row;
	lc_status status = LC_OK;
	PyGILState_STATE state;

	if (!enter(&state))
		return ended();
	result = PyObject_CallMethod(ctx, "list", "s", prefix);
	iterator = result != NULL ? PyObject_GetIter(result) : NULL;
	while (iterator != NULL && status == LC_OK &&
	    (row = PyIter_Next(iterator)) != NULL) {
		status = visit(row, fn, fn_ctx);
		Py_DECREF(row);
	}
	if (status == LC_OK && PyErr_Occurred())
		status = fail();
	Py_XDECREF(iterator);
	Py_XDECREF(result);
	leave(state);
	return status;
}

static lc_status delete (void *ctx, const char *name)
{
	lc_status status = LC_OK;
	PyGILState_STATE state;
	PyObject *result;

	if (!enter(&state))
		return ended();
	result = PyObject_CallMethod(ctx, "delete", "s", name);
	if (result == NULL)
		status = fail();
	Py_XDECREF(result);
	leave(state);
	return status;
}

/* What Python has when it ends is not freed. */
static void
close_store(void *ctx)
{
	PyGILState_STATE state;

	if (!enter(&state))
		return;
	Py_DECREF((PyObject *)ctx);
	leave(state);
}

static const lc_store_calls calls = {
	.struct_size = sizeof(calls),
	.get_range = get_range,
	.put_new = put_new,
	.put = put,
	.list = list,
	.remove = delete,
	.close = close_store,
};

lc_status
store_open(PyObject *object, lc_store **out)
{
	struct store *self = (struct store *)object;
	const char *url = PyUnicode_AsUTF8AndSize(self->url, NULL);
	lc_status status;

	if (url == NULL)
		return fail();
	status = lc_store_open_calls(&calls, self->object, url, out);
	if (status == LC_OK)
		Py_INCREF(self->object);
	return status;
}

/* ---- the type ----------------------------------------------------------------------------------- */

static PyObject *
store_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = { "object", "url", NULL };
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	static const char *const methods[] = { "get_range", "put_new", "put", "list",
		"delete" };
	PyObject *object, *url = NULL;
	struct store *self;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|U", names, &object, &url))
		return NULL;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		PyObject *method = PyObject_GetAttrString(object, methods[i]);
		const int callable = method != NULL && PyCallable_Check(method);

		Py_XDECREF(method);
		if (callable)
			continue;
		PyErr_Clear();
		PyErr_Format(PyExc_TypeError, "Store: %R has no method %s()", object,
		    methods[i]);
		return NULL;
	}
	self = (struct store *)alloc(type, 0);
	if (self == NULL)
		return NULL;
	self->url = url != NULL ? Py_NewRef(url) : PyUnicode_FromString("store:");
	self->object = Py_NewRef(object);
	if (self->url != NULL)
		return (PyObject *)self;
	Py_DECREF(self);
	return NULL;
}

static void
store_dealloc(struct store *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	Py_XDECREF(self->object);
	Py_XDECREF(self->url);
	release(self);
	Py_DECREF(type);
}

static PyObject *
store_check(PyObject *self, PyObject *Py_UNUSED(none))
{
	lc_store *store;
	lc_status status = store_open(self, &store);

	if (status != LC_OK)
		return raise_status(status, NULL);
	Py_BEGIN_ALLOW_THREADS
	status = lc_store_check(store);
	lc_store_close(store);
	Py_END_ALLOW_THREADS
	if (status != LC_OK)
		return raise_status(status, NULL);
	Py_RETURN_NONE;
}

static PyMethodDef store_methods[] = {
	{ "check", store_check, METH_NOARGS,
	    "check($self, /)\n--\n\n"
	    "Does the object keep its promises? Puts an object of a new name twice, once with\n"
	    "put() and reads them, lists and deletes them. UnsupportedError if put_new() puts\n"
	    "what is there already." },
	{ 0 },
};

static PyMemberDef store_members[] = {
	{ "object", T_OBJECT_EX, offsetof(struct store, object), READONLY,
	    "What has the methods." },
	{ "url", T_OBJECT_EX, offsetof(struct store, url), READONLY,
	    "What messages call the store." },
	{ 0 },
};

static PyType_Slot store_slots[] = {
	{ Py_tp_new, store_new },
	{ Py_tp_dealloc, store_dealloc },
	{ Py_tp_methods, store_methods },
	{ Py_tp_members, store_members },
	{ Py_tp_doc,
	    "A store by the methods of an object; lmdbcache.Store has the rest of it." },
	{ 0, NULL },
};

static PyType_Spec store_spec = {
	.name = "lmdbcache._core.Store",
	.basicsize = sizeof(struct store),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = store_slots,
};

int
store_init(PyObject *module)
{
	store_type = (PyTypeObject *)PyType_FromSpec(&store_spec);
	return store_type == NULL
	    ? -1
	    : PyModule_AddObjectRef(module, "Store", (PyObject *)store_type);
}
