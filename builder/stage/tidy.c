/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What no image keeps: whatever makes one machine different from another, and what package
 * management left behind. A table says what; docs/checks.md says how each is checked afterwards.
 * What each stage with package management's programs would leave anew goes at its own end already,
 * for in the last stage it would only be hidden: the layers below would still hold one copy each,
 * and keys that a package's script made by chance, so that no two builders had the same layer. */

#include "stage/internal.h"
#include "stage/rpm-bdb.h"
#include "sandbox/open-inside.h"

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>

/* dpkg's, of what each package brings, a path a line. */
#define PACKAGE_LISTS "var/lib/dpkg/info"
#define PACKAGE_LIST_MAX (64 * 1024 * 1024)

typedef enum Action {
        REMOVE,       /* whatever it is */
        REMOVE_FILE,  /* unless it is a symbolic link or a folder */
        REMOVE_FILES, /* of a folder all files below it at any depth; the folders are packages' */
        REMOVE_MADE, /* a file that a package's script made, and none of the layer's packages brings */
        SAME_ID,     /* a file with an ID has the same one in all builds: later stages read it */
} Action;

typedef enum When {
        END = 1,     /* of the whole tree */
        EACH = 2,    /* stage with package management's programs, of what that wrote */
        INSTALL = 4, /* stages that install packages; what scripts of an overlay make, stays */
} When;

static const struct {
        const char *folder, *names; /* names: a shell pattern */
        Action action;
        When when;
} rules[] = {
        /* Identity. */
        { "etc", "machine-id", SAME_ID, EACH },
        { "etc", "machine-id", REMOVE, END },
        { "var/lib/dbus", "machine-id", REMOVE_FILE, END | EACH },
        { "etc/ssh", "ssh_host_*", REMOVE, END | INSTALL },
        { "etc/nvme", "hostid", REMOVE_MADE, INSTALL },
        { "etc/nvme", "hostnqn", REMOVE_MADE, INSTALL },
        { "etc/munge", "munge.key", REMOVE_MADE, INSTALL },
        /* dkms's for signing modules, Debian's, EL's and Ubuntu's; it makes others when it needs
         * them. The public half stays: who enrolled it has modules that are signed with it. */
        { "var/lib/dkms", "mok.*", REMOVE_FILE, INSTALL },
        { "var/lib/dkms", "mok.key", REMOVE_FILE, END },
        { "var/lib/shim-signed/mok", "MOK.*", REMOVE_FILE, INSTALL },
        { "var/lib/shim-signed/mok", "MOK.priv", REMOVE_FILE, END },
        { "var/lib/systemd", "random-seed", REMOVE, END | EACH },
        { "var/lib/systemd", "credential.secret", REMOVE, END | EACH },
        { "var/lib", "urandom", REMOVE_FILES, END },
        { "boot/efi/loader", "random-seed", REMOVE, END },
        { "etc", "resolv.conf", REMOVE_FILE, END },
        { "var/lib/cloud", "*", REMOVE, END },
        { "var/lib/dhcp", "*", REMOVE, END },

        /* What package management keeps for itself. */
        { "var/lib/apt/lists", "*", REMOVE, END },
        { "var/cache", "dnf", REMOVE_FILES, END },
        { "var/cache", "apt", REMOVE_FILES, END },
        { "var/lib/dpkg", "*-old", REMOVE, END | EACH },
        { "var/lib/dpkg", "lock*", REMOVE, END },
        { "var/lib/dpkg/triggers", "Lock", REMOVE, END },
        { "var/cache/debconf", "*-old", REMOVE, END | EACH },
        { "var/cache/ldconfig", "*", REMOVE, END | EACH },
        { "var/lib/apt", "listchanges*", REMOVE, END },
        { "etc", "*-", REMOVE_FILE, END | EACH }, /* passwd-, shadow- … */
        { "etc", ".pwd.lock", REMOVE, END },

        /* Traces of the build. */
        { "var/log", "dpkg.log", REMOVE, END | EACH },
        { "var/log", "alternatives.log", REMOVE, END | EACH },
        { "var/log", "bootstrap.log", REMOVE, END | EACH },
        { "var/log/apt", "*", REMOVE, END | EACH },
        { "var/lib/rpm", ".rpm.lock", REMOVE, END | EACH },
        { "var/lib/rpm", "*.sqlite-shm", REMOVE, END | EACH }, /* SQLite makes it from its log */
        { "var/lib/rpm", "__db.*", REMOVE, END | EACH },       /* Berkeley DB's memory, shared */
        { "var/lib/rpm", ".dbenv.lock", REMOVE, END | EACH },
        { "var", "log", REMOVE_FILES, END },
        { "tmp", "*", REMOVE, END },
        { "var/tmp", "*", REMOVE, END },
        { "run", "*", REMOVE, END },
        { "root", ".*_history", REMOVE, END },
        { "root", ".lesshst", REMOVE, END },
        { "root", ".viminfo", REMOVE, END },
        { "root", ".wget-hsts", REMOVE, END },
        { "root", ".cache", REMOVE, END },
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

/* "imgbuildimgbuild" in hexadecimal; the last stage empties the file. */
#define SAME_ID_TEXT "696d676275696c64696d676275696c64\n"

static int write_same_id(int folder_fd, const char *name, const struct stat *st) {
        _cleanup_close_ int fd = -EBADF;

        if (!S_ISREG(st->st_mode) || st->st_size < (off_t) strlen(SAME_ID_TEXT) - 1)
                return 0; /* none */
        /* Anew, for its owner may not write it, and be no root. */
        if (unlinkat(folder_fd, name, 0) < 0)
                return -errno;
        fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 || fchmod(fd, st->st_mode & 07777) < 0)
                return -errno;
        return write_all(fd, SAME_ID_TEXT, strlen(SAME_ID_TEXT));
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
        case REMOVE_MADE:
                return S_ISREG(st.st_mode) && unlinkat(folder_fd, name, 0) < 0 ? -errno : 0;
        case REMOVE_FILES:
                if (!S_ISDIR(st.st_mode))
                        return 0;
                fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                return fd < 0 ? -errno : remove_files(fd, false);
        case SAME_ID:
                return write_same_id(folder_fd, name, &st);
        }
        return -EINVAL;
}

