/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sandbox/open-inside.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

int inside_open(int root_fd, const char *path, int flags) {
        struct open_how how = { .flags = (uint64_t) flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
        int fd;

        while (*path == '/')
                path++;
        do
                fd = (int) syscall(SYS_openat2, root_fd, *path ? path : ".", &how, sizeof(how));
        while (fd < 0 && (errno == EAGAIN || errno == EINTR));
        return fd < 0 ? -errno : fd;
}
