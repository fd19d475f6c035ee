# SPDX-License-Identifier: BSD-2-Clause
# Tests: of the library in t/lib, of the tool in t/bin, of the repository in t; programs and
# scripts that speak TAP. What they share is in t/support.

TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
AM_TESTS_ENVIRONMENT = srcdir='$(srcdir)'; builddir='$(builddir)'; export srcdir builddir; \
	MAKE='$(MAKE)'; CC='$(CC)'; CFLAGS='$(CFLAGS)'; export MAKE CC CFLAGS; \
	HARDENING='$(HARDEN_CPPFLAGS) $(HARDEN_CFLAGS) $(HARDEN_LDFLAGS)'; export HARDENING;

# Of the engine: make check-long runs these again and again.
engine_tests = \
	t/lib/test_ahead t/lib/test_blocks t/lib/test_bytes t/lib/test_cache \
	t/lib/test_chaos t/lib/test_compact t/lib/test_compute t/lib/test_compute_threads \
	t/lib/test_concurrency t/lib/test_copy t/lib/test_copy_killed t/lib/test_corrupt \
	t/lib/test_counters t/lib/test_crash t/lib/test_cursor t/lib/test_cursor_damage \
	t/lib/test_fds t/lib/test_follow_killed t/lib/test_fork t/lib/test_inputs \
	t/lib/test_inputs_damaged t/lib/test_inputs_killed t/lib/test_inputs_space \
	t/lib/test_iterate t/lib/test_join_model t/lib/test_layout t/lib/test_life t/lib/test_list t/lib/test_list_model \
	t/lib/test_life_chaos t/lib/test_limits t/lib/test_lockfile t/lib/test_merge t/lib/test_model \
	t/lib/test_once t/lib/test_open t/lib/test_open_killed t/lib/test_record_offsets t/lib/test_power \
	t/lib/test_chunk_order t/lib/test_ranks t/lib/test_rearrange t/lib/test_recover \
	t/lib/test_recover_flips t/lib/test_scenarios t/lib/test_shrink t/lib/test_source \
	t/lib/test_source_chaos t/lib/test_source_order t/lib/test_source_shards \
	t/lib/test_space t/lib/test_store t/lib/test_values
if HAVE_S3
s3_tests = t/lib/test_s3 t/lib/test_s3_parse t/lib/test_sign
endif
lib_tests = $(engine_tests) $(s3_tests) \
	t/lib/test_about t/lib/test_array t/lib/test_base t/lib/test_batch t/lib/test_belady \
	t/lib/test_buckets t/lib/test_build t/lib/test_calls t/lib/test_checksum \
	t/lib/test_checksum_memory t/lib/test_codec t/lib/test_codec_bytes \
	t/lib/test_contains t/lib/test_copies t/lib/test_directory t/lib/test_durable t/lib/test_expect t/lib/test_export \
	t/lib/test_export_inputs t/lib/test_finite t/lib/test_fold t/lib/test_handles t/lib/test_hold \
	t/lib/test_idset t/lib/test_inflight t/lib/test_json_tree t/lib/test_key t/lib/test_large_set \
	t/lib/test_lazy t/lib/test_lengths t/lib/test_lines t/lib/test_listdir \
	t/lib/test_lru t/lib/test_manifest t/lib/test_manifest_verify t/lib/test_mixture \
	t/lib/test_moments t/lib/test_newfile t/lib/test_npy t/lib/test_opaque \
	t/lib/test_open_shards \
	t/lib/test_objects \
	t/lib/test_opening t/lib/test_order t/lib/test_outlive t/lib/test_packed t/lib/test_pages \
	t/lib/test_pages_flips \
	t/lib/test_pages_small t/lib/test_parts t/lib/test_permute t/lib/test_place \
	t/lib/test_reader t/lib/test_reader_chaos t/lib/test_reader_memory \
	t/lib/test_reader_model t/lib/test_reader_threads t/lib/test_reclaim \
	t/lib/test_reserve t/lib/test_restore t/lib/test_reuse t/lib/test_round_robin \
	t/lib/test_row_reader t/lib/test_rstar t/lib/test_run t/lib/test_salvage t/lib/test_schema \
	t/lib/test_series t/lib/test_series_model t/lib/test_shard t/lib/test_shares t/lib/test_shuffle \
	t/lib/test_source_gather t/lib/test_source_get t/lib/test_sources \
	t/lib/test_sources_compare t/lib/test_stream t/lib/test_stream_changed \
	t/lib/test_stream_chaos t/lib/test_stream_edges t/lib/test_stream_token \
	t/lib/test_summary t/lib/test_team t/lib/test_tensor t/lib/test_timeout \
	t/lib/test_token t/lib/test_transactions t/lib/test_twh1 t/lib/test_twh1_row \
	t/lib/test_union \
	t/lib/test_value t/lib/test_value_chaos t/lib/test_verify \
	t/lib/test_visits t/lib/test_warehouse \
	t/lib/test_warehouse_chaos t/lib/test_warehouse_damage \
	t/lib/test_warehouse_garbled t/lib/test_warehouse_threads t/lib/test_window
