# SPDX-License-Identifier: LGPL-2.1-or-later
#
# all      the programs, under build/            image    bakes images/IMAGE.json under out/ and boots it
# cluster  bakes a head and a node, boots a head and two nodes
# check    every test; ends with one line        check-sanitize   all unit tests under ASan and UBSan
# lint     clang-tidy and shellcheck             format   clang-format over the tree
# soak     the long repetitions                  bench    ratios against peers
# install  programs, manual pages, recipes …     dist, deb   source archive, Debian packages
# deps     what building and testing needs       compile_commands.json   for editors' language servers
# docs     documents that are made of tables     stage-code       new numbers for stages whose code changed
#
# SANITIZE=1 builds with ASan and UBSan into build/sanitize/. V=1 shows the commands.

Q := $(if $(V),,@)
BUILD ?= $(if $(SANITIZE),build/sanitize,build)
PREFIX ?= /usr/local
include firstboot/version.mk
include firstboot/say.mk
CC ?= gcc
PKGS := json-c libcurl libcrypto blkid libarchive libseccomp libzstd yaml-0.1 p11-kit-1 ext2fs com_err
include firstboot/flags.mk
WARNINGS := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wformat=2 \
	-Wno-missing-field-initializers
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) $(SANITIZE_FLAGS) -MMD -MP -Ibuilder -Ifirstboot \
	-DDATADIR='"$(PREFIX)/share/imgbuild"' -DVERSION='"$(VERSION)"' $(PKG_CFLAGS)
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS))
LIBS := $(shell pkg-config --libs $(PKGS)) -lguestfs
comma := ,
# The instrumentation makes gcc see null pointers and truncations that are none: warnings, but no errors.
SANITIZE_FLAGS := $(if $(SANITIZE),-fsanitize=address$(comma)undefined -fno-omit-frame-pointer -Wno-error)
export BUILD

