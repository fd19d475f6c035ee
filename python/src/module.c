/* SPDX-License-Identifier: BSD-2-Clause */
/* The extension module lmdbcache._core. */
#include "core.h"

static int
exec(PyObject *module)
{
	if (errors_init(module) < 0 || tensor_init(module) < 0 ||
	    cache_init(module) < 0 || reader_init(module) < 0)
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
	.m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC
PyInit__core(void)
{
	return PyModuleDef_Init(&module);
}
