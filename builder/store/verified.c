/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The mark of a layer that was held against its digest: the start of the host in which it was. */

#include "store/internal.h"

#include "shared/file-util.h"

#include <fcntl.h>
#include <sys/stat.h>

static int read_boot_id(char **ret) {
        return read_line_file("/proc/sys/kernel/random/boot_id", ret);
}

int layer_mark_verified(const char *folder) {
        _cleanup_free_ char *path = path_join(folder, "verified"), *boot_id = NULL;
        struct stat st;
        int r;

        if (!path)
                return -ENOMEM;
        r = read_boot_id(&boot_id);
        if (r < 0)
                return r;
        if (stat(folder, &st) < 0)
                return -errno;
        r = write_file_atomic(path, boot_id, strlen(boot_id), 0644);
        if (r < 0)
                return r;
        /* The folder's time says when the layer was last used. */
        return utimensat(AT_FDCWD, folder, (const struct timespec[]) { st.st_atim, st.st_mtim },
                               0) < 0
                               ? -errno
                               : 0;
}

bool layer_is_verified(const char *folder) {
        _cleanup_free_ char *path = path_join(folder, "verified"), *boot_id = NULL, *mark = NULL;

        return path && read_boot_id(&boot_id) >= 0 && read_line_file(path, &mark) >= 0 &&
               streq(boot_id, mark);
}
