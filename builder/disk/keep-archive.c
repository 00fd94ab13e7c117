/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The changed files as a tar archive (pax), with attributes, access lists, holes and hard links
 * among them; SELinux's labels come from the tree's policy, for no layer has them. */

#include "disk/keep.h"

#include "sandbox/open-inside.h"
#include "shared/file-util.h"
#include "shared/log.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <search.h>
#include <sys/xattr.h>

#define LABEL "security.selinux"
#define BUFFER (256 * 1024)
#define NAMES_MAX 65536 /* bytes: the kernel's own limit, of a value too */

typedef struct Inode {
        dev_t dev;
        ino_t ino;
        char *path;
} Inode;

typedef struct Archiving {
        const Disk *d;
        struct archive *to;
        void *inodes; /* a tree of Inode */
        char *buffer, *names, *value;
} Archiving;

static void inode_free(void *inode) {
        free(((Inode *) inode)->path);
        free(inode);
}

static void archiving_done(Archiving *a) {
        tdestroy(a->inodes, inode_free);
        if (a->to)
                archive_write_free(a->to);
        free(a->buffer);
        free(a->names);
        free(a->value);
}

static void entry_free(struct archive_entry **e) {
        archive_entry_free(*e);
}

static int by_inode(const void *a, const void *b) {
        const Inode *x = a, *y = b;

        if (x->dev != y->dev)
                return x->dev < y->dev ? -1 : 1;
        return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static int written(struct archive *to, la_ssize_t result) {
        if (result >= ARCHIVE_WARN)
                return 0;
        return archive_errno(to) > 0 ? -archive_errno(to) : -EIO;
}

/* 1: `e` is a link to what is in the archive. */
static int find_link(
                Archiving *a, const struct stat *st, const char *name, struct archive_entry *e) {
        _cleanup_free_ Inode *inode = malloc(sizeof(*inode));
        _cleanup_free_ char *copy = strdup(name);
        Inode **found;

        if (!inode || !copy)
                return -ENOMEM;
        *inode = (Inode) { st->st_dev, st->st_ino, copy };
        found = tsearch(inode, &a->inodes, by_inode);
        if (!found)
                return -ENOMEM;
        if (*found == inode) {
                TAKE_PTR(inode);
                TAKE_PTR(copy);
                return 0;
        }
        archive_entry_copy_hardlink(e, (*found)->path);
        return 1;
}

static int set_attributes(
                Archiving *a, const char *path, const char *label, struct archive_entry *e) {
        ssize_t n = llistxattr(path, a->names, NAMES_MAX);

        if (n < 0 && errno != EOPNOTSUPP)
                return -errno;
        for (const char *name = a->names; n > 0 && name < a->names + n; name += strlen(name) + 1) {
                ssize_t size;

                if (startswith(name, "trusted.overlay.") || startswith(name, "user.overlay.") ||
                                (label && streq(name, LABEL)))
                        continue;
                size = lgetxattr(path, name, a->value, NAMES_MAX);
                if (size < 0)
                        return -errno;
                archive_entry_xattr_add_entry(e, name, a->value, (size_t) size);
        }
        if (label) /* with its NUL, as setfiles writes it */
                archive_entry_xattr_add_entry(e, LABEL, label, strlen(label) + 1);
        return 0;
}

/* Where the data is. */
static int set_holes(int fd, off_t size, struct archive_entry *e) {
        off_t data, hole = 0;
        bool any = false;

        data = lseek(fd, 0, SEEK_DATA);
        if (data == 0 && lseek(fd, 0, SEEK_HOLE) >= size)
                return 0;
        for (; data >= 0; data = lseek(fd, hole, SEEK_DATA)) {
                hole = lseek(fd, data, SEEK_HOLE);
                if (hole < 0)
                        return -errno;
                archive_entry_sparse_add_entry(e, data, MIN(hole, size) - data);
                any = true;
        }
        if (!any && size > 0)
                archive_entry_sparse_add_entry(e, 0, 0);
        return 0;
}

static int write_content(Archiving *a, int fd, off_t size) {
        for (off_t at = 0; at < size;) {
                ssize_t n = pread(fd, a->buffer, (size_t) MIN((off_t) BUFFER, size - at), at);
                int r;

                if (n <= 0)
                        return n < 0 ? -errno : -EIO;
                r = written(a->to, archive_write_data(a->to, a->buffer, (size_t) n));
                if (r < 0)
                        return r;
                at += n;
        }
        return 0;
}

static int write_file(Archiving *a, const char *path, off_t size, struct archive_entry *e) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        int r;

        if (fd < 0)
                return -errno;
        r = set_holes(fd, size, e);
        if (r < 0)
                return r;
        r = written(a->to, archive_write_header(a->to, e));
        return r < 0 ? r : write_content(a, fd, size);
}

