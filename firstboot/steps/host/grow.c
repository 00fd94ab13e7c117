/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the root file system, or another, stands on is grown from the bottom up: the partition,
 * LVM's volumes where there are any, the file system. The work is that of the usual tools; here is
 * decided which of them has anything to do. */

#include "steps/host/grow.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "steps/common/mount-table.h"
#include "steps/common/signature.h"
#include "steps/common/sysfs.h"
#include "steps/common/system-disks.h"

#include <limits.h>

#define TOOL_USEC (120 * USEC_PER_SEC)
#define SECTOR_BYTES 512 /* of sysfs, whatever the disk's are */

/* Less than this behind the partition is alignment and the backup GPT, not space. */
#define WORTH_BYTES (UINT64_C(64) * 1024 * 1024)
/* Less than this behind the file system is what it cannot use. */
#define FILLED_BYTES (1024 * 1024)

/* growpart: NOCHANGE, something lies behind the partition. */
#define GROWPART_NOCHANGE 1
/* lvm: there was nothing to gain. */
#define LVEXTEND_NOTHING 5

/* What is mounted there: of several the last. NULL: nothing with a device. */
static const Mount *find_root(const MountTable *mounts, const char *where) {
        const Mount *root = NULL;
        size_t n = strlen(where);

        n -= n > 1 && where[n - 1] == '/';
        for (size_t i = 0; i < mounts->n; i++)
                if (strlen(mounts->items[i].where) == n &&
                                strncmp(mounts->items[i].where, where, n) == 0 &&
                                mounts->items[i].device[0])
                        root = &mounts->items[i];
        return root;
}

/* 0 for one that cannot be read. */
static uint64_t number(const char *folder, const char *file) {
        uint64_t n = 0;

        (void) sysfs_number(folder, file, 10, &n);
        return n;
}

/* also_good: an exit code that is none the worse; 0: there is none. */
static int run_tool(StepContext *c, char *const argv[], int also_good) {
        _cleanup_free_ char *last = NULL, *why = NULL;
        int r = step_command(argv, TOOL_USEC, &last);

        if (r == 0 || (also_good > 0 && r == also_good))
                return 0;
        why = step_command_failure(argv[0], r, last);
        return step_fail_later(c, "host.grow", "%s", strempty(why));
}

/* partition: its name, or that of a whole disk under LVM, which is as large as it can be. */
static int grow_partition(StepContext *c, const char *partition) {
        _cleanup_free_ char *folder = strf("/sys/class/block/%s", partition),
                            *full = folder ? fb_path(folder) : NULL, *mark = NULL,
                            *disk_folder = NULL, *disk = NULL, *index = NULL;
        char real[PATH_MAX];

        if (!full)
                return -ENOMEM;
        if (!realpath(full, real))
                return -errno;
        mark = strf("%s/partition", real);
        if (!mark)
                return -ENOMEM;
        if (access(mark, F_OK) < 0)
                return 0;

        *strrchr(real, '/') = '\0'; /* a partition's folder lies in that of its disk */
        const char *name = path_basename(real);
        disk_folder = strf("/sys/class/block/%s", name);
        if (!disk_folder)
                return -ENOMEM;
        uint64_t end = number(folder, "start") + number(folder, "size"),
                 total = number(disk_folder, "size");
        if ((total - MIN(total, end)) * SECTOR_BYTES < WORTH_BYTES)
                return 0;

        disk = strf("/dev/%s", name);
        index = strf("%llu", (unsigned long long) number(folder, "partition"));
        if (!disk || !index)
                return -ENOMEM;
        log_info("Growing partition %s of %s by %llu MiB.", index, disk,
                        (unsigned long long) ((total - end) / (1024 * 1024 / SECTOR_BYTES)));
        return run_tool(c, ARGV("growpart", disk, index), GROWPART_NOCHANGE);
}

/* A root on LVM: the physical volume takes the partition's space, the logical volume what the
 * group has. */
