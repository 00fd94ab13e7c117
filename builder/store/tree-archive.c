/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* libarchive writes; its own reading of disks would turn ACLs into names of this host's users. */

#include "store/tree-archive.h"

#include "shared/spawn.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#define PIECE (1024 * 1024)
#define LABEL "security.selinux"

void tree_archive_done(TreeArchive *a) {
        if (a->links)
                archive_entry_linkresolver_free(a->links);
        if (a->to)
                archive_write_free(a->to);
        free(a->buffer);
        *a = (TreeArchive) {};
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

struct archive *tree_archive_writer(void) {
        struct archive *a = archive_write_new();

        if (a && archive_write_set_format_pax(a) == ARCHIVE_OK &&
                        archive_write_set_format_option(a, "pax", "xattrheader", "SCHILY") ==
                                        ARCHIVE_OK &&
                        archive_write_set_format_option(a, "pax", "hdrcharset", "BINARY") ==
                                        ARCHIVE_OK)
                return a;
        if (a)
                archive_write_free(a);
        return NULL;
}

int tree_archive_open(
                TreeArchive *a, int fd, AttributeSet set, int64_t latest, unsigned zstd_threads) {
        char number[16];

        *a = (TreeArchive) {
                .to = tree_archive_writer(),
                .links = archive_entry_linkresolver_new(),
                .set = set,
                .latest = latest,
                .buffer = malloc(PIECE),
        };
        if (!a->to || !a->links || !a->buffer)
                return -ENOMEM;
        archive_entry_linkresolver_set_strategy(a->links, ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE);
        if (zstd_threads > 0) {
                snprintf(number, sizeof(number), "%u", zstd_threads);
                if (archive_write_add_filter_zstd(a->to) != ARCHIVE_OK)
                        return -ENOTSUP;
                /* Older libraries know of no threads. */
                (void) archive_write_set_filter_option(a->to, "zstd", "threads", number);
        }
        return archive_write_open_fd(a->to, fd) == ARCHIVE_OK ? 0 : archive_error(a->to);
}

static int add_attributes(const TreeArchive *a, struct archive_entry *e, int folder,
                const char *name, const char *label) {
        _cleanup_tree_attributes_ TreeAttributes own = {};
        int r = tree_attributes_read(folder, name, a->set, &own);

        if (r < 0)
                return r;
        for (size_t i = 0; i < own.n; i++)
                if (!label || !streq(own.list[i].name, LABEL))
                        archive_entry_xattr_add_entry(
                                        e, own.list[i].name, own.list[i].value, own.list[i].size);
        if (label && *label) /* with its NUL, as setfiles writes it */
                archive_entry_xattr_add_entry(e, LABEL, label, strlen(label) + 1);
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

static int write_content(const TreeArchive *a, int fd, off_t size) {
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        while (size > 0) {
                ssize_t n = read(fd, a->buffer, (size_t) MIN(size, (off_t) PIECE));

                if (interrupt_signal())
                        return -ECANCELED;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        return -EIO;
                if (archive_write_data(a->to, a->buffer, (size_t) n) != n)
                        return archive_error(a->to);
                size -= n;
        }
        return 0;
}

static int write_entry(const TreeArchive *a, struct archive_entry *e, int fd, off_t size) {
        int r;

        if (archive_write_header(a->to, e) != ARCHIVE_OK)
                return archive_error(a->to);
        r = fd >= 0 && !archive_entry_hardlink(e) ? write_content(a, fd, size) : 0;
        if (r < 0)
                return r;
        return archive_write_finish_entry(a->to) == ARCHIVE_OK ? 0 : archive_error(a->to);
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

static void describe(const TreeArchive *a, struct archive_entry *e, const struct stat *st,
                const char *path) {
        archive_entry_copy_stat(e, st);
        archive_entry_unset_atime(e);
        archive_entry_unset_ctime(e);
        archive_entry_unset_birthtime(e);
        if (st->st_mtim.tv_sec >= a->latest)
                archive_entry_set_mtime(e, a->latest, 0);
        archive_entry_copy_pathname(e, path);
}

int tree_archive_add(
                TreeArchive *a, int folder, const char *name, const char *path, const char *label) {
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
        describe(a, e, &st, path);
        r = add_attributes(a, e, folder, name, label);
        if (r < 0)
                return r;
        if (S_ISLNK(st.st_mode)) {
                r = add_target(e, folder, name);
                if (r < 0)
                        return r;
        }
        if (!S_ISDIR(st.st_mode))
                archive_entry_linkify(a->links, &e, &later);
        if (S_ISREG(st.st_mode) && !archive_entry_hardlink(e)) {
                fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
                r = fd < 0 ? -errno : add_map(e, fd, st.st_size);
                if (r < 0)
                        return r;
        }
        return write_entry(a, e, fd, st.st_size);
}

int tree_archive_close(TreeArchive *a) {
        return archive_write_close(a->to) == ARCHIVE_OK ? 0 : archive_error(a->to);
}