# `make -j` by itself: as many jobs as there are processors, unless -j says otherwise.
ifeq ($(filter -j% --jobserver%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

.PHONY: all image cluster check check-sanitize lint soak bench install deps docs format clean stage-code
all: $(BUILD)/imgbuild firstboot-all

# --- imgbuild: objects are linked directly, for an archive would swallow files of the same name --------------
# Not under $(BUILD)/firstboot: that is firstboot/Makefile's.
shared_objects  := $(patsubst firstboot/%.c,$(BUILD)/%.o,$(wildcard firstboot/shared/*.c) \
	$(addprefix firstboot/contract/,json-schema.c config.c config-check.c config-defaults.c \
	config-schema.c config-rules.c quantity.c secrets.c mask-text.c step-file.c graph.c zone.c step-codes.c codes.c condition.c \
	paths.c result.c result-parse.c))
builder_objects := $(patsubst %.c,$(BUILD)/%.o,$(filter-out builder/stage/rpm-clock-preload.c,$(wildcard builder/*/*.c)))
builder_tested  := $(filter-out $(BUILD)/builder/cmd/main.o,$(builder_objects)) $(shared_objects)

# Preloaded into the rpm of a tree, whatever its C library; it is in imgbuild itself.
$(BUILD)/rpm-clock.so: builder/stage/rpm-clock-preload.c
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O2 -fPIC -fno-stack-protector -U_FORTIFY_SOURCE -shared -nostdlib -Wl,-z,noexecstack -o $@ $<
$(BUILD)/builder/stage/rpm-clock.o: $(BUILD)/rpm-clock.so
$(BUILD)/builder/stage/rpm-clock.o: ALL_CFLAGS += -DRPM_CLOCK_FILE='"$(BUILD)/rpm-clock.so"'

$(BUILD)/imgbuild: $(builder_objects) $(shared_objects)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

define compile
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<
endef
$(BUILD)/shared/%.o: firstboot/shared/%.c
	$(compile)
$(BUILD)/contract/%.o: firstboot/contract/%.c
	$(compile)
$(BUILD)/%.o: %.c
	$(compile)

# firstboot/ is compiled inside images too, so it has a Makefile of its own.
.PHONY: firstboot-all
firstboot-all:
	@$(MAKE) --no-print-directory -C firstboot BUILD=$(abspath $(BUILD))/firstboot all objects

# --- unit tests mirror the source paths: tests/unit/builder/disk/test-layout.c tests builder/disk/layout.c ---------
tests_of = $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/$(1)/test-*.c tests/unit/$(1)/*/test-*.c))
# Fuzz targets (tests/fuzz/run fuzzes them) replay their corpus as unit tests.
fuzz_tests = $(addprefix $(BUILD)/tests/unit/fuzz/test-,$(1))

define link_test
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $(filter %.c %.o %.a,$^) $(libraries)
endef

unit_builder := $(call tests_of,builder)
unit_builder_fuzz := $(call fuzz_tests,json recipe openpgp checksums rpm-header rpm-version rpm-bdb sums minisig delta qcow2 ext4 json-each json-line initramfs)
# Programs that e2e tests ask for by name.
builder_fixtures := $(BUILD)/tests/fixtures/damaged-disk

$(unit_builder) $(unit_builder_fuzz) $(builder_fixtures): $(builder_tested)
$(unit_builder): ALL_CFLAGS += -Itests/unit/builder
$(unit_builder): libraries = $(LIBS) -lcmocka
$(unit_builder_fuzz) $(builder_fixtures): libraries = $(LIBS)
$(BUILD)/tests/unit/builder/lock/test-image-python: LDFLAGS += -Wl,--wrap=data_folder

# Runs in a machine of an image, so it takes no library that a node has not.
guest_fixtures := $(BUILD)/tests/fixtures/greedy
$(guest_fixtures): $(addprefix $(BUILD)/builder/sandbox/,cgroup.o limits.o) $(shared_objects)
$(guest_fixtures): libraries = $(shell pkg-config --libs json-c libsystemd)

# --- firstboot: tests link the objects that firstboot/Makefile makes ---------------------------------------------
firstboot_build := $(BUILD)/firstboot
firstboot_mains := contract/codes-main daemon/main daemon/helper/main steps/main steps/scratch/lvm-main \
	steps/rdma/exporter-main steps/gpu/facts-main steps/slurm/hook-main ctl/main ctl/get-main
firstboot_tested := $(addprefix $(firstboot_build)/,$(addsuffix .o,$(filter-out $(firstboot_mains),$(patsubst firstboot/%.c,%,\
	$(foreach folder,shared contract daemon daemon/helper steps steps/* ctl,$(wildcard firstboot/$(folder)/*.c)))) steps/gpu-api))
firstboot_libs := $(shell pkg-config --libs json-c libsystemd libcurl blkid openssl libmnl) -lldap -llber -lresolv
unit_shared := $(call tests_of,firstboot/shared)
unit_firstboot := $(foreach room,contract daemon steps ctl,$(call tests_of,firstboot/$(room)))
unit_firstboot_fuzz := $(call fuzz_tests,shapes nccl-conf result mask kernel-log counters remains load-report kubeconfig)

$(firstboot_tested): firstboot-all ;
$(unit_firstboot) $(unit_firstboot_fuzz): $(firstboot_tested)
$(unit_firstboot): ALL_CFLAGS += -Itests/unit/firstboot
$(unit_firstboot): libraries = $(firstboot_libs) -lcmocka
$(unit_firstboot_fuzz): libraries = $(firstboot_libs)
$(unit_shared): $(shared_objects)
$(unit_shared): libraries = $(LIBS) -lcmocka

firstboot_fixtures := $(BUILD)/tests/fixtures/fake-systemd
$(firstboot_fixtures): libraries = $(firstboot_libs)

# Preloaded into programs.
preloads := $(addprefix $(BUILD)/tests/fixtures/,cut-writes.so clock-back.so stop-at.so)
$(preloads): $(BUILD)/tests/fixtures/%.so: tests/fixtures/%.c
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -fPIC -shared -o $@ $< -ldl

# A fleet that boots, on the agent's own retry code.
fleet := $(BUILD)/tests/bench/fleet/fleet
fleet_objects := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/bench/fleet/*.c))
$(fleet): $(fleet_objects) $(firstboot_tested)
	$(link_test)
$(fleet): libraries = $(firstboot_libs) -lm

# A double of NVML, and one that lacks a function that has to be there for anything, one for a single question.
nvml_double := $(BUILD)/tests/nvml-double
nvml_doubles := $(addprefix $(nvml_double)/,libnvidia-ml.so.1 no-count/libnvidia-ml.so.1 no-ecc/libnvidia-ml.so.1)
nvml_cc = $(CC) -std=gnu11 -D_GNU_SOURCE $(filter-out -Wstrict-prototypes,$(WARNINGS)) $(CFLAGS) -fPIC -shared -Ifirstboot
$(nvml_double)/no-count/libnvidia-ml.so.1: nvml_without := -DnvmlDeviceGetCount_v2=double_count
$(nvml_double)/no-ecc/libnvidia-ml.so.1: nvml_without := -DnvmlDeviceGetEccMode=double_ecc
$(nvml_doubles): tests/fixtures/nvml-double/nvml.c tests/fixtures/nvml-double/settings.h firstboot/steps/gpu/nvml.h firstboot/steps/gpu/facts.h
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(nvml_cc) $(nvml_without) -o $@ $<

# --- ncclbench: firstboot/ncclbench/Makefile builds it; its tests run on doubles of CUDA and NCCL ----------------
ncclbench_archive := $(BUILD)/firstboot/ncclbench/libncclbench.a
ncclbench_libs := $(shell pkg-config --libs json-c libcrypto) -ldl -lm
ncclbench_doubles := $(addprefix $(BUILD)/tests/nccl-double/,libcuda.so.1 libnccl.so.2 libnccl-2.17.so.2 libcudart.so.12)
unit_ncclbench := $(call tests_of,firstboot/ncclbench)
unit_ncclbench_fuzz := $(call fuzz_tests,ncclbench-rendezvous)

$(ncclbench_archive): firstboot-all ;
$(unit_ncclbench) $(unit_ncclbench_fuzz): $(ncclbench_archive)
$(unit_ncclbench): ALL_CFLAGS += -Itests/unit/firstboot
$(unit_ncclbench): libraries = $(ncclbench_libs) -lcmocka
$(unit_ncclbench_fuzz): libraries = $(ncclbench_libs)

# Not sanitized: a library that is loaded at run time brings no sanitizer of its own along. The second NCCL is one
# from before ncclCommSplit (2.18) and ncclAlltoAll (2.28).
double_cc = $(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -fPIC -shared -Ifirstboot -Itests/fixtures/nccl-double
double_headers := $(addprefix tests/fixtures/nccl-double/,communicator.h double.h numbers.h) firstboot/ncclbench/pattern.h firstboot/ncclbench/matrix.h
$(BUILD)/tests/nccl-double/libcuda.so.1: tests/fixtures/nccl-double/cuda.c $(double_headers)
$(BUILD)/tests/nccl-double/libnccl.so.2: tests/fixtures/nccl-double/nccl.c $(double_headers)
$(BUILD)/tests/nccl-double/libnccl-2.17.so.2: tests/fixtures/nccl-double/nccl.c $(double_headers)
$(BUILD)/tests/nccl-double/libnccl-2.17.so.2: double_cc += -DBEFORE_2_18
$(BUILD)/tests/nccl-double/libcudart.so.12: tests/fixtures/nccl-double/cudart.c $(double_headers)
$(BUILD)/tests/nccl-double/libcudart.so.12: double_cc += -Wl,-soname,libcudart.so.12 -Wno-missing-prototypes
$(ncclbench_doubles):
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(double_cc) -o $@ $< -lm

# --- what all of them have in common -----------------------------------------------------------------------------
unit_tests := $(unit_builder) $(unit_shared) $(unit_firstboot) $(unit_ncclbench)
unit_fuzz := $(unit_builder_fuzz) $(unit_firstboot_fuzz) $(unit_ncclbench_fuzz)
fixtures := $(builder_fixtures) $(guest_fixtures) $(firstboot_fixtures)

$(unit_tests): ALL_CFLAGS += -Itests/unit
$(unit_tests): $(BUILD)/tests/unit/%: tests/unit/%.c
	$(link_test)
$(unit_fuzz): ALL_CFLAGS += -DCORPUS='"$(patsubst test-%,%,$(@F))"'
$(unit_fuzz): $(BUILD)/tests/unit/fuzz/test-%: tests/fuzz/fuzz-%.c tests/fuzz/replay.c
	$(link_test)
$(fixtures): $(BUILD)/tests/fixtures/%: tests/fixtures/%.c
	$(link_test)

.PHONY: unit
unit: $(unit_tests) $(unit_fuzz) $(fixtures) $(preloads) $(fleet) $(nvml_doubles) $(ncclbench_doubles)

IMAGE ?= debian-13-gpu
image: deps
	$(MAKE) all
	$(BUILD)/imgbuild build images/$(IMAGE).json
	$(BUILD)/imgbuild boot out/$(IMAGE)/$(IMAGE).qcow2 --until multi-user --nvme 4

# A head and two nodes, for as long as nobody says Ctrl-C.
cluster: deps
	$(MAKE) all
	$(BUILD)/imgbuild build images/hpc-head.json
	$(BUILD)/imgbuild build images/cluster-node.json
	@printf '%s\n' '' 'Once all are ready, in another terminal, with the ssh command that is shown for head:' \
		'  cluster user add alice --gid 9876' '  srun -N 2 hostname' '  su - alice -c "srun -N 2 id"' ''
	$(BUILD)/imgbuild cluster images/clusters/demo.json

check: deps
	$(MAKE) all unit
	tests/run

check-sanitize: deps
	$(MAKE) SANITIZE=1 BUILD=build/sanitize all unit
	BUILD=build/sanitize tests/run unit

# What make would run, read by a program; nothing is built for it.
compile_commands.json: Makefile firstboot/Makefile
	$(call say,GEN,$@)
	$(Q)MAKEFLAGS= $(MAKE) -nB -j1 V=1 BUILD=$(BUILD) all unit 2>/dev/null | tests/lint/compile-commands >$@.tmp
	@mv $@.tmp $@

docs: docs/reason-codes.md
docs/reason-codes.md: firstboot-all
	$(call say,GEN,$@)
	$(Q)$(BUILD)/firstboot/firstboot-codes markdown >$@.tmp
	@mv $@.tmp $@

# A stage's number and a digest of its code: builder/plan/stage-code. SAME="KIND…": these make the same as before.
stage-code:
	$(Q)tests/lint/stage-code --write --same "$(SAME)"

lint: compile_commands.json
	tests/lint/run

soak: all
	tests/run --soak

# make fuzz TARGETS="remains recipe" RUNS=10000000 JOBS=2: at most FUZZ_SECONDS each.
fuzz:
	RUNS=$(RUNS) JOBS=$(JOBS) tests/fuzz/run $(or $(FUZZ_SECONDS),60) $(TARGETS)

bench: all $(fleet)
	tests/bench/run

completions_bash := $(PREFIX)/share/bash-completion/completions
completions_zsh := $(PREFIX)/share/zsh/vendor-completions

install: all
	install -D -m 0755 $(BUILD)/imgbuild $(DESTDIR)$(PREFIX)/bin/imgbuild
	install -m 0755 $(BUILD)/firstboot/firstboot-get $(DESTDIR)$(PREFIX)/bin/firstboot-get
	set -e; for page in docs/man/imgbuild*.[1-8] docs/man/firstboot-get.1; do \
		install -D -m 0644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; done
	set -e; for folder in overlays images firstboot; do \
		(cd $$folder && git ls-files -z 2>/dev/null | grep -z . || find . \( -type f -o -type l \) -print0) | \
		(cd $$folder && tar --null --no-recursion -T - -cf -) | \
		(mkdir -p $(DESTDIR)$(PREFIX)/share/imgbuild/$$folder && tar -C $(DESTDIR)$(PREFIX)/share/imgbuild/$$folder --no-same-owner -xf -); done
	install -D -m 0644 builder/common/support.json $(DESTDIR)$(PREFIX)/share/imgbuild/support.json
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/imgbuild builder/lock/dnf-ask.py
	install -D -m 0644 COPYING $(DESTDIR)$(PREFIX)/share/doc/imgbuild/COPYING
ifneq ($(wildcard builder/cmd/completion.c),)
	install -d $(DESTDIR)$(completions_bash) $(DESTDIR)$(completions_zsh)
	$(BUILD)/imgbuild completion bash >$(DESTDIR)$(completions_bash)/imgbuild
	$(BUILD)/imgbuild completion zsh >$(DESTDIR)$(completions_zsh)/_imgbuild
endif

# --- a tarball of the tracked files, and Debian packages built from it: builder/packaging/ -----------------------
.PHONY: dist deb
dist:
	@builder/packaging/dist $(VERSION) $(BUILD)/dist
deb: dist
	@builder/packaging/deb $(VERSION) $(BUILD)/dist/imgbuild-$(VERSION).tar.xz $(BUILD)/deb

deps:
	tests/deps

format:
	git ls-files '*.c' '*.h' | xargs tests/lint/wrap-comments
	git ls-files '*.c' '*.h' | xargs clang-format-19 -i

clean:
	rm -rf build

# By their names: what is built under $(BUILD)/e2e and $(BUILD)/bench holds whole trees, with an rc0.d each.
-include $(patsubst %.o,%.d,$(builder_objects) $(shared_objects) $(fleet_objects)) $(addsuffix .d,$(unit_tests) $(fixtures))
