# SPDX-License-Identifier: BSD-2-Clause
# Benchmarks: `make bench` runs them all, `make bench BENCH=store` one; see bench/README.
EXTRA_LIBRARIES = libbench.a
libbench_a_SOURCES = \
	bench/choice.c bench/choice.h \
	bench/harness.c bench/harness.h \
	bench/memory.c bench/memory.h \
	bench/results.c bench/results.h \
	bench/scratch.c bench/scratch.h \
	bench/worker.c bench/worker.h
bench_lib = libbench.a $(TEST_LIBS)

bench_programs = bench/bulk bench/codec bench/compact bench/compute bench/exchange \
	bench/export bench/fill bench/images bench/lru bench/migrate bench/order bench/overwrites \
	bench/sets bench/store bench/values
# Those that run only when they are asked for.
bench_asked = bench/peers
EXTRA_PROGRAMS = $(bench_programs) bench/peers
CLEANFILES = $(EXTRA_PROGRAMS) libbench.a
DISTCLEANFILES = bench-results.json
EXTRA_DIST += bench/README bench/harness.py bench/images_peer.py bench/objects.py \
	bench/plots.py bench/python.py bench/readers.py

bench_bulk_SOURCES = bench/bulk.c \
	bench/load.c bench/load.h bench/module.c bench/module.h
bench_bulk_LDADD = $(bench_lib) liblmdbcache.la

bench_codec_SOURCES = bench/codec.c bench/samples.c bench/samples.h
bench_codec_CFLAGS = $(AM_CFLAGS) $(LZ4_CFLAGS) $(JPEG_CFLAGS)
bench_codec_LDADD = $(bench_lib) libcachex.a libcore.la $(tool_libs) $(LZ4_LIBS)

bench_compact_SOURCES = bench/compact.c \
	bench/load.c bench/load.h bench/module.c bench/module.h
bench_compact_CFLAGS = $(AM_CFLAGS) $(LMDB_CFLAGS)
bench_compact_LDADD = $(bench_lib) liblmdbcache.la $(LMDB_LIBS)

bench_compute_SOURCES = bench/compute.c \
	bench/load.c bench/load.h bench/module.c bench/module.h
bench_compute_LDADD = $(bench_lib) liblmdbcache.la

bench_exchange_SOURCES = bench/exchange.c \
	bench/load.c bench/load.h bench/module.c bench/module.h
bench_exchange_CPPFLAGS = $(AM_CPPFLAGS) -DCACHEX='"$(abs_builddir)/cachex$(EXEEXT)"'
bench_exchange_LDADD = $(bench_lib) liblmdbcache.la

bench_export_SOURCES = bench/export.c \
	bench/load.c bench/load.h bench/module.c bench/module.h
bench_export_LDADD = $(bench_lib) liblmdbcache.la

bench_fill_SOURCES = bench/fill.c bench/fill_producer.c bench/fill_producer.h \
	bench/load.c bench/load.h bench/module.c bench/module.h
bench_fill_LDADD = $(bench_lib) libcachex.a libcore.la $(tool_libs)

bench_images_SOURCES = bench/images.c \
	bench/images_build.c bench/images_build.h \
	bench/images_jpeg.c bench/images_jpeg.h \
	bench/images_peers.c bench/images_peers.h \
	bench/images_plain.c \
	bench/images_set.c bench/images_set.h \
	bench/images_ways.c bench/images_ways.h
bench_images_CFLAGS = $(AM_CFLAGS) $(JPEG_CFLAGS)
bench_images_CPPFLAGS = $(AM_CPPFLAGS) -DIMAGES_PEER_SCRIPT='"$(abs_srcdir)/bench/images_peer.py"'
bench_images_LDADD = $(bench_lib) libcachex.a libcore.la $(tool_libs) $(JPEG_LIBS) -lm

bench_lru_SOURCES = bench/lru.c bench/module.c bench/module.h
bench_lru_LDADD = $(bench_lib) liblmdbcache.la -lm

bench_migrate_SOURCES = bench/migrate.c
bench_migrate_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
bench_migrate_LDADD = $(bench_lib) libcachex.a libcore.la $(tool_libs) $(JANSSON_LIBS) -lm

bench_order_SOURCES = bench/order.c \
	bench/cold.c bench/cold.h \
	bench/load.c bench/load.h bench/module.c bench/module.h \
	bench/order_chunks.c \
	bench/order_flat.c \
	bench/order_library.c \
	bench/order_list.c \
	bench/order_lmdb.c bench/order_lmdb.h \
	bench/order_locate.c bench/order_locate.h \
	bench/order_part.h \
	bench/order_permutation.c \
	bench/order_reads.c \
	bench/order_set.c bench/order_set.h \
	bench/order_shares.c \
	bench/order_stream.c bench/order_stream.h \
	bench/order_way.c bench/order_way.h \
	bench/order_windows.c \
	bench/unsynced.c bench/unsynced.h
bench_order_CFLAGS = $(AM_CFLAGS) $(LMDB_CFLAGS)
bench_order_LDADD = $(bench_lib) libcore.la $(LMDB_LIBS) -lm

