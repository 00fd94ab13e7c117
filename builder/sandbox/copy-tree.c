/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Every folder that something is written to is opened through inside_open(), and the last part of
 * a path is made by its name in that folder, never through a link. */

#include "sandbox/copy-tree.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/log.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

/* Makes room for a file or link: whatever is there goes, but a folder stays and is an error. */
static int clear(int folder_fd, const char *name) {
        if (unlinkat(folder_fd, name, 0) < 0 && errno != ENOENT)
                return errno == EPERM ? -EISDIR : -errno;
        return 0;
}

static int create(int folder_fd, const char *name) {
        int r = clear(folder_fd, name);

        if (r < 0)
                return r;
        r = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        return r < 0 ? -errno : r;
}

/* The bytes from `offset` to `end` of one, at the same place of the other. */
static int copy_range(int from, int to, off_t offset, off_t end) {
        if (lseek(to, offset, SEEK_SET) < 0)
                return -errno;
        while (offset < end) {
                ssize_t n = sendfile(to, from, &offset, (size_t) MIN(end - offset, 1 << 30));

                if (n == 0)
                        return -EIO; /* it became shorter meanwhile */
                if (n < 0 && errno != EINTR)
                        return -errno;
        }
        return 0;
}

/* Holes stay holes: a stranger's sparse file takes no more room here than there. */
static int copy_data(int from, int to) {
        off_t data, hole = 0;
        struct stat st;
        int r;

        if (fstat(from, &st) < 0)
                return -errno;
        for (;;) {
                data = lseek(from, hole, SEEK_DATA);
                if (data < 0)
                        break; /* ENXIO: a hole until its end, or nothing at all */
                hole = lseek(from, data, SEEK_HOLE);
                if (hole < 0)
                        return -errno;
                r = copy_range(from, to, data, hole);
                if (r < 0)
                        return r;
        }
        if (errno != ENXIO)
                return -errno;
        return ftruncate(to, st.st_size) < 0 ? -errno : 0;
}

static int put_file(int from, int folder_fd, const char *name, mode_t mode) {
        _cleanup_close_ int to = create(folder_fd, name);
        int r;

        if (to < 0)
                return to;
        r = copy_data(from, to);
        if (r < 0)
                return r;
        return fchmod(to, mode) < 0 ? -errno : 0;
}

typedef struct Copy {
        const CopyOptions *options;
        int root_fd;
        const char *below;
} Copy;

static mode_t mode_for(const Copy *c, const char *path, mode_t source) {
        const char *given = c->options->modes ? json_get_string(c->options->modes, path) : NULL;

        if (given)
                return (mode_t) strtoul(given, NULL, 8) & 07777;
        if (!c->options->git_modes)
                return source & 07777;
        return S_ISDIR(source) || (source & 0100) ? 0755 : 0644;
}

static int fail(const Copy *c, const char *path, int r) {
        if (r == -EISDIR)
                return log_error_return(r,
                                "%s/%s: a folder of the image is in the way; give it another name",
                                c->options->what, path);
        if (r == -ENOTDIR)
                return log_error_return(r,
                                "%s/%s: something in the image that is no folder is in the way; give it another name",
                                c->options->what, path);
        return log_error_errno(r, "%s/%s: cannot copy it into the image", c->options->what, path);
}

static int put_link(int source_fd, const char *name, size_t size, int folder_fd, const char *to) {
        _cleanup_free_ char *target = calloc(1, size + 1);
        int r;

        if (!target)
                return -ENOMEM;
        if (readlinkat(source_fd, name, target, size + 1) != (ssize_t) size)
                return -EIO;
        r = clear(folder_fd, to);
        if (r < 0)
                return r;
        return symlinkat(target, folder_fd, to) < 0 ? -errno : 0;
}

/* Makes the folder `target` of the tree. One that is there keeps its mode, unless `modes` names
 * it. */