bin_tests = \
	t/bin/test_archive t/bin/test_class_map t/bin/test_convert t/bin/test_coverage t/bin/test_draw \
	t/bin/test_draw_chart t/bin/test_draw_sheet t/bin/test_draw_tensor \
	t/bin/test_draw_colours t/bin/test_embedding_map t/bin/test_exchange_chaos t/bin/test_exchange_npz \
	t/bin/test_fill t/bin/test_fill_edges t/bin/test_fill_inputs \
	t/bin/test_fill_killed t/bin/test_fill_parts t/bin/test_fill_stash \
	t/bin/test_foreign t/bin/test_geometry t/bin/test_histogram t/bin/test_image \
	t/bin/test_image_damage t/bin/test_image_formats t/bin/test_ingest \
	t/bin/test_ingest_chaos t/bin/test_ingest_exchange t/bin/test_ingest_frames \
	t/bin/test_ingest_lists t/bin/test_ingest_parts t/bin/test_ingest_stopped \
	t/bin/test_json_scan t/bin/test_labels t/bin/test_labels_chaos \
	t/bin/test_labels_coco t/bin/test_labels_fuzz t/bin/test_labels_layouts \
	t/bin/test_mds t/bin/test_mds_files t/bin/test_migrate t/bin/test_migrate_chaos \
	t/bin/test_migrate_killed t/bin/test_migrate_large t/bin/test_near t/bin/test_npz \
	t/bin/test_module_report t/bin/test_parquet t/bin/test_pca t/bin/test_picture t/bin/test_picture_memory t/bin/test_task t/bin/test_produce t/bin/test_produce_chaos \
	t/bin/test_protocol t/bin/test_publish t/bin/test_recipe t/bin/test_remote t/bin/test_report t/bin/test_report_html \
	t/bin/test_report_sqlite t/bin/test_resize t/bin/test_resize16 \
	t/bin/test_safetensors t/bin/test_safetensors_files t/bin/test_store_map t/bin/test_text_memory \
	t/bin/test_transform t/bin/test_transform_damage t/bin/test_value_json \
	t/bin/test_webdataset t/bin/test_webdataset_out
