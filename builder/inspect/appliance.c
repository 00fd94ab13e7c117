/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* libguestfs, read-only. Its appliance is a small virtual machine that only sees the images:
 * whatever a stranger's file system holds, the host's kernel never mounts it. The format of an
 * image is found here and told: left to itself, QEMU would believe a raw disk whose guest wrote a
 * qcow2 header with a backing file into it. */

#include "inspect/appliance.h"

#include "common/kvm.h"
#include "shared/log.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <blkid.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>

#define LAUNCH_ATTEMPTS \
        2 /* without KVM, an old QEMU's guest kernel dies now and then while it starts */

/* A block device's node, or anything else that blkid knows how to begin a disk. */
static bool looks_like_disk(int fd) {
        blkid_probe probe = blkid_new_probe();
        bool found = false;

        if (!probe)
                return false;
        if (blkid_probe_set_device(probe, fd, 0, 0) == 0) {
                blkid_probe_enable_superblocks(probe, 1);
                blkid_probe_enable_partitions(probe, 1);
                found = blkid_do_safeprobe(probe) !=
                        1; /* 0 found, -2 several, -1 error; 1: nothing */
        }
        blkid_free_probe(probe);
        return found;
}

static bool has_magic(int fd, off_t offset, const char *magic, size_t size) {
        char buffer[32];

        return pread(fd, buffer, size, offset) == (ssize_t) size &&
               memcmp(buffer, magic, size) == 0;
}

int image_format(const char *path, const char **ret) {
        static const struct {
                const char *format;
                off_t offset; /* negative: from the end */
                const char *magic;
                size_t size;
        } magics[] = {
                { "qcow2", 0, "QFI\xfb", 4 },
                { "vmdk", 0, "KDMV", 4 },
                { "vmdk", 0, "COWD", 4 },
                { "vmdk", 0, "# Disk DescriptorFile", 21 },
                { "vhdx", 0, "vhdxfile", 8 },
                { "vdi", 0x40, "\x7f\x10\xda\xbe", 4 },
                { "vpc", 0, "conectix", 8 },
                { "vpc", -512, "conectix", 8 },
        };
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode))
                return -EISDIR;
        if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
                return -EMEDIUMTYPE;
        if (S_ISREG(st.st_mode) && st.st_size == 0)
                return -ENODATA;
        for (size_t i = 0; i < ELEMENTSOF(magics); i++) {
                off_t offset = magics[i].offset < 0 ? st.st_size + magics[i].offset
                                                    : magics[i].offset;

                if (offset >= 0 && has_magic(fd, offset, magics[i].magic, magics[i].size)) {
                        *ret = magics[i].format;
                        return 0;
                }
        }
        if (!looks_like_disk(fd))
                return -EMEDIUMTYPE;
        *ret = "raw";
        return 0;
}

int image_format_log(const char *path, const char **ret) {
        static const struct {
                const char *magic;
                size_t size;
                const char *what;
        } wrapped[] = {
                { "\x1f\x8b", 2, "gzip" },
                { "\xfd"
                  "7zXZ",
                                5, "xz" },
                { "\x28\xb5\x2f\xfd", 4, "zstd" },
                { "BZh", 3, "bzip2" },
                { "PK\x03\x04", 4, "zip" },
        };
        int r = image_format(path, ret);

        if (r >= 0)
                return 0;
        if (r == -EISDIR)
                return log_full(LOG_ERR, 0, "%s is a folder; a disk image is one file", path), r;
        if (r == -ENODATA)
                return log_full(LOG_ERR, 0,
                                       "%s is empty, so it is no disk image; was its build interrupted?",
                                       path),
                       r;
        if (r != -EMEDIUMTYPE)
                return log_error_errno(r, "Cannot read %s", path);

        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        for (size_t i = 0; fd >= 0 && i < ELEMENTSOF(wrapped); i++)
                if (has_magic(fd, 0, wrapped[i].magic, wrapped[i].size))
                        return log_full(LOG_ERR, 0, "%s is compressed (%s): unpack it first", path,
                                               wrapped[i].what),
                               r;
        log_error("%s is not a disk image: no qcow2, VMDK, VHD, VHDX or VDI header, no partition table, no file system",
                        path);
        return r;
}

