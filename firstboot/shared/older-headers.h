/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* What headers of EL 8 lack (glibc 2.28, Linux 4.18), though the kernel that runs may know it. The
 * numbers are the kernel's, the same on all architectures. */

#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SMB2_SUPER_MAGIC
#define SMB2_SUPER_MAGIC 0xFE534D42
#endif
#ifndef CIFS_SUPER_MAGIC
#define CIFS_SUPER_MAGIC 0xFF534D42
#endif
#ifndef CEPH_SUPER_MAGIC
#define CEPH_SUPER_MAGIC 0x00C36400
#endif
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* glibc has these functions with their constants, from 2.36 on. */
#ifndef FSOPEN_CLOEXEC
#define FSOPEN_CLOEXEC 1
#define FSMOUNT_CLOEXEC 1
#define FSCONFIG_CMD_CREATE 6
#define MOUNT_ATTR_RDONLY 0x01
#define MOUNT_ATTR_NOSUID 0x02
#define MOUNT_ATTR_NODEV 0x04
#define MOUNT_ATTR_NOEXEC 0x08

static inline int fsopen(const char *type, unsigned flags) {
        return (int) syscall(430, type, flags);
}

static inline int fsconfig(int fd, unsigned command, const char *key, const void *value, int aux) {
        return (int) syscall(431, fd, command, key, value, aux);
}

static inline int fsmount(int fd, unsigned flags, unsigned attributes) {
        return (int) syscall(432, fd, flags, attributes);
}
#endif
