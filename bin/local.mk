# SPDX-License-Identifier: BSD-2-Clause
# The tool. It takes the library in, statically: it needs some formats that are not exported
# (.npy, manifests), and two copies of the library in one process would have two last errors.
# It also starts faster, and runs under a debugger from the build directory as it is.

bin_PROGRAMS = cachex
cachex_SOURCES = bin/cachex.c
cachex_CPPFLAGS = $(bin_paths) $(common_cppflags)
cachex_LDADD = libcachex.a libcore.la $(tool_libs)

noinst_LIBRARIES = libcachex.a
libcachex_a_SOURCES = \
	bin/build/disk.c bin/build/export.c bin/build/frame_job.c bin/build/frames.c \
	bin/build/infile.c bin/build/ingest.c bin/build/publish.c bin/build/recipe.c \
	bin/build/sample.c bin/build/samples.c bin/build/scan.c bin/build/store.c \
	bin/cmd/buckets_sizes.c bin/cmd/build_tell.c bin/cmd/cmd_backup.c \
	bin/cmd/cmd_buckets.c \
	bin/cmd/cmd_build.c bin/cmd/cmd_clear.c bin/cmd/cmd_compact.c \
	bin/cmd/cmd_complete.c bin/cmd/cmd_config.c bin/cmd/cmd_copy.c bin/cmd/cmd_drop.c \
	bin/cmd/cmd_dump.c bin/cmd/cmd_export.c bin/cmd/cmd_fill.c bin/cmd/cmd_follow.c \
	bin/cmd/cmd_get.c bin/cmd/cmd_has.c bin/cmd/cmd_help.c bin/cmd/cmd_import.c \
	bin/cmd/cmd_load.c bin/cmd/cmd_ls.c bin/cmd/cmd_migrate.c bin/cmd/cmd_plan.c \
	bin/cmd/cmd_put.c bin/cmd/cmd_read.c bin/cmd/cmd_recover.c bin/cmd/cmd_rename.c bin/cmd/cmd_report.c \
	bin/cmd/cmd_rm.c bin/cmd/cmd_schema.c bin/cmd/cmd_set.c bin/cmd/cmd_shard.c \
	bin/cmd/cmd_gc.c bin/cmd/cmd_publish.c bin/cmd/cmd_pull.c bin/cmd/cmd_push.c bin/cmd/push_job.c \
	bin/cmd/stores.c \
	bin/cmd/cmd_stat.c bin/cmd/cmd_verify.c bin/cmd/cmd_view.c \
	bin/cmd/cmd_warehouse.c bin/cmd/command_line.c bin/cmd/commands.c bin/cmd/cmd_shell.c bin/cmd/cmd_top.c bin/cmd/watch.c \
	bin/cmd/export_records.c bin/cmd/fill_tell.c \
	bin/cmd/import_containers.c bin/cmd/import_files.c bin/cmd/module_settings.c \
	bin/cmd/plan_chunks.c bin/cmd/plan_cost.c bin/cmd/plan_nodes.c bin/cmd/plan_report.c \
	bin/cmd/read_frames.c \
	bin/cmd/read_list.c bin/cmd/read_npy.c bin/cmd/read_run.c bin/cmd/read_shared.c \
	bin/cmd/samples.c bin/cmd/setdir.c bin/cmd/stream_sources.c \
	bin/cmd/vectors.c bin/cmd/view_chunks.c bin/cmd/view_coverage.c bin/cmd/view_duplicates.c bin/cmd/view_embedding.c bin/cmd/view_histograms.c bin/cmd/view_module.c bin/cmd/view_sheet.c bin/cmd/view_tensor.c \
	bin/cmd/warehouse_compare.c bin/cmd/warehouse_inspect.c bin/cmd/warehouse_prune.c \
	bin/cmd/warehouse_report.c bin/cmd/warehouse_verify.c \
	bin/draw/axes.c bin/draw/colours.c bin/draw/picture.c bin/draw/pixels.c \
	bin/draw/ticks.c \
	bin/fill/child.c bin/fill/failures.c bin/fill/feed.c bin/fill/fill.c \
	bin/fill/inputs.c bin/fill/items.c bin/fill/produce.c bin/fill/protocol.c \
	bin/fill/responses.c bin/fill/shard.c bin/fill/spawn.c bin/fill/stash.c \
	bin/fill/value_mpack.c \
	bin/formats/archive.c bin/formats/base64.c bin/formats/formats.c \
	bin/formats/json_elements.c bin/formats/lmdb.c bin/formats/loaded.c \
	bin/formats/mds.c bin/formats/mds_column.c bin/formats/mds_in.c \
	bin/formats/mds_out.c bin/formats/mds_plan.c bin/formats/names.c \
	bin/formats/npz.c bin/formats/npz_out.c bin/formats/outfile.c \
	bin/formats/safetensors.c bin/formats/safetensors_file.c bin/formats/shard_list.c \
	bin/formats/value_json.c bin/formats/webdataset_in.c \
	bin/formats/webdataset_layout.c bin/formats/webdataset_out.c \
	bin/formats/webdataset_sample.c \
	bin/image/boxes.c bin/image/geometry.c \
	bin/image/heat_map.c bin/image/image.c bin/image/image_jpeg.c \
	bin/image/image_png.c bin/image/image_tiff.c bin/image/image_webp.c \
	bin/image/orientation.c bin/image/resize.c bin/image/scale.c bin/image/sheet.c \
	bin/image/sums.c bin/image/sums_x86.c bin/image/tensor_image.c \
	bin/image/tensor_picture.c bin/image/transform.c \
	bin/labels/capture.c bin/labels/class_map.c bin/labels/classes.c \
	bin/labels/coco.c bin/labels/coco_find.c bin/labels/coco_label.c \
	bin/labels/dataset.c bin/labels/label.c bin/labels/label_json.c \
	bin/labels/layout.c bin/labels/names.c bin/labels/pictures.c bin/labels/strings.c \
	bin/labels/tree.c bin/labels/voc.c bin/labels/yolo.c \
	bin/migrate/claims.c bin/migrate/entry.c bin/migrate/expected.c \
	bin/migrate/fillpass.c bin/migrate/replace.c bin/migrate/restore.c \
	bin/migrate/rewrite.c bin/migrate/rollback.c bin/migrate/stage2.c \
	bin/migrate/state.c bin/migrate/verify.c \
	bin/publish/checked.c bin/publish/collect.c bin/publish/named.c \
	bin/publish/publish.c bin/publish/pull.c bin/publish/push.c \
	bin/publish/push_module.c bin/publish/push_shards.c bin/publish/receipt.c \
	bin/publish/stored.c \
	bin/report/chart.c bin/report/charts.c bin/report/class_bars.c bin/report/coverage.c bin/report/csv.c bin/report/curves.c \
	bin/report/distributions.c bin/report/drift.c \
	bin/report/embedding_map.c bin/report/facts.c bin/report/fill_trace.c bin/report/histogram.c \
	bin/report/html.c \
	bin/report/html_drift.c bin/report/module_facts.c bin/report/module_html.c bin/report/near.c \
	bin/report/page.c bin/report/parquet.c \
	bin/report/parquet_tables.c bin/report/pca.c bin/report/plot.c bin/report/preview.c \
	bin/report/rates.c \
	bin/report/record_fields.c bin/report/sqlite.c bin/report/store_map.c \
	bin/report/survey.c bin/report/texts.c \
	bin/shell/child.c bin/shell/complete.c bin/shell/editor.c bin/shell/history.c \
	bin/shell/shell.c bin/shell/words.c \
	bin/ui/columns.c bin/ui/input.c bin/ui/interrupt.c bin/ui/json.c \
	bin/ui/jsonrecord.c bin/ui/metrics.c bin/ui/module.c bin/ui/opt.c bin/ui/output.c \
	bin/ui/task.c \
	bin/ui/pattern.c bin/ui/progress.c bin/ui/report.c bin/ui/settings.c \
	bin/ui/screen.c bin/ui/size.c bin/ui/suggest.c bin/ui/trace.c
if !HAVE_S3
libcachex_a_SOURCES += lib/base/xml.c
endif
libcachex_a_CPPFLAGS = $(bin_paths) $(common_cppflags)
libcachex_a_CFLAGS = $(AM_CFLAGS) $(ARCHIVE_CFLAGS) $(CAIRO_CFLAGS) $(EDIT_CFLAGS) \
	$(EXPAT_CFLAGS) $(JPEG_CFLAGS) $(PNG_CFLAGS) $(SQLITE_CFLAGS) $(TIFF_CFLAGS) $(WEBP_CFLAGS) $(YAML_CFLAGS)
tool_libs = $(ARCHIVE_LIBS) $(CAIRO_LIBS) $(EDIT_LIBS) $(EXPAT_LIBS) $(JPEG_LIBS) $(PNG_LIBS) \
	$(SQLITE_LIBS) $(TIFF_LIBS) $(WEBP_LIBS) $(YAML_LIBS) -lm
EXTRA_DIST += $(wildcard $(srcdir)/bin/*/*.h)

dist_bashcompletion_DATA = completions/bash/cachex
dist_zshcompletion_DATA = completions/zsh/_cachex
dist_fishcompletion_DATA = completions/fish/cachex.fish
