# SPDX-License-Identifier: LGPL-2.1-or-later
#
# all      the programs, under build/            image    bakes images/IMAGE.json under out/ and boots it
# check    every test; ends with one line        soak     the long repetitions
# bench    ratios against peers                  install  programs, manual pages, recipes and overlays
# deps     what building and testing needs       format   clang-format over the tree
#
# SANITIZE=1 builds with ASan and UBSan into build-sanitize/.

SHELL := /bin/bash
Q := $(if $(V),,@)
BUILD ?= $(if $(SANITIZE),build/sanitize,build)
PREFIX ?= /usr/local
VERSION := 0.1
CC ?= gcc
PKGS := json-c libcurl libcrypto blkid libarchive
CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wformat=2 \
	-Wno-missing-field-initializers
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) $(SANITIZE_FLAGS) -MMD -MP -Ifirstboot/shared -Ibuilder \
	-DDATADIR='"$(PREFIX)/share/imgbuild"' -DVERSION='"$(VERSION)"' $(shell pkg-config --cflags $(PKGS))
LIBS = $(shell pkg-config --libs $(PKGS)) -lguestfs
comma := ,
# The instrumentation makes gcc see null pointers and truncations that are none: warnings, but no errors.
SANITIZE_FLAGS := $(if $(SANITIZE),-fsanitize=address$(comma)undefined -fno-omit-frame-pointer -Wno-error)
export BUILD

.PHONY: all image check soak bench install deps format clean
all: $(BUILD)/imgbuild firstboot-all

# Not under $(BUILD)/firstboot: that is firstboot/Makefile's.
shared_objects  := $(patsubst firstboot/%.c,$(BUILD)/%.o,$(wildcard firstboot/shared/*.c))
builder_objects := $(patsubst %.c,$(BUILD)/%.o,$(wildcard builder/*.c))

$(BUILD)/libshared.a: $(shared_objects)
	@rm -f $@
	$(Q)ar rcs $@ $^

$(BUILD)/libbuilder.a: $(filter-out $(BUILD)/builder/main.o,$(builder_objects))
	@rm -f $@
	$(Q)ar rcs $@ $^

$(BUILD)/imgbuild: $(BUILD)/builder/main.o $(BUILD)/libbuilder.a $(BUILD)/libshared.a
	@$(if $(V),,echo "  LD   $@")
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/shared/%.o: firstboot/shared/%.c
	@mkdir -p $(@D)
	@$(if $(V),,echo "  CC   $<")
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@$(if $(V),,echo "  CC   $<")
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# firstboot/ is compiled inside images too, so it has a Makefile of its own.
.PHONY: firstboot-all
firstboot-all:
	@if [ -e firstboot/Makefile ]; then $(MAKE) -C firstboot BUILD=$(abspath $(BUILD))/firstboot; fi

# Unit tests mirror the source paths: tests/unit/builder/test-lock.c tests builder/lock.c.
unit_builder := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/builder/test-*.c))
unit_shared  := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/shared/test-*.c))

$(unit_builder): $(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libbuilder.a $(BUILD)/libshared.a
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LD   $@")
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libbuilder.a $(BUILD)/libshared.a $(LIBS) -lcmocka

$(unit_shared): $(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libshared.a
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LD   $@")
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libshared.a $(LIBS) -lcmocka

# Fuzz targets (tests/fuzz/run fuzzes them) replay their corpus as unit tests.
unit_fuzz := $(BUILD)/tests/unit/fuzz/test-json $(BUILD)/tests/unit/fuzz/test-recipe

$(unit_fuzz): $(BUILD)/tests/unit/fuzz/test-%: tests/fuzz/fuzz-%.c tests/fuzz/replay.c $(BUILD)/libbuilder.a $(BUILD)/libshared.a
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LD   $@")
	$(Q)$(CC) $(ALL_CFLAGS) -DCORPUS='"$*"' $(LDFLAGS) -o $@ $(filter %.c %.a,$^) $(LIBS)

# Programs that e2e tests ask for by name.
$(BUILD)/tests/fixtures/%: tests/fixtures/%.c $(BUILD)/libbuilder.a $(BUILD)/libshared.a
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LD   $@")
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libbuilder.a $(BUILD)/libshared.a $(LIBS)

.PHONY: unit
unit: $(unit_builder) $(unit_shared) $(unit_fuzz)

# --- firstboot: tests of the agent link the archive that firstboot/Makefile builds -----------------------
firstboot_build := $(BUILD)/firstboot
firstboot_libs = $(shell pkg-config --libs json-c libsystemd libcurl blkid openssl)
firstboot_cflags = -Ifirstboot/daemon -Ifirstboot/steps -Ifirstboot/ctl
unit_firstboot := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/firstboot/*/test-*.c))
firstboot_fixtures := $(BUILD)/tests/fixtures/fake-systemd

