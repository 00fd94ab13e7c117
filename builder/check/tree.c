/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The tree under test, seen from outside. openat2(RESOLVE_IN_ROOT) lets the kernel resolve links
 * as the booted image would: an absolute link or any number of ".." stays inside. */

#include "check/internal.h"
#include "shared/file-util.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

int tree_open_file(const Tree *t, const char *path, int flags) {
        struct open_how how = {
                .flags = (uint64_t) (flags | O_CLOEXEC),
                .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
        };
        int fd;

        while (*path == '/')
                path++;
        fd = (int) syscall(SYS_openat2, t->fd, *path ? path : ".", &how, sizeof(how));
        return fd < 0 ? -errno : fd;
}

int tree_read(const Tree *t, const char *path, size_t max, char **ret) {
        _cleanup_close_ int fd = tree_open_file(t, path, O_RDONLY | O_NONBLOCK);
        _cleanup_free_ char *text = NULL;
        struct stat st;
        size_t n = 0;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EINVAL;
        if ((uint64_t) st.st_size > max)
                return -EFBIG;
        text = malloc((size_t) st.st_size + 1);
        if (!text)
                return -ENOMEM;
        while (n < (size_t) st.st_size) {
                ssize_t k = read(fd, text + n, (size_t) st.st_size - n);
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        break;
                n += (size_t) k;
        }
        text[n] = '\0';
        *ret = TAKE_PTR(text);
        return 0;
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

int tree_resolve(const Tree *t, const char *path, char **ret) {
        _cleanup_close_ int fd = tree_open_file(t, path, O_PATH);
        char link[64], root[PATH_MAX], target[PATH_MAX];
        const char *inside;
        ssize_t n;

        if (fd < 0)
                return fd;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", t->fd);
        n = readlink(link, root, sizeof(root) - 1);
        if (n < 0)
                return -errno;
        root[n] = '\0';
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, target, sizeof(target) - 1);
        if (n < 0)
                return -errno;
        target[n] = '\0';
        inside = streq(root, "/") ? target : startswith(target, root);
        if (!inside)
                return -EXDEV;
        *ret = strdup(*inside ? inside : "/");
        return *ret ? 0 : -ENOMEM;
}

int tree_list(const Tree *t, const char *folder, char ***ret) {
        _cleanup_strv_free_ char **l = NULL;
        int fd = tree_open_file(t, folder, O_RDONLY | O_DIRECTORY), r = 0;
        struct dirent *e;
        DIR *d;

        if (fd == -ENOENT || fd == -ENOTDIR) {
                *ret = NULL;
                return 0;
        }
        if (fd < 0)
                return fd;
        d = fdopendir(fd);
        if (!d) {
                r = -errno;
                safe_close(fd);
                return r;
        }
        errno = 0;
        while (r >= 0 && (e = readdir(d)))
                if (!streq(e->d_name, ".") && !streq(e->d_name, ".."))
                        r = strv_extend(&l, e->d_name);
        if (r >= 0 && errno != 0)
                r = -errno;
        closedir(d);
        if (r < 0)
                return r;
        strv_sort(l);
        *ret = TAKE_PTR(l);
        return 0;
}

int tree_walk(const Tree *t, const char *folder, tree_walk_t fn, void *userdata) {
        _cleanup_strv_free_ char **names = NULL;
        int r = tree_list(t, folder, &names);

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
                if (r == 0 && S_ISDIR(st.st_mode)) {
                        r = tree_walk(t, path, fn, userdata);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

/* A kernel is a folder of modules that holds more than what packages without one leave behind. */
static int find_kernels(Tree *t) {
        _cleanup_strv_free_ char **releases = NULL;
        int r = tree_list(t, "usr/lib/modules", &releases);

        if (r < 0)
                return r;
        STRV_FOREACH (release, releases) {
                _cleanup_free_ char *kernel = strf("usr/lib/modules/%s/kernel", *release);
                _cleanup_free_ char *image = strf("boot/vmlinuz-%s", *release);

                if (!kernel || !image)
                        return -ENOMEM;
                if ((tree_has(t, kernel) || tree_has(t, image)) &&
                                strv_extend(&t->kernels, *release) < 0)
                        return -ENOMEM;
        }
        return 0;
}

/* Whether NVIDIA's driver is meant to be here: fail closed where an overlay names it and the tree
 * has nothing. */
static bool has_driver(const Tree *t) {
        static const char *const libraries[] = { "usr/lib/x86_64-linux-gnu/libcuda.so.1",
                "usr/lib64/libcuda.so.1" };

        for (size_t i = 0; i < ELEMENTSOF(libraries); i++)
                if (tree_has(t, libraries[i]))
                        return true;
        for (size_t i = 0; t->recipe && i < t->recipe->n_overlays; i++)
                if (startswith(t->recipe->overlays[i]->name, "nvidia-driver"))
                        return true;
        return false;
}

int tree_open(const char *root, const Recipe *recipe, Tree *ret) {
        Tree t = { .fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), .recipe = recipe };
        int r;

        if (t.fd < 0)
                return -errno;
        r = find_kernels(&t);
        if (r >= 0)
                r = tree_read_packages(&t);
        if (r >= 0)
                r = tree_read_modules(&t);
        if (r < 0) {
                tree_done(&t);
                return r;
        }
        t.driver = t.n_modules > 0 || has_driver(&t);
        *ret = t;
        return 0;
}

void tree_done(Tree *t) {
        t->fd = safe_close(t->fd);
        t->kernels = strv_free(t->kernels);
        for (size_t i = 0; i < t->n_packages; i++) {
                free(t->packages[i].name);
                free(t->packages[i].version);
        }
        free(t->packages);
        for (size_t i = 0; i < t->n_modules; i++) {
                free(t->modules[i].kernel);
                free(t->modules[i].path);
                module_info_done(&t->modules[i].info);
        }
        free(t->modules);
        *t = (Tree) { .fd = -EBADF };
}