test_programs = $(lib_tests) $(bin_tests)
test_scripts = \
	t/bootstrap.sh t/examples.sh t/floors.sh t/format.sh t/hardening.sh t/html.sh t/install.sh \
	t/install_root.sh t/man_examples.sh t/man_lint.sh t/names.sh t/packaging.sh \
	t/release.sh t/source_rules.sh t/symbols.sh t/words.sh \
	t/bin/npy.sh t/bin/parquet.sh t/bin/producers.sh t/bin/tool_backup.sh \
	t/bin/tool_buckets.sh t/bin/tool_build.sh t/bin/tool_build_random.sh \
	t/bin/tool_classes.sh t/bin/tool_closed.sh t/bin/tool_complete.sh t/bin/tool_containers.sh \
	t/bin/tool_drop.sh t/bin/tool_dump.sh t/bin/tool_endings.sh \
	t/bin/tool_exchange.sh t/bin/tool_export.sh t/bin/tool_fill.sh \
	t/bin/tool_follow.sh t/bin/tool_full.sh t/bin/tool_images.sh t/bin/tool_import.sh \
	t/bin/tool_join.sh t/bin/tool_source_list.sh t/bin/tool_json.sh t/bin/tool_life.sh t/bin/tool_links.sh \
	t/bin/tool_list.sh t/bin/tool_lmdb.sh t/bin/tool_look_s3.sh t/bin/tool_losing.sh t/bin/tool_mark.sh \
	t/bin/tool_mds.sh t/bin/tool_merge.sh t/bin/tool_migrate.sh t/bin/tool_moments.sh \
	t/bin/tool_numbers.sh t/bin/tool_opaque.sh t/bin/tool_options.sh t/bin/tool_pack.sh \
	t/bin/tool_plan.sh t/bin/tool_put_get.sh t/bin/tool_read.sh t/bin/tool_read_s3.sh t/bin/tool_read_store.sh t/bin/tool_refused.sh \
	t/bin/tool_s3_faults.sh t/bin/tool_s3_killed.sh \
	t/bin/tool_module_report.sh t/bin/tool_report.sh t/bin/tool_s3.sh t/bin/tool_safetensors.sh t/bin/tool_salvage.sh \
	t/bin/tool_share.sh t/bin/tool_shell.sh t/bin/tool_signals.sh t/bin/tool_special.sh \
	t/bin/tool_split.sh t/bin/tool_status.sh t/bin/tool_store.sh t/bin/tool_stopped.sh \
	t/bin/tool_values.sh t/bin/tool_vanished.sh t/bin/tool_view.sh t/bin/tool_view_pages.sh \
	t/bin/tool_warehouse.sh t/bin/tool_watch.sh t/bin/tool_webdataset.sh t/bin/tool_words.sh
test_tools = t/support/bad_producer t/support/encoder t/support/fill_inputs t/support/mkdataset \
	t/support/mkrecords t/support/npycat
