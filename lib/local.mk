# SPDX-License-Identifier: BSD-2-Clause
# liblmdbcache, and below it lib/base. Each layer is compiled with its own include paths;
# configure.ac explains floors/.

include_HEADERS = include/lmdbcache.h
pkgconfig_DATA = liblmdbcache.pc
cmakedir = $(libdir)/cmake/lmdbcache
nodist_cmake_DATA = cmake/lmdbcache-config.cmake cmake/lmdbcache-config-version.cmake

# ---- lib/base: knows nothing of tensors, modules and formats

noinst_LTLIBRARIES += libbase.la
libbase_la_SOURCES = \
	lib/base/array.c lib/base/buf.c lib/base/checksum.c lib/base/clock.c \
	lib/base/error.c lib/base/fd.c lib/base/fileio.c lib/base/hash.c lib/base/heap.c \
	lib/base/hash_wide.c lib/base/idset.c lib/base/image_name.c \
	lib/base/json_number.c lib/base/json_scan.c lib/base/json_tree.c \
	lib/base/json_write.c lib/base/lazy.c lib/base/lines.c lib/base/listdir.c \
	lib/base/mpack.c lib/base/newfile.c lib/base/populate.c lib/base/team.c \
	lib/base/utf8.c lib/base/words.c
libbase_la_CPPFLAGS = $(base_paths) $(common_cppflags)
libbase_la_CFLAGS = $(AM_CFLAGS) $(EXPAT_CFLAGS) $(MSGPACK_CFLAGS) $(XXHASH_CFLAGS) $(CRYPTO_CFLAGS)
libbase_la_LIBADD = $(MSGPACK_LIBS) $(XXHASH_LIBS) $(CRYPTO_LIBS) $(EXPAT_LIBS)

# ---- lib: all of the library, with the internal names visible to the tests

