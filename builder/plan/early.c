/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which of an overlay's files the initramfs is made from. */

#include "plan/internal.h"
#include "shared/file-util.h"
#include "shared/folder.h"

#include <sys/stat.h>

/* What mkinitramfs and depmod read, besides what packages install. A file below one of these is
 * copied before the initramfs is made, everything else after it. */
const char *const plan_early_prefixes[] = {
        "etc/cryptsetup-initramfs",
        "etc/crypttab",
        "etc/depmod.d",
        "etc/dracut.conf",
        "etc/dracut.conf.d",
        "etc/fstab",
        "etc/initramfs-tools",
        "etc/kernel",
        "etc/lvm",
        "etc/mdadm",
        "etc/modprobe.d",
        "etc/modules",
        "etc/modules-load.d",
        "etc/multipath",
        "etc/multipath.conf",
        "etc/udev",
        "lib/firmware",
        "lib/modprobe.d",
        "lib/modules",
        "lib/udev",
        "usr/lib/dracut",
        "usr/lib/firmware",
        "usr/lib/modprobe.d",
        "usr/lib/modules",
        "usr/lib/modules-load.d",
        "usr/lib/udev",
        "usr/share/initramfs-tools",
        NULL,
};

bool plan_path_is_early(const char *path) {
        while (*path == '/')
                path++;
        for (const char *const *p = plan_early_prefixes; *p; p++) {
                const char *rest = startswith(path, *p);
                if (rest && (*rest == '\0' || *rest == '/'))
                        return true;
        }
        return false;
}

typedef struct FileCount {
        bool early, late;
} FileCount;

static int look_into(const char *root, const char *below, FileCount *found);

/* `path`: of the image. An early prefix counts as a whole, whatever is below it. */
static int look_at(const char *root, const char *path, FileCount *found) {
        _cleanup_free_ char *full = path_join(root, path);
        struct stat st;

        if (!full)
                return -ENOMEM;
        if (lstat(full, &st) < 0)
                return -errno;
        if (plan_path_is_early(path)) {
                found->early = true;
                return 0;
        }
        if (S_ISDIR(st.st_mode))
                return look_into(root, path, found);

        found->late = true;
        return 0;
}

static int look_into(const char *root, const char *below, FileCount *found) {
        _cleanup_free_ char *folder = path_join(root, below);
        _cleanup_closedir_ DIR *d = NULL;
        FileCount inside = {};
        int r;

        if (!folder)
                return -ENOMEM;
        r = folder_open(folder, &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                _cleanup_free_ char *path = *below ? path_join(below, name) : strdup(name);

                r = path ? look_at(root, path, &inside) : -ENOMEM;
                if (r < 0)
                        return r;
        }

        found->early = found->early || inside.early;
        /* An empty folder is meant too. */
        found->late = found->late || inside.late || (*below && !inside.early);
        return 0;
}

int plan_has_files(const Overlay *o, bool early) {
        _cleanup_free_ char *root = NULL;
        FileCount found = {};
        int r;

        if (!o->has_files)
                return 0;
        root = path_join(o->path, "files");
        if (!root)
                return -ENOMEM;
        r = look_into(root, "", &found);
        if (r < 0)
                return r;
        return early ? found.early : found.late;
}
