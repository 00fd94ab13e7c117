/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Packages that others depend on and a build can do without (compile[].without): apt and dpkg take
 * them for installed, so that neither they nor what they depend on are fetched. */

#include "common/dpkg-status.h"
#include "lock/internal.h"
#include "sandbox/open-inside.h"
#include "shared/file-util.h"

#include <fcntl.h>
#include <sys/stat.h>

void assumed_print(FILE *f, const char *name, const char *arch) {
        fprintf(f,
                        "Package: %s\nStatus: install ok installed\nPriority: optional\n"
                        "Section: misc\nMaintainer: nobody\nArchitecture: %s\n"
                        "Version: 9999:0\nDescription: not installed, only taken for it\n\n",
                        name, arch);
}

static int make_empty(int folder, const char *name, const char *suffix) {
        _cleanup_free_ char *file = strf("%s.%s", name, suffix);
        _cleanup_close_ int fd = -EBADF;

        if (!file)
                return -ENOMEM;
        fd = openat(folder, file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
        return fd < 0 ? -errno : 0;
}

/* dpkg warns of a package that has no list of its files, or of their digests. */
static int make_lists(int info, char *const *names) {
        STRV_FOREACH (name, names) {
                int r = make_empty(info, *name, "list");

                if (r < 0)
                        return r;
                r = make_empty(info, *name, "md5sums");
                if (r < 0)
                        return r;
        }
        return 0;
}

static int strike(const DpkgPackage *p, void *names) {
        strv_remove(names, p->name);
        return 0;
}

/* Those of `names` that the database lacks. */
static int find_lacking(int status_fd, char *const *names, char ***ret) {
        _cleanup_strv_free_ char **lacking = strv_copy(names);
        _cleanup_free_ char *path = strf("/proc/self/fd/%d", status_fd);
        _cleanup_fclose_ FILE *f = NULL;
        int r;

        if (!lacking || !path)
                return -ENOMEM;
        f = fopen(path, "re");
        if (!f)
                return -errno;
        r = dpkg_status_read(f, strike, lacking);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(lacking);
        return 0;
}

static int append_stanzas(int status_fd, char *const *names, const char *arch) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        if (!f)
                return -ENOMEM;
        STRV_FOREACH (name, names)
                assumed_print(f, *name, arch);
        if (fclose(f) != 0)
                return -ENOMEM;
        return write_all(status_fd, text, size);
}

/* The database is a package's work, too: it may be no file, and then nobody is to wait for it. */
static int open_status(int root_fd) {
        _cleanup_close_ int fd = inside_open(
                        root_fd, "var/lib/dpkg/status", O_RDWR | O_APPEND | O_NONBLOCK | O_NOCTTY);
        struct stat st;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -EINVAL;
}

int assumed_add(const char *root, char *const *names, const char *arch) {
        _cleanup_close_ int root_fd = -EBADF, info = -EBADF, status = -EBADF;
        _cleanup_strv_free_ char **lacking = NULL;
        int r;

        root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (root_fd < 0)
                return -errno;
        status = open_status(root_fd);
        if (status < 0)
                return status;
        info = inside_open(root_fd, "var/lib/dpkg/info", O_RDONLY | O_DIRECTORY);
        if (info < 0)
                return info;

        r = find_lacking(status, names, &lacking);
        if (r < 0)
                return r;
        r = make_lists(info, lacking);
        if (r < 0)
                return r;
        return append_stanzas(status, lacking, arch);
}