noinst_LTLIBRARIES += libcore.la
libcore_la_SOURCES = \
	lib/codec/blocks.c lib/codec/codec.c lib/codec/shuffle.c lib/codec/u8pack.c \
	lib/env/copy.c lib/env/datafile.c lib/env/env.c lib/env/foreign.c lib/env/locks.c \
	lib/env/map.c lib/env/mend.c lib/env/module.c lib/env/open.c lib/env/remove.c \
	lib/env/rows.c lib/env/share.c lib/env/table.c lib/env/txn.c \
	lib/format/manifest.c lib/format/members.c lib/format/npy.c lib/format/npy_data.c \
	lib/format/summary.c lib/format/twh1.c lib/format/twh1_row.c \
	lib/index/run.c lib/index/run_build.c \
	lib/life/carry.c lib/life/clear.c lib/life/compact.c lib/life/copy.c \
	lib/life/decoded.c lib/life/merge.c lib/life/module_dir.c lib/life/progress.c lib/life/recover.c \
	lib/life/recover_decide.c lib/life/recover_fold.c lib/life/recover_inputs.c lib/life/recover_read.c \
	lib/life/recover_rows.c lib/life/recover_strays.c lib/life/recover_write.c \
	lib/life/remerge.c lib/life/rewrite.c lib/life/salvage.c \
	lib/life/salvage_decide.c lib/life/salvage_file.c lib/life/salvage_pages.c \
	lib/life/salvage_records.c lib/life/salvage_trees.c lib/life/verify.c \
	lib/life/verify_inputs.c \
	lib/objects/calls.c lib/objects/directory.c lib/objects/names.c lib/objects/objects.c \
	lib/objects/store.c lib/objects/url.c \
	lib/order/mixture.c lib/order/parts.c lib/order/rstar.c lib/order/shares.c lib/order/shuffle.c \
	lib/order/token.c \
	lib/pages/free_pages.c lib/pages/meta_pages.c lib/pages/pages.c \
	lib/pages/row_reader.c lib/pages/table_pages.c lib/pages/tree_pages.c \
	lib/remote/ahead.c lib/remote/copies.c lib/remote/generations.c lib/remote/open.c lib/remote/remote.c lib/remote/roster.c \
	lib/shard/build.c lib/shard/digest.c lib/shard/export.c \
	lib/shard/manifest_verify.c lib/shard/outdir.c lib/shard/packed.c \
	lib/shard/plan.c lib/shard/prepare.c lib/shard/reader.c lib/shard/reuse.c \
	lib/shard/writer.c \
	lib/store/batch.c lib/store/cache.c lib/store/change.c lib/store/chunk.c \
	lib/store/chunk_order.c lib/store/commit.c lib/store/compute.c \
	lib/store/contains.c lib/store/counters.c lib/store/declare.c lib/store/decode.c \
	lib/store/evict.c lib/store/flush.c lib/store/fold.c lib/store/get.c lib/store/inflight.c \
	lib/store/input_lock.c lib/store/inputs.c lib/store/iterate.c lib/store/large.c \
	lib/store/live.c lib/store/lookup.c lib/store/lru.c lib/store/module.c \
	lib/store/once.c lib/store/packing.c lib/store/pending.c lib/store/put.c lib/store/reclaim.c \
	lib/store/record.c lib/store/reserve.c lib/store/schemas.c lib/store/settings.c \
	lib/store/snapshot.c lib/store/stat.c lib/store/tool.c lib/store/writer.c \
	lib/stream/batch.c lib/stream/cache_model.c lib/stream/cursor.c lib/stream/cursor_join.c \
	lib/stream/cursor_list.c \
	lib/stream/cursor_module.c lib/stream/cursor_shards.c lib/stream/fetch.c \
	lib/stream/forecast.c \
	lib/stream/job.c lib/stream/layout.c lib/stream/layout_order.c \
	lib/stream/prefetch.c lib/stream/reader.c lib/stream/reader_rule.c \
	lib/stream/record_offsets.c lib/stream/record_reader.c lib/stream/requests.c \
	lib/stream/selection.c lib/stream/sequence.c lib/stream/source.c \
	lib/stream/source_get.c lib/stream/source_join.c lib/stream/source_list.c \
	lib/stream/source_module.c \
	lib/stream/source_shards.c lib/stream/stream.c lib/stream/stream_state.c \
	lib/stream/stream_token.c lib/stream/visits.c \
	lib/value/buckets.c lib/value/describe.c lib/value/dtype.c lib/value/expect.c \
	lib/value/finite.c lib/value/key.c lib/value/moments.c lib/value/names.c \
	lib/value/path.c lib/value/schema.c lib/value/tensor.c lib/value/value.c \
	lib/value/value_read.c lib/value/value_record.c \
	lib/warehouse/about.c lib/warehouse/files.c lib/warehouse/open.c \
	lib/warehouse/place.c lib/warehouse/read.c lib/warehouse/setparts.c \
	lib/warehouse/shardset.c \
	lib/warehouse/sources.c lib/warehouse/sources_compare.c \
	lib/warehouse/sources_text.c lib/warehouse/stream.c lib/warehouse/union.c \
	lib/warehouse/verify.c
libcore_la_CPPFLAGS = $(lib_paths) $(common_cppflags)
libcore_la_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(LMDB_CFLAGS) $(MSGPACK_CFLAGS) $(LZ4_CFLAGS) $(XXHASH_CFLAGS)
libcore_la_LIBADD = libbase.la $(CURL_LIBS) $(LMDB_LIBS) $(LZ4_LIBS) -lm
# XML is for S3 in the library, and for labels in the tool: bin/local.mk.
if HAVE_S3
libbase_la_SOURCES += lib/base/xml.c
libcore_la_SOURCES += lib/objects/s3.c lib/objects/s3_call.c \
	lib/objects/s3_list.c lib/objects/s3_parts.c lib/objects/s3_put.c lib/objects/s3_read.c \
	lib/s3/credentials.c lib/s3/http.c lib/s3/listing.c lib/s3/profile.c lib/s3/sign.c
endif

lib_LTLIBRARIES = liblmdbcache.la
# libtool, "Updating library version information":
# 1. Start with 0:0:0.  2. Update only immediately before a release.
# 3. Source changed: revision + 1.  4. Interfaces added, removed or changed:
# current + 1, revision 0.  5. Added: age + 1.  6. Removed or changed: age 0.
liblmdbcache_la_SOURCES =
liblmdbcache_la_LIBADD = libcore.la
liblmdbcache_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
	-Wl,--version-script=$(top_srcdir)/lib/liblmdbcache.map
EXTRA_liblmdbcache_la_DEPENDENCIES = lib/liblmdbcache.map
EXTRA_DIST += lib/liblmdbcache.map $(wildcard $(srcdir)/lib/*/*.h)
