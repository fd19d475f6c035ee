# SPDX-License-Identifier: BSD-2-Clause
# The extension of the Python package, for the tests: the library is linked into it. Users
# build it with python/setup.py.

python_sources = \
	python/src/cache.c python/src/compute.c python/src/errors.c python/src/gather.c \
	python/src/handle.c python/src/ids.c python/src/life.c python/src/module.c \
	python/src/options.c python/src/reader.c python/src/reserve.c python/src/source.c \
	python/src/store.c \
	python/src/tensor.c python/src/value.c python/src/wait.c
EXTRA_DIST += $(python_sources) python/src/core.h python/src/dlpack.h python/src/handle.h \
	python/src/.clang-format \
	python/lmdbcache/py.typed t/python.sh \
	$(wildcard $(srcdir)/python/lmdbcache/*.py $(srcdir)/python/lmdbcache/*.pyi \
	$(srcdir)/python/lmdbcache/*/*.py $(srcdir)/python/tests/*.py \
	$(srcdir)/python/examples/*.py $(srcdir)/python/examples/*.out $(srcdir)/python/pyproject.toml \
	$(srcdir)/python/setup.py $(srcdir)/python/README \
	$(srcdir)/python/tests/stubtest.allow)
TESTS += t/python.sh
AM_TESTS_ENVIRONMENT += PYTHON='$(PYTHON)'; HAVE_PYTHON='$(have_python)'; \
	export PYTHON HAVE_PYTHON;

if HAVE_PYTHON
# -rpath makes libtool build a shared object of what is not installed.
check_LTLIBRARIES += python/_core.la
python__core_la_SOURCES = $(python_sources)
python__core_la_CPPFLAGS = -I$(top_srcdir)/include $(PYTHON_CPPFLAGS) $(HARDEN_CPPFLAGS)
# Python.h takes texts that it does not change as char *.
python__core_la_CFLAGS = $(AM_CFLAGS) -Wno-write-strings
python__core_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir) \
	-export-symbols-regex '^PyInit__core$$'
python__core_la_LIBADD = libcore.la

check_DATA = python/lmdbcache/_core.abi3.so
python/lmdbcache/_core.abi3.so: python/_core.la
	$(AM_V_GEN)$(MKDIR_P) python/lmdbcache && cp python/.libs/_core.so $@.new && mv $@.new $@
CLEANFILES += python/lmdbcache/_core.abi3.so
endif