static int grow_volume(StepContext *c, const Mount *root, const char *partition) {
        _cleanup_free_ char *lvm = fb_path(PATH_LVM), *pv = strf("/dev/%s", partition);
        int r;

        if (!lvm || !pv)
                return -ENOMEM;
        r = run_tool(c, ARGV(lvm, "pvresize", pv), 0);
        if (r < 0)
                return r;
        return run_tool(c, ARGV(lvm, "lvextend", "--extents", "+100%FREE", root->device),
                        LVEXTEND_NOTHING);
}

/* cloud-init has often been here before; asking the tool would cost a process and, since it opens
 * the device for writing, an event for udev. */
static bool fills_device(const Mount *root) {
        _cleanup_free_ char *sys = strf("/sys/dev/block/%u:%u", root->major, root->minor),
                            *device = fb_path(root->device);
        uint64_t have = sys ? number(sys, "size") * SECTOR_BYTES : 0,
                 is = have > 0 && device ? probe_filesystem_bytes(device) : 0;

        return is > 0 && have - MIN(have, is) < FILLED_BYTES;
}

static int grow_filesystem(StepContext *c, const Mount *root) {
        if (fills_device(root))
                return 0;
        if (startswith(root->type, "ext"))
                return run_tool(c, ARGV("resize2fs", root->device), 0);
        if (streq(root->type, "xfs"))
                return run_tool(c, ARGV("xfs_growfs", root->where), 0);
        if (streq(root->type, "btrfs"))
                return run_tool(c, ARGV("btrfs", "filesystem", "resize", "max", root->where), 0);
        return 0;
}

/* Who made the mapped device: "LVM", "CRYPT", "mpath" …, as its uuid begins; NULL: not known. The
 * caller frees it. */
static char *mapped_by(const char *sys) {
        char *uuid = sysfs_string(sys, "dm/uuid");

        if (uuid)
                uuid[strcspn(uuid, "-")] = '\0';
        return uuid;
}

/* An encrypted device takes its size when it is opened. To resize it now may want its key, which we
 * have not: then the next boot does it, and that is no failure. */
static int grow_encrypted(const char *sys) {
        _cleanup_free_ char *name = sysfs_string(sys, "dm/name");
        int r = name ? step_command(ARGV("cryptsetup", "resize", "--batch-mode", name), TOOL_USEC,
                                       NULL)
                     : -ENOENT;

        if (r != 0)
                log_info("%s is not grown now; it takes the whole partition when it is opened next.",
                                strempty(name));
        return 0;
}

/* The devices under the file system: a partition, or a logical volume or an encrypted device on
 * one. sys is the folder of the device in sysfs, real where that link leads. */
static int grow_devices(StepContext *c, const Mount *root, const char *sys, const char *real) {
        _cleanup_free_ char *mark = strf("%s/partition", real), *maker = mapped_by(sys);
        _cleanup_strv_free_ char **slaves = NULL;
        int r;

        if (!mark)
                return -ENOMEM;
        if (access(mark, F_OK) >= 0)
                return grow_partition(c, path_basename(real));

        r = block_slaves(sys, &slaves);
        if (r < 0)
                return r;
        if (strv_length(slaves) != 1)
                return 0; /* a whole disk, or more than can be grown in one go */
        r = grow_partition(c, slaves[0]);
        if (r < 0)
                return r;
        if (streq_ptr(maker, "CRYPT"))
                return grow_encrypted(sys);
        return !maker || streq(maker, "LVM") ? grow_volume(c, root, slaves[0]) : 0;
}

int grow_filesystem_at(StepContext *c, const char *where) {
        _cleanup_mount_table_ MountTable mounts = {};
        _cleanup_free_ char *sys = NULL, *full = NULL;
        const Mount *root = NULL;
        char real[PATH_MAX];
        int r;

        if (mount_table_read(&mounts) >= 0)
                root = find_root(&mounts, where);
        sys = root ? mount_device_folder(root) : NULL;
        full = sys ? fb_path(sys) : NULL;
        if (!full || !realpath(full, real)) {
                if (!streq(where, "/"))
                        return step_fail_later(c, "host.grow",
                                        "%s is not mounted from a block device", where);
                log_info("The root file system is on no block device; nothing to grow.");
                return 0;
        }

        r = grow_devices(c, root, sys, real);
        return r < 0 ? r : grow_filesystem(c, root);
}
