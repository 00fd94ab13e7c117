/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The root file system, filled while it is made, from the merged tree. The tree comes to mke2fs as
 * a tar stream and not as a folder: a folder also has access and change times, which no two hosts
 * share, and mke2fs would keep them. */

#include "disk/internal.h"

#include "shared/log.h"

/* What every kernel, fsck and boot loader from 2021 on reads; Debian 13's defaults go further. */
#define EXT4_FEATURES "^orphan_file,^metadata_csum_seed"

/* $1: epoch; the others: mke2fs's. Only constants are the shell's to read. */
static const char ext4_script[] =
                "epoch=$1; shift\n"
                "tar --create --directory=/tree --sort=name --numeric-owner --format=pax "
                "--xattrs --xattrs-include='*' --mtime=@$epoch --clamp-mtime "
                "--pax-option=atime:=$epoch,ctime:=$epoch . | mke2fs \"$@\"\n";

static int write_ext4(const char *root, void *userdata) {
        Disk *d = userdata;
        const Layout *l = &d->layout;
        _cleanup_free_ char *epoch = strf("%lld", (long long) d->plan->lock->epoch),
                            *inode_ratio = strf("%u", l->inode_ratio), *extended = NULL,
                            *size = strf("%lluk", (unsigned long long) (l->root_size / 1024));

        /* A new sparse file reads as zeros: inode tables need no writing, now or
         * at the first boot. */
        extended = strf("offset=%llu,root_owner=0:0,hash_seed=%s,assume_storage_prezeroed=1",
                        (unsigned long long) l->root_start, l->hash_seed);
        if (!epoch || !inode_ratio || !extended || !size)
                return log_oom();

        d->ctx->progress = NULL; /* the parent's display */
        return disk_tool(d, root, NULL,
                        ARGV("bash", "-o", "pipefail", "-c", ext4_script, "ext4", epoch, "-q", "-F",
                                        "-t", "ext4", "-b", "4096", "-m", "1", "-L", "root", "-O",
                                        EXT4_FEATURES, "-i", inode_ratio, "-U", l->root_uuid, "-d",
                                        "-", "-E", extended, d->file, size));
}

int disk_write_root(Disk *d) {
        return d->layout.xfs ? disk_write_xfs(d) : disk_with_tree(d, write_ext4, d);
}
