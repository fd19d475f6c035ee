/* SPDX-License-Identifier: BSD-2-Clause */
/* The extension module lmdbcache._core. */
#include "core.h"

static PyObject *
key(PyObject *Py_UNUSED(module), PyObject *object)
{
	struct borrowed borrowed = { 0 };
	lc_value *value = value_from(object, &borrowed);
	char text[LC_KEY_SIZE];
	lc_status status;

	if (value == NULL) {
		borrowed_release(&borrowed);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS
	status = lc_value_key(value, text);
	Py_END_ALLOW_THREADS
	lc_value_free(value);
	borrowed_release(&borrowed);
	return status == LC_OK ? PyUnicode_FromString(text) : raise_status(status, NULL);
}

static PyMethodDef functions[] = {
	{ "key", key, METH_O,
	    "key(value, /)\n--\n\n"
	    "A cache_id computed from content: \"k1-\" and 32 hex digits, the same text for equal\n"
	    "values, in every process and version. The value is text, bytes, a tensor, or any\n"
	    "value that can be put. A tensor counts with its dtype, shape and elements, on any\n"
	    "device; the order of a dict does not count; 1, 1.0 and True differ, as do a list\n"
	    "and a tuple. Different values have different keys unless an attacker searches for\n"
	    "a collision. lmdbcache_value(3) defines the bytes that are hashed." },
	{ "_stores_end", stores_end, METH_NOARGS,
	    "_stores_end()\n--\n\n"
	    "Python ends: methods of Stores are not called after this." },
	{ 0 },
};

static int
exec(PyObject *module)
{
	if (errors_init(module) < 0 || tensor_init(module) < 0 ||
	    cache_init(module) < 0 || life_init(module) < 0 || reserve_init(module) < 0 ||
	    source_init(module) < 0 || store_init(module) < 0 || reader_init(module) < 0)
		return -1;
	return PyModule_AddStringConstant(module, "library_version", lc_version());
}

static PyModuleDef_Slot slots[] = {
	{ Py_mod_exec, exec },
	{ 0, NULL },
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT,
	.m_name = "lmdbcache._core",
	.m_doc = "The engine in C; use the package lmdbcache.",
	.m_methods = functions,
	.m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC
PyInit__core(void)
{
	return PyModuleDef_Init(&module);
}