$(firstboot_build)/libfirstboot.a: firstboot-all

$(unit_firstboot): $(BUILD)/tests/unit/%: tests/unit/%.c $(firstboot_build)/libfirstboot.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(firstboot_cflags) $(LDFLAGS) -o $@ $< $(firstboot_build)/libfirstboot.a $(firstboot_libs) -lcmocka

$(firstboot_fixtures): $(BUILD)/tests/fixtures/%: tests/fixtures/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(shell pkg-config --libs libsystemd)

# A double of NVML, and one that lacks a function that has to be there for anything, one for a single question.
nvml_double := $(BUILD)/tests/nvml-double
nvml_doubles := $(addprefix $(nvml_double)/,libnvidia-ml.so.1 no-count/libnvidia-ml.so.1 no-ecc/libnvidia-ml.so.1)
nvml_cc = $(CC) -std=gnu11 -D_GNU_SOURCE $(filter-out -Wstrict-prototypes,$(WARNINGS)) $(CFLAGS) -fPIC -shared \
	-Ifirstboot/shared -Ifirstboot/steps
$(nvml_double)/no-count/libnvidia-ml.so.1: nvml_without := -DnvmlDeviceGetCount_v2=double_count
$(nvml_double)/no-ecc/libnvidia-ml.so.1: nvml_without := -DnvmlDeviceGetEccMode=double_ecc
$(nvml_doubles): tests/fixtures/nvml-double/nvml.c firstboot/steps/gpu-nvml.h firstboot/steps/gpu-facts.h
	@mkdir -p $(@D)
	$(nvml_cc) $(nvml_without) -o $@ $<

unit_firstboot_fuzz := $(BUILD)/tests/unit/fuzz/test-shapes $(BUILD)/tests/unit/fuzz/test-nccl-conf

$(unit_firstboot_fuzz): $(BUILD)/tests/unit/fuzz/test-%: tests/fuzz/fuzz-%.c tests/fuzz/replay.c $(firstboot_build)/libfirstboot.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(firstboot_cflags) -DCORPUS='"$*"' $(LDFLAGS) -o $@ $(filter %.c %.a,$^) $(firstboot_libs)

unit: $(unit_firstboot) $(unit_firstboot_fuzz) $(firstboot_fixtures) $(nvml_doubles)
# --- end of firstboot --------------------------------------------------------------------------------------

# --- ncclbench: firstboot/ncclbench/Makefile builds it; its tests run on doubles of CUDA and NCCL ----------
ncclbench_build := $(BUILD)/firstboot/ncclbench
ncclbench_libs = $(shell pkg-config --libs json-c libcrypto) -ldl -lm
ncclbench_doubles := $(addprefix $(BUILD)/tests/nccl-double/,libcuda.so.1 libnccl.so.2 libnccl-2.17.so.2)
unit_ncclbench := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/ncclbench/test-*.c)) \
	$(BUILD)/tests/unit/fuzz/test-ncclbench-rendezvous

$(ncclbench_build)/libncclbench.a: firstboot-all

