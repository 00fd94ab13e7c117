/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The lists that make an XFS file system out of a tree: mkfs.xfs's protofile, and xfs_db's commands
 * for the rest. All are files of one work folder. */

#include "shared/macro.h"

#define XFS_PROTO "proto"     /* for mkfs.xfs -p */
#define XFS_ENTRIES "entries" /* what the second pass needs of each file, one JSON array a line */
#define XFS_INODES "inodes"   /* xfs_db's ncheck: which inode each path became */
#define XFS_LINK_SCRIPT "link.db" /* further names of files; first, since it changes folders */
#define XFS_TIME_SCRIPT "time.db" /* times and sticky bits */

/* First pass: walks the tree at `root`, which mkfs.xfs will see at `tree`, and writes XFS_PROTO and
 * XFS_ENTRIES into the folder `work`, which it will see at `work_inside`. Times are clamped to
 * epoch. -EOPNOTSUPP (logged) for a name that a protofile cannot carry. */
int xfs_write_lists(const char *root, const char *tree, const char *work, const char *work_inside,
                int64_t epoch);

/* Second pass, with XFS_INODES written: makes both scripts. -ENOENT (logged) where an
 * entry has no inode. */
int xfs_write_scripts(const char *work);

/* XFS's time stamp of a second since 1970, with 64 bits: nanoseconds since 2^31
 * seconds before 1970. */
uint64_t xfs_bigtime(int64_t seconds);
