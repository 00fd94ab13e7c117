/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The format of an image is found here and told to whoever opens it: left to itself, QEMU would
 * believe a raw disk whose guest wrote a qcow2 header with a backing file into it. */

#include "appliance/appliance.h"

#include "shared/log.h"
#include "shared/probe.h"

#include <fcntl.h>
#include <sys/stat.h>

/* A block device's node, or anything else that blkid knows how to begin a disk. */
static bool looks_like_disk(int fd) {
        _cleanup_probe_ blkid_probe probe = blkid_new_probe();

        if (!probe || blkid_probe_set_device(probe, fd, 0, 0) != 0)
                return false;
        blkid_probe_enable_superblocks(probe, 1);
        blkid_probe_enable_partitions(probe, 1);
        /* 0: found, -2: several, -1: error, 1: nothing */
        return blkid_do_safeprobe(probe) != 1;
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

/* What an image may be packed with; NULL where it is none of these. */
static const char *compression_of(const char *path) {
        static const struct {
                const char *magic;
                size_t size;
                const char *name;
        } wrapped[] = {
                { "\x1f\x8b", 2, "gzip" },
                { "\xfd\x37zXZ", 5, "xz" },
                { "\x28\xb5\x2f\xfd", 4, "zstd" },
                { "BZh", 3, "bzip2" },
                { "PK\x03\x04", 4, "zip" },
        };
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

        for (size_t i = 0; fd >= 0 && i < ELEMENTSOF(wrapped); i++)
                if (has_magic(fd, 0, wrapped[i].magic, wrapped[i].size))
                        return wrapped[i].name;
        return NULL;
}

int image_format_log(const char *path, const char **ret) {
        const char *compression;
        int r;

        r = image_format(path, ret);
        switch (r) {
        case 0:
                return 0;
        case -ENOENT:
                if (startswith(path, "http://") || startswith(path, "https://")) {
                        log_error("%s is a URL, and an image is a file: download it first (curl -LO %s)",
                                        path, path);
                        return r;
                }
                log_error("There is no image %s; 'imgbuild build RECIPE' bakes one, into out/NAME",
                                path);
                return r;
        case -EISDIR:
                log_error("%s is a folder; a disk image is one file in it, such as NAME.qcow2",
                                path);
                return r;
        case -ENODATA:
                log_error("%s is empty, so it is no disk image; was its build interrupted?", path);
                return r;
        case -EMEDIUMTYPE:
                break;
        default:
                return log_error_errno(r, "Cannot read %s", path);
        }

        compression = compression_of(path);
        if (compression)
                log_error("%s is compressed (%s): unpack it first", path, compression);
        else
                log_error("%s is not a disk image: no qcow2, VMDK, VHD, VHDX or VDI header, no partition table, no file system",
                                path);
        return r;
}