$(BUILD)/tests/unit/ncclbench/%: tests/unit/ncclbench/%.c $(ncclbench_build)/libncclbench.a
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LD   $@")
	$(Q)$(CC) $(ALL_CFLAGS) -Ifirstboot/ncclbench $(LDFLAGS) -o $@ $< $(ncclbench_build)/libncclbench.a $(ncclbench_libs) -lcmocka

$(BUILD)/tests/unit/fuzz/test-ncclbench-rendezvous: tests/fuzz/fuzz-ncclbench-rendezvous.c tests/fuzz/replay.c $(ncclbench_build)/libncclbench.a
	@mkdir -p $(@D)
	@$(if $(V),,echo "  LD   $@")
	$(Q)$(CC) $(ALL_CFLAGS) -Ifirstboot/ncclbench -DCORPUS='"ncclbench-rendezvous"' $(LDFLAGS) -o $@ $(filter %.c %.a,$^) $(ncclbench_libs)

# Not sanitized: a library that is loaded at run time brings no sanitizer of its own along. The second NCCL is one
# from before ncclCommSplit (2.18) and ncclAlltoAll (2.28).
double_cc = $(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -fPIC -shared -Ifirstboot/ncclbench -Itests/fixtures/nccl-double
double_headers := tests/fixtures/nccl-double/double.h firstboot/ncclbench/pattern.h
$(BUILD)/tests/nccl-double/libcuda.so.1: tests/fixtures/nccl-double/cuda.c $(double_headers)
	@mkdir -p $(@D)
	$(Q)$(double_cc) -o $@ $<
$(BUILD)/tests/nccl-double/libnccl.so.2: tests/fixtures/nccl-double/nccl.c $(double_headers)
	@mkdir -p $(@D)
	$(Q)$(double_cc) -o $@ $< -lm
$(BUILD)/tests/nccl-double/libnccl-2.17.so.2: tests/fixtures/nccl-double/nccl.c $(double_headers)
	@mkdir -p $(@D)
	$(Q)$(double_cc) -DBEFORE_2_18 -o $@ $< -lm

unit: $(unit_ncclbench) $(ncclbench_doubles)
# --- end of ncclbench --------------------------------------------------------------------------------------

IMAGE ?= debian-13-gpu
image: deps
	$(MAKE) all
	$(BUILD)/imgbuild build images/$(IMAGE).json
	$(BUILD)/imgbuild boot out/$(IMAGE)/$(IMAGE).qcow2 --until multi-user --nvme 4

check: deps
	$(MAKE) all unit
	tests/run

soak: all
	tests/run --soak

bench: all
	tests/bench/run

install: all
	install -D -m 0755 $(BUILD)/imgbuild $(DESTDIR)$(PREFIX)/bin/imgbuild
	set -e; for page in docs/man/imgbuild*.[1-8]; do \
		install -D -m 0644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; done
	set -e; for folder in overlays images firstboot; do \
		(cd $$folder && git ls-files -z 2>/dev/null | grep -z . || find . -type f -print0) | \
		(cd $$folder && tar --null --no-recursion -T - -cf -) | \
		(mkdir -p $(DESTDIR)$(PREFIX)/share/imgbuild/$$folder && tar -C $(DESTDIR)$(PREFIX)/share/imgbuild/$$folder --no-same-owner -xf -); done
	install -D -m 0644 COPYING $(DESTDIR)$(PREFIX)/share/doc/imgbuild/COPYING

deps:
	tests/deps

format:
	git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf build

# By their folders: what is built under $(BUILD)/e2e and $(BUILD)/bench holds whole trees, with an rc0.d each.
-include $(wildcard $(BUILD)/builder/*.d $(BUILD)/shared/*.d $(BUILD)/firstboot/*/*.d $(BUILD)/tests/fixtures/*.d \
	$(BUILD)/tests/unit/*/*.d $(BUILD)/tests/unit/*/*/*.d)
