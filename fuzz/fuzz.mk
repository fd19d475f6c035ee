# SPDX-License-Identifier: BSD-2-Clause
# The targets with libFuzzer; GNU make. Called by `make fuzz` and by oss-fuzz/build.sh:
#     make -f fuzz/fuzz.mk SRC=. CONFIG=. OUT=fuzz/build CC=clang [CFLAGS=...] [ENGINE=...]
# The library is compiled anew: its code is instrumented.
SRC = .
CONFIG = .
OUT = fuzz/build
CC = clang
LINK = $(CC)
CFLAGS = -g -O1 -fno-omit-frame-pointer \
	-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
ENGINE = -fsanitize=fuzzer
LDFLAGS =
PKG_CONFIG = pkg-config
packages = lmdb liblz4 libxxhash libcrypto libpng libjpeg libarchive sqlite3 expat yaml-0.1
packages += $(shell sed -n 's/^.define HAVE_LIBWEBP 1/libwebp/p; s/^.define HAVE_LIBTIFF 1/libtiff-4/p' \
	$(CONFIG)/config.h)
msgpack := $(shell $(PKG_CONFIG) --exists msgpack-c && echo msgpack-c || echo msgpack)
pkg_cflags := $(shell $(PKG_CONFIG) --cflags $(packages) $(msgpack))
LIBS := $(shell $(PKG_CONFIG) --libs $(packages) $(msgpack)) -lm -ldl -pthread

targets := $(patsubst $(SRC)/fuzz/targets/%.c,%,$(sort $(wildcard $(SRC)/fuzz/targets/*.c)))
TARGETS = $(targets)
library := $(sort $(wildcard $(SRC)/lib/*/*.c)) \
	$(sort $(filter-out $(SRC)/bin/cmd/% $(SRC)/bin/ui/%,$(wildcard $(SRC)/bin/*/*.c))) \
	$(addprefix $(SRC)/bin/ui/,json.c jsonrecord.c size.c)
shared := $(addprefix $(SRC)/fuzz/,$(filter-out replay.c seeds.c,$(notdir $(wildcard $(SRC)/fuzz/*.c))))
object = $(patsubst $(SRC)/%.c,$(OUT)/obj/%.o,$(1))

version := $(shell sed -n 's/^.define PACKAGE_VERSION "\(.*\)"/\1/p' $(CONFIG)/config.h)
compile = $(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -DHAVE_CONFIG_H \
	-DPACKAGE_VERSION='"$(version)"' -I$(CONFIG) -I$(SRC)/include -I$(SRC)/lib -I$(SRC)/bin \
	-I$(SRC)/fuzz \
	$(pkg_cflags) -pthread

all: $(addprefix $(OUT)/fuzz_,$(TARGETS))
list:
	@echo $(targets)

$(OUT)/obj/%.o: $(SRC)/%.c $(OUT)/flags
	@mkdir -p $(@D)
	@echo '  CC  $@'
	@$(compile) -MMD -MP -c -o $@ $<
$(OUT)/libfuzzed.a: $(call object,$(library) $(shared))
	@rm -f $@
	@ar rcs $@ $^
$(OUT)/fuzz_%: $(OUT)/obj/fuzz/targets/%.o $(OUT)/libfuzzed.a
	@echo '  LD  $@'
	@$(LINK) $(CFLAGS) $(LDFLAGS) -o $@ $< $(ENGINE) $(OUT)/libfuzzed.a $(LIBS)

# Other flags, other objects.
flags := $(CC) $(CFLAGS)
$(OUT)/flags: force
	@mkdir -p $(@D)
	@echo '$(flags)' | cmp -s - $@ || echo '$(flags)' >$@

.SECONDARY:
.PHONY: all list force
-include $(patsubst %.o,%.d,$(call object,$(library) $(shared)))
-include $(addprefix $(OUT)/obj/fuzz/targets/,$(addsuffix .d,$(targets)))
