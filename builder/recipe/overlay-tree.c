/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Paths inside an overlay: opened, walked, and kept from leading out of it. */

#include "recipe/overlay-tree.h"
#include "shared/file-util.h"
#include "shared/strv.h"
#include "shared/folder.h"
#include "shared/suggest.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>

static void report(const TreePlace *at, const char *format, ...) _printf_(2, 3);

static void report(const TreePlace *at, const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        va_list ap;

        va_start(ap, format);
        text = vstrf(format, ap);
        va_end(ap);
        if (text)
                problems_add(at->problems, at->file, at->path, "%s", text);
        else
                at->problems->oom = true;
}

/* Names in the folder that `path` would be in, for a suggestion. */
static char *suggest_file(const char *path) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_free_ char *parent = strndup(path, (size_t) (path_basename(path) - path));
        _cleanup_closedir_ DIR *d = NULL;

        if (parent && folder_open(parent, &d) >= 0)
                FOLDER_FOREACH (name, d)
                        if (*name != '.' && strv_extend(&names, name) < 0)
                                break;
        strv_sort(names);
        return suggest_text(path_basename(path), names);
}

char *overlay_resolve(const TreePlace *at, const char *root, const char *relative, bool folder) {
        _cleanup_free_ char *path = path_join(root, relative), *real = NULL;
        const char *rest;
        struct stat st;

        if (!path) {
                at->problems->oom = true;
                return NULL;
        }
        real = realpath(path, NULL);
        if (!real && errno == ENOENT) {
                _cleanup_free_ char *suggestion = suggest_file(path);

                report(at, "there is no \"%.100s\" in this overlay's folder%s", relative,
                                strempty(suggestion));
                return NULL;
        }
        if (!real || stat(real, &st) < 0) {
                report(at, "cannot read \"%.100s\": %s", relative, strerror(errno));
                return NULL;
        }
        rest = startswith(real, root);
        if (!rest || *rest != '/') {
                report(at, "\"%.100s\" leads out of the overlay, to %s", relative, real);
                return NULL;
        }
        if (folder ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode)) {
                report(at, "\"%.100s\" is not a %s", relative, folder ? "folder" : "file");
                return NULL;
        }
        if (faccessat(AT_FDCWD, real, folder ? R_OK | X_OK : R_OK, AT_EACCESS) < 0) {
                report(at, "cannot read \"%.100s\": %s", relative, strerror(errno));
                return NULL;
        }
        return TAKE_PTR(real);
}

char *overlay_resolve_script(const TreePlace *at, const char *root, const char *relative) {
        _cleanup_free_ char *path = overlay_resolve(at, root, relative, false);
        _cleanup_close_ int fd = -EBADF;
        char start[2] = {};
        struct stat st;

        if (!path)
                return NULL;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0 || fstat(fd, &st) < 0 || read(fd, start, sizeof(start)) < 0) {
                report(at, "cannot read \"%.100s\": %s", relative, strerror(errno));
                return NULL;
        }
        if (memcmp(start, "#!", 2) != 0) {
                report(at, "\"%.100s\" does not begin with #! and an interpreter, as #!/bin/sh",
                                relative);
                return NULL;
        }
        if (!(st.st_mode & 0111)) {
                report(at, "\"%.100s\" is not executable; chmod +x it", relative);
                return NULL;
        }
        return TAKE_PTR(path);
}

typedef struct Walk {
        const TreePlace *at;
        bool links;
} Walk;

/* Whether a link in a folder `depth` levels below the root (0 for an absolute one) climbs above the
 * root on its way. What it meets on the way are paths in the image, so only its text counts. */
static bool climbs_out(const char *target, unsigned depth) {
        while (*target) {
                size_t n = strcspn(target, "/");

                if (n == 2 && strncmp(target, "..", 2) == 0) {
                        if (depth == 0)
                                return true;
                        depth--;
                } else if (n > 0 && !(n == 1 && *target == '.'))
                        depth++;
                target += n + (target[n] == '/');
        }
        return false;
}

static void check_link(
                const Walk *w, int dir_fd, const char *name, const char *shown, unsigned depth) {
        char target[PATH_MAX];
        ssize_t n = readlinkat(dir_fd, name, target, sizeof(target) - 1);

        if (n < 0) {
                report(w->at, "%s: cannot read the link: %s", shown, strerror(errno));
                return;
        }
        target[n] = '\0';
        if (w->links && climbs_out(target, *target == '/' ? 0 : depth))
                report(w->at,
                                "%s: the link leads out of the tree, to \"%.200s\"; "
                                "a link may be absolute (a path in the image) or stay inside",
                                shown, target);
}

static void check_folder(const Walk *w, int taken_fd, const char *shown, unsigned depth);

static void check_entry(
                const Walk *w, int folder, const char *name, const char *shown, unsigned depth) {
        struct stat st;
        int fd;

        if (strpbrk(name, "\n\r"))
                return report(w->at, "%s: the name has a line break in it; rename it", shown);
        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return report(w->at, "%s: cannot read it: %s", shown, strerror(errno));

        if (S_ISLNK(st.st_mode))
                return check_link(w, folder, name, shown, depth);
        if (S_ISDIR(st.st_mode)) {
                fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (fd < 0)
                        return report(w->at, "%s: cannot read it: %s", shown, strerror(errno));
                return check_folder(w, fd, shown, depth + 1);
        }
        if (!S_ISREG(st.st_mode))
                return report(w->at, "%s: is a %s; only files, folders and links can be copied",
                                shown,
                                S_ISSOCK(st.st_mode)   ? "socket"
                                : S_ISFIFO(st.st_mode) ? "FIFO"
                                                       : "device");
        if (faccessat(folder, name, R_OK, AT_EACCESS) < 0)
                report(w->at, "%s: cannot read it: %s", shown, strerror(errno));
}

static void check_folder(const Walk *w, int taken_fd, const char *shown, unsigned depth) {
        _cleanup_strv_free_ char **names = NULL;
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = folder_from_fd(taken_fd, &d);
        if (r < 0)
                return report(w->at, "%s: cannot read it: %s", shown, strerror(-r));
        r = folder_names(d, &names);
        if (r < 0)
                return report(w->at, "%s: cannot read it: %s", shown, strerror(-r));
        STRV_FOREACH (name, names) {
                _cleanup_free_ char *path = path_join(shown, *name);

                if (!path) {
                        w->at->problems->oom = true;
                        return;
                }
                check_entry(w, dirfd(d), *name, path, depth);
        }
}

void tree_check(const TreePlace *at, const char *root, const char *folder, bool links) {
        Walk w = { .at = at, .links = links };
        _cleanup_free_ char *path = path_join(root, folder);
        int fd;

        if (!path) {
                at->problems->oom = true;
                return;
        }
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                report(at, "%s: cannot read it: %s", folder,
                                errno == ENOTDIR || errno == ELOOP ? "not a folder"
                                                                   : strerror(errno));
        else
                check_folder(&w, fd, folder, 0);
}
