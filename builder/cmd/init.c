/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* imgbuild init: a project of one's own, copied from images/project of the shipped files. A new
 * folder appears whole, in one rename; into an empty one its parts are moved when all of them are
 * written. What is called dot-NAME there is .NAME in the project.
 *
 * A killed one leaves its draft: the next one begins anew, or, where the draft was whole and its
 * parts were on their way, moves the rest. */

#include "common/data-folder.h"
#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/log.h"
#include "shared/quote.h"
#include "cmd/verb.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#define FILE_MAX (1024 * 1024) /* bytes */
#define DRAFT ".imgbuild-init"
#define WHOLE DRAFT "-whole"

/* What lies where the project is to be. */
typedef enum There { NOTHING, EMPTY, UNFINISHED } There;

static char *project_name(const char *name) {
        const char *hidden = startswith(name, "dot-");

        return hidden ? strf(".%s", hidden) : strdup(name);
}

/* By descriptors: who owns the folder above might put a link where we go. */
static int copy_plain(const char *from, int folder_fd, const char *name, mode_t mode) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *data = NULL;
        size_t size;
        int r;

        r = read_file(from, FILE_MAX, &data, &size);
        if (r < 0)
                return r;
        fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        r = write_all(fd, data, size);
        if (r < 0)
                return r;
        return fchmod(fd, mode & 0100 ? 0755 : 0644) < 0 ? -errno : 0;
}

static int open_folder_at(int folder_fd, const char *name) {
        int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

static int copy_folder(const char *from, int to_fd);

static int copy_entry(const char *source, int to_fd, const char *name) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (stat(source, &st) < 0)
                return -errno;
        if (!S_ISDIR(st.st_mode))
                return copy_plain(source, to_fd, name, st.st_mode);
        if (mkdirat(to_fd, name, 0755) < 0)
                return -errno;
        fd = open_folder_at(to_fd, name);
        return fd < 0 ? fd : copy_folder(source, fd);
}

/* Files and folders, nothing else; programs stay programs. */
static int copy_folder(const char *from, int to_fd) {
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = folder_open(from, &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                _cleanup_free_ char *own = project_name(name), *source = path_join(from, name);

                if (!own || !source)
                        return -ENOMEM;
                r = copy_entry(source, to_fd, own);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Moves what is in `draft` into `folder`; what was moved is taken out again where one cannot be. */
static int move_parts(const char *draft, const char *folder) {
        _cleanup_strv_free_ char **moved = NULL;
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = folder_open(draft, &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                _cleanup_free_ char *from = path_join(draft, name), *to = path_join(folder, name);

                if (!from || !to)
                        r = -ENOMEM;
                else if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) < 0)
                        r = -errno;
                else
                        r = strv_push(&moved, TAKE_PTR(to));
                if (r < 0)
                        break;
        }
        if (r < 0)
                STRV_FOREACH (path, moved)
                        rm_rf(*path);
        return r;
}

static int look_at(const char *folder, There *ret) {
        _cleanup_closedir_ DIR *d = NULL;
        bool other = false, whole = false;
        int r;

        r = folder_open(folder, &d);
        if (r == -ENOENT) {
                *ret = NOTHING;
                return 0;
        }
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                whole = whole || streq(name, WHOLE);
                other = other || (!streq(name, DRAFT) && !streq(name, WHOLE));
        }
        if (other && !whole)
                return -ENOTEMPTY;
        *ret = whole ? UNFINISHED : EMPTY;
        return 0;
}

/* Beside the new folder, or within the empty one. */
static char *draft_place(const char *folder, bool exists) {
        _cleanup_free_ char *above = NULL;

        if (exists)
                return path_join(folder, DRAFT);
        above = path_folder(folder);
        return above ? strf("%s/.%s" DRAFT, above, path_basename(folder)) : NULL;
}

/* A new folder, held locked by the descriptor that is returned; what a killed one left in its place
 * goes. -EBUSY: another one is at work. */
static int claim(const char *draft) {
        for (;;) {
                _cleanup_close_ int fd = -EBADF;
                bool made = mkdir(draft, 0755) >= 0;
                struct stat st;

                if (!made && errno != EEXIST)
                        return -errno;
                fd = open_folder_at(AT_FDCWD, draft);
                if (fd == -ENOENT)
                        continue;
                if (fd < 0)
                        return fd;
                if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
                        return -EBUSY;
                if (fstat(fd, &st) < 0)
                        return -errno;
                if (made && st.st_nlink > 0)
                        return TAKE_FD(fd);
                if (!made)
                        rm_rf(draft);
        }
}

static int finish(const char *whole, const char *folder) {
        int r = move_parts(whole, folder);

        rm_rf(whole);
        return r;
}

