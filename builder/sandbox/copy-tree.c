/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sandbox/copy-tree.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

/* The folder `path` of the tree, made with its parents where missing. Returns an O_PATH fd. */
static int ensure_folder(int root_fd, const char *path, mode_t mode) {
        _cleanup_free_ char *parent = NULL;
        _cleanup_close_ int parent_fd = -EBADF;
        const char *name = path_basename(path);
        int fd = inside_open(root_fd, path, O_PATH | O_DIRECTORY);

        if (fd != -ENOENT)
                return fd;
        parent = strndup(path, (size_t) (name - path));
        if (!parent)
                return -ENOMEM;
        for (size_t n = strlen(parent); n > 0 && parent[n - 1] == '/'; n--)
                parent[n - 1] = '\0';
        parent_fd = ensure_folder(root_fd, parent, 0755);
        if (parent_fd < 0)
                return parent_fd;
        if (mkdirat(parent_fd, name, 0700) < 0)
                return errno == EEXIST ? -ENOTDIR : -errno; /* EEXIST: a link that leads nowhere */
        if (fchmodat(parent_fd, name, mode, 0) < 0)
                return -errno;
        fd = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

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

static int copy_data(int from, int to) {
        for (;;) {
                ssize_t n = sendfile(to, from, NULL, 1 << 30);

                if (n == 0)
                        return 0;
                if (n < 0 && errno != EINTR)
                        return -errno;
        }
}

static int put_file(int from, int folder_fd, const char *name, mode_t mode) {
        _cleanup_close_ int to = create(folder_fd, name);
        int r;

        if (to < 0)
                return to;
        r = copy_data(from, to);
        return r < 0 ? r : fchmod(to, mode) < 0 ? -errno : 0;
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
                return log_error_errno(r, "%s/%s: a folder of the image is in the way",
                                c->options->what, path);
        if (r == -ENOTDIR)
                return log_error_errno(r,
                                "%s/%s: something in the image that is no folder is in the way",
                                c->options->what, path);
        return log_error_errno(r, "%s/%s: cannot copy it into the image", c->options->what, path);
}

static int copy_folder(const Copy *c, int source_fd, const char *path);

static int copy_entry(const Copy *c, int source_fd, const char *name, const char *path) {
        _cleanup_free_ char *target = path_join(c->below, path), *folder = NULL;
        _cleanup_close_ int folder_fd = -EBADF, from = -EBADF;
        struct stat st;

        if (!target || !(folder = strndup(target, (size_t) (path_basename(target) - target))))
                return -ENOMEM;
        if (fstatat(source_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        bool wanted = !c->options->wanted || c->options->wanted(path, c->options->userdata);
        if (S_ISDIR(st.st_mode)) {
                if (wanted) {
                        folder_fd = ensure_folder(
                                        c->root_fd, target, mode_for(c, path, st.st_mode));
                        if (folder_fd < 0)
                                return fail(c, path, folder_fd);
                        if (c->options->modes && json_get(c->options->modes, path)) {
                                _cleanup_close_ int fd = inside_open(
                                                c->root_fd, target, O_RDONLY | O_DIRECTORY);
                                if (fd < 0 || fchmod(fd, mode_for(c, path, st.st_mode)) < 0)
                                        return fail(c, path, -errno);
                        }
                }
                int fd = openat(source_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                return fd < 0 ? fail(c, path, -errno) : copy_folder(c, fd, path);
        }
        if (!wanted)
                return 0;
        for (size_t n = strlen(folder); n > 0 && folder[n - 1] == '/'; n--)
                folder[n - 1] = '\0';
        folder_fd = ensure_folder(c->root_fd, folder, 0755);
        if (folder_fd < 0)
                return fail(c, path, folder_fd);
        if (S_ISLNK(st.st_mode)) {
                _cleanup_free_ char *link = calloc(1, (size_t) st.st_size + 1);
                int r;

                if (!link)
                        return -ENOMEM;
                if (readlinkat(source_fd, name, link, (size_t) st.st_size + 1) != st.st_size)
                        return fail(c, path, -EIO);
                r = clear(folder_fd, path_basename(path));
                if (r >= 0 && symlinkat(link, folder_fd, path_basename(path)) < 0)
                        r = -errno;
                return r < 0 ? fail(c, path, r) : 0;
        }
        if (!S_ISREG(st.st_mode))
                return log_error_errno(-EINVAL, "%s/%s is neither file, folder nor link",
                                c->options->what, path);
        from = openat(source_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        int r = from < 0 ? -errno
                         : put_file(from, folder_fd, path_basename(path),
                                           mode_for(c, path, st.st_mode));
        return r < 0 ? fail(c, path, r) : 0;
}

/* Closes source_fd. */
static int copy_folder(const Copy *c, int source_fd, const char *path) {
        DIR *d = fdopendir(source_fd);
        int r = 0;

        if (!d) {
                r = -errno;
                close(source_fd);
                return r;
        }
        for (struct dirent *e; r >= 0 && (e = readdir(d));) {
                _cleanup_free_ char *child = NULL;

                if (streq(e->d_name, ".") || streq(e->d_name, ".."))
                        continue;
                child = *path ? path_join(path, e->d_name) : strdup(e->d_name);
                r = child ? copy_entry(c, dirfd(d), e->d_name, child) : -ENOMEM;
        }
        closedir(d);
        return r;
}

int copy_tree(const char *source, const char *root, const char *below, const CopyOptions *options) {
        _cleanup_close_ int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), made = -EBADF;
        const Copy c = { options, root_fd, below };
        int source_fd;

        if (root_fd < 0)
                return log_error_errno(-errno, "%s: cannot open the tree", root);
        source_fd = open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (source_fd < 0)
                return log_error_errno(-errno, "%s: cannot open it", source);
        made = ensure_folder(root_fd, below, 0755);
        if (made < 0) {
                close(source_fd);
                return fail(&c, below, made);
        }
        return copy_folder(&c, source_fd, "");
}

/* Opens the folder of `path` in the tree; *ret_name is its last part. */
static int open_folder_of(const char *root, const char *path, const char **ret_name) {
        _cleanup_close_ int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *folder = strndup(path, (size_t) (path_basename(path) - path));

        if (root_fd < 0)
                return -errno;
        if (!folder)
                return -ENOMEM;
        for (size_t n = strlen(folder); n > 0 && folder[n - 1] == '/'; n--)
                folder[n - 1] = '\0';
        *ret_name = path_basename(path);
        return ensure_folder(root_fd, folder, 0755);
}

int copy_file(const char *source, const char *root, const char *path, mode_t mode) {
        _cleanup_close_ int from = open(source, O_RDONLY | O_CLOEXEC), folder_fd = -EBADF;
        const char *name;
        int r;

        if (from < 0)
                return log_error_errno(-errno, "%s: cannot read it", source);
        folder_fd = open_folder_of(root, path, &name);
        r = folder_fd < 0 ? folder_fd : put_file(from, folder_fd, name, mode);
        return r < 0 ? log_error_errno(r, "%s: cannot write it into the image", path) : 0;
}

int copy_text(const char *text, const char *root, const char *path, mode_t mode) {
        _cleanup_close_ int folder_fd = -EBADF, to = -EBADF;
        const char *name;
        int r;

        folder_fd = open_folder_of(root, path, &name);
        r = to = folder_fd < 0 ? folder_fd : create(folder_fd, name);
        if (r >= 0)
                r = write_all(to, text, strlen(text));
        if (r >= 0 && fchmod(to, mode) < 0)
                r = -errno;
        return r < 0 ? log_error_errno(r, "%s: cannot write it into the image", path) : 0;
}
