/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What plant.c reads, written. */

#include "stage/pack.h"
#include "store/tree-archive.h"

#include "shared/folder.h"
#include "shared/strv.h"

#include <fcntl.h>

static int pack_child(int folder, const char *name, const char *path, void *userdata) {
        TreeArchive *a = userdata;
        int fd, r;

        r = tree_archive_add(a, folder, name, path, NULL);
        if (r < 0)
                return r;
        fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return errno == ENOTDIR || errno == ELOOP || errno == ENXIO ? 0 : -errno;
        return folder_each(fd, path, pack_child, a);
}

int pack_layer(const char *tree, bool labels, unsigned threads, int fd) {
        _cleanup_close_ int folder = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        _cleanup_tree_archive_ TreeArchive a = {};
        int r;

        if (folder < 0)
                return -errno;
        r = tree_archive_open(&a, fd, labels ? ATTRIBUTES_LABELLED : ATTRIBUTES_PORTABLE, INT64_MAX,
                        threads);
        if (r < 0)
                return r;
        r = tree_archive_add(&a, folder, ".", ".", NULL);
        if (r < 0)
                return r;
        r = folder_each(TAKE_FD(folder), ".", pack_child, &a);
        return r < 0 ? r : tree_archive_close(&a);
}
