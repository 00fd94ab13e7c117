/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The digest of all that a layer is: names, kinds, modes, owners, times, devices, extended
 * attributes, contents, link targets. Not what a host may change without changing the layer: access
 * times, numbers of links, labels of its security modules. */

#include "store/attributes.h"
#include "store/internal.h"

#include "shared/folder.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

typedef struct Digesting {
        Hash *hash;
        AttributeSet set;
} Digesting;

static int hash_xattrs(const Digesting *d, int folder, const char *name) {
        _cleanup_tree_attributes_ TreeAttributes a = {};
        int r = tree_attributes_read(folder, name, d->set, &a);

        if (r < 0)
                return r;
        for (size_t i = 0; i < a.n; i++) {
                char size[32];

                snprintf(size, sizeof(size), "%zu", a.list[i].size);
                hash_field(d->hash, "xattr", a.list[i].name);
                hash_field(d->hash, "bytes", size);
                hash_bytes(d->hash, a.list[i].value, a.list[i].size);
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

static int hash_entry(int folder, const char *name, const char *path, void *userdata) {
        const Digesting *d = userdata;
        struct stat st;
        int r;

        if (interrupt_signal())
                return -ECANCELED;
        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        hash_attributes(d->hash, path, &st);
        r = hash_xattrs(d, folder, name);
        if (r < 0)
                return r;

        if (S_ISLNK(st.st_mode))
                return hash_target(d->hash, folder, name);
        if (S_ISREG(st.st_mode))
                return hash_content(d->hash, folder, name);
        if (S_ISDIR(st.st_mode)) {
                int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

                return fd < 0 ? -errno : folder_each(fd, path, hash_entry, userdata);
        }
        return 0;
}

static int digest_layer(const char *tree, AttributeSet set, Digest ret) {
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
        r = hash_entry(fd, ".", "", &(Digesting) { h, set });
        if (r < 0)
                return r;
        hash_end(h, digest);
        if (!digest_valid(digest))
                return -EIO;
        memcpy(ret, digest, sizeof(Digest));
        return 0;
}

int layer_digest(const char *tree, Digest ret) {
        return digest_layer(tree, ATTRIBUTES_OWN, ret);
}

int layer_portable_digest(const char *tree, Digest ret) {
        return digest_layer(tree, ATTRIBUTES_PORTABLE, ret);
}
