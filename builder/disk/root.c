/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The root file system, filled while it is made, from the merged tree. mke2fs keeps access and
 * change times, which no two hosts share, but for those later than the epoch, which become it: and
 * that they all are, unless a program set an access time back or the host's clock is behind the
 * lock. Then they are set to the epoch behind it, by the numbers of the inodes, so that the disk is
 * the same. */

#include "disk/internal.h"

#include "shared/log.h"

/* What every kernel, fsck and boot loader from 2021 on reads; Debian 13's defaults go further. */
#define EXT4_FEATURES "^orphan_file,^metadata_csum_seed"

/* $1: whether times are to be set; $2: the epoch; $3: the file system, for debugfs; the others:
 * mke2fs's. Only constants are the shell's to read. mke2fs numbers inodes from 11 on, without a
 * gap. How much was written to get there depends on the way, and is forgotten. debugfs has no exit
 * code for a command that failed, only words behind its own first line. */
static const char ext4_script[] =
                "stale=$1 epoch=$2 fs=$3 used=0; shift 3\n"
                "mke2fs \"$@\" || exit\n"
                "if [[ $stale == yes ]]; then\n"
                "        while IFS=': ' read -r what which number; do\n"
                "                case \"$what $which\" in\n"
                "                'Inode count') used=$number ;;\n"
                "                'Free inodes') used=$((used - number)) ;;\n"
                "                esac\n"
                "        done < <(debugfs -R 'show_super_stats -h' \"$fs\" 2>/dev/null)\n"
                "        [[ $used -ge 11 ]] || exit\n"
                "fi\n"
                "{\n"
                "        echo 'set_super_value kbytes_written 0'\n"
                "        for ((i = 2; i <= used; i == 2 ? i = 11 : i++)); do\n"
                "                echo \"set_inode_field <$i> atime @$epoch\"\n"
                "                echo \"set_inode_field <$i> ctime @$epoch\"\n"
                "        done\n"
                "} | debugfs -w -f - \"$fs\" 2>&1 >/dev/null | { ! grep -v '^debugfs [0-9]' >&2; }\n";

static int write_ext4(const char *root, void *userdata) {
        Disk *d = userdata;
        const Layout *l = &d->layout;
        unsigned long long start = l->root_start;
        _cleanup_free_ char *epoch = strf("%lld", (long long) d->plan->lock->epoch),
                            *fs = strf("%s?offset=%llu", d->file, start),
                            *inode_ratio = strf("%u", l->inode_ratio),
                            *size = strf("%lluk", (unsigned long long) (l->root_size / 1024)),
                            *extended = NULL;

        /* A new sparse file reads as zeros: inode tables need no writing, now or
         * at the first boot. */
        extended = strf("offset=%llu,root_owner=0:0,hash_seed=%s,assume_storage_prezeroed=1", start,
                        l->hash_seed);
        if (!epoch || !fs || !inode_ratio || !extended || !size)
                return log_oom();

        d->ctx->progress = NULL; /* the parent's display */
        return disk_tool(d, root, NULL,
                        ARGV("bash", "-o", "pipefail", "-c", ext4_script, "ext4",
                                        d->tree.stale_times ? "yes" : "no", epoch, fs, "-q", "-F",
                                        "-t", "ext4", "-b", "4096", "-m", "1", "-L", "root", "-O",
                                        EXT4_FEATURES, "-i", inode_ratio, "-U", l->root_uuid, "-d",
                                        "/tree", "-E", extended, d->file, size));
}

int disk_write_root(Disk *d) {
        return d->layout.xfs ? disk_write_xfs(d) : disk_with_tree(d, write_ext4, d);
}
