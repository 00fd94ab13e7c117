/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The store's folder: opening it, locks, scratch that outlives nobody, blobs. Layers are in
 * layer.c, sizes in contents.c, removal in prune.c.
 *
 * Nothing here needs a clean exit. Scratch is locked by the process that made it, and the kernel
 * drops that lock however the process ends; the next store_open() removes every scratch folder
 * that nobody locks. Everything else appears by rename(). */

#include "store/internal.h"

#include "common/userns.h"
#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/log.h"
#include "shared/strv.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define FORMAT_TRUSTED "imgbuild store 1, trusted.overlay\n"
#define FORMAT_USER "imgbuild store 1, user.overlay\n"

static const char *const folders[] = { "layers", "blobs/sha256", "work", "locks", "log", "plans" };

int store_lock(const char *path, int open_flags, int operation) {
        for (;;) {
                _cleanup_close_ int fd = open(path, open_flags | O_CLOEXEC | O_NOFOLLOW, 0600);
                struct stat locked, there;

                if (fd < 0)
                        return -errno;
                if (flock(fd, operation) < 0) {
                        if (errno == EINTR)
                                continue;
                        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
                }
                if (fstat(fd, &locked) < 0)
                        return -errno;
                if (stat(path, &there) >= 0 && there.st_ino == locked.st_ino &&
                                there.st_dev == locked.st_dev)
                        return TAKE_FD(fd);
                if (!(open_flags & O_CREAT) && errno == ENOENT)
                        return -ENOENT;
        }
}

/* Removes what nobody locks. */
static void sweep_folder(const char *path) {
        _cleanup_close_ int fd = store_lock(path, O_RDONLY | O_DIRECTORY, LOCK_EX | LOCK_NB);

        if (fd < 0)
                return; /* somebody works there, or another sweep was faster */
        log_debug("Removing what an interrupted run left in %s", path);
        if (rm_rf(path) < 0)
                log_debug("Could not remove all of %s", path);
}

static void sweep(const char *work) {
        _cleanup_closedir_ DIR *d = NULL;

        if (folder_open(work, &d) < 0)
                return;
        FOLDER_FOREACH (name, d) {
                _cleanup_free_ char *path = name[0] == '.' ? NULL : path_join(work, name);

                if (path)
                        sweep_folder(path);
        }
}

static int make_scratch(Store *s) {
        _cleanup_free_ char *work = path_join(s->path, "work");

        if (!work)
                return -ENOMEM;
        sweep(work);
        for (;;) {
                _cleanup_free_ char *path = path_join(work, "XXXXXX");

                if (!path)
                        return -ENOMEM;
                if (!mkdtemp(path))
                        return -errno;
                /* A sweep may come between the two calls: then the folder is gone, and another is
                 * made. */
                int fd = store_lock(path, O_RDONLY | O_DIRECTORY, LOCK_EX);
                if (fd == -ENOENT)
                        continue;
                if (fd < 0)
                        return fd;
                s->scratch = TAKE_PTR(path);
                s->scratch_fd = fd;
                return 0;
        }
}

static int check_format(Store *s) {
        _cleanup_free_ char *path = path_join(s->path, "format"), *text = NULL;
        const char *wanted = s->userxattr ? FORMAT_USER : FORMAT_TRUSTED;
        int r;

        if (!path)
                return -ENOMEM;
        r = read_file(path, 4096, &text, NULL);
        if (r == -ENOENT)
                return write_file_durable(path, wanted, strlen(wanted), 0644);
        if (r < 0)
                return r;
        if (streq(text, wanted))
                return 0;
        if (streq(text, FORMAT_USER) || streq(text, FORMAT_TRUSTED))
                log_error("The store %s was made by %s: layers of the two kinds cannot be mixed. Use --cache with another folder, or run imgbuild as before",
                                s->path, s->userxattr ? "root" : "an ordinary user");
        else
                log_error("%s is not a store of this version of imgbuild. Use --cache with another folder, or remove it",
                                s->path);
        return -EEXIST;
}

static int make_folders(const Store *s) {
        for (size_t i = 0; i < ELEMENTSOF(folders); i++) {
                _cleanup_free_ char *folder = path_join(s->path, folders[i]);
                int r = folder ? mkdir_p(folder, 0755) : -ENOMEM;

                if (r < 0)
                        return r;
        }
        return 0;
}

static int join_users(Store *s) {
        _cleanup_free_ char *users = path_join(s->path, "locks/users");
        int fd = users ? store_lock(users, O_RDWR | O_CREAT, LOCK_SH) : -ENOMEM;

        if (fd < 0)
                return fd;
        s->users_fd = fd;
        return 0;
}

static int lay_out(Store *s) {
        int r;

        r = check_format(s);
        if (r < 0)
                return r;
        r = make_folders(s);
        if (r < 0)
                return r;
        r = join_users(s);
        return r < 0 ? r : make_scratch(s);
}

/* Whether a folder is a store, or what will become one: nothing in it, or only what stores have.
 * Takes the fd. */
static int is_store(int fd) {
        static const char *const names[] = { "format", "layers", "blobs", "work", "locks", "log",
                "plans" };
        _cleanup_closedir_ DIR *d = NULL;
        bool ours = true;
        int r;

        if (faccessat(fd, "format", F_OK, AT_SYMLINK_NOFOLLOW) >= 0) {
                close(fd);
                return 1;
        }
        r = folder_from_fd(fd, &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                bool known = false;

                for (size_t i = 0; i < ELEMENTSOF(names); i++)
                        known = known || streq(name, names[i]);
                ours = ours && known;
        }
        return ours;
}

