/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The changed files as an archive; SELinux's labels come from the tree's policy, for no layer has
 * them, and a host's own are nobody else's. */

#include "disk/keep.h"

#include "sandbox/open-inside.h"
#include "shared/file-util.h"
#include "shared/log.h"
#include "store/tree-archive.h"

#include <fcntl.h>

typedef struct Lists {
        char *paths, *labels; /* labels: NULL, or a line for each path */
        size_t size;
} Lists;

static void lists_done(Lists *l) {
        free(l->paths);
        free(l->labels);
}

static int put(TreeArchive *a, int root_fd, const char *inside, const char *label) {
        _cleanup_free_ char *folder = path_folder(inside), *name = strf(".%s", inside);
        _cleanup_close_ int fd = -EBADF;

        if (!folder || !name)
                return -ENOMEM;
        fd = inside_open(root_fd, folder, O_RDONLY | O_DIRECTORY);
        return fd < 0 ? fd : tree_archive_add(a, fd, path_basename(inside), name, label);
}

static int put_all(TreeArchive *a, int root_fd, const Lists *lists) {
        char *labels = lists->labels;

        for (const char *path = lists->paths; path < lists->paths + lists->size;
                        path += strlen(path) + 1) {
                const char *label = labels ? labels_next(&labels) : "";
                int r;

                if (!label)
                        return log_error_return(-EIO,
                                        "The tree's policy does not give each file a label; is it whole?");
                r = put(a, root_fd, path, label);
                if (r < 0)
                        return log_error_errno(r, "Cannot archive %s", path);
        }
        return 0;
}

/* In the child that sees the tree. */
static int archive_changes(const char *root, void *userdata) {
        const Disk *d = userdata;
        _cleanup_close_ int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC),
                            fd = inside_create_output(d->work, KEEP_ARCHIVE, 0600);
        _cleanup_tree_archive_ TreeArchive a = {};
        _cleanup_(lists_done) Lists lists = {};
        int r;

        if (root_fd < 0 || fd < 0)
                return root_fd < 0 ? -errno : fd;
        r = labels_read(d, &lists.paths, &lists.size,
                        d->labels == LABELS_NOW ? &lists.labels : NULL);
        if (r < 0)
                return r;
        r = tree_archive_open(&a, fd, ATTRIBUTES_LABELLED, d->plan->lock->epoch, 0);
        if (r < 0)
                return r;
        r = put_all(&a, root_fd, &lists);
        return r < 0 ? r : tree_archive_close(&a);
}

int keep_archive(Disk *d, KeepChanges *changes) {
        int r = require_space(
                        d->folder, changes->bytes + 64 * MIB, "what changes on the vendor's disk");

        if (r < 0)
                return r;
        r = disk_with_tree(d, archive_changes, d);
        return r < 0 ? log_error_errno(r, "Cannot archive what differs from the vendor's image")
                     : 0;
}
