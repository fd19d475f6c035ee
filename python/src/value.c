/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects of Python as values of the engine, and back: dicts, lists, tuples, plain data and
 * tensors. What the engine has no kind for is a tagged value; lmdbcache_python(3) lists the
 * tags.
 */
#include "core.h"

#include <stdlib.h>

/** A memory copy from this size on is worth to let other threads run. */
#define LARGE 65536

static const char tag_bytearray[] = "py.bytearray", tag_complex[] = "py.complex",
		  tag_frozenset[] = "py.frozenset", tag_int[] = "py.int",
		  tag_set[] = "py.set";

/* lmdbcache.Tagged, any other tagged value; NULL with an exception. */
static PyObject *
tagged_type(void)
{
	static PyObject *type;
	PyObject *module;

	if (type != NULL)
		return type;
	module = PyImport_ImportModule("lmdbcache._values");
	if (module == NULL)
		return NULL;
	type = PyObject_GetAttrString(module, "Tagged");
	Py_DECREF(module);
	return type;
}

/* What a method of the type int makes; @p object is its first argument. */
static PyObject *
int_method(const char *name, PyObject *object, Py_ssize_t size)
{
	PyObject *method = PyObject_GetAttrString((PyObject *)&PyLong_Type, name);
	PyObject *args = size < 0 ? Py_BuildValue("Os", object, "little")
				  : Py_BuildValue("Ons", object, size, "little");
	PyObject *names = Py_BuildValue("{sO}", "signed", Py_True), *result = NULL;

	if (method != NULL && args != NULL && names != NULL)
		result = PyObject_Call(method, args, names);
	Py_XDECREF(method);
	Py_XDECREF(args);
	Py_XDECREF(names);
	return result;
}

/* ---- to the engine ------------------------------------------------------------------- */

/* Where an object is in the one that is stored; for errors. */
struct place {
	const struct place *outer; /* NULL: it is the whole */
	PyObject *key;             /* in a dict; NULL in a list */
	Py_ssize_t index;          /* in a list */
	bool in_key;               /* part of a key, in which no tensor can be */
	int depth;                 /* 1 for the whole */
};

/* value['a'][3] */
static PyObject *
path_of(const struct place *place)
{
	PyObject *outer, *path;

	if (place->outer == NULL)
		return PyUnicode_FromString("value");
	outer = path_of(place->outer);
	if (outer == NULL)
		return NULL;
	if (place->in_key && !place->outer->in_key)
		path = PyUnicode_FromFormat("%U: key %R", outer, place->key);
	else if (place->key != NULL)
		path = PyUnicode_FromFormat("%U[%R]", outer, place->key);
	else
		path = PyUnicode_FromFormat("%U[%zd]", outer, place->index);
	Py_DECREF(outer);
	return path;
}

/* Begin the text of a TypeError or ValueError with where it happened; returns NULL. */
static lc_value *
name_place(const struct place *place)
{
	PyObject *type, *error, *trace, *path;

	if (place->outer == NULL)
		return NULL;
	PyErr_Fetch(&type, &error, &trace);
	if (type != PyExc_TypeError && type != PyExc_ValueError) {
		PyErr_Restore(type, error, trace);
		return NULL;
	}
	path = path_of(place);
	if (path != NULL)
		PyErr_Format(type, "%U: %S", path, error != NULL ? error : Py_None);
	Py_XDECREF(path);
	Py_XDECREF(type);
	Py_XDECREF(error);
	Py_XDECREF(trace);
	return NULL;
}

static lc_value *part_from(PyObject *object, struct borrowed *borrowed,
    const struct place *place);

/* The bytes of a text; *kept is a new reference to their owner, or NULL. Parts that were not
 * UTF-8 when the text was read become the original bytes again. */
