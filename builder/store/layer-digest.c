/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The digest of all that a layer is: names, kinds, modes, owners, times, devices, extended
 * attributes, contents, link targets. Not what a host may change without changing the layer: access
 * times, numbers of links, labels of its security modules. */

#include "store/digest.h"
#include "store/internal.h"

#include "shared/folder.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define XATTRS_MAX 65536 /* bytes; the kernel's own limits */

static bool is_hosts_own(const char *name) {
        static const char *const names[] = { "security.selinux", "security.SMACK64", "security.ima",
                "security.evm" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (streq(name, names[i]))
                        return true;
        return false;
}

static int list_xattrs(const char *path, char ***ret) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *list = malloc(XATTRS_MAX);
        ssize_t n;

        if (!list)
                return -ENOMEM;
        n = llistxattr(path, list, XATTRS_MAX);
        if (n < 0)
                return errno == ENOTSUP ? 0 : -errno;
        for (const char *name = list; name < list + n; name += strlen(name) + 1) {
                int r = is_hosts_own(name) ? 0 : strv_extend(&names, name);

                if (r < 0)
                        return r;
        }
        strv_sort(names);
        *ret = TAKE_PTR(names);
        return 0;
}

static int hash_xattrs(Hash *h, int folder, const char *name) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *value = NULL;
        char path[64 + NAME_MAX + 1]; /* a link's can only be asked for by a path */
        int r;

        snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", folder, name);
        r = list_xattrs(path, &names);
        if (r < 0 || !names)
                return r;
        value = malloc(XATTRS_MAX);
        if (!value)
                return -ENOMEM;
        STRV_FOREACH (attribute, names) {
                ssize_t n = lgetxattr(path, *attribute, value, XATTRS_MAX);
                char size[32];

                if (n < 0)
                        return -errno;
                snprintf(size, sizeof(size), "%zd", n);
                hash_field(h, "xattr", *attribute);
                hash_field(h, "bytes", size);
                hash_bytes(h, value, (size_t) n);
        }
        return 0;
}

static void hash_attributes(Hash *h, const char *path, const struct stat *st) {
        char text[160];

        snprintf(text, sizeof(text), "%o %u:%u %lld.%09ld %u:%u", (unsigned) st->st_mode,
                        (unsigned) st->st_uid, (unsigned) st->st_gid,
                        (long long) st->st_mtim.tv_sec, st->st_mtim.tv_nsec, major(st->st_rdev),
                        minor(st->st_rdev));
        hash_field(h, "path", path);
        hash_field(h, "attributes", text);
}

static int hash_target(Hash *h, int folder, const char *name) {
        char target[PATH_MAX];
        ssize_t n = readlinkat(folder, name, target, sizeof(target) - 1);

        if (n < 0)
                return -errno;
        target[n] = '\0';
        hash_field(h, "target", target);
        return 0;
}

static int hash_content(Hash *h, int folder, const char *name) {
        _cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
        Digest digest;
        int r;

        if (fd < 0)
                return -errno;
        r = digest_fd(fd, digest, NULL);
        if (r < 0)
                return r;
        hash_field(h, "content", digest);
        return 0;
}

static int hash_children(Hash *h, int folder, const char *prefix);

static int hash_entry(Hash *h, int folder, const char *name, const char *path) {
        struct stat st;
        int r;

        if (interrupt_signal())
                return -ECANCELED;
        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        hash_attributes(h, path, &st);
        r = hash_xattrs(h, folder, name);
        if (r < 0)
                return r;

        if (S_ISLNK(st.st_mode))
                return hash_target(h, folder, name);
        if (S_ISREG(st.st_mode))
                return hash_content(h, folder, name);
        if (S_ISDIR(st.st_mode)) {
                int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

                return fd < 0 ? -errno : hash_children(h, fd, path);
        }
        return 0;
}

/* Takes the folder's fd. */
static int hash_children(Hash *h, int folder, const char *prefix) {
        _cleanup_closedir_ DIR *d = NULL;
        _cleanup_strv_free_ char **names = NULL;
        int r;

        r = folder_from_fd(folder, &d);
        if (r < 0)
                return r;
        r = folder_names(d, &names);
        if (r < 0)
                return r;
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path = strf("%s/%s", prefix, *name);

                if (!path)
                        return -ENOMEM;
                r = hash_entry(h, dirfd(d), *name, path);
                if (r < 0)
                        return r;
        }
        return 0;
}

int layer_digest(const char *tree, Digest ret) {
        _cleanup_hash_free_ Hash *h = NULL;
        _cleanup_close_ int fd = -EBADF;
        Digest digest;
        int r;

        r = hash_new(&h);
        if (r < 0)
                return r;
        fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;
        r = hash_entry(h, fd, ".", "");
        if (r < 0)
                return r;
        hash_end(h, digest);
        if (!digest_valid(digest))
                return -EIO;
        memcpy(ret, digest, sizeof(Digest));
        return 0;
}
