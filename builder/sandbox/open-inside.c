/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* openat2(2) with RESOLVE_IN_ROOT: the kernel itself resolves links and ".." as chroot(2) would,
 * with no window between a check and its use. */

#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* The kernel answers EAGAIN where a rename anywhere on the machine came between its look at ".."
 * and its proof that this stayed inside. A busy machine may do so many times in a row; a file
 * under a lease, which has the same answer, does so until its holder lets go. */
#define TRIES_AT_ONCE 100
#define PAUSE_USEC 1000
#define WAIT_MAX_USEC (10 * USEC_PER_SEC)

static int open_by(int root_fd, const char *path, int flags, uint64_t resolve) {
        struct open_how how = {
                .flags = (uint64_t) (flags | O_CLOEXEC),
                .resolve = resolve | RESOLVE_NO_MAGICLINKS,
        };

        while (*path == '/')
                path++;
        if (*path == '\0')
                path = ".";

        for (unsigned tries = 0; tries < TRIES_AT_ONCE + WAIT_MAX_USEC / PAUSE_USEC; tries++) {
                int fd = (int) syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

                if (fd >= 0)
                        return fd;
                if (errno != EAGAIN && errno != EINTR)
                        return -errno;
                if (tries >= TRIES_AT_ONCE)
                        usleep(PAUSE_USEC);
        }
        return -EAGAIN;
}

int inside_open(int root_fd, const char *path, int flags) {
        return open_by(root_fd, path, flags, RESOLVE_IN_ROOT);
}

int inside_has_no_link(int root_fd, const char *path) {
        _cleanup_close_ int fd =
                        open_by(root_fd, path, O_PATH, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);

        return fd < 0 && fd != -ENOENT ? fd : 0;
}

/* Takes the fd; returns it again where it is a regular file of at most `max` bytes. */
static int regular_only(int taken_fd, size_t max, size_t *ret_size) {
        _cleanup_close_ int fd = taken_fd;
        struct stat st;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        if ((uint64_t) st.st_size > max)
                return -EFBIG;

        if (ret_size)
                *ret_size = (size_t) st.st_size;
        return TAKE_FD(fd);
}

/* O_NONBLOCK: a FIFO must not hold us up. */
#define READING (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

int inside_open_folder(int root_fd, const char *path, DIR **ret) {
        int fd = inside_open(root_fd, path, O_RDONLY | O_DIRECTORY);

        return fd < 0 ? fd : folder_from_fd(fd, ret);
}

int inside_open_regular(int root_fd, const char *path, size_t max, size_t *ret_size) {
        return regular_only(inside_open(root_fd, path, READING), max, ret_size);
}

int inside_read_file(int root_fd, const char *path, size_t max, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = inside_open_regular(root_fd, path, max, NULL);

        return fd < 0 ? fd : read_fd(fd, max, ret, ret_size);
}

bool inside_exists(const char *root, const char *path) {
        _cleanup_close_ int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -EBADF;

        if (root_fd < 0)
                return false;
        fd = inside_open(root_fd, path, O_PATH);
        return fd >= 0;
}

/* Without trailing slashes, so that its own last part has a name. */
static char *parent_of(const char *path) {
        char *parent = path_folder(path);
        size_t n = parent ? strlen(parent) : 0;

        while (n > 1 && parent[n - 1] == '/')
                parent[--n] = '\0';
        return parent;
}

int inside_make_folder(int root_fd, const char *path, mode_t mode) {
        _cleanup_free_ char *parent = NULL;
        _cleanup_close_ int parent_fd = -EBADF;
        const char *name = path_basename(path);
        int fd;

        fd = inside_open(root_fd, path, O_PATH | O_DIRECTORY);
        if (fd != -ENOENT)
                return fd;

        parent = parent_of(path);
        if (!parent)
                return -ENOMEM;
        parent_fd = inside_make_folder(root_fd, parent, 0755);
        if (parent_fd < 0)
                return parent_fd;
        if (mkdirat(parent_fd, name, 0700) < 0)
                return errno == EEXIST ? -ENOTDIR : -errno; /* EEXIST: a link that leads nowhere */
        if (fchmodat(parent_fd, name, mode, 0) < 0)
                return -errno;

        fd = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

int inside_remove(int root_fd, const char *path) {
        const char *name = path_basename(path);
        _cleanup_free_ char *parent = parent_of(path), *there = NULL;
        _cleanup_close_ int parent_fd = -EBADF;

        if (*name == '\0' || streq(name, ".") || streq(name, ".."))
                return -EINVAL;
        if (!parent)
                return -ENOMEM;
        parent_fd = inside_open(root_fd, parent, O_PATH | O_DIRECTORY);
        if (parent_fd < 0)
                return parent_fd == -ENOENT ? 0 : parent_fd;

        there = strf("/proc/self/fd/%d/%s", parent_fd, name);
        return there ? rm_rf(there) : -ENOMEM;
}

static int open_folder(const char *folder) {
        int fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

int inside_open_output(const char *folder, const char *name, size_t max) {
        _cleanup_close_ int folder_fd = open_folder(folder);
        int fd;

        if (folder_fd < 0)
                return folder_fd;
        fd = openat(folder_fd, name, READING | O_NOFOLLOW);
        return fd < 0 ? -errno : regular_only(fd, max, NULL);
}

int inside_read_output(
                const char *folder, const char *name, size_t max, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = inside_open_output(folder, name, max);

        return fd < 0 ? fd : read_fd(fd, max, ret, ret_size);
}

int inside_create_output(const char *folder, const char *name, mode_t mode) {
        _cleanup_close_ int folder_fd = open_folder(folder);
        int fd;

        if (folder_fd < 0)
                return folder_fd;
        if (unlinkat(folder_fd, name, 0) < 0 && errno != ENOENT)
                return -errno;
        fd = openat(folder_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        return fd < 0 ? -errno : fd;
}

FILE *inside_print_output(const char *folder, const char *name) {
        int fd = inside_create_output(folder, name, 0644);
        FILE *f;

        if (fd < 0) {
                errno = -fd;
                return NULL;
        }
        f = fdopen(fd, "w");
        if (!f)
                close(fd);
        return f;
}
