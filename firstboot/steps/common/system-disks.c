/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Downwards through sysfs. A btrfs has a device number of its own that sysfs does not know: its
 * source in the table of mounts is one of its devices, /sys/fs/btrfs has them all. */

#include "steps/common/system-disks.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "steps/common/sysfs.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define DEPTH_MAX 16
#define BTRFS "/sys/fs/btrfs"

int block_slaves(const char *path, char ***ret_names) {
        _cleanup_free_ char *folder = strf("%s/slaves", path);

        return folder ? fb_list(folder, ret_names) : -ENOMEM;
}

static int descend(const char *path, unsigned depth, char ***names);

static int add_name(char ***names, const char *name) {
        return strv_contains(*names, name) ? 0 : strv_extend(names, name);
}

/* A loop device stands on what its file lies on. A file that has no name any more (the initial
 * file system's) leads nowhere. */
static int descend_loop(const char *path, unsigned depth, char ***names) {
        _cleanup_free_ char *file = sysfs_string(path, "loop/backing_file"),
                            *full = file ? fb_path(file) : NULL, *below = NULL;
        struct stat st;

        if (!full || stat(full, &st) < 0)
                return 0;
        dev_t device = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
        below = strf("/sys/dev/block/%u:%u", major(device), minor(device));
        return below ? descend(below, depth + 1, names) : -ENOMEM;
}

/* Adds the whole disks below a block device that has the folder `path` in sysfs. */
static int descend(const char *path, unsigned depth, char ***names) {
        _cleanup_strv_free_ char **slaves = NULL;
        _cleanup_free_ char *partition = fb_pathf("%s/partition", path), *full = fb_path(path);
        char real[PATH_MAX];
        int r;

        if (!partition || !full)
                return -ENOMEM;
        if (depth > DEPTH_MAX)
                return -ELOOP;

        r = block_slaves(path, &slaves);
        if (r < 0)
                return r;
        STRV_FOREACH (s, slaves) {
                _cleanup_free_ char *below = strf("/sys/class/block/%s", *s);

                r = below ? descend(below, depth + 1, names) : -ENOMEM;
                if (r < 0)
                        return r;
        }
        if (slaves)
                return 0;

        if (!realpath(full, real))
                return errno == ENOENT ? 0 : -errno;
        /* A partition's folder lies in that of its disk. */
        if (access(partition, F_OK) >= 0)
                *strrchr(real, '/') = '\0';
        r = descend_loop(path, depth, names);
        return r < 0 ? r : add_name(names, path_basename(real));
}

/* The folder of /dev/NAME, links followed; NULL where there is no such device. */
static char *device_folder(const char *device) {
        _cleanup_free_ char *path = fb_path(device), *real = path ? realpath(path, NULL) : NULL;

        return real && startswith(device, "/dev/")
                               ? strf("/sys/class/block/%s", path_basename(real))
                               : NULL;
}

char *mount_device_folder(const Mount *m) {
        if (m->major == 0)
                return device_folder(m->device);
        return strf("/sys/dev/block/%u:%u", m->major, m->minor);
}

int disks_below(unsigned major, unsigned minor, char ***ret_names) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *path = strf("/sys/dev/block/%u:%u", major, minor);
        int r;

        r = path ? descend(path, 0, &names) : -ENOMEM;
        if (r < 0)
                return r;
        *ret_names = TAKE_PTR(names);
        return 0;
}

static bool is_system_mount(const char *where) {
        static const char *const places[] = { "/", "/usr", "/boot", "/boot/efi", "/efi", "/var",
                "/etc", "/sysroot", "/nix", "/run/rootfsbase", "/run/initramfs/live",
                "/run/live/medium" };

        for (size_t i = 0; i < ELEMENTSOF(places); i++)
                if (streq(where, places[i]))
                        return true;
        return false;
}

/* The devices of a mounted btrfs, if `device` (NULL: any) is one of them. */
static int add_btrfs(const char *uuid, const char *device, char ***names) {
        _cleanup_free_ char *folder = strf(BTRFS "/%s/devices", uuid);
        _cleanup_strv_free_ char **devices = NULL;
        int r;

        if (!folder)
                return -ENOMEM;
        r = fb_list(folder, &devices);
        if (r < 0)
                return r;
        if (device && !strv_contains(devices, device))
                return 0;
        STRV_FOREACH (d, devices) {
                _cleanup_free_ char *path = strf("/sys/class/block/%s", *d);

                r = path ? descend(path, 0, names) : -ENOMEM;
                if (r < 0)
                        return r;
        }
        return 0;
}

/* All disks of the btrfs that has this device. Where the device is not known ("/dev/root"), those
 * of each btrfs: one too many is left alone, not one too few. */
static int add_below_btrfs(const char *device, char ***names) {
        _cleanup_strv_free_ char **filesystems = NULL;
        int r;

        r = fb_list(BTRFS, &filesystems);
        if (r < 0)
                return r;
        STRV_FOREACH (uuid, filesystems) {
                r = add_btrfs(*uuid, device, names);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_below_mount(char ***names, const Mount *m) {
        _cleanup_free_ char *folder = mount_device_folder(m);
        int r;

        if (folder) {
                r = descend(folder, 0, names);
                if (r < 0)
                        return r;
        }
        if (!streq(m->type, "btrfs"))
                return 0;
        return add_below_btrfs(folder ? path_basename(folder) : NULL, names);
}

/* The disks below swap devices; without /proc/swaps there is no swap. */
static int add_below_swaps(char ***names) {
        _cleanup_free_ char *path = fb_path("/proc/swaps"), *line = NULL;
        _cleanup_fclose_ FILE *f = NULL;
        size_t size = 0;
        int r;

        if (!path)
                return -ENOMEM;
        f = fopen(path, "re");
        if (!f)
                return 0;

        while (getline(&line, &size, f) > 0) {
                _cleanup_free_ char *sys = NULL;

                if (!startswith(line, "/dev/"))
                        continue;
                line[strcspn(line, " \t")] = '\0';
                sys = strf("/sys/class/block/%s", path_basename(line));
                r = sys ? descend(sys, 0, names) : -ENOMEM;
                if (r < 0)
                        return r;
        }
        return 0;
}

int disks_of_system(char ***ret_names) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_mount_table_ MountTable mounts = {};
        int r;

        r = mount_table_read(&mounts);
        if (r < 0)
                return r;
        for (size_t i = 0; i < mounts.n; i++) {
                if (!is_system_mount(mounts.items[i].where))
                        continue;
                r = add_below_mount(&names, &mounts.items[i]);
                if (r < 0)
                        return r;
        }

        r = add_below_swaps(&names);
        if (r < 0)
                return r;
        *ret_names = TAKE_PTR(names);
        return 0;
}
