/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "steps/host/grow.h"
#include "steps/blockdev.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "contract/paths.h"
#include "steps/probe.h"

#include <limits.h>

#define TOOL_USEC (120 * USEC_PER_SEC)
/* Less than this behind the partition is alignment and the backup GPT, not space. */
#define WORTH_BYTES (UINT64_C(64) * 1024 * 1024)

typedef struct Root {
        unsigned major, minor;
        char device[PATH_MAX], type[64];
} Root;

static int find_root(Root *ret) {
        _cleanup_free_ char *path = fb_path("/proc/self/mountinfo"), *line = NULL;
        _cleanup_fclose_ FILE *f = path ? fopen(path, "re") : NULL;
        size_t size = 0;

        if (!f)
                return -errno;
        while (getline(&line, &size, f) > 0) {
                char where[PATH_MAX], *dash = strstr(line, " - ");
                Root root = {};

                if (!dash ||
                                sscanf(line, "%*d %*d %u:%u %*s %4095s", &root.major, &root.minor,
                                                where) != 3 ||
                                !streq(where, "/"))
                        continue;
                if (sscanf(dash, " - %63s %4095s", root.type, root.device) == 2)
                        *ret = root;
        }
        return ret->device[0] ? 0 : -ENODEV;
}

static uint64_t number(const char *folder, const char *file) {
        _cleanup_free_ char *path = fb_pathf("%s/%s", folder, file), *text = NULL;

        return path && read_line_file(path, &text) >= 0 ? strtoull(text, NULL, 10) : 0;
}

static int run_tool(StepContext *c, char *const argv[], int also_good) {
        _cleanup_free_ char *last = NULL;
        int r = step_command(argv, TOOL_USEC, &last);

        if (r == 0 || (also_good > 0 && r == also_good))
                return 0;
        return step_fail_later(c, "host.grow", "%s: %s", argv[0],
                        r == -ENOENT ? "is not installed" : strempty(last));
}

static int grow_partition(StepContext *c, const char *partition) {
        _cleanup_free_ char *folder = strf("/sys/class/block/%s", partition),
                            *full = fb_path(folder), *disk = NULL, *index = NULL;
        char real[PATH_MAX];

        if (!folder || !full)
                return -ENOMEM;
        if (!realpath(full, real))
                return -errno;
        _cleanup_free_ char *mark = strf("%s/partition", real);
        if (!mark)
                return -ENOMEM;
        if (access(mark, F_OK) < 0) /* a whole disk under LVM */
                return 0;
        *strrchr(real, '/') = '\0';
        _cleanup_free_ char *disk_folder = strf("/sys/class/block/%s", path_basename(real));
        uint64_t start = number(folder, "start"), size = number(folder, "size"),
                 total = disk_folder ? number(disk_folder, "size") : 0;

        if (total == 0 || (total - MIN(total, start + size)) * 512 < WORTH_BYTES)
                return 0;
        disk = strf("/dev/%s", path_basename(real));
        index = strf("%llu", (unsigned long long) number(folder, "partition"));
        if (!disk || !index)
                return -ENOMEM;
        log_info("Growing partition %s of %s by %llu MiB.", index, disk,
                        (unsigned long long) ((total - start - size) / 2048));
        char *argv[] = { (char *) "growpart", disk, index, NULL };
        return run_tool(c, argv, 1); /* 1: NOCHANGE, something lies behind it */
}

/* A root on LVM: the physical volume takes the partition's space, the logical volume what the
 * group has. */
static int grow_volume(StepContext *c, const Root *root, const char *partition) {
        _cleanup_free_ char *lvm = fb_path(PATH_LVM), *pv = strf("/dev/%s", partition);
        int r;

        if (!lvm || !pv)
                return -ENOMEM;
        char *resize[] = { lvm, (char *) "pvresize", pv, NULL };
        r = run_tool(c, resize, 0);
        if (r < 0)
                return r;
        char *extend[] = { lvm, (char *) "lvextend", (char *) "--extents", (char *) "+100%FREE",
                (char *) root->device, NULL };
        return run_tool(c, extend, 5); /* 5: there was nothing to gain */
}

/* cloud-init has often been here before; asking the tool would cost a process and, since it opens
 * the device for writing, an event for udev. */
static bool fills_device(const Root *root) {
        _cleanup_free_ char *sys = strf("/sys/dev/block/%u:%u", root->major, root->minor),
                            *device = fb_path(root->device);
        uint64_t have = sys ? number(sys, "size") * 512 : 0,
                 is = have > 0 && device ? probe_filesystem_bytes(device) : 0;

        return is > 0 && have - MIN(have, is) < 1024 * 1024;
}

static int grow_filesystem(StepContext *c, const Root *root) {
        char *ext[] = { (char *) "resize2fs", (char *) root->device, NULL };
        char *xfs[] = { (char *) "xfs_growfs", (char *) "/", NULL };
        char *btrfs[] = { (char *) "btrfs", (char *) "filesystem", (char *) "resize",
                (char *) "max", (char *) "/", NULL };

        if (fills_device(root))
                return 0;
        if (startswith(root->type, "ext"))
                return run_tool(c, ext, 0);
        if (streq(root->type, "xfs"))
                return run_tool(c, xfs, 0);
        return streq(root->type, "btrfs") ? run_tool(c, btrfs, 0) : 0;
}

int grow_root(StepContext *c) {
        _cleanup_free_ char *sys = NULL, *full = NULL, *partition_mark = NULL;
        _cleanup_strv_free_ char **slaves = NULL;
        char real[PATH_MAX];
        Root root = {};
        int r;

        r = find_root(&root);
        /* btrfs has a device number of its own that sysfs does not know; its device does. */
        if (r >= 0 && startswith(root.device, "/dev/") && root.major == 0)
                sys = strf("/sys/class/block/%s", path_basename(root.device));
        else if (r >= 0)
                sys = strf("/sys/dev/block/%u:%u", root.major, root.minor);
        full = sys ? fb_path(sys) : NULL;
        if (r < 0 || !full || !realpath(full, real)) {
                log_info("The root file system is on no block device; nothing to grow.");
                return 0;
        }
        partition_mark = strf("%s/partition", real);
        if (!partition_mark)
                return -ENOMEM;
        if (access(partition_mark, F_OK) >= 0) {
                r = grow_partition(c, path_basename(real));
                return r < 0 ? r : grow_filesystem(c, &root);
        }

        r = block_slaves(sys, &slaves);
        if (r < 0)
                return r;
        if (strv_length(slaves) != 1)
                return grow_filesystem(
                                c, &root); /* a whole disk, or more than can be grown in one go */
        r = grow_partition(c, slaves[0]);
        if (r >= 0)
                r = grow_volume(c, &root, slaves[0]);
        return r < 0 ? r : grow_filesystem(c, &root);
}