static bool any_readable(const char *pattern, bool *ret_exists) {
        glob_t g = {};
        bool readable = false;

        *ret_exists = glob(pattern, 0, NULL, &g) == 0;
        for (size_t i = 0; *ret_exists && i < g.gl_pathc; i++)
                readable = readable || access(g.gl_pathv[i], R_OK) >= 0;
        globfree(&g);
        return readable;
}

char *guestfs_missing(void) {
        bool in_boot, in_modules;

        if (!isempty(getenv("LIBGUESTFS_PATH"))) /* a ready appliance: it brings its own kernel */
                return NULL;
        if (!program_find("supermin", NULL))
                return strdup("supermin, which makes its appliance: apt install supermin");
        if (!program_find("qemu-system-x86_64", NULL))
                return strdup("QEMU, which runs its appliance: apt install qemu-system-x86");
        bool readable_boot = any_readable("/boot/vmlinuz-*", &in_boot);
        if (readable_boot || any_readable("/lib/modules/*/vmlinuz", &in_modules))
                return NULL;
        if (!in_boot && !in_modules)
                return strdup("a distribution kernel in /boot, which its appliance boots: apt install linux-image-cloud-amd64");
        return strdup("to read a kernel in /boot, which its appliance boots: chmod 0644 /boot/vmlinuz-*");
}

static int launch(
                const char *const *images, const char *const *formats, bool kvm, guestfs_h **ret) {
        _cleanup_guestfs_ guestfs_h *g = guestfs_create();

        if (!g)
                return -ENOMEM;
        guestfs_set_error_handler(g, NULL, NULL); /* guestfs_last_error() says it when we want to */
        if (guestfs_set_backend(g, "direct") < 0 ||
                        (!kvm && guestfs_set_backend_setting(g, "force_tcg", "1") < 0))
                return log_error_errno(-EIO, "libguestfs: %s", guestfs_last_error(g));
        for (size_t i = 0; images[i]; i++)
                if (guestfs_add_drive_opts(g, images[i], GUESTFS_ADD_DRIVE_OPTS_READONLY, 1,
                                    GUESTFS_ADD_DRIVE_OPTS_FORMAT, formats[i], -1) < 0)
                        return log_error_errno(-EIO, "libguestfs cannot open %s: %s", images[i],
                                        guestfs_last_error(g));
        if (guestfs_launch(g) < 0) {
                log_debug("libguestfs: %s", strempty(guestfs_last_error(g)));
                return interrupt_signal() ? -ECANCELED : -EAGAIN;
        }
        *ret = TAKE_PTR(g);
        return 0;
}

int guestfs_open_readonly(const char *const *images, const char *const *formats, guestfs_h **ret) {
        _cleanup_free_ char *missing = NULL, *why = NULL;
        _cleanup_free_ const char **found = NULL;
        size_t n = 0;
        int r;

        while (images[n])
                n++;
        found = calloc(n + 1, sizeof(*found));
        if (!found)
                return log_oom();
        for (size_t i = 0; i < n; i++) {
                if (formats && formats[i])
                        found[i] = formats[i];
                else {
                        r = image_format_log(images[i], found + i);
                        if (r < 0)
                                return r;
                }
        }
        missing = guestfs_missing();
        if (missing) {
                log_error("libguestfs cannot look into the image: this host lacks %s", missing);
                return -ENOPKG;
        }

        bool kvm = kvm_probe(&why) > 0;
        if (!kvm)
                log_debug("libguestfs runs without KVM: %s", strempty(why));
        for (unsigned attempt = 0; attempt < LAUNCH_ATTEMPTS; attempt++) {
                r = launch(images, found, kvm, ret);
                if (r != -EAGAIN)
                        return r;
                if (kvm) {
                        kvm_distrust("libguestfs' appliance did not start with it");
                        kvm = false;
                }
        }
        log_error("libguestfs' appliance does not start; 'libguestfs-test-tool' shows why");
        return -ENOPKG;
}