/* A folder that was there already may be open to all. */
static int tighten(const char *path) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct stat st;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (st.st_uid != geteuid()) {
                log_error("%s belongs to another user (number %u), who could change what is built from it: choose another store with --cache, or chown it",
                                path, (unsigned) st.st_uid);
                return -EEXIST;
        }
        if ((st.st_mode & 077) == 0)
                return 0;

        r = is_store(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (r < 0)
                return r;
        if (r == 0) {
                log_error("%s is open to other users and holds what is no store's: choose an empty folder with --cache, or chmod 0700 it",
                                path);
                return -EEXIST;
        }
        log_debug("%s was open to other users", path);
        return fchmod(fd, 0700) < 0 ? -errno : 0;
}

/* Only the owner may look in: a tree holds set-uid programs and password files of images. */
static int make_private(const char *path) {
        int r;

        r = mkdir_parents(path, 0755);
        if (r < 0)
                return r;
        r = mkdir_p(path, 0700);
        return r < 0 ? r : tighten(path);
}

static int store_setup(Store *s, const char *path) {
        int r;

        r = make_private(path);
        if (r == -EEXIST)
                return r;
        if (r < 0)
                return log_error_errno(r,
                                "Cannot create the store %s (choose another with --cache)", path);
        s->path = realpath(path, NULL);
        if (!s->path)
                return log_error_errno(-errno, "Cannot open the store %s", path);

        r = lay_out(s);
        if (r == -EEXIST || r == -ENOMEM)
                return r;
        if (r < 0)
                return log_error_errno(r,
                                "Cannot write to the store %s (choose another with --cache)",
                                s->path);
        return 0;
}

int store_open(const char *path, Store **ret) {
        _cleanup_store_free_ Store *s = calloc(1, sizeof(*s));
        int r;

        if (!s)
                return log_oom();
        s->scratch_fd = s->users_fd = -EBADF;
        /* Verbs that only look run without the namespace, on the same store. */
        s->userxattr = geteuid() != 0 || in_user_namespace();
        r = store_setup(s, path);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(s);
        return 0;
}

Store *store_free(Store *s) {
        if (!s)
                return NULL;
        if (s->scratch_fd >= 0)
                rm_rf(s->scratch);
        for (size_t i = 0; i < s->n_holds; i++)
                safe_close(s->holds[i].fd);
        safe_close(s->scratch_fd);
        safe_close(s->users_fd);
        free(s->holds);
        free(s->scratch);
        free(s->path);
        free(s);
        return NULL;
}

const char *store_path(const Store *s) {
        return s->path;
}

bool store_userxattr(const Store *s) {
        return s->userxattr;
}

const char *store_default_path(void) {
        static char path[PATH_MAX];
        const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

        if (geteuid() == 0 && !in_user_namespace())
                return "/var/cache/imgbuild";
        if (cache && cache[0] == '/')
                snprintf(path, sizeof(path), "%s/imgbuild", cache);
        else
                snprintf(path, sizeof(path), "%s/.cache/imgbuild", isempty(home) ? "" : home);
        return path;
}

/* Stage ids have colons, and whoever named one may have put anything in it. */
static void make_plain(char *name) {
        for (char *p = name; *p; p++)
                if (!isalnum((unsigned char) *p) && !strchr("-_.", *p))
                        *p = '_';
}

int store_scratch(Store *s, const char *name, char **ret_path) {
        /* A child of ours that was forked counts on from the same number. */
        for (;;) {
                _cleanup_free_ char *path = strf("%s/%u-%s", s->scratch, s->n_scratch++, name);

                if (!path)
                        return -ENOMEM;
                make_plain(path + strlen(s->scratch) + 1);
                if (mkdir(path, 0755) >= 0) {
                        *ret_path = TAKE_PTR(path);
                        return 0;
                }
                if (errno != EEXIST)
                        return -errno;
        }
}

int store_log_path(Store *s, const char *stage, char **ret_path) {
        _cleanup_free_ char *path = NULL;
        char date[32];
        time_t now = time(NULL);
        struct tm tm;

        strftime(date, sizeof(date), "%Y%m%d-%H%M%S", gmtime_r(&now, &tm));
        path = strf("%s/log/%s-%d-%s.log", s->path, date, (int) getpid(), stage);
        if (!path)
                return -ENOMEM;
        make_plain(path + strlen(s->path) + strlen("/log/"));
        *ret_path = TAKE_PTR(path);
        return 0;
}

char *store_blob_path(Store *s, const char *sha256) {
        return strf("%s/blobs/sha256/%.2s/%s", s->path, sha256, sha256);
}

/* Asking for a blob counts as using it: its time stamp is what a prune by age goes by. */
bool store_has_blob(Store *s, const char *sha256) {
        _cleanup_free_ char *path = digest_valid(sha256) ? store_blob_path(s, sha256) : NULL;

        return path && utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW) >= 0;
}

int store_add_blob(Store *s, const char *path, const char *expected, Digest ret) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        _cleanup_free_ char *target = NULL;
        Digest digest;
        int r;

        if (fd < 0)
                return -errno;
        r = digest_fd(fd, digest, NULL);
        if (r < 0)
                return r;
        if (expected && !streq(digest, expected)) {
                unlink(path);
                return -EBADMSG;
        }
        target = store_blob_path(s, digest);
        if (!target)
                return -ENOMEM;
        /* Blobs are trusted by their names later on, so their bytes come first. */
        if (fchmod(fd, 0644) < 0 || fdatasync(fd) < 0)
                return -errno;
        r = mkdir_parents(target, 0755);
        if (r < 0)
                return r;
        if (rename(path, target) < 0)
                return -errno;
        if (ret)
                memcpy(ret, digest, sizeof(digest));
        return 0;
}
