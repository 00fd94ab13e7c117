/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A small made tree that passes every rule, in a folder of its own, for tests that break one thing
 * each. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "check/internal.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>

#define KERNEL "6.12.1-test"
#define DRIVER "550.163.01"
#define MODULES "usr/lib/modules/" KERNEL "/"
#define LIBRARIES "usr/lib/x86_64-linux-gnu/"
#define MAGIC KERNEL " SMP preempt mod_unload modversions "

static inline void put(const char *path, const char *text) {
        assert_int_equal(mkdir_parents(path, 0755), 0);
        assert_int_equal(write_file_atomic(path, text, strlen(text), 0644), 0);
}

static inline void put_link(const char *path, const char *target) {
        assert_int_equal(mkdir_parents(path, 0755), 0);
        (void) unlink(path);
        assert_int_equal(symlink(target, path), 0);
}

/* An ELF file with one section, which is what the code looks for. */
static inline void put_elf(const char *path, const char *section, const char *data, size_t size) {
        char names[64] = {};
        size_t names_size = 1 + (size_t) snprintf(names + 1, sizeof(names) - 1, "%s", section) + 1;
        Elf64_Ehdr h = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                                         EV_CURRENT },
                .e_type = ET_REL,
                .e_machine = EM_X86_64,
                .e_version = EV_CURRENT,
                .e_ehsize = sizeof(h),
                .e_shentsize = sizeof(Elf64_Shdr),
                .e_shnum = 3,
                .e_shstrndx = 2 };
        Elf64_Shdr table[3] = {
                {},
                { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = sizeof(h), .sh_size = size },
                { .sh_type = SHT_STRTAB, .sh_offset = sizeof(h) + size, .sh_size = names_size },
        };
        FILE *f;

        h.e_shoff = sizeof(h) + size + names_size;
        assert_int_equal(mkdir_parents(path, 0755), 0);
        f = fopen(path, "we");
        assert_non_null(f);
        assert_int_equal(fwrite(&h, sizeof(h), 1, f), 1);
        assert_int_equal(fwrite(data, 1, size, f), size);
        assert_int_equal(fwrite(names, 1, names_size, f), names_size);
        assert_int_equal(fwrite(table, sizeof(table), 1, f), 1);
        assert_int_equal(fclose(f), 0);
}

/* A module whose .modinfo says this; `version` NULL: it says none. Code in front of it, as in a
 * real one. */
static inline void put_module(
                const char *path, const char *name, const char *version, const char *vermagic) {
        char data[4096] = {};
        size_t n = 1500;

        memset(data, 0x90, n);
        n += 4; /* alignment */
        if (version)
                n += (size_t) sprintf(data + n, "version=%s", version) + 1;
        n += (size_t) sprintf(data + n, "license=NVIDIA") + 1;
        n += (size_t) sprintf(data + n, "depends=") + 1;
        n += (size_t) sprintf(data + n, "name=%s", name) + 1;
        n += (size_t) sprintf(data + n, "vermagic=%s", vermagic) + 1;
        n += (size_t) sprintf(data + n, "parm=NVreg_Mobile:int") + 1;
        put_elf(path, ".modinfo", data, n + 100);
}

static inline void compress_file(const char *path, const char *to, int filter) {
        struct archive *a = archive_write_new();
        struct archive_entry *e = archive_entry_new();
        char *text;
        size_t size;

        assert_int_equal(read_file(path, 1 << 20, &text, &size), 0);
        assert_int_equal(archive_write_add_filter(a, filter), ARCHIVE_OK);
        assert_int_equal(archive_write_set_format_raw(a), ARCHIVE_OK);
        assert_int_equal(archive_write_open_filename(a, to), ARCHIVE_OK);
        archive_entry_set_filetype(e, AE_IFREG);
        assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
        assert_int_equal(archive_write_data(a, text, size), (int) size);
        archive_entry_free(e);
        assert_int_equal(archive_write_close(a), ARCHIVE_OK);
        archive_write_free(a);
        free(text);
}

/* Appends to a file the archive of empty files with these names; NULL behind the last. */
static inline void put_initramfs(const char *path, const char *const names[], int filter) {
        struct archive *a = archive_write_new();
        FILE *f;

        assert_int_equal(mkdir_p("boot", 0755), 0);
        f = fopen(path, "ae");
        assert_non_null(f);
        assert_int_equal(archive_write_add_filter(a, filter), ARCHIVE_OK);
        assert_int_equal(archive_write_set_format_cpio_newc(a), ARCHIVE_OK);
        assert_int_equal(archive_write_set_bytes_in_last_block(a, 1), ARCHIVE_OK);
        assert_int_equal(archive_write_open_FILE(a, f), ARCHIVE_OK);
        for (size_t i = 0; names[i]; i++) {
                struct archive_entry *e = archive_entry_new();

                archive_entry_set_pathname(e, names[i]);
                archive_entry_set_filetype(e, AE_IFREG);
                archive_entry_set_size(e, 0);
                assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
                archive_entry_free(e);
        }
        assert_int_equal(archive_write_free(a), ARCHIVE_OK);
        assert_int_equal(fclose(f), 0);
}

#define INITRAMFS "boot/initrd.img-" KERNEL

static inline void put_package(const char *name, const char *version, const char *status) {
        FILE *f;

        assert_int_equal(mkdir_p("var/lib/dpkg", 0755), 0);
        f = fopen("var/lib/dpkg/status", "ae");
        assert_non_null(f);
        fprintf(f, "Package: %s\nStatus: %s ok installed\nArchitecture: amd64\nVersion: %s\nDescription: x\n more: of it\n\n",
                        name, status, version);
        assert_int_equal(fclose(f), 0);
}

#define MODULES_INSIDE MODULES "kernel/dummy.ko"