static const char *
text_of(PyObject *object, Py_ssize_t *size, PyObject **kept)
{
	const char *text = PyUnicode_AsUTF8AndSize(object, size);
	char *bytes;

	*kept = NULL;
	if (text != NULL || !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
		return text;
	PyErr_Clear();
	*kept = PyUnicode_AsEncodedString(object, "utf-8", "surrogateescape");
	if (*kept == NULL || PyBytes_AsStringAndSize(*kept, &bytes, size) < 0)
		return NULL;
	return bytes;
}

static lc_value *
text_from(PyObject *object)
{
	PyObject *kept;
	Py_ssize_t size;
	const char *text = text_of(object, &size, &kept);
	lc_value *value = text != NULL ? lc_value_strn(text, (size_t)size) : NULL;

	Py_XDECREF(kept);
	return value;
}

static lc_value *
bytes_from(PyObject *object)
{
	Py_ssize_t size;
	char *bytes;

	if (PyBytes_AsStringAndSize(object, &bytes, &size) < 0)
		return NULL;
	return lc_value_bytes(bytes, (size_t)size);
}

/* Beyond 64 bits: as few bytes as hold it with its sign. */
static lc_value *
large_from(PyObject *object)
{
	PyObject *length = PyObject_CallMethod(object, "bit_length", NULL), *bytes;
	const Py_ssize_t bits = length != NULL ? PyLong_AsSsize_t(length) : -1;
	lc_value *value;

	Py_XDECREF(length);
	bytes = bits >= 0 ? int_method("to_bytes", object, bits / 8 + 1) : NULL;
	if (bytes == NULL)
		return NULL;
	value = lc_value_tagged(tag_int, bytes_from(bytes));
	Py_DECREF(bytes);
	return value;
}

static lc_value *
integer_from(PyObject *object)
{
	int overflow;
	const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
	unsigned long long natural;

	if (overflow == 0)
		return number == -1 && PyErr_Occurred() ? NULL : lc_value_integer(number);
	if (overflow > 0) {
		natural = PyLong_AsUnsignedLongLong(object);
		if (natural != (unsigned long long)-1 || !PyErr_Occurred())
			return lc_value_unsigned(natural);
		PyErr_Clear();
	}
	return large_from(object);
}

static lc_value *
complex_from(PyObject *object)
{
	lc_value *parts = lc_value_tuple();

	lc_value_append(parts, lc_value_float(PyComplex_RealAsDouble(object)));
	lc_value_append(parts, lc_value_float(PyComplex_ImagAsDouble(object)));
	return lc_value_tagged(tag_complex, parts);
}

/* Is each key the name that a map can have: text, not empty, without NUL? -1 with an
 * exception. */
static int
are_names(PyObject *keys)
{
	const Py_ssize_t n = PyList_Size(keys);

	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *key = PyList_GetItem(keys, i), *kept;
		const char *text;
		Py_ssize_t size;
		bool named;

		if (!PyUnicode_Check(key))
			return 0;
		text = text_of(key, &size, &kept);
		named = text != NULL && size > 0 && strlen(text) == (size_t)size;
		Py_XDECREF(kept);
		if (text == NULL)
			return -1;
		if (!named)
			return 0;
	}
	return 1;
}

/* Add what is under a key. What fails in the engine marks the value. */
static int
add_entry(lc_value *to, bool named, PyObject *key, PyObject *object,
    struct borrowed *borrowed, const struct place *outer)
{
	struct place place = { outer, key, 0, outer->in_key, outer->depth + 1 };
	lc_value *part = part_from(object, borrowed, &place), *key_part;
	PyObject *kept;
	const char *name;
	Py_ssize_t size;

	if (part == NULL)
		return -1;
	if (named) {
		name = text_of(key, &size, &kept);
		if (name == NULL)
			lc_value_free(part);
		else
			lc_value_set(to, name, part);
		Py_XDECREF(kept);
		return name != NULL ? 0 : -1;
	}
	place.in_key = true;
	key_part = part_from(key, borrowed, &place);
	if (key_part == NULL)
		lc_value_free(part);
	else
		lc_value_pair(to, key_part, part);
	return key_part != NULL ? 0 : -1;
}

/* A map, or pairs if a key is not a name. */
static lc_value *
dict_from(PyObject *object, struct borrowed *borrowed, const struct place *place)
{
	/* Lists of their own: converting may run code that changes the dict. */
	PyObject *keys = PyDict_Keys(object), *parts = PyDict_Values(object);
	const int named = keys != NULL && parts != NULL ? are_names(keys) : -1;
	lc_value *value = named < 0 ? NULL : named ? lc_value_map() : lc_value_pairs();
	const Py_ssize_t n = value != NULL ? PyList_Size(keys) : 0;

	for (Py_ssize_t i = 0; i < n; i++) {
		if (add_entry(value, named, PyList_GetItem(keys, i),
			PyList_GetItem(parts, i), borrowed, place) == 0)
			continue;
		lc_value_free(value);
		value = NULL;
		break;
	}
	Py_XDECREF(keys);
	Py_XDECREF(parts);
	return value;
}