/* Whether a package of this layer brings the file: then it is its maker's, and checks may have
 * something to say. Without dpkg's lists nobody knows, so that it counts as brought. */
static int is_brought(int root_fd, const char *folder, const char *name) {
        _cleanup_free_ char *line = strf("\n/%s/%s\n", folder, name);
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        if (!line)
                return -ENOMEM;
        r = inside_open_folder(root_fd, PACKAGE_LISTS, &d);
        if (r < 0)
                return r == -ENOENT ? 1 : r;
        FOLDER_FOREACH (list, d) {
                _cleanup_free_ char *path = strf(PACKAGE_LISTS "/%s", list), *text = NULL;

                if (fnmatch("*.list", list, 0) != 0)
                        continue;
                if (!path)
                        return -ENOMEM;
                r = inside_read_file(root_fd, path, PACKAGE_LIST_MAX, &text, NULL);
                if (r < 0)
                        return r;
                if (strstr(text, line))
                        return 1;
        }
        return 0;
}

static int applies(int root_fd, size_t rule, const char *name) {
        if (fnmatch(rules[rule].names, name, 0) != 0)
                return 0;
        if (rules[rule].action != REMOVE_MADE)
                return 1;
        int r = is_brought(root_fd, rules[rule].folder, name);
        return r < 0 ? r : r == 0;
}

/* Applies one rule to all names of its folder. A folder that the image does not have is fine. */
static int apply_rule(int root_fd, size_t rule) {
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = inside_open_folder(root_fd, rules[rule].folder, &d);
        if (r == -ENOENT || r == -ENOTDIR)
                return 0;
        if (r < 0)
                return r;

        FOLDER_FOREACH (name, d) {
                r = applies(root_fd, rule, name);
                if (r > 0)
                        r = apply(dirfd(d), name, rules[rule].action);
                if (r < 0)
                        return log_error_errno(r, "Cannot clean up %s/%s", rules[rule].folder,
                                        rules[rule].names);
        }
        return 0;
}

static int apply_rules(int root_fd, unsigned when) {
        for (size_t i = 0; i < ELEMENTSOF(rules); i++) {
                int r = rules[i].when & when ? apply_rule(root_fd, i) : 0;

                if (r < 0)
                        return r;
        }
        return 0;
}

int tidy_tree(int root_fd) {
        return apply_rules(root_fd, END);
}

int tidy_upper(int root_fd, StageKind kind) {
        int r = apply_rules(root_fd, kind == STAGE_RUN ? EACH : EACH | INSTALL);

        return r < 0 ? r : rpm_bdb_settle_all(root_fd);
}

int tidy_layer(StageBuild *b) {
        /* All of it was written by this stage, for those below are tidy; so it is in the upper
         * layer. */
        _cleanup_close_ int root_fd = open(b->sandbox.upper, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int r = root_fd < 0 ? -errno : tidy_upper(root_fd, b->stage->kind);

        return r < 0 ? log_error_errno(r, "Stage %s: cannot clean its layer", b->stage->id) : 0;
}
