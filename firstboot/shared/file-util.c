/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files are read whole, up to a limit, and written whole, by a rename; trees are removed without
 * leaving them. */

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <sys/stat.h>

int write_all(int fd, const void *data, size_t size) {
        const char *p = data;

        while (size > 0) {
                ssize_t n = write(fd, p, size);
                if (n < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                p += n;
                size -= (size_t) n;
        }
        return 0;
}

int read_fd(int fd, size_t max, char **ret, size_t *ret_size) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0, room = 0;

        for (;;) {
                if (size + 1 >= room) {
                        room = room ? room * 2 : 4096;
                        char *grown = realloc(text, room);
                        if (!grown)
                                return -ENOMEM;
                        text = grown;
                }
                ssize_t n = read(fd, text + size, room - size - 1);
                if (n < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                if (n == 0)
                        break;
                size += (size_t) n;
                if (size > max)
                        return -EFBIG;
        }
        text[size] = '\0';
        *ret = TAKE_PTR(text);
        if (ret_size)
                *ret_size = size;
        return 0;
}

int read_file(const char *path, size_t max, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

        return fd < 0 ? -errno : read_fd(fd, max, ret, ret_size);
}

int read_line_file(const char *path, char **ret) {
        size_t size;
        int r = read_file(path, 64 * 1024, ret, &size);

        if (r < 0)
                return r;
        while (size > 0 && strchr("\n\r \t", (*ret)[size - 1]))
                (*ret)[--size] = '\0';
        return 0;
}

static int sync_parent(const char *path) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *parent = path_folder(path);

        if (!parent)
                return -ENOMEM;
        fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return fsync(fd) < 0 ? -errno : 0;
}

static int fill_file(int fd, const void *data, size_t size, mode_t mode, bool durable) {
        int r;

        r = write_all(fd, data, size);
        if (r < 0)
                return r;
        if (fchmod(fd, mode) < 0)
                return -errno;
        return durable && fsync(fd) < 0 ? -errno : 0;
}

static int write_file(const char *path, const void *data, size_t size, mode_t mode, bool durable) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *temporary = NULL;
        int r;

        temporary = strf("%s.XXXXXX", path);
        if (!temporary)
                return -ENOMEM;
        fd = mkostemp(temporary, O_CLOEXEC);
        if (fd < 0)
                return -errno;

        r = fill_file(fd, data, size, mode, durable);
        if (r == 0 && rename(temporary, path) < 0)
                r = -errno;
        if (r < 0) {
                unlink(temporary);
                return r;
        }
        return durable ? sync_parent(path) : 0;
}

int write_file_durable(const char *path, const void *data, size_t size, mode_t mode) {
        return write_file(path, data, size, mode, true);
}

int write_file_atomic(const char *path, const void *data, size_t size, mode_t mode) {
        return write_file(path, data, size, mode, false);
}

int mkdir_parents(const char *path, mode_t mode) {
        _cleanup_free_ char *copy = strdup(path);

        if (!copy)
                return -ENOMEM;
        for (char *p = copy + 1; *copy && *p; p++) {
                if (*p != '/')
                        continue;
                *p = '\0';
                if (mkdir(copy, mode) < 0 && errno != EEXIST)
                        return -errno;
                *p = '/';
        }
        return 0;
}

int mkdir_p(const char *path, mode_t mode) {
        struct stat st;
        int r = mkdir_parents(path, mode);

        if (r < 0)
                return r;
        if (mkdir(path, mode) >= 0)
                return 0;
        if (errno != EEXIST)
                return -errno;
        if (stat(path, &st) < 0)
                return -errno;
        return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

static int remove_children(int dir_fd, dev_t device);

/* overlayfs leaves its work/work at mode 0000. */
static int open_child(int dir_fd, const char *name) {
        const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        int fd = openat(dir_fd, name, flags);

        if (fd < 0 && errno == EACCES && fchmodat(dir_fd, name, 0700, 0) >= 0)
                fd = openat(dir_fd, name, flags);
        return fd < 0 ? -errno : fd;
}

static int remove_child(int dir_fd, const char *name, dev_t device) {
        struct stat st;
        int fd, r = 0;

        if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        if (!S_ISDIR(st.st_mode))
                return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
        if (st.st_dev != device)
                return 0;

        fd = open_child(dir_fd, name);
        r = fd < 0 ? fd : remove_children(fd, device);
        if (unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT && r == 0)
                r = -errno;
        return r;
}

/* Takes dir_fd. Goes on after an error, and returns the first. */
static int remove_children(int dir_fd, dev_t device) {
        _cleanup_closedir_ DIR *d = NULL;
        int r, result = 0;

        r = folder_from_fd(dir_fd, &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                r = remove_child(dirfd(d), name, device);
                if (r < 0 && result == 0)
                        result = r;
        }
        return result;
}

int rm_rf(const char *path) {
        struct stat st;
        int fd, r;

        if (lstat(path, &st) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (!S_ISDIR(st.st_mode))
                return unlink(path) < 0 && errno != ENOENT ? -errno : 0;

        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = remove_children(fd, st.st_dev);
        if (rmdir(path) < 0 && errno != ENOENT && r == 0)
                r = -errno;
        return r;
}

char *path_join(const char *a, const char *b) {
        while (*b == '/')
                b++;
        return strf("%s%s%s", a, endswith(a, "/") || !*b ? "" : "/", b);
}

const char *path_basename(const char *path) {
        const char *slash = strrchr(path, '/');
        return slash ? slash + 1 : path;
}

char *path_folder(const char *path) {
        const char *slash = strrchr(path, '/');

        return !slash          ? strdup(".")
               : slash == path ? strdup("/")
                               : strndup(path, (size_t) (slash - path));
}