/* A list or tuple. */
static lc_value *
sequence_from(PyObject *object, bool tuple, struct borrowed *borrowed,
    const struct place *outer)
{
	PyObject *parts = tuple ? Py_NewRef(object) : PySequence_Tuple(object);
	lc_value *value = tuple ? lc_value_tuple() : lc_value_list();
	const Py_ssize_t n = parts != NULL ? PyTuple_Size(parts) : 0;
	bool failed = parts == NULL || value == NULL;

	for (Py_ssize_t i = 0; i < n && !failed; i++) {
		const struct place place = { outer, NULL, i, outer->in_key,
			outer->depth + 1 };
		lc_value *part = part_from(PyTuple_GetItem(parts, i), borrowed, &place);

		failed = part == NULL;
		if (!failed)
			lc_value_append(value, part);
	}
	Py_XDECREF(parts);
	if (!failed)
		return value;
	lc_value_free(value);
	return NULL;
}

/* Pairs without values, so that their order does not count in a key. */
static lc_value *
set_from(PyObject *object, struct borrowed *borrowed, const struct place *outer)
{
	PyObject *parts = PySequence_List(object);
	lc_value *value = lc_value_pairs();
	const Py_ssize_t n = parts != NULL ? PyList_Size(parts) : 0;
	bool failed = parts == NULL || value == NULL;

	for (Py_ssize_t i = 0; i < n && !failed; i++)
		failed = add_entry(value, false, PyList_GetItem(parts, i), Py_None,
			     borrowed, outer) < 0;
	Py_XDECREF(parts);
	if (!failed)
		return lc_value_tagged(PyFrozenSet_Check(object) ? tag_frozenset
								 : tag_set,
		    value);
	lc_value_free(value);
	return NULL;
}

/* A Tagged, whose child has its place. */
static lc_value *
tagged_from(PyObject *object, struct borrowed *borrowed, const struct place *place)
{
	PyObject *tag = PyObject_GetAttrString(object, "tag");
	PyObject *child = PyObject_GetAttrString(object, "value");
	struct place inner = *place;
	const char *text = NULL;
	lc_value *part = NULL;
	Py_ssize_t size;

	inner.depth++;
	if (tag != NULL && child != NULL) {
		text = PyUnicode_Check(tag) ? PyUnicode_AsUTF8AndSize(tag, &size) : NULL;
		if (text != NULL && size > 0 && strlen(text) == (size_t)size) {
			part = part_from(child, borrowed, &inner);
		} else {
			PyErr_Clear();
			PyErr_SetString(PyExc_ValueError,
			    "a tag is text, not empty, without NUL");
			name_place(place);
		}
	}
	if (part != NULL)
		part = lc_value_tagged(text, part);
	Py_XDECREF(tag);
	Py_XDECREF(child);
	return part;
}

/* What is neither a container nor plain data of Python: a tensor, or a Tagged. */
static lc_value *
other_from(PyObject *object, struct borrowed *borrowed, const struct place *place)
{
	PyObject *number, *type;
	lc_tensor tensor;
	lc_value *value;
	int answer;

	/* A scalar of NumPy is the same key as the int. */
	if (place->in_key && PyIndex_Check(object) && PyObject_CheckBuffer(object)) {
		number = PyNumber_Index(object);
		value = number != NULL ? integer_from(number) : NULL;
		Py_XDECREF(number);
		return value;
	}
	answer = tensor_borrow(object, borrowed, &tensor);
	if (answer == 1 && !place->in_key)
		return lc_value_tensor(&tensor);
	if (answer == 0) {
		type = tagged_type();
		if (type == NULL)
			return NULL;
		if ((PyObject *)Py_TYPE(object) == type)
			return tagged_from(object, borrowed, place);
		PyErr_Format(PyExc_TypeError, "a %R cannot be stored",
		    (PyObject *)Py_TYPE(object));
	} else if (answer == 1) {
		PyErr_Format(PyExc_TypeError, "a %R cannot be in a key",
		    (PyObject *)Py_TYPE(object));
	}
	return name_place(place);
}

