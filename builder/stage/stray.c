/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether a stage kept to its folder: nothing else of the tree is changed in its layer, and the
 * folders on the way are what they were. */

#include "stage/internal.h"

#include "sandbox/open-inside.h"
#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define ATTRIBUTES_MAX (64 * 1024) /* bytes, as the kernel has it */

/* Whatever lies in the folder under another name than `only`. */
static int find_other(int folder_fd, const char *only, char **ret) {
        _cleanup_closedir_ DIR *d = NULL;
        _cleanup_close_ int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r;

        if (copy < 0)
                return -errno;
        r = folder_from_fd(TAKE_FD(copy), &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d)
                if (!streq(name, only)) {
                        *ret = strdup(name);
                        return *ret ? 0 : -ENOMEM;
                }
        return 0;
}

/* To the first file in it, for a message. Takes the fd. */
static int go_down(int folder_fd, char **path) {
        _cleanup_close_ int fd = folder_fd;

        while (fd >= 0) {
                _cleanup_free_ char *child = NULL;
                char *longer;
                int r = find_other(fd, "", &child), below;

                if (r < 0 || !child)
                        return r;
                longer = strf("%s/%s", *path, child);
                if (!longer)
                        return -ENOMEM;
                free(*path);
                *path = longer;
                below = openat(fd, child, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                safe_close(fd);
                fd = below;
        }
        return 0;
}

int stage_find_stray(const char *upper, const char *below, char **ret) {
        _cleanup_strv_free_ char **parts = strv_split(below, "/");
        _cleanup_close_ int fd = open(upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *at = strdup("");
        int r;

        if (!parts || !at)
                return -ENOMEM;
        if (fd < 0)
                return -errno;
        STRV_FOREACH (part, parts) {
                _cleanup_free_ char *other = NULL, *next = NULL;
                int deeper;

                r = find_other(fd, *part, &other);
                if (r < 0)
                        return r;
                next = strf("%s/%s", at, other ? other : *part);
                if (!next)
                        return -ENOMEM;
                deeper = openat(fd, *part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (!other && deeper < 0 && errno == ENOENT)
                        break; /* the layer ends here */
                if (other || deeper < 0) {
                        safe_close(deeper);
                        r = other ? go_down(openat(fd, other,
                                                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
                                                                            O_CLOEXEC),
                                                    &next)
                                  : 0;
                        if (r < 0)
                                return r;
                        *ret = TAKE_PTR(next);
                        return 0;
                }
                safe_close(fd);
                fd = deeper;
                free(at);
                at = TAKE_PTR(next);
        }
        *ret = NULL;
        return 0;
}

/* --- the folders on the way ------------------------------------------------------------------- */

static bool is_overlayfs_own(const char *attribute) {
        return startswith(attribute, "trusted.overlay.") || startswith(attribute, "user.overlay.");
}

/* Whether each attribute of `a` (an ACL among them) is the same in `b`; b -EBADF: there is
 * nothing. */
static bool has_all_of(int a, int b) {
        _cleanup_free_ char *names = malloc(ATTRIBUTES_MAX), *x = malloc(ATTRIBUTES_MAX),
                            *y = malloc(ATTRIBUTES_MAX);
        ssize_t n = names ? flistxattr(a, names, ATTRIBUTES_MAX) : -1;

        if (!x || !y || n < 0)
                return false;
        for (const char *name = names; name < names + n; name += strlen(name) + 1) {
                ssize_t size, other;

                if (is_overlayfs_own(name))
                        continue;
                size = fgetxattr(a, name, x, ATTRIBUTES_MAX);
                other = b < 0 ? -1 : fgetxattr(b, name, y, ATTRIBUTES_MAX);
                if (size < 0 || other != size || memcmp(x, y, (size_t) size) != 0)
                        return false;
        }
        return true;
}

/* A folder of the stage's layer and the one below it (-EBADF: there is none). */
static bool is_unchanged(int upper, int below) {
        struct stat now, before = { .st_mode = S_IFDIR | 0755 };

        if (fstat(upper, &now) < 0 || (below >= 0 && fstat(below, &before) < 0))
                return false;
        return now.st_mode == before.st_mode && now.st_uid == before.st_uid &&
               now.st_gid == before.st_gid && has_all_of(upper, below) &&
               (below < 0 || has_all_of(below, upper));
}

typedef struct Way {
        const char *stage, *upper, *path;
} Way;

/* In a child that sees the tree as it was. */
static int compare_way(const char *root, void *userdata) {
        const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        const Way *w = userdata;
        _cleanup_strv_free_ char **parts = strv_split(w->path, "/");
        _cleanup_close_ int root_fd = open(root, flags), upper_fd = open(w->upper, flags);
        _cleanup_free_ char *at = strdup("");

        if (!parts || !at)
                return log_oom();
        if (root_fd < 0 || upper_fd < 0)
                return log_error_errno(-errno, "Stage %s: its layer cannot be read", w->stage);
        for (char **part = parts; *part; part++) {
                _cleanup_close_ int upper = inside_open(upper_fd, at, flags),
                                    below = inside_open(root_fd, at, flags);
                char *longer;

                if (upper >= 0 && !is_unchanged(upper, below))
                        return log_error_return(-EIO,
                                        "Stage %s: one of its wheels changed owner, mode or attributes of /%s, and none may change anything but %s",
                                        w->stage, at, w->path);
                longer = *at ? strf("%s/%s", at, *part) : strdup(*part);
                if (!longer)
                        return log_oom();
                free(at);
                at = longer;
        }
        return 0;
}

int stage_parents_unchanged(const StageBuild *b, const char *path) {
        Sandbox before = b->sandbox;

        before.upper = before.work = NULL;
        before.read_only = true;
        return sandbox_call(&before, compare_way,
                        &(Way) { .stage = b->stage->id, .upper = b->sandbox.upper, .path = path });
}
