/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* How much the tree has for its file system to hold, and whether there is something to boot. */

#include "disk/internal.h"

#include "disk/walk.h"
#include "sandbox/open-inside.h"
#include "shared/log.h"

#include <fcntl.h>
#include <sys/mman.h>

#define BLOCK 4096u
#define SPARSE_MIN (64u << 20) /* bytes; what is smaller counts as it is long */

/* Bytes of data in a file with holes, whose file system stores less than it is long. mke2fs and
 * our XFS list leave holes out, too. */
static uint64_t without_holes(const char *path, uint64_t size) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        uint64_t bytes = 0;
        off_t data, hole = 0;

        if (fd < 0)
                return size;
        while ((data = lseek(fd, hole, SEEK_DATA)) >= 0) {
                hole = lseek(fd, data, SEEK_HOLE);
                if (hole < 0)
                        return size;
                bytes += (uint64_t) (hole - data);
        }
        return errno == ENXIO ? bytes : size;
}

static uint64_t data_bytes(const FTSENT *e) {
        const struct stat *st = e->fts_statp;
        uint64_t size = (uint64_t) st->st_size;

        if (!S_ISREG(st->st_mode) || size < SPARSE_MIN || (uint64_t) st->st_blocks * 512 > size / 2)
                return size;
        return without_holes(e->fts_accpath, size);
}

static int measure_one(const FTSENT *e, const char *inside _unused_, void *userdata) {
        TreeSize *size = userdata;
        const struct stat *st = e->fts_statp;

        if (e->fts_info == FTS_DP) /* counted on the way in */
                return 0;
        size->inodes++;
        if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
                size->bytes += (data_bytes(e) + BLOCK - 1) / BLOCK * BLOCK;
        return 0;
}

static int check_boot_file(const char *root, const char *path) {
        _cleanup_close_ int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -EBADF;
        size_t size = 0;

        if (root_fd < 0)
                return -errno;
        fd = inside_open_regular(root_fd, path, SIZE_MAX, &size);
        if (fd < 0 || size == 0)
                return log_error_return(-ENOENT,
                                "The tree has no %s, so nothing could boot it; did a script of an overlay remove it? 'imgbuild shell RECIPE' shows the tree",
                                path);
        return 0;
}

typedef struct Measure {
        const Plan *plan;
        struct Measured {
                TreeSize size;
                Labels labels;
        } *shared; /* with the parent */
} Measure;

/* In the child that sees the tree. */
static int measure_tree(const char *root, void *userdata) {
        const Measure *m = userdata;
        _cleanup_free_ char *image = strf("/boot/vmlinuz-%s", m->plan->kernel),
                            *initramfs = plan_initramfs(m->plan, m->plan->kernel);
        int r;

        if (!image || !initramfs)
                return log_oom();
        r = check_boot_file(root, image);
        if (r < 0)
                return r;
        r = check_boot_file(root, initramfs);
        if (r < 0)
                return r;

        m->shared->labels = labels_needed(root);
        r = walk_tree(root, measure_one, &m->shared->size);
        if (r < 0)
                return log_error_errno(r, "Cannot read the finished tree");
        return 0;
}

int disk_measure(Disk *d) {
        Measure m = { .plan = d->plan };
        int r;

        if (!d->plan->kernel)
                return log_error_return(-EINVAL,
                                "%s installs no kernel, so it has no disk: name one in kernel.package",
                                d->plan->recipe->path);
        m.shared = mmap(NULL, sizeof(*m.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
        if (m.shared == MAP_FAILED)
                return log_oom();

        r = disk_with_tree(d, measure_tree, &m);
        d->tree = m.shared->size;
        d->labels = m.shared->labels;
        if (d->labels == LABELS_NOW && streq_ptr(d->plan->recipe->disk.filesystem, "xfs"))
                d->labels = LABELS_AT_BOOT;
        munmap(m.shared, sizeof(*m.shared));
        return r;
}