bench_overwrites_SOURCES = bench/overwrites.c \
	bench/load.c bench/load.h bench/module.c bench/module.h
bench_overwrites_CFLAGS = $(AM_CFLAGS) $(LMDB_CFLAGS)
bench_overwrites_LDADD = $(bench_lib) liblmdbcache.la $(LMDB_LIBS)

bench_peers_SOURCES = bench/peers.c bench/contender.h \
	bench/load.c bench/load.h bench/measure.c bench/measure.h \
	bench/with_cachex.c bench/with_flat.c bench/with_kyoto.c bench/with_leveldb.c \
	bench/with_lmdb.c bench/with_rocksdb.c bench/with_sqlite.c bench/with_tkrzw.c \
	bench/with_wiredtiger.c
bench_peers_CFLAGS = $(AM_CFLAGS) $(LMDB_CFLAGS) $(SQLITE_CFLAGS) $(KYOTO_CFLAGS) \
	$(ROCKSDB_CFLAGS) $(TKRZW_CFLAGS) $(WIREDTIGER_CFLAGS)
bench_peers_LDADD = $(bench_lib) liblmdbcache.la $(LMDB_LIBS) $(SQLITE_LIBS) $(KYOTO_LIBS) \
	$(LEVELDB_LIBS) $(ROCKSDB_LIBS) $(TKRZW_LIBS) $(WIREDTIGER_LIBS)

bench_sets_SOURCES = bench/sets.c bench/module.c bench/module.h \
	t/support/large_set.c t/support/large_set.h
bench_sets_CPPFLAGS = $(AM_CPPFLAGS) -DCACHEX='"$(abs_builddir)/cachex$(EXEEXT)"'
bench_sets_LDADD = $(bench_lib) libcore.la $(tool_libs)

bench_store_SOURCES = bench/store.c bench/contender.h \
	bench/load.c bench/load.h bench/measure.c bench/measure.h \
	bench/with_cachex.c bench/with_lmdb.c bench/with_sqlite.c
bench_store_CFLAGS = $(AM_CFLAGS) $(LMDB_CFLAGS) $(SQLITE_CFLAGS)
bench_store_LDADD = $(bench_lib) liblmdbcache.la $(LMDB_LIBS) $(SQLITE_LIBS)

bench_values_SOURCES = bench/values.c \
	bench/load.c bench/load.h bench/module.c bench/module.h
bench_values_LDADD = $(bench_lib) liblmdbcache.la

# Not programs of their own: the interpreter runs them, with the package and the library as
# they are built. PYTHON=... make bench BENCH=python: by another one.
bench_python_sources = $(wildcard $(srcdir)/python/lmdbcache/*.py $(srcdir)/python/lmdbcache/*/*.py)
bench_extension = python/lmdbcache/_core.abi3.so
bench/package/.made: $(bench_python_sources) $(bench_extension)
	$(AM_V_GEN)rm -rf bench/package && mkdir -p bench/package && \
	cp -r $(srcdir)/python/lmdbcache bench/package && \
	cp $(bench_extension) bench/package/lmdbcache && touch $@
bench/readers: cachex
bench/python bench/readers: Makefile bench/package/.made liblmdbcache.la
	$(AM_V_GEN){ echo '#!/bin/sh'; \
	echo 'PYTHONPATH=$(abs_builddir)/bench/package PYTHONDONTWRITEBYTECODE=1 \'; \
	echo 'exec "$${PYTHON:-$(PYTHON)}" $(abs_srcdir)/bench/$(@F).py \'; \
	echo '    --library $(abs_builddir)/.libs/liblmdbcache.so "$$@"'; } >$@.new && \
	chmod +x $@.new && mv $@.new $@
bench/objects: Makefile cachex
	$(AM_V_GEN){ echo '#!/bin/sh'; \
	echo 'PYTHONDONTWRITEBYTECODE=1 exec "$${PYTHON:-$(PYTHON)}" \'; \
	echo '    $(abs_srcdir)/bench/objects.py --cachex $(abs_builddir)/cachex \'; \
	echo '    --server $(abs_srcdir)/t/support/s3_server.py "$$@"'; } >$@.new && \
	chmod +x $@.new && mv $@.new $@
CLEANFILES += bench/objects bench/python bench/readers bench-plots.html

# A page of what bench/python measured.
.PHONY: bench-plots
bench-plots: bench/python
	PYTHONPATH=bench/package $(PYTHON) $(srcdir)/bench/plots.py bench-results.json bench-plots.html
if HAVE_PYTHON
bench_scripts = bench/python
bench_asked += bench/objects bench/readers
endif

.PHONY: bench
bench: $(bench_programs) $(bench_asked) $(bench_scripts)
	@found=no; \
	for program in $(bench_programs) $(bench_asked) $(bench_scripts); do \
		name=`basename $$program $(EXEEXT)`; \
		case "$(BENCH)": in \
		$$name:) ;; \
		:) case " $(bench_asked) " in *" $$program "*) continue;; esac;; \
		*) continue;; \
		esac; \
		found=yes; \
		./$$program -o bench-results.json || exit 1; \
	done; \
	test $$found = yes || { echo "make bench: no bench '$(BENCH)'" >&2; exit 2; }
