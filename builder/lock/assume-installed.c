/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lock/internal.h"
#include "shared/file-util.h"
#include "sandbox/open-inside.h"

#include <fcntl.h>

#define STATUS_MAX (64 * 1024 * 1024)

void assumed_print(FILE *f, const char *name, const char *arch) {
        fprintf(f,
                        "Package: %s\nStatus: install ok installed\nPriority: optional\n"
                        "Section: misc\nMaintainer: nobody\nArchitecture: %s\n"
                        "Version: 9999:0\nDescription: not installed, only taken for it\n\n",
                        name, arch);
}

/* 1, 0 or -ENOMEM. */
static int has_package(const char *status, const char *name) {
        _cleanup_free_ char *line = strf("\nPackage: %s\n", name);

        return line ? startswith(status, line + 1) || strstr(status, line) : -ENOMEM;
}

static int make_empty(int folder, const char *name, const char *suffix) {
        _cleanup_free_ char *file = strf("%s.%s", name, suffix);
        _cleanup_close_ int fd = -EBADF;

        if (!file)
                return -ENOMEM;
        fd = openat(folder, file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
        return fd < 0 ? -errno : 0;
}

int assumed_add(const char *root, char *const *names, const char *arch) {
        _cleanup_close_ int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), info = -EBADF,
                            fd = -EBADF;
        _cleanup_free_ char *path = NULL, *status = NULL, *text = NULL;
        size_t size;
        FILE *f;
        int r;

        if (root_fd < 0)
                return -errno;
        fd = inside_open(root_fd, "var/lib/dpkg/status", O_RDWR | O_APPEND);
        if (fd < 0)
                return fd;
        info = inside_open(root_fd, "var/lib/dpkg/info", O_RDONLY | O_DIRECTORY);
        if (info < 0)
                return info;
        path = strf("/proc/self/fd/%d", fd);
        r = path ? read_file(path, STATUS_MAX, &status, NULL) : -ENOMEM;
        if (r < 0)
                return r;
        f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;
        STRV_FOREACH (name, names) {
                r = has_package(status, *name);
                if (r > 0)
                        continue;
                assumed_print(f, *name, arch);
                /* dpkg warns of a package that has no list of its files, or of their digests. */
                if (r >= 0)
                        r = make_empty(info, *name, "list");
                if (r >= 0)
                        r = make_empty(info, *name, "md5sums");
                if (r < 0) {
                        fclose(f);
                        return r;
                }
        }
        return fclose(f) == 0 ? write_all(fd, text, size) : -ENOMEM;
}
