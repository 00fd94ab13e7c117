/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* A system on ext4 without an appliance: libext2fs reads it, in a process that can do nothing but
 * read the disk and write the archive. It is for disks on which there is no question: partitions
 * of which one has the system, and the others are where its fstab says. All else is the
 * appliance's, damage included. */

#include "shared/macro.h"
#include <ext2fs/ext2fs.h>

typedef struct Ext4Mount {
        char *point; /* without slashes at its ends: "" is the root */
        ext2_filsys fs;
        uint8_t *seen; /* a bit for each inode: a folder that was there already */
} Ext4Mount;

typedef struct Ext4System {
        Ext4Mount *mounts; /* the root first */
        size_t n_mounts;
} Ext4System;

/* ext4-find.c. `disk`: a raw disk. `root`: the device that the system is on, as libguestfs calls
 * it; NULL: there is one. 1: found; 0: it is the appliance's; -ENOMEM. */
int ext4_system_open(int disk, const char *root, Ext4System *ret);
void ext4_system_close(Ext4System *s);
#define _cleanup_ext4_system_ _cleanup_(ext4_system_close)

/* ext4-inode.c. Owner, mode, time, device and attributes of an inode. -EBADMSG with *ret_why, a
 * constant. */
struct archive_entry;
int ext4_describe(const Ext4Mount *m, ext2_ino_t ino, const struct ext2_inode_large *inode,
                struct archive_entry *e, const char **ret_why);

/* ext4-file.c. The whole of a small file: a link's target, a configuration. `max`: bytes. -EBADMSG
 * with *ret_why, a constant; -EFBIG. */
int ext4_read_small(const Ext4Mount *m, ext2_ino_t ino, size_t max, char **ret, size_t *ret_size,
                const char **ret_why);

/* Where a file has data, in bytes of the file and blocks of the disk; the rest are holes. */
typedef struct Ext4Run {
        uint64_t offset, size;
        blk64_t block;
} Ext4Run;

/* In the order of the file. The caller frees *ret. -EBADMSG with *ret_why, a constant. */
int ext4_runs(const Ext4Mount *m, ext2_ino_t ino, struct ext2_inode *inode, Ext4Run **ret,
                size_t *ret_n, const char **ret_why);

/* ext4-pour.c. Its tree as a tar archive (pax) into `to`, as the appliance's tar does it. -EBADMSG
 * with *ret_why (the caller frees it): the file system is damaged; -EPIPE: nobody reads. */
int ext4_pour(Ext4System *s, int to, char **ret_why);

/* ext4-process.c. The same in a process of its own. `path` and `format` are an image's; what is no
 * raw disk becomes one in the folder `scratch` for that time. 1: all is written; 0: nothing is, it
 * is the appliance's; -EIO: logged. */
int ext4_stream(const char *path, const char *format, const char *root, const char *scratch,
                int to);
