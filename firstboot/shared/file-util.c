/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files are read whole, up to a limit, and written whole, by a rename; trees are removed without
 * leaving them. */

#include "shared/file-util.h"
#include "shared/draft.h"
#include "shared/folder.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LOCK_PAUSE_USEC (10 * USEC_PER_MSEC)

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

ssize_t read_at(int fd, void *data, size_t size, uint64_t offset) {
        size_t got = 0;

        while (got < size) {
                ssize_t n = pread(fd, (char *) data + got, size - got, (off_t) (offset + got));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                got += (size_t) n;
        }
        return (ssize_t) got;
}

int read_all_at(int fd, void *data, size_t size, uint64_t offset) {
        ssize_t n = read_at(fd, data, size, offset);

        if (n < 0)
                return (int) n;
        return (size_t) n == size ? 0 : -EBADMSG;
}

int write_all_at(int fd, const void *data, size_t size, uint64_t offset) {
        const char *p = data;

        while (size > 0) {
                ssize_t n = pwrite(fd, p, size, (off_t) offset);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                p += n;
                size -= (size_t) n;
                offset += (uint64_t) n;
        }
        return 0;
}

int lock_file(const char *path, uint64_t deadline_usec) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = mkdir_parents(path, 0755);
        if (r < 0)
                return r;
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK)
                        return -errno;
                if (now_usec() >= deadline_usec)
                        return -EBUSY;
                usleep(LOCK_PAUSE_USEC);
        }
        return TAKE_FD(fd);
}

int write_zeros(int fd, off_t from, size_t size) {
        _cleanup_free_ char *zeros = calloc(1, size);
        int r;

        if (!zeros)
                return -ENOMEM;
        if (lseek(fd, from, SEEK_SET) < 0)
                return -errno;
        r = write_all(fd, zeros, size);
        if (r < 0)
                return r;
        return fsync(fd) < 0 ? -errno : 0;
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
        _cleanup_free_ char *folder = path_folder(path), *draft = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!folder)
                return -ENOMEM;
        fd = draft_begin(folder, &draft);
        if (fd < 0)
                return fd;

        r = fill_file(fd, data, size, mode, durable);
        if (r == 0 && rename(draft, path) < 0)
                r = -errno;
        if (r < 0) {
                unlink(draft);
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

/* A tree that is being removed. What lies deeper than DEPTH_MAX is first moved up to `top`, so that
 * a tree of any depth takes neither all descriptors nor all of the stack. */
#define DEPTH_MAX 64
#define MOVE_TRIES_MAX 1000

typedef struct Removal {
        int top;
        dev_t device;
        unsigned moved; /* so far; gives the moved ones' names */
} Removal;

static int remove_children(Removal *r, int dir_fd, unsigned depth);

/* overlayfs leaves its work/work at mode 0000. */
static int open_child(int dir_fd, const char *name) {
        const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        int fd = openat(dir_fd, name, flags);

        if (fd < 0 && errno == EACCES && fchmodat(dir_fd, name, 0700, 0) >= 0)
                fd = openat(dir_fd, name, flags);
        return fd < 0 ? -errno : fd;
}

/* Under a name that is free there. */
static bool move_to_top(Removal *r, int dir_fd, const char *name) {
        for (unsigned tries = 0; tries < MOVE_TRIES_MAX; tries++) {
                char fresh[32];

                snprintf(fresh, sizeof(fresh), ".deep-%u", r->moved++);
                if (renameat(dir_fd, name, r->top, fresh) >= 0)
                        return true;
                if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
                        return false;
        }
        return false;
}

static int remove_child(Removal *r, int dir_fd, const char *name, unsigned depth) {
        struct stat st;
        int fd, result = 0;

        if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        if (!S_ISDIR(st.st_mode))
                return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
        if (st.st_dev != r->device)
                return 0;
        if (depth >= DEPTH_MAX && move_to_top(r, dir_fd, name))
                return 0;

        fd = open_child(dir_fd, name);
        result = fd < 0 ? fd : remove_children(r, fd, depth + 1);
        if (unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT && result == 0)
                result = -errno;
        return result;
}

/* Takes dir_fd. Goes on after an error, and returns the first. */
static int remove_children(Removal *r, int dir_fd, unsigned depth) {
        _cleanup_closedir_ DIR *d = NULL;
        int error, result = 0;

        error = folder_from_fd(dir_fd, &d);
        if (error < 0)
                return error;
        FOLDER_FOREACH (name, d) {
                error = remove_child(r, dirfd(d), name, depth);
                if (error < 0 && result == 0)
                        result = error;
        }
        return result;
}

/* Again and again while that moves something up. */
static int remove_all(const char *path, dev_t device) {
        for (unsigned moved = 0;;) {
                _cleanup_close_ int top =
                                open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                Removal removal = { .top = top, .device = device, .moved = moved };
                int fd = top < 0 ? -EBADF : fcntl(top, F_DUPFD_CLOEXEC, 0), r;

                if (fd < 0)
                        return -errno;
                r = remove_children(&removal, fd, 0);
                if (r < 0 || removal.moved == moved)
                        return r;
                moved = removal.moved;
        }
}

int rm_rf(const char *path) {
        struct stat st;
        int r;

        if (lstat(path, &st) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (!S_ISDIR(st.st_mode))
                return unlink(path) < 0 && errno != ENOENT ? -errno : 0;

        r = remove_all(path, st.st_dev);
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