check_PROGRAMS += $(test_programs) $(test_tools)
TESTS = $(test_programs) $(test_scripts)
EXTRA_DIST += $(test_scripts) $(wildcard $(srcdir)/t/support/*.h $(srcdir)/t/support/*.sh \
	$(srcdir)/t/support/*.awk $(srcdir)/t/support/*.json \
	$(srcdir)/t/support/*.py $(srcdir)/t/support/*.txt)

# A program NAME is made of NAME.c and of what it uses of the archives: nothing to list here.
AM_DEFAULT_SOURCE_EXT = .c
LDADD = libsupport.a libcachex.a libcore.la $(tool_libs) $(CHECK_LIBS) $(TEST_LIBS) -lm
check_LIBRARIES = libsupport.a
libsupport_a_SOURCES = \
	t/support/by_name.c t/support/coding.c t/support/computing.c t/support/dataset.c \
	t/support/drawn.c t/support/fail_io.c t/support/fail_malloc.c \
	t/support/fake_build.c t/support/fill_set.c t/support/filling.c \
	t/support/flat_model.c t/support/handmade.c t/support/ingesting.c \
	t/support/label_files.c t/support/large_set.c t/support/made_jpeg.c t/support/made_png.c \
	t/support/made_report.c t/support/made_stream.c t/support/made_tar.c \
	t/support/made_tiff.c t/support/made_value.c t/support/made_warehouse.c \
	t/support/made_webp.c t/support/migration.c t/support/model_order.c \
	t/support/model_shares.c t/support/model_shuffle.c t/support/need.c t/support/objects_seen.c t/support/odd_store.c t/support/outdir_files.c \
	t/support/power_model.c t/support/power_write.c t/support/producing.c \
	t/support/random_value.c t/support/rawdb.c t/support/records.c \
	t/support/replay_image.c t/support/replay_io.c t/support/replay_log.c \
	t/support/run.c t/support/salvaging.c t/support/sample.c \
	t/support/seeded.c t/support/serving.c t/support/shard_fixture.c t/support/source_walk.c t/support/value_parts.c \
	t/support/vectors.c t/support/victim.c t/support/witness.c
# Put in place of the tool's own.
t_bin_test_fill_SOURCES = t/bin/test_fill.c t/support/fake_produce.c
t_bin_test_fill_inputs_SOURCES = t/bin/test_fill_inputs.c t/support/fake_produce.c

# Its rename(), fsync() and so on take the place of the C library's.
t_bin_test_fill_killed_SOURCES = t/bin/test_fill_killed.c t/support/dying.c
t_bin_test_migrate_killed_SOURCES = t/bin/test_migrate_killed.c t/support/dying.c
t_lib_test_inputs_killed_SOURCES = t/lib/test_inputs_killed.c t/support/dying.c
t_lib_test_objects_SOURCES = t/lib/test_objects.c t/support/dying.c
t_bin_test_publish_SOURCES = t/bin/test_publish.c t/support/dying.c

# Whose calls fail on demand: t/support/fail_malloc.h, t/support/fail_io.h; or that name
# their own functions.
t_lib_test_lines_LDFLAGS = $(AM_LDFLAGS) $(wrap_io)
t_lib_test_array_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=realloc
t_lib_test_newfile_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=link -Wl,--wrap=renameat2
t_lib_test_listdir_LDFLAGS = $(AM_LDFLAGS) $(wrap_io)
t_lib_test_objects_LDFLAGS = $(AM_LDFLAGS) $(wrap_io)
t_lib_test_s3_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=nanosleep -Wl,--wrap=lc__clock_ns
t_bin_test_publish_LDFLAGS = $(AM_LDFLAGS) $(wrap_io)
t_lib_test_json_tree_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc)
t_lib_test_team_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pthread_create
t_bin_test_produce_chaos_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc)
t_bin_test_picture_memory_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc)
t_bin_test_text_memory_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc)
t_lib_test_chaos_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc)
t_lib_test_inputs_space_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc)
t_lib_test_mixture_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc)
t_lib_test_reader_chaos_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc)
t_lib_test_rstar_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc)
t_lib_test_source_chaos_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc)
t_lib_test_stream_chaos_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc)
t_lib_test_value_chaos_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc)
t_lib_test_warehouse_chaos_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc)
t_lib_test_warehouse_garbled_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc)
t_bin_test_exchange_chaos_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc) $(wrap_io)
t_bin_test_ingest_chaos_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc) $(wrap_io)
t_bin_test_labels_chaos_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc) $(wrap_io)
t_bin_test_migrate_chaos_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc) $(wrap_io)
t_lib_test_life_chaos_LDFLAGS = $(AM_LDFLAGS) $(wrap_malloc) $(wrap_io)
t_bin_test_fill_killed_LDFLAGS = $(AM_LDFLAGS) -rdynamic
t_bin_test_migrate_killed_LDFLAGS = $(AM_LDFLAGS) -rdynamic
t_lib_test_inputs_killed_LDFLAGS = $(AM_LDFLAGS) -rdynamic
t_lib_test_open_killed_LDFLAGS = $(AM_LDFLAGS) -rdynamic
wrap_malloc = -Wl,--wrap=malloc -Wl,--wrap=calloc \
	-Wl,--wrap=realloc -Wl,--wrap=reallocarray -Wl,--wrap=aligned_alloc \
	-Wl,--wrap=posix_memalign -Wl,--wrap=strdup -Wl,--wrap=strndup \
	-Wl,--wrap=asprintf -Wl,--wrap=vasprintf \
	-Wl,--wrap=__asprintf_chk -Wl,--wrap=__vasprintf_chk
wrap_io = -Wl,--wrap=access -Wl,--wrap=close -Wl,--wrap=fallocate -Wl,--wrap=fchmod \
	-Wl,--wrap=fdatasync -Wl,--wrap=fdopendir -Wl,--wrap=flock -Wl,--wrap=fstat \
	-Wl,--wrap=fstatat -Wl,--wrap=fsync -Wl,--wrap=ftruncate -Wl,--wrap=link \
	-Wl,--wrap=lseek -Wl,--wrap=lstat -Wl,--wrap=mkdir -Wl,--wrap=mkostemp \
	-Wl,--wrap=mkstemp -Wl,--wrap=mmap -Wl,--wrap=open -Wl,--wrap=openat \
	-Wl,--wrap=opendir -Wl,--wrap=pread -Wl,--wrap=pwrite -Wl,--wrap=read \
	-Wl,--wrap=readdir -Wl,--wrap=realpath -Wl,--wrap=rename -Wl,--wrap=renameat2 \
	-Wl,--wrap=rmdir -Wl,--wrap=stat -Wl,--wrap=statvfs -Wl,--wrap=symlink \
	-Wl,--wrap=unlink -Wl,--wrap=unlinkat -Wl,--wrap=write

# Preloaded: -rpath makes libtool build a shared object of what is not installed.
check_LTLIBRARIES = interrupting.la losing.la record_io.la refusing.la
preloaded = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
interrupting_la_SOURCES = t/support/interrupting.c
interrupting_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
interrupting_la_LDFLAGS = $(preloaded)
losing_la_SOURCES = t/support/losing.c
losing_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
losing_la_LDFLAGS = $(preloaded)
record_io_la_SOURCES = t/support/record_io.c
record_io_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
record_io_la_LDFLAGS = $(preloaded)
refusing_la_SOURCES = t/support/refusing.c
refusing_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
refusing_la_LDFLAGS = $(preloaded)

# Programs that run others.
EXTRA_t_bin_test_fill_killed_DEPENDENCIES = t/support/bad_producer
EXTRA_t_bin_test_produce_DEPENDENCIES = t/support/bad_producer examples/producer
EXTRA_t_bin_test_produce_chaos_DEPENDENCIES = t/support/bad_producer
EXTRA_t_lib_test_power_DEPENDENCIES = record_io.la

include $(top_srcdir)/t/torture/local.mk

# ---- the same tests under other conditions

# These attack or measure the memory and the system calls of whole processes, of which a
# sanitizer has its own.
not_sanitized = t/torture/allocations|t/torture/syscalls|t/torture/soak

# A build of its own below this one, from the files that a release has, as a source
# directory that is configured itself cannot be configured elsewhere.
check-sanitize:
	@$(MKDIR_P) sanitize/build
	$(MAKE) $(AM_MAKEFLAGS) distdir distdir=sanitize/src
	cd sanitize/build && { test -f config.status || \
		../src/configure --enable-sanitize --enable-werror CC='$(CC)'; }
	cd sanitize/build && tests=`for test in $(TESTS); do \
		case $$test in $(not_sanitized)) ;; *) echo $$test;; esac; done` && \
		LSAN_OPTIONS="suppressions=$(abs_builddir)/sanitize/src/t/torture/lsan.supp \
		print_suppressions=0 $$LSAN_OPTIONS" $(MAKE) check TESTS="`echo $$tests`"

# Those that use threads, under the sanitizer of threads. What it must not report, as LMDB
# is not built with it, is in t/torture/tsan.supp.
threaded_tests = t/lib/test_compute_threads t/lib/test_concurrency t/lib/test_handles t/lib/test_hold t/lib/test_inflight t/lib/test_list_model t/lib/test_lru t/lib/test_outlive \
	t/lib/test_reader_memory t/lib/test_reader_threads t/lib/test_source t/lib/test_source_gather t/lib/test_source_get t/lib/test_source_order \
	t/bin/test_remote t/lib/test_belady t/lib/test_copies t/lib/test_durable t/lib/test_reserve t/lib/test_timeout t/lib/test_warehouse_threads t/torture/threads
check-threads:
	@$(MKDIR_P) threads/build
	$(MAKE) $(AM_MAKEFLAGS) distdir distdir=threads/src
	cd threads/build && { test -f config.status || \
		../src/configure --enable-sanitize=thread --enable-werror CC='$(CC)'; }
	cd threads/build && TSAN_OPTIONS="suppressions=$(abs_builddir)/threads/src/t/torture/tsan.supp \
		die_after_fork=0 report_thread_leaks=0 $$TSAN_OPTIONS" CK_TIMEOUT_MULTIPLIER=20 T_SLOW=1 \
		$(MAKE) check check_PROGRAMS='$(threaded_tests)' TESTS='$(threaded_tests)'

# Programs run under valgrind as they are, scripts run cachex under it.
VALGRIND = valgrind
VALGRIND_FLAGS = --quiet --error-exitcode=99 --leak-check=full \
	--show-leak-kinds=definite --errors-for-leak-kinds=definite --trace-children=yes \
	--trace-children-skip='/bin/*,/usr/bin/*' \
	--suppressions=$(abs_srcdir)/t/torture/fontconfig.supp $(VALGRIND_EXTRA)
memcheck = $(VALGRIND) $(VALGRIND_FLAGS)
check-valgrind: all
	@printf '#!/bin/sh\nexec %s %s "$$@"\n' "$(memcheck)" '$(abs_builddir)/cachex' \
		>cachex-valgrind
	@chmod +x cachex-valgrind
	CACHEX='$(abs_builddir)/cachex-valgrind' T_SLOW=1 CK_TIMEOUT_MULTIPLIER=30 \
		$(MAKE) $(AM_MAKEFLAGS) check \
		LOG_COMPILER="$(LIBTOOL) --silent --mode=execute $(memcheck)"

# Which lines and branches of lib/ and bin/ the tests run: a table by folder; then
# coverage/files has it by file, and coverage/lib and coverage/bin each source with its
# counts. Needs gcc; with CC=clang GCOV='llvm-cov gcov'. `make coverage TESTS=t/test_x`
# counts what these tests alone run. A process that is killed writes no counts; attacks
# in t/torture are left out, as faults under the counters themselves would spoil them.
GCOV = gcov
coverage:
	@set -- $(GCOV); command -v "$$1" >/dev/null || { \
		echo "make coverage: $$1 not found: it comes with gcc, or set GCOV" >&2; exit 2; }
	@$(MKDIR_P) coverage/build
	$(MAKE) $(AM_MAKEFLAGS) distdir distdir=coverage/src
	cd coverage/build && { test -f config.status || \
		../src/configure --enable-coverage --disable-hardening CC='$(CC)'; }
	rm -rf coverage/files coverage/lib coverage/bin
	find coverage/build -name '*.gcda' -exec rm -f {} +
	@cd coverage/build && rc=0; \
	tests=`for test in $(TESTS); do \
		case $$test in t/torture/*) ;; *) echo $$test;; esac; done`; \
	CK_TIMEOUT_MULTIPLIER=5 $(MAKE) -k check TESTS="`echo $$tests`" || rc=$$?; \
	find lib bin -name '*.gcno' -exec $(GCOV) -b -c -t {} + 2>/dev/null | \
		$(AWK) -v out=.. -v cut=../src/ -f $(abs_srcdir)/t/coverage.awk; \
	test $$rc = 0 || echo "make coverage: some tests failed: the counts are not whole" >&2; \
	exit $$rc

.PHONY: check-sanitize check-threads check-valgrind coverage

