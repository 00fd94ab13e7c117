/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* libblkid asked for everything it can find: what it does not find is not there, what it cannot
 * read is not known. */

#include "steps/common/signature.h"
#include "shared/parse-number.h"
#include "shared/probe.h"

#include <fcntl.h>

static void copy_value(blkid_probe p, const char *name, char *to, size_t size) {
        const char *value = NULL;

        if (blkid_probe_lookup_value(p, name, &value, NULL) == 0 && value)
                snprintf(to, size, "%s", value);
}

/* The one that the probe is at. */
static Signature current(blkid_probe p) {
        Signature s = {};

        copy_value(p, "TYPE", s.type, sizeof(s.type));
        copy_value(p, "USAGE", s.usage, sizeof(s.usage));
        copy_value(p, "LABEL", s.label, sizeof(s.label));
        if (s.type[0] == '\0') {
                copy_value(p, "PTTYPE", s.type, sizeof(s.type));
                snprintf(s.usage, sizeof(s.usage), "partition table");
        }
        if (s.type[0] == '\0')
                snprintf(s.type, sizeof(s.type), "unknown");
        return s;
}

int probe_fd(int fd, uint64_t offset, Signature ret[SIGNATURES_MAX]) {
        _cleanup_probe_ blkid_probe p = blkid_new_probe();
        int n = 0, r;

        if (!p)
                return -ENOMEM;
        errno = 0;
        if (blkid_probe_set_device(p, fd, (blkid_loff_t) offset, 0) != 0)
                return errno ? -errno : -EIO;
        /* BADCSUM: a damaged super block was somebody's data too. */
        if (blkid_probe_enable_superblocks(p, 1) != 0 ||
                        blkid_probe_set_superblocks_flags(
                                        p, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE |
                                                           BLKID_SUBLKS_LABEL |
                                                           BLKID_SUBLKS_BADCSUM) != 0 ||
                        blkid_probe_enable_partitions(p, 1) != 0)
                return -EIO;

        while ((r = blkid_do_probe(p)) == 0)
                if (n < SIGNATURES_MAX)
                        ret[n++] = current(p);
        return r < 0 ? -EIO : n;
}

int probe_device(const char *path, Signature ret[SIGNATURES_MAX]) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

        return fd < 0 ? -errno : probe_fd(fd, 0, ret);
}

bool probe_has_label(const char *path, const char *label) {
        Signature s[SIGNATURES_MAX];
        int n = probe_device(path, s);

        for (int i = 0; i < n; i++)
                if (streq(s[i].usage, "filesystem") && streq(s[i].label, label))
                        return true;
        return false;
}

#ifdef BLKID_SUBLKS_FSINFO
static uint64_t lookup_number(blkid_probe p, const char *name) {
        const char *value = NULL;
        uint64_t n = 0;

        if (blkid_probe_lookup_value(p, name, &value, NULL) == 0 && value)
                (void) parse_number(value, 10, &n);
        return n;
}

uint64_t probe_filesystem_bytes(const char *path) {
        _cleanup_probe_ blkid_probe p = blkid_new_probe();
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

        if (fd < 0 || !p || blkid_probe_set_device(p, fd, 0, 0) != 0 ||
                        blkid_probe_enable_superblocks(p, 1) != 0 ||
                        blkid_probe_set_superblocks_flags(
                                        p, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_FSINFO) != 0 ||
                        blkid_do_safeprobe(p) != 0)
                return 0;
        return lookup_number(p, "FSLASTBLOCK") * lookup_number(p, "FSBLOCKSIZE");
}
#else
uint64_t probe_filesystem_bytes(const char *path) {
        (void) path;
        return 0;
}
#endif