static inline void put_base_tree(void) {
        put("boot/vmlinuz-" KERNEL, "kernel");
        put_initramfs(INITRAMFS, (const char *const[]) { "./init", MODULES_INSIDE, NULL },
                        ARCHIVE_FILTER_NONE);
        put_module(MODULES "kernel/drivers/dummy.ko", "dummy", NULL, MAGIC);
        put(MODULES "modules.dep", "kernel/drivers/dummy.ko:\nupdates/nvidia/nvidia.ko:\nupdates/"
                                   "nvidia/nvidia-uvm.ko: updates/nvidia/nvidia.ko\n");
        put_package("linux-image-" KERNEL, "6.12.1-1", "hold");
        put_package("systemd", "257.1-1", "install");
        put("etc/machine-id", "");
        put("etc/passwd", "root:x:0:0:root:/root:/bin/bash\n");
        put("etc/shadow",
                        "root:*:20000:0:99999:7:::\ndaemon:!:20000::::::\nnobody:!*:20000::::::\n");
        put("etc/gshadow", "root:*::\ndaemon:*::\nusers:::\n");
        put_link("etc/resolv.conf", "../run/systemd/resolve/stub-resolv.conf");
        put("usr/lib/systemd/system/ssh.service", "[Service]\nExecStart=/usr/sbin/sshd\n");
        put_link("etc/systemd/system/multi-user.target.wants/ssh.service",
                        "/usr/lib/systemd/system/ssh.service");
        put("var/log/dpkg.log", "");
        put("etc/ssl/certs/ca.pem", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n");
}

static inline void put_driver(void) {
        static const char smi[] = "\0Usage\0" DRIVER "\0more";
        static const char nccl[] = "\0NCCL version %d\0NCCL version 2.22.3+cuda12.1\0";

        put_module(MODULES "updates/nvidia/nvidia.ko", "nvidia", DRIVER, MAGIC);
        put_module(MODULES "updates/nvidia/nvidia-uvm.ko", "nvidia_uvm", DRIVER, MAGIC);
        put_package("libcuda1", DRIVER "-1", "install");
        /* Absolute links, as Debian's alternatives are: they must resolve inside the tree. */
        put(LIBRARIES "nvidia/current/libcuda.so." DRIVER, "x");
        put_link("etc/alternatives/nvidia--libcuda.so.1",
                        "/" LIBRARIES "nvidia/current/libcuda.so." DRIVER);
        put_link(LIBRARIES "libcuda.so.1", "/etc/alternatives/nvidia--libcuda.so.1");
        put(LIBRARIES "nvidia/current/libnvidia-ml.so." DRIVER, "x");
        put_link(LIBRARIES "libnvidia-ml.so.1", "nvidia/current/libnvidia-ml.so." DRIVER);
        put_elf("usr/bin/nvidia-smi", ".rodata", smi, sizeof(smi));
        put("usr/lib/firmware/nvidia/" DRIVER "/gsp_ga10x.bin", "firmware");
        put("etc/modprobe.d/nvidia.conf", "# GPU\nblacklist nouveau\n");
        put(LIBRARIES "libcudart.so.12.4.127", "x");
        put_link(LIBRARIES "libcudart.so.12", "libcudart.so.12.4.127");
        put_elf(LIBRARIES "libnccl.so.2.22.3", ".rodata", nccl, sizeof(nccl));
        put_link(LIBRARIES "libnccl.so.2", "libnccl.so.2.22.3");
}

typedef struct CheckFixture {
        char folder[64];
        const Recipe *recipe; /* NULL: none */
        const char *rpms;     /* NULL: a tree of dpkg's */
        Findings findings;
        char **lines; /* logged */
} CheckFixture;

static inline void check_log(int level _unused_, const char *line, void *userdata) {
        CheckFixture *f = userdata;
        assert_int_equal(strv_extend(&f->lines, line), 0);
}

static inline int check_setup(void **state) {
        CheckFixture *f = calloc(1, sizeof(*f));

        strcpy(f->folder, "/tmp/imgbuild-check.XXXXXX");
        assert_non_null(mkdtemp(f->folder));
        assert_int_equal(chdir(f->folder), 0);
        log_set_writer(check_log, f);
        put_base_tree();
        *state = f;
        return 0;
}

static inline int gpu_setup(void **state) {
        (void) check_setup(state);
        put_driver();
        return 0;
}

static inline int check_teardown(void **state) {
        CheckFixture *f = *state;

        log_set_writer(NULL, NULL);
        findings_done(&f->findings);
        strv_free(f->lines);
        assert_int_equal(chdir("/"), 0);
        rm_rf(f->folder);
        free(f);
        return 0;
}

/* Runs all rules; every finding must be of `rule`, and one must contain `found`. NULL: there must
 * be none. */
static inline void assert_found(CheckFixture *f, const char *rule, const char *found) {
        bool hit = false;

        findings_done(&f->findings);
        assert_int_equal(rules_run(f->folder, f->recipe, f->rpms, &f->findings, NULL), 0);
        for (size_t i = 0; i < f->findings.n; i++) {
                const Finding *x = f->findings.findings + i;
                if (!rule)
                        fail_msg("%s: %s", x->rule, x->found);
                assert_string_equal(x->rule, rule);
                assert_true(strlen(x->remedy) > 0);
                hit = hit || strstr(x->found, strempty(found));
        }
        if (rule && !hit)
                fail_msg("%s has no finding with \"%s\"", rule, found);
}

/* A test in the base tree, and one in a tree with NVIDIA's driver. */
#define TREE(f) cmocka_unit_test_setup_teardown(f, check_setup, check_teardown)
#define GPU(f) cmocka_unit_test_setup_teardown(f, gpu_setup, check_teardown)