/* A new value; NULL with an exception, or without one for want of memory. */
static lc_value *
part_from(PyObject *object, struct borrowed *borrowed, const struct place *place)
{
	const unsigned long flags = PyType_GetFlags(Py_TYPE(object));

	if (place->depth > LC_MAX_DEPTH) {
		raise_text(LC_INVALID, "a value is nested deeper than %d", LC_MAX_DEPTH);
		return NULL;
	}
	if (object == Py_None)
		return lc_value_nil();
	if (PyBool_Check(object))
		return lc_value_boolean(object == Py_True);
	if (flags & Py_TPFLAGS_LONG_SUBCLASS)
		return integer_from(object);
	if (flags & Py_TPFLAGS_UNICODE_SUBCLASS)
		return text_from(object);
	if (flags & Py_TPFLAGS_DICT_SUBCLASS)
		return dict_from(object, borrowed, place);
	if (flags & (Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS))
		return sequence_from(object, (flags & Py_TPFLAGS_TUPLE_SUBCLASS) != 0,
		    borrowed, place);
	if (flags & Py_TPFLAGS_BYTES_SUBCLASS)
		return bytes_from(object);
	if (PyFloat_Check(object))
		return lc_value_float(PyFloat_AsDouble(object));
	if (PyByteArray_Check(object))
		return lc_value_tagged(tag_bytearray,
		    lc_value_bytes(PyByteArray_AsString(object),
			(size_t)PyByteArray_Size(object)));
	if (PyAnySet_Check(object))
		return set_from(object, borrowed, place);
	if (PyComplex_Check(object))
		return complex_from(object);
	return other_from(object, borrowed, place);
}

lc_value *
value_from(PyObject *object, struct borrowed *borrowed)
{
	const struct place whole = { .depth = 1 };
	lc_value *value = part_from(object, borrowed, &whole);

	if (value == NULL && !PyErr_Occurred())
		PyErr_NoMemory();
	return value;
}

/* ---- from the engine ------------------------------------------------------------ */

/* The parts of a value, of which objects are made in turn. */
struct parts {
	const lc_part *next;
	PyObject *holder; /* of views */
	enum like like;
};

static PyObject *next_object(struct parts *parts);

static PyObject *
tensor_to(const struct parts *parts, const lc_tensor *tensor)
{
	void *memory;

	if (parts->holder != NULL)
		return tensor_view(tensor, parts->holder, parts->like);
	memory = tensor_memory(tensor->nbytes);
	if (memory == NULL)
		return PyErr_NoMemory();
	if (tensor->nbytes < LARGE) {
		memcpy(memory, tensor->data, tensor->nbytes);
	} else {
		Py_BEGIN_ALLOW_THREADS
		memcpy(memory, tensor->data, tensor->nbytes);
		Py_END_ALLOW_THREADS
	}
	return tensor_own(tensor, memory, parts->like);
}

/* A dict of a map or of pairs: either is @p n keys and their values in turn. */
static PyObject *
dict_to(struct parts *parts, size_t n)
{
	PyObject *map = PyDict_New();

	for (size_t i = 0; map != NULL && i < n; i++) {
		PyObject *key = next_object(parts);
		PyObject *part = key != NULL ? next_object(parts) : NULL;

		if (part == NULL || PyDict_SetItem(map, key, part) < 0)
			Py_CLEAR(map);
		Py_XDECREF(key);
		Py_XDECREF(part);
	}
	if (map != NULL && (size_t)PyDict_Size(map) != n) {
		Py_CLEAR(map);
		raise_text(LC_SCHEMA, "pairs with two keys that are one in a dict");
	}
	return map;
}

