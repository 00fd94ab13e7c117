/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What no image keeps: whatever makes one machine different from another, and what package
 * management left behind. A table says what; docs/checks.md says how each is checked afterwards.
 * What each stage with package management's programs would leave anew goes at its own end already,
 * for in the last stage it would only be hidden: the layers below would still hold one copy
 * each. */

#include "stage/internal.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

typedef enum Action {
        REMOVE,       /* whatever it is */
        REMOVE_FILE,  /* unless it is a symbolic link or a folder */
        REMOVE_FILES, /* of a folder all files below it at any depth; the folders are packages' */
} Action;

static const struct {
        const char *folder, *names; /* names: a shell pattern */
        Action action;
        bool each; /* not only at the end */
} rules[] = {
        /* Identity. */
        { "etc", "machine-id", REMOVE },
        { "var/lib/dbus", "machine-id", REMOVE_FILE },
        { "etc/ssh", "ssh_host_*", REMOVE },
        { "var/lib/systemd", "random-seed", REMOVE },
        { "var/lib/systemd", "credential.secret", REMOVE },
        { "var/lib", "urandom", REMOVE_FILES },
        { "boot/efi/loader", "random-seed", REMOVE },
        { "etc", "resolv.conf", REMOVE_FILE },
        { "var/lib/cloud", "*", REMOVE },
        { "var/lib/dhcp", "*", REMOVE },

        /* What package management keeps for itself. */
        { "var/lib/apt/lists", "*", REMOVE },
        { "var/cache", "dnf", REMOVE_FILES },
        { "var/cache", "apt", REMOVE_FILES },
        { "var/lib/dpkg", "*-old", REMOVE, true },
        { "var/lib/dpkg", "lock*", REMOVE },
        { "var/lib/dpkg/triggers", "Lock", REMOVE },
        { "var/cache/debconf", "*-old", REMOVE, true },
        { "var/cache/ldconfig", "*", REMOVE, true },
        { "var/lib/apt", "listchanges*", REMOVE },
        { "etc", "*-", REMOVE_FILE, true }, /* passwd-, shadow- … */
        { "etc", ".pwd.lock", REMOVE },

        /* Traces of the build. */
        { "var/log", "dpkg.log", REMOVE, true },
        { "var/log", "alternatives.log", REMOVE, true },
        { "var/log", "bootstrap.log", REMOVE, true },
        { "var/log/apt", "*", REMOVE, true },
        { "var/lib/rpm", ".rpm.lock", REMOVE, true },
        { "var/lib/rpm", "*.sqlite-shm", REMOVE, true }, /* SQLite makes it from its log */
        { "var", "log", REMOVE_FILES },
        { "tmp", "*", REMOVE },
        { "var/tmp", "*", REMOVE },
        { "run", "*", REMOVE },
        { "root", ".*_history", REMOVE },
        { "root", ".lesshst", REMOVE },
        { "root", ".viminfo", REMOVE },
        { "root", ".wget-hsts", REMOVE },
        { "root", ".cache", REMOVE },
};

/* Of configuration files that somebody's package replaced. */
static const char *const leftovers[] = { "*.dpkg-old", "*.dpkg-dist", "*.dpkg-new", "*.dpkg-tmp",
        "*.ucf-old", "*.ucf-dist" };

static bool is_leftover(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(leftovers); i++)
                if (fnmatch(leftovers[i], name, 0) == 0)
                        return true;
        return false;
}

static int remove_files(int fd, bool only_leftovers);

static int remove_file(int folder_fd, const char *name, bool only_leftovers) {
        struct stat st;

        if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode)) {
                int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                return fd < 0 ? -errno : remove_files(fd, only_leftovers);
        }
        if (only_leftovers && !is_leftover(name))
                return 0;
        return unlinkat(folder_fd, name, 0) < 0 ? -errno : 0;
}

/* Removes files below a folder: all, or only leftovers. Takes the fd. */
static int remove_files(int fd, bool only_leftovers) {
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = folder_from_fd(fd, &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                r = remove_file(dirfd(d), name, only_leftovers);
                if (r < 0)
                        return r;
        }
        return 0;
}

int tidy_leftovers(int folder_fd) {
        return remove_files(folder_fd, true);
}

static int apply(int folder_fd, const char *name, Action action) {
        _cleanup_free_ char *path = NULL;
        struct stat st;
        int fd;

        if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;
        switch (action) {
        case REMOVE:
                path = strf("/proc/self/fd/%d/%s", folder_fd, name);
                return path ? rm_rf(path) : -ENOMEM;
        case REMOVE_FILE:
                return S_ISREG(st.st_mode) && unlinkat(folder_fd, name, 0) < 0 ? -errno : 0;
        case REMOVE_FILES:
                if (!S_ISDIR(st.st_mode))
                        return 0;
                fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                return fd < 0 ? -errno : remove_files(fd, false);
        }
        return -EINVAL;
}

/* Applies one rule to all names of its folder. A folder that the image does not have is fine. */
static int apply_rule(int root_fd, size_t rule) {
        _cleanup_closedir_ DIR *d = NULL;
        int fd, r;

        fd = inside_open(root_fd, rules[rule].folder, O_RDONLY | O_DIRECTORY);
        if (fd == -ENOENT || fd == -ENOTDIR)
                return 0;
        if (fd < 0)
                return fd;
        r = folder_from_fd(fd, &d);
        if (r < 0)
                return r;

        FOLDER_FOREACH (name, d) {
                if (fnmatch(rules[rule].names, name, 0) != 0)
                        continue;
                r = apply(dirfd(d), name, rules[rule].action);
                if (r < 0)
                        return log_error_errno(r, "Cannot clean up %s/%s", rules[rule].folder,
                                        rules[rule].names);
        }
        return 0;
}

/* All rules, or only those of each stage. */
static int apply_rules(int root_fd, bool each) {
        for (size_t i = 0; i < ELEMENTSOF(rules); i++) {
                int r = rules[i].each || !each ? apply_rule(root_fd, i) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

int tidy_tree(int root_fd) {
        return apply_rules(root_fd, false);
}

int tidy_layer(StageBuild *b) {
        /* All of it was written by this stage, for those below are tidy; so it is in the upper
         * layer. */
        _cleanup_close_ int root_fd = open(b->sandbox.upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r = root_fd < 0 ? -errno : apply_rules(root_fd, true);

        return r < 0 ? log_error_errno(r, "Stage %s: cannot clean its layer", b->stage->id) : 0;
}
