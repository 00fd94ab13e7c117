/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What plant.c reads, written: every entry by descriptors, for a layer is what a stranger's scripts
 * left. */

#include "stage/pack.h"
#include "store/attributes.h"

#include "shared/folder.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#define PIECE (1024 * 1024)

typedef struct Packing {
        struct archive *to;
        struct archive_entry_linkresolver *links;
        AttributeSet set;
        char *buffer; /* of PIECE bytes */
} Packing;

static void packing_done(Packing *p) {
        if (p->links)
                archive_entry_linkresolver_free(p->links);
        if (p->to)
                archive_write_free(p->to);
        free(p->buffer);
}

static struct archive_entry *entry_free(struct archive_entry *e) {
        archive_entry_free(e);
        return NULL;
}
DEFINE_CLEANUP(struct archive_entry *, entry_free);

static int archive_error(struct archive *a) {
        int e = archive_errno(a);

        return e > 0 ? -e : -EIO;
}

static int add_attributes(struct archive_entry *e, int folder, const char *name, AttributeSet set) {
        _cleanup_tree_attributes_ TreeAttributes a = {};
        int r = tree_attributes_read(folder, name, set, &a);

        if (r < 0)
                return r;
        for (size_t i = 0; i < a.n; i++)
                archive_entry_xattr_add_entry(e, a.list[i].name, a.list[i].value, a.list[i].size);
        return 0;
}

/* Where data is; all of it where the file system does not say. */
static int add_map(struct archive_entry *e, int fd, off_t size) {
        for (off_t at = 0; at < size;) {
                off_t data = lseek(fd, at, SEEK_DATA), hole;

                if (data < 0 && errno == ENXIO)
                        data = size;
                if (data < 0 || (at == 0 && data == 0 && lseek(fd, 0, SEEK_HOLE) >= size))
                        return 0;
                if (data >= size) {
                        if (at == 0)
                                archive_entry_sparse_add_entry(e, size, 0);
                        return 0;
                }
                hole = lseek(fd, data, SEEK_HOLE);
                if (hole < 0)
                        return -errno;
                archive_entry_sparse_add_entry(e, data, hole - data);
                at = hole;
        }
        return 0;
}

static int write_content(const Packing *p, int fd, off_t size) {
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        while (size > 0) {
                ssize_t n = read(fd, p->buffer, (size_t) MIN(size, (off_t) PIECE));

                if (interrupt_signal())
                        return -ECANCELED;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        return -EIO;
                if (archive_write_data(p->to, p->buffer, (size_t) n) != n)
                        return archive_error(p->to);
                size -= n;
        }
        return 0;
}

static int write_entry(Packing *p, struct archive_entry *e, int fd, off_t size) {
        int r;

        if (archive_write_header(p->to, e) != ARCHIVE_OK)
                return archive_error(p->to);
        r = fd >= 0 && !archive_entry_hardlink(e) ? write_content(p, fd, size) : 0;
        if (r < 0)
                return r;
        return archive_write_finish_entry(p->to) == ARCHIVE_OK ? 0 : archive_error(p->to);
}

static int add_target(struct archive_entry *e, int folder, const char *name) {
        char target[PATH_MAX];
        ssize_t n = readlinkat(folder, name, target, sizeof(target) - 1);

        if (n < 0)
                return -errno;
        target[n] = '\0';
        archive_entry_copy_symlink(e, target);
        return 0;
}

static int pack_entry(Packing *p, int folder, const char *name, const char *path) {
        _cleanup_(entry_freep) struct archive_entry *made = archive_entry_new();
        struct archive_entry *e = made, *later = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        if (!e)
                return -ENOMEM;
        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (S_ISSOCK(st.st_mode))
                return -ENOTSUP;
        archive_entry_copy_stat(e, &st);
        archive_entry_unset_atime(e);
        archive_entry_unset_ctime(e);
        archive_entry_unset_birthtime(e);
        archive_entry_copy_pathname(e, path);
        r = add_attributes(e, folder, name, p->set);
        if (r < 0)
                return r;
        if (S_ISLNK(st.st_mode)) {
                r = add_target(e, folder, name);
                if (r < 0)
                        return r;
        }
        if (!S_ISDIR(st.st_mode))
                archive_entry_linkify(p->links, &e, &later);
        if (S_ISREG(st.st_mode) && !archive_entry_hardlink(e)) {
                fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
                r = fd < 0 ? -errno : add_map(e, fd, st.st_size);
                if (r < 0)
                        return r;
        }
        return write_entry(p, e, fd, st.st_size);
}

static int pack_child(int folder, const char *name, const char *path, void *userdata) {
        Packing *p = userdata;
        int fd, r;

        r = pack_entry(p, folder, name, path);
        if (r < 0)
                return r;
        fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return errno == ENOTDIR || errno == ELOOP || errno == ENXIO ? 0 : -errno;
        return folder_each(fd, path, pack_child, p);
}

static int writer_new(unsigned threads, int fd, struct archive **ret) {
        struct archive *a = archive_write_new();
        char number[16];

        if (!a)
                return -ENOMEM;
        *ret = a;
        snprintf(number, sizeof(number), "%u", threads);
        if (archive_write_set_format_pax(a) != ARCHIVE_OK ||
                        archive_write_set_format_option(a, "pax", "xattrheader", "SCHILY") !=
                                        ARCHIVE_OK ||
                        archive_write_set_format_option(a, "pax", "hdrcharset", "BINARY") !=
                                        ARCHIVE_OK ||
                        archive_write_add_filter_zstd(a) != ARCHIVE_OK)
                return -ENOTSUP;
        /* Older libraries know of no threads. */
        (void) archive_write_set_filter_option(a, "zstd", "threads", number);
        return archive_write_open_fd(a, fd) == ARCHIVE_OK ? 0 : archive_error(a);
}

static int pack(Packing *p, const char *tree) {
        int folder = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), r;

        if (folder < 0)
                return -errno;
        r = pack_entry(p, folder, ".", ".");
        if (r < 0) {
                safe_close(folder);
                return r;
        }
        r = folder_each(folder, ".", pack_child, p);
        if (r < 0)
                return r;
        return archive_write_close(p->to) == ARCHIVE_OK ? 0 : archive_error(p->to);
}

int pack_layer(const char *tree, bool labels, unsigned threads, int fd) {
        _cleanup_(packing_done)
                        Packing p = { .set = labels ? ATTRIBUTES_LABELLED : ATTRIBUTES_PORTABLE,
                                .buffer = malloc(PIECE),
                                .links = archive_entry_linkresolver_new() };
        int r;

        if (!p.buffer || !p.links)
                return -ENOMEM;
        archive_entry_linkresolver_set_strategy(p.links, ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE);
        r = writer_new(threads, fd, &p.to);
        return r < 0 ? r : pack(&p, tree);
}
