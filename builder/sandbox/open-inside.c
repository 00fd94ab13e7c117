/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* openat2(2) with RESOLVE_IN_ROOT: the kernel itself resolves links and ".." as chroot(2) would,
 * with no window between a check and its use. */

#include "sandbox/open-inside.h"

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

int inside_open(int root_fd, const char *path, int flags) {
        struct open_how how = {
                .flags = (uint64_t) (flags | O_CLOEXEC),
                .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
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

int inside_open_regular(int root_fd, const char *path, size_t max, size_t *ret_size) {
        /* O_NONBLOCK: a FIFO of the tree must not hold us up. */
        _cleanup_close_ int fd = inside_open(root_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        struct stat st;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        if ((uint64_t) st.st_size > max)
                return -EFBIG;

        *ret_size = (size_t) st.st_size;
        return TAKE_FD(fd);
}

int inside_read_file(int root_fd, const char *path, size_t max, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *text = NULL;
        size_t expected, size = 0;

        fd = inside_open_regular(root_fd, path, max, &expected);
        if (fd < 0)
                return fd;
        text = malloc(expected + 1);
        if (!text)
                return -ENOMEM;

        while (size < expected) {
                ssize_t n = read(fd, text + size, expected - size);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                size += (size_t) n;
        }

        text[size] = '\0';
        *ret = TAKE_PTR(text);
        if (ret_size)
                *ret_size = size;
        return 0;
}
