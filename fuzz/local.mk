# SPDX-License-Identifier: BSD-2-Clause
# Fuzz targets: fuzz/README. Each is a test with a main program of ours; `make fuzz` builds
# them with libFuzzer.

fuzz_targets = \
	fuzz/replay_answer \
	fuzz/replay_chunk \
	fuzz/replay_coco \
	fuzz/replay_codec \
	fuzz/replay_data \
	fuzz/replay_foreign \
	fuzz/replay_image \
	fuzz/replay_incoming \
	fuzz/replay_json \
	fuzz/replay_labels \
	fuzz/replay_manifest \
	fuzz/replay_mds \
	fuzz/replay_npy \
	fuzz/replay_npz \
	fuzz/replay_pages \
	fuzz/replay_record \
	fuzz/replay_recover \
	fuzz/replay_rows \
	fuzz/replay_run \
	fuzz/replay_safetensors \
	fuzz/replay_salvage \
	fuzz/replay_schema \
	fuzz/replay_stash \
	fuzz/replay_tar \
	fuzz/replay_token \
	fuzz/replay_twh1 \
	fuzz/replay_value_json \
	fuzz/replay_yaml
check_PROGRAMS += $(fuzz_targets) fuzz/seeds
TESTS += $(fuzz_targets)
EXTRA_DIST += fuzz/README fuzz/fuzz.mk fuzz/run.sh fuzz/corpus fuzz/dict \
	fuzz/oss-fuzz/Dockerfile fuzz/oss-fuzz/build.sh fuzz/oss-fuzz/project.yaml

check_LIBRARIES += libfuzz.a
libfuzz_a_SOURCES = fuzz/fuzz.c fuzz/fuzz.h fuzz/image.c fuzz/image.h fuzz/mend.c fuzz/mend.h \
	fuzz/module.c fuzz/module.h fuzz/replay.c
fuzz_ldadd = libfuzz.a libcachex.a libcore.la $(tool_libs)
fuzz_seeds_LDADD = libfuzz.a $(LDADD)

fuzz_replay_answer_SOURCES = fuzz/targets/answer.c
fuzz_replay_answer_LDADD = $(fuzz_ldadd)
fuzz_replay_chunk_SOURCES = fuzz/targets/chunk.c
fuzz_replay_chunk_LDADD = $(fuzz_ldadd)
fuzz_replay_coco_SOURCES = fuzz/targets/coco.c
fuzz_replay_coco_LDADD = $(fuzz_ldadd)
fuzz_replay_codec_SOURCES = fuzz/targets/codec.c
fuzz_replay_codec_LDADD = $(fuzz_ldadd)
fuzz_replay_data_SOURCES = fuzz/targets/data.c
fuzz_replay_data_LDADD = $(fuzz_ldadd)
fuzz_replay_pages_SOURCES = fuzz/targets/pages.c
fuzz_replay_pages_LDADD = $(fuzz_ldadd)
fuzz_replay_recover_SOURCES = fuzz/targets/recover.c
fuzz_replay_recover_LDADD = $(fuzz_ldadd)
fuzz_replay_foreign_SOURCES = fuzz/targets/foreign.c
fuzz_replay_foreign_LDADD = $(fuzz_ldadd)
fuzz_replay_image_SOURCES = fuzz/targets/image.c
fuzz_replay_image_LDADD = $(fuzz_ldadd)
fuzz_replay_incoming_SOURCES = fuzz/targets/incoming.c
fuzz_replay_incoming_LDADD = $(fuzz_ldadd)
fuzz_replay_json_SOURCES = fuzz/targets/json.c
fuzz_replay_json_LDADD = $(fuzz_ldadd)
fuzz_replay_labels_SOURCES = fuzz/targets/labels.c
fuzz_replay_labels_LDADD = $(fuzz_ldadd)
fuzz_replay_manifest_SOURCES = fuzz/targets/manifest.c
fuzz_replay_manifest_LDADD = $(fuzz_ldadd)
fuzz_replay_mds_SOURCES = fuzz/targets/mds.c
fuzz_replay_mds_LDADD = $(fuzz_ldadd)
fuzz_replay_npy_SOURCES = fuzz/targets/npy.c
fuzz_replay_npy_LDADD = $(fuzz_ldadd)
fuzz_replay_npz_SOURCES = fuzz/targets/npz.c
fuzz_replay_npz_LDADD = $(fuzz_ldadd)
fuzz_replay_record_SOURCES = fuzz/targets/record.c
fuzz_replay_record_LDADD = $(fuzz_ldadd)
fuzz_replay_rows_SOURCES = fuzz/targets/rows.c
fuzz_replay_rows_LDADD = $(fuzz_ldadd)
fuzz_replay_run_SOURCES = fuzz/targets/run.c
fuzz_replay_run_LDADD = $(fuzz_ldadd)
fuzz_replay_safetensors_SOURCES = fuzz/targets/safetensors.c
fuzz_replay_safetensors_LDADD = $(fuzz_ldadd)
fuzz_replay_salvage_SOURCES = fuzz/targets/salvage.c
fuzz_replay_salvage_LDADD = $(fuzz_ldadd)
fuzz_replay_schema_SOURCES = fuzz/targets/schema.c
fuzz_replay_schema_LDADD = $(fuzz_ldadd)
fuzz_replay_stash_SOURCES = fuzz/targets/stash.c
fuzz_replay_stash_LDADD = $(fuzz_ldadd)
fuzz_replay_tar_SOURCES = fuzz/targets/tar.c
fuzz_replay_tar_LDADD = $(fuzz_ldadd)
fuzz_replay_token_SOURCES = fuzz/targets/token.c
fuzz_replay_token_LDADD = $(fuzz_ldadd)
fuzz_replay_twh1_SOURCES = fuzz/targets/twh1.c
fuzz_replay_twh1_LDADD = $(fuzz_ldadd)
fuzz_replay_value_json_SOURCES = fuzz/targets/value_json.c
fuzz_replay_value_json_LDADD = $(fuzz_ldadd)
fuzz_replay_yaml_SOURCES = fuzz/targets/yaml.c
fuzz_replay_yaml_LDADD = $(fuzz_ldadd)

# make fuzz TARGET=npy|all [SECONDS=60] [JOBS=1]; exit status 1 if something was found, 2 if
# it cannot run. FUZZ_CC: a clang with libFuzzer.
FUZZ_CC = clang
TARGET = all
SECONDS = 60
JOBS = 1
fuzz:
	@$(SHELL) $(srcdir)/fuzz/run.sh '$(srcdir)' '$(FUZZ_CC)' '$(MAKE)' '$(TARGET)' '$(SECONDS)' \
		'$(JOBS)'
.PHONY: fuzz