static int put_folder(const Copy *c, const char *path, const char *target, mode_t mode) {
        _cleanup_close_ int made = inside_make_folder(c->root_fd, target, mode), fd = -EBADF;

        if (made < 0)
                return made;
        if (!c->options->modes || !json_get(c->options->modes, path))
                return 0;

        fd = inside_open(c->root_fd, target, O_RDONLY | O_DIRECTORY);
        if (fd < 0)
                return fd;
        return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int copy_folder(const Copy *c, int source_fd, const char *path);

static int copy_subfolder(const Copy *c, int source_fd, const char *name, const char *path,
                const char *target, mode_t source_mode, bool wanted) {
        int fd, r;

        if (wanted) {
                r = put_folder(c, path, target, mode_for(c, path, source_mode));
                if (r < 0)
                        return fail(c, path, r);
        }
        fd = openat(source_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? fail(c, path, -errno) : copy_folder(c, fd, path);
}

/* A file or a link. */
static int copy_leaf(const Copy *c, int source_fd, const char *name, const char *path,
                const char *target, const struct stat *st) {
        _cleanup_free_ char *folder = path_folder(target);
        _cleanup_close_ int folder_fd = -EBADF, from = -EBADF;

        if (!folder)
                return -ENOMEM;
        folder_fd = inside_make_folder(c->root_fd, folder, 0755);
        if (folder_fd < 0)
                return folder_fd;
        if (S_ISLNK(st->st_mode))
                return put_link(source_fd, name, (size_t) st->st_size, folder_fd,
                                path_basename(path));

        from = openat(source_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (from < 0)
                return -errno;
        return put_file(from, folder_fd, path_basename(path), mode_for(c, path, st->st_mode));
}

static int copy_entry(const Copy *c, int source_fd, const char *name, const char *path) {
        _cleanup_free_ char *target = path_join(c->below, path);
        struct stat st;
        bool wanted;
        int r;

        if (!target)
                return -ENOMEM;
        if (fstatat(source_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;

        wanted = !c->options->wanted || c->options->wanted(path, c->options->userdata);
        if (S_ISDIR(st.st_mode))
                return copy_subfolder(c, source_fd, name, path, target, st.st_mode, wanted);
        if (!wanted)
                return 0;
        if (!S_ISLNK(st.st_mode) && !S_ISREG(st.st_mode))
                return log_error_return(-EINVAL, "%s/%s is neither file, folder nor link",
                                c->options->what, path);

        r = copy_leaf(c, source_fd, name, path, target, &st);
        return r < 0 ? fail(c, path, r) : 0;
}

/* Takes source_fd. */
static int copy_folder(const Copy *c, int source_fd, const char *path) {
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = folder_from_fd(source_fd, &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                _cleanup_free_ char *child = *path ? path_join(path, name) : strdup(name);

                if (!child)
                        return -ENOMEM;
                r = copy_entry(c, dirfd(d), name, child);
                if (r < 0)
                        return r;
        }
        return 0;
}

int copy_tree(const char *source, const char *root, const char *below, const CopyOptions *options) {
        _cleanup_close_ int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                            source_fd = -EBADF, made = -EBADF;
        const Copy c = { options, root_fd, below };

        if (root_fd < 0)
                return log_error_errno(-errno, "%s: cannot open the tree", root);
        source_fd = open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (source_fd < 0)
                return log_error_errno(-errno, "%s: cannot open it", source);

        made = inside_make_folder(root_fd, below, 0755);
        if (made < 0)
                return fail(&c, below, made);
        return copy_folder(&c, TAKE_FD(source_fd), "");
}

/* Makes and opens the folder of `path` in the tree. */
static int open_folder_of(const char *root, const char *path) {
        _cleanup_close_ int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *folder = NULL;

        if (root_fd < 0)
                return -errno;
        folder = path_folder(path);
        return folder ? inside_make_folder(root_fd, folder, 0755) : -ENOMEM;
}

int copy_file(const char *source, const char *root, const char *path, mode_t mode) {
        _cleanup_close_ int from = open(source, O_RDONLY | O_CLOEXEC), folder_fd = -EBADF;
        int r;

        if (from < 0)
                return log_error_errno(-errno, "%s: cannot read it", source);
        folder_fd = open_folder_of(root, path);
        r = folder_fd < 0 ? folder_fd : put_file(from, folder_fd, path_basename(path), mode);
        return r < 0 ? log_error_errno(r, "%s: cannot write it into the image", path) : 0;
}

static int put_text(const char *text, int folder_fd, const char *name, mode_t mode) {
        _cleanup_close_ int to = create(folder_fd, name);
        int r;

        if (to < 0)
                return to;
        r = write_all(to, text, strlen(text));
        if (r < 0)
                return r;
        return fchmod(to, mode) < 0 ? -errno : 0;
}

int copy_text(const char *text, const char *root, const char *path, mode_t mode) {
        _cleanup_close_ int folder_fd = open_folder_of(root, path);
        int r;

        r = folder_fd < 0 ? folder_fd : put_text(text, folder_fd, path_basename(path), mode);
        return r < 0 ? log_error_errno(r, "%s: cannot write it into the image", path) : 0;
}