static PyObject *
list_to(struct parts *parts, size_t n)
{
	PyObject *list = PyList_New((Py_ssize_t)n);

	for (size_t i = 0; list != NULL && i < n; i++) {
		PyObject *part = next_object(parts);

		/* It takes over the reference. */
		if (part == NULL || PyList_SetItem(list, (Py_ssize_t)i, part) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *
tuple_to(struct parts *parts, size_t n)
{
	PyObject *tuple = PyTuple_New((Py_ssize_t)n);

	for (size_t i = 0; tuple != NULL && i < n; i++) {
		PyObject *part = next_object(parts);

		/* It takes over the reference. */
		if (part == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, part) < 0)
			Py_CLEAR(tuple);
	}
	return tuple;
}

/* The keys of a dict from dict_to() if all of its values are None; otherwise NULL without an
 * exception. */
static PyObject *
keys_to(PyObject *dict, PyObject *(*make)(PyObject *iterable))
{
	PyObject *key, *part;
	Py_ssize_t at = 0;

	while (PyDict_Next(dict, &at, &key, &part))
		if (part != Py_None)
			return NULL;
	return make(dict);
}

/* What a tag of this package stands for, or NULL without an exception if it is another, or
 * its child not what it says. */
static PyObject *
known_to(const char *tag, PyObject *child)
{
	if (strcmp(tag, tag_int) == 0 && PyBytes_Check(child))
		return int_method("from_bytes", child, -1);
	if (strcmp(tag, tag_bytearray) == 0 && PyBytes_Check(child))
		return PyByteArray_FromObject(child);
	if (strcmp(tag, tag_set) == 0 && PyDict_Check(child))
		return keys_to(child, PySet_New);
	if (strcmp(tag, tag_frozenset) == 0 && PyDict_Check(child))
		return keys_to(child, PyFrozenSet_New);
	if (strcmp(tag, tag_complex) == 0 && PyTuple_Check(child) &&
	    PyTuple_Size(child) == 2 && PyFloat_Check(PyTuple_GetItem(child, 0)) &&
	    PyFloat_Check(PyTuple_GetItem(child, 1)))
		return PyComplex_FromDoubles(PyFloat_AsDouble(PyTuple_GetItem(child, 0)),
		    PyFloat_AsDouble(PyTuple_GetItem(child, 1)));
	return NULL;
}

static PyObject *
tagged_to(struct parts *parts)
{
	const lc_part *tag = parts->next++;
	PyObject *child = next_object(parts), *object, *type;

	if (child == NULL)
		return NULL;
	object = known_to(tag->of.bytes, child);
	if (object == NULL && !PyErr_Occurred()) {
		PyObject *name = PyUnicode_DecodeUTF8(tag->of.bytes,
		    (Py_ssize_t)tag->size, "surrogateescape");

		type = name != NULL ? tagged_type() : NULL;
		object = type != NULL
		    ? PyObject_CallFunctionObjArgs(type, name, child, NULL)
		    : NULL;
		Py_XDECREF(name);
	}
	Py_DECREF(child);
	return object;
}

/* The nesting of a value is limited, and with it this recursion. */
static PyObject *
next_object(struct parts *parts)
{
	const lc_part *part = parts->next++;

	switch (part->kind) {
	case LC_TENSOR: return tensor_to(parts, part->of.tensor);
	case LC_MAP: return dict_to(parts, part->size);
	case LC_PAIRS: return dict_to(parts, part->size / 2);
	case LC_LIST: return list_to(parts, part->size);
	case LC_TUPLE: return tuple_to(parts, part->size);
	case LC_TAGGED: return tagged_to(parts);
	case LC_NIL: break;
	case LC_BOOLEAN: return PyBool_FromLong(part->of.natural != 0);
	case LC_INTEGER:
		return part->negative ? PyLong_FromLongLong(part->of.integer)
				      : PyLong_FromUnsignedLongLong(part->of.natural);
	case LC_FLOAT: return PyFloat_FromDouble(part->of.number);
	case LC_STRING:
		return PyUnicode_DecodeUTF8(part->of.bytes, (Py_ssize_t)part->size,
		    "surrogateescape");
	case LC_BYTES:
		return PyBytes_FromStringAndSize(part->of.bytes, (Py_ssize_t)part->size);
	}
	return Py_NewRef(Py_None);
}

PyObject *
value_to(const lc_value *value, PyObject *holder, enum like like)
{
	enum { FEW = 64 };
	lc_part few[FEW], *many = NULL;
	struct parts parts = { few, holder, like };
	const size_t n = lc_value_parts(value, few, FEW);
	PyObject *object;

	if (n > FEW) {
		parts.next = many = PyMem_Malloc(n * sizeof(*many));
		if (many == NULL)
			return PyErr_NoMemory();
		lc_value_parts(value, many, n);
	}
	object = next_object(&parts);
	PyMem_Free(many);
	return object;
}
