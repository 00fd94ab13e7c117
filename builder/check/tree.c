/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tree under test, seen from outside. inside_open() lets the kernel resolve links as the booted
 * image would: an absolute link or any number of ".." stays inside. */

#include "check/tree.h"

#include "sandbox/open-inside.h"
#include "shared/file-util.h"
#include "shared/folder.h"

#include <fcntl.h>

int tree_open(const char *root, const Recipe *recipe, Tree *ret) {
        int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        *ret = (Tree) { .fd = fd, .recipe = recipe };
        return 0;
}

void installed_package_done(InstalledPackage *p) {
        free(p->name);
        free(p->version);
        free(p->arch);
        free(p->source);
        free(p->source_version);
}

void tree_done(Tree *t) {
        t->fd = safe_close(t->fd);
        t->kernels = strv_free(t->kernels);
        for (size_t i = 0; i < t->n_packages; i++)
                installed_package_done(t->packages + i);
        free(t->packages);
        for (size_t i = 0; i < t->n_modules; i++) {
                free(t->modules[i].kernel);
                free(t->modules[i].path);
                module_info_done(&t->modules[i].info);
        }
        free(t->modules);
        *t = (Tree) { .fd = -EBADF };
}

int tree_open_file(const Tree *t, const char *path, int flags) {
        return inside_open(t->fd, path, flags);
}

int tree_open_regular(const Tree *t, const char *path, size_t max, size_t *ret_size) {
        return inside_open_regular(t->fd, path, max, ret_size);
}

int tree_read(const Tree *t, const char *path, size_t max, char **ret) {
        return inside_read_file(t->fd, path, max, ret, NULL);
}

/* The folder resolves inside the root; the last part is not followed. */
int tree_lstat(const Tree *t, const char *path, struct stat *ret) {
        _cleanup_free_ char *folder = strdup(path);
        _cleanup_close_ int fd = -EBADF;
        char *slash;

        if (!folder)
                return -ENOMEM;
        slash = strrchr(folder, '/');
        if (slash)
                *slash = '\0';

        fd = tree_open_file(t, slash ? folder : "", O_PATH | O_DIRECTORY);
        if (fd < 0)
                return fd;
        return fstatat(fd, path_basename(path), ret, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

bool tree_has(const Tree *t, const char *path) {
        _cleanup_close_ int fd = tree_open_file(t, path, O_PATH);

        return fd >= 0;
}

/* Where an open file is, as the kernel names it. */
static int path_of_fd(int fd, char ret[static PATH_MAX]) {
        char link[64];
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, ret, PATH_MAX - 1);
        if (n < 0)
                return -errno;
        ret[n] = '\0';
        return 0;
}

int tree_resolve(const Tree *t, const char *path, char **ret) {
        _cleanup_close_ int fd = tree_open_file(t, path, O_PATH);
        char root[PATH_MAX], target[PATH_MAX];
        const char *inside;
        int r;

        if (fd < 0)
                return fd;
        r = path_of_fd(t->fd, root);
        if (r < 0)
                return r;
        r = path_of_fd(fd, target);
        if (r < 0)
                return r;

        inside = streq(root, "/") ? target : startswith(target, root);
        if (!inside)
                return -EXDEV;
        *ret = strdup(*inside ? inside : "/");
        return *ret ? 0 : -ENOMEM;
}

int tree_list(const Tree *t, const char *folder, char ***ret) {
        int fd = tree_open_file(t, folder, O_RDONLY | O_DIRECTORY), r;
        _cleanup_closedir_ DIR *d = NULL;

        if (fd == -ENOENT || fd == -ENOTDIR) {
                *ret = NULL;
                return 0;
        }
        if (fd < 0)
                return fd;
        r = folder_from_fd(fd, &d);
        return r < 0 ? r : folder_names(d, ret);
}

int tree_walk(const Tree *t, const char *folder, tree_walk_t fn, void *userdata) {
        _cleanup_strv_free_ char **names = NULL;
        int r;

        r = tree_list(t, folder, &names);
        if (r < 0)
                return r;
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path = *folder ? path_join(folder, *name) : strdup(*name);
                struct stat st;

                if (!path)
                        return -ENOMEM;
                r = tree_lstat(t, path, &st);
                if (r < 0)
                        return r;
                r = fn(t, path, &st, userdata);
                if (r < 0)
                        return r;
                if (r > 0 || !S_ISDIR(st.st_mode))
                        continue;
                r = tree_walk(t, path, fn, userdata);
                if (r < 0)
                        return r;
        }
        return 0;
}