static int place(const char *draft, const char *folder, There there) {
        _cleanup_free_ char *whole = NULL;

        if (there == NOTHING)
                return renameat2(AT_FDCWD, draft, AT_FDCWD, folder, RENAME_NOREPLACE) < 0 ? -errno
                                                                                          : 0;
        whole = path_join(folder, WHOLE);
        if (!whole)
                return -ENOMEM;
        if (renameat2(AT_FDCWD, draft, AT_FDCWD, whole, RENAME_NOREPLACE) < 0)
                return -errno;
        return finish(whole, folder);
}

static int fill_and_place(const char *template, const char *draft, int draft_fd, const char *folder,
                There there) {
        int r = copy_folder(template, draft_fd);

        return r < 0 ? r : place(draft, folder, there);
}

static int make_project(const char *template, const char *folder, There there) {
        _cleanup_free_ char *draft = draft_place(folder, there != NOTHING);
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!draft)
                return -ENOMEM;
        if (there == UNFINISHED) {
                _cleanup_free_ char *whole = path_join(folder, WHOLE);

                return whole ? finish(whole, folder) : -ENOMEM;
        }
        fd = claim(draft);
        if (fd < 0)
                return fd;
        r = fill_and_place(template, draft, fd, folder, there);
        rm_rf(draft);
        return r;
}

static int report(int r, const char *folder) {
        switch (r) {
        case -EEXIST:
                log_error("%s is there, and no folder (a link that leads nowhere?): name one that is empty or not there yet",
                                folder);
                break;
        case -ENOTEMPTY:
                log_error("%s is not empty: name a folder that is empty or not there yet; nothing was written",
                                folder);
                break;
        case -ENOTDIR:
                log_error("%s is no folder: name one that is empty or not there yet", folder);
                break;
        case -ENOENT:
                log_error("The folder that %s is to be in is not there: make it first (mkdir -p)",
                                folder);
                break;
        case -EBUSY:
                log_error("Another imgbuild init is making %s: name another folder, or wait for its end",
                                folder);
                break;
        default:
                log_error_errno(r, "Cannot make a project in %s", folder);
                return exit_code_from_errno(r);
        }
        return EXIT_FAILED;
}

/* As a shell takes it: a plain name as it is. */
static char *word_for_shell(const char *folder) {
        static const char plain[] =
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+-";
        _cleanup_free_ char *path = strf("%s%s", folder[0] == '-' ? "./" : "", folder);

        return !path || path[strspn(path, plain)] == '\0' ? TAKE_PTR(path) : shell_quote(path);
}

static void tell(const char *folder) {
        _cleanup_free_ char *word = word_for_shell(folder);

        printf("A project is in %s. What comes next:\n\n", folder);
        if (!streq(folder, "."))
                printf("    cd %s\n", strempty(word));
        printf("    imgbuild plan images/site-node.json\n"
               "    imgbuild build images/site-node.json\n"
               "    imgbuild boot out/site-node/site-node.qcow2 --until ready\n\n"
               "Its README.md says what is where.\n");
}

/* Its name goes into scripts, logs and messages. */
static int check(VerbCall *call) {
        const char *folder = call->n_arguments > 0 ? call->arguments[0] : ".";
        _cleanup_free_ char *shown = strdup(folder);

        if (!shown)
                return log_oom();
        text_disarm(shown, false);
        if (!isempty(folder) && streq(folder, shown))
                return 0;
        log_error("%s: name a folder, such as my-site",
                        isempty(folder) ? "The name is empty" : "The name has control characters");
        return EXIT_USAGE;
}

static int run(VerbCall *call) {
        _cleanup_free_ char *data = data_folder(), *template = NULL, *folder = NULL;
        There there;
        int r;

        template = data ? path_join(data, "images/project") : NULL;
        folder = strdup(call->n_arguments > 0 ? call->arguments[0] : ".");
        if (!template || !folder)
                return log_oom();
        for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--)
                folder[n - 1] = '\0';
        if (access(template, R_OK) < 0) {
                log_error("%s, what projects are made from, is not there: 'make install' puts it there",
                                template);
                return EXIT_HOST;
        }

        r = look_at(folder, &there);
        if (r < 0)
                return report(r, folder);
        r = make_project(template, folder, there);
        if (r < 0)
                return report(r, folder);
        tell(folder);
        return EXIT_OK;
}

const Verb verb_init = {
        .spec = { "init", "make a project of your own: recipe, overlay, step, tests", NULL,
                        "FOLDER", COMPLETE_FOLDER },
        .usage = "[FOLDER] [OPTION…]",
        .about = "Makes a project in FOLDER (the current one unless named), which is empty or not there yet: a recipe that\n"
                 "extends a shipped one, an overlay with a package, a service, a check and a step of its own, that step's\n"
                 "test, node configuration and a script for CI. It builds and boots as it is.",
        .max_arguments = 1,
        .wanted = "takes one folder at most",
        .check = check,
        .run = run,
};