static int set_target(const char *path, struct archive_entry *e) {
        char target[PATH_MAX];
        ssize_t n = readlink(path, target, sizeof(target) - 1);

        if (n < 0)
                return -errno;
        target[n] = '\0';
        archive_entry_copy_symlink(e, target);
        return 0;
}

static int describe(Archiving *a, const char *path, const char *name, const char *label,
                struct stat *st, struct archive_entry *e) {
        if (lstat(path, st) < 0)
                return -errno;
        archive_entry_copy_stat(e, st);
        archive_entry_copy_pathname(e, name);
        archive_entry_unset_atime(e);
        archive_entry_unset_ctime(e);
        archive_entry_set_dev(e, 0);
        archive_entry_set_ino(e, 0);
        if (st->st_mtim.tv_sec >= a->d->plan->lock->epoch)
                archive_entry_set_mtime(e, a->d->plan->lock->epoch, 0);
        return set_attributes(a, path, label, e);
}

static int put(Archiving *a, const char *root, const char *inside, const char *label) {
        _cleanup_(entry_free) struct archive_entry *e = archive_entry_new();
        _cleanup_free_ char *path = path_join(root, inside), *name = strf(".%s", inside);
        struct stat st;
        int r;

        if (!e || !path || !name)
                return -ENOMEM;
        r = describe(a, path, name, label, &st, e);
        if (r < 0)
                return r;
        if (st.st_nlink > 1 && !S_ISDIR(st.st_mode)) {
                r = find_link(a, &st, name, e);
                if (r < 0)
                        return r;
                if (r > 0)
                        return written(a->to, archive_write_header(a->to, e));
        }
        if (S_ISREG(st.st_mode))
                return write_file(a, path, st.st_size, e);
        if (S_ISLNK(st.st_mode)) {
                r = set_target(path, e);
                if (r < 0)
                        return r;
        }
        archive_entry_set_size(e, 0);
        return written(a->to, archive_write_header(a->to, e));
}

static int archive_new(Archiving *a, int fd) {
        a->to = archive_write_new();
        a->buffer = malloc(BUFFER);
        a->names = malloc(NAMES_MAX);
        a->value = malloc(NAMES_MAX);
        if (!a->to || !a->buffer || !a->names || !a->value)
                return -ENOMEM;
        return archive_write_set_format_pax(a->to) == ARCHIVE_OK &&
                                               archive_write_set_options(a->to,
                                                               "hdrcharset=BINARY,xattrheader=SCHILY") ==
                                                               ARCHIVE_OK &&
                                               archive_write_open_fd(a->to, fd) == ARCHIVE_OK
                               ? 0
                               : -ENOMEM;
}

typedef struct Lists {
        char *paths, *labels; /* labels: NULL, or a line for each path */
        size_t size;
} Lists;

static void lists_done(Lists *l) {
        free(l->paths);
        free(l->labels);
}

static int put_all(Archiving *a, const char *root, const Lists *lists) {
        char *label = lists->labels;

        for (const char *path = lists->paths; path < lists->paths + lists->size;
                        path += strlen(path) + 1) {
                const char *given = label ? labels_next(&label) : NULL;
                int r;

                if (label && !given)
                        return log_error_return(-EIO,
                                        "The tree's policy does not give each file a label; is it whole?");
                r = put(a, root, path, given && *given ? given : NULL);
                if (r < 0)
                        return log_error_errno(r, "Cannot archive %s", path);
        }
        return 0;
}

/* In the child that sees the tree. */
static int archive_changes(const char *root, void *userdata) {
        const Disk *d = userdata;
        _cleanup_(archiving_done) Archiving a = { .d = d };
        _cleanup_close_ int fd = inside_create_output(d->work, KEEP_ARCHIVE, 0600);
        _cleanup_(lists_done) Lists lists = {};
        int r;

        if (fd < 0)
                return fd;
        r = labels_read(d, &lists.paths, &lists.size,
                        d->labels == LABELS_NOW ? &lists.labels : NULL);
        if (r < 0)
                return r;
        r = archive_new(&a, fd);
        if (r < 0)
                return r;
        r = put_all(&a, root, &lists);
        return r < 0 ? r : written(a.to, archive_write_close(a.to));
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
