/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The kernel's words: Documentation/admin-guide/cgroup-v2.rst. A cgroup that hands controllers to
 * those below it may hold no processes itself, so those that are there go into one below, OURS. */

#include "sandbox/cgroup.h"

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/parse-number.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define OURS "imgbuild-self"
#define STAGE_PREFIX "imgbuild-stage-"
#define FILE_MAX (1024 * 1024)             /* bytes: a list of all processes */
#define REMOVE_TIMEOUT (10 * USEC_PER_SEC) /* until what was killed has ended */
#define REMOVE_INTERVAL 10000              /* µs */

static int read_attribute(const char *folder, const char *name, char **ret) {
        _cleanup_free_ char *path = path_join(folder, name);

        return path ? read_file(path, FILE_MAX, ret, NULL) : -ENOMEM;
}

static int write_attribute(const char *folder, const char *name, const char *value) {
        _cleanup_free_ char *path = path_join(folder, name);
        _cleanup_close_ int fd = -EBADF;

        if (!path)
                return -ENOMEM;
        fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? -errno : write_all(fd, value, strlen(value));
}

static int write_number(const char *folder, const char *name, uint64_t value) {
        _cleanup_free_ char *text = strf("%llu", (unsigned long long) value);

        return text ? write_attribute(folder, name, text) : -ENOMEM;
}

/* Whether the attribute, a list of words, has both controllers. */
static bool has_controllers(const char *folder, const char *name) {
        _cleanup_free_ char *text = NULL;
        _cleanup_strv_free_ char **words = NULL;

        if (read_attribute(folder, name, &text) < 0)
                return false;
        words = strv_split(text, " \n");
        return words && strv_contains(words, "memory") && strv_contains(words, "pids");
}

/* Our cgroup of version 2, the line "0::/PATH"; that above it where we have moved below before. */
static int own_folder(const char *mount, const char *self, char **ret) {
        _cleanup_free_ char *text = NULL, *folder = NULL, *above = NULL;
        _cleanup_strv_free_ char **lines = NULL;
        const char *path = NULL;
        int r;

        r = read_file(self, FILE_MAX, &text, NULL);
        if (r < 0)
                return r;
        lines = strv_split(text, "\n");
        if (!lines)
                return -ENOMEM;
        for (char **l = lines; *l && !path; l++)
                path = startswith(*l, "0::/");
        if (!path || strstr(path, "..")) /* it is outside of our cgroup namespace */
                return -EOPNOTSUPP;

        folder = *path ? path_join(mount, path) : strdup(mount);
        if (!folder)
                return -ENOMEM;
        if (streq(path_basename(folder), OURS)) {
                above = path_folder(folder);
                if (!above)
                        return -ENOMEM;
                *ret = TAKE_PTR(above);
                return 0;
        }
        *ret = TAKE_PTR(folder);
        return 0;
}

/* systemd marks what it leaves to others: systemd.resource-control(5), Delegate=. */
static bool is_delegated(const char *folder) {
        static const char *const names[] = { "user.delegate", "trusted.delegate" };
        char value[2];

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (getxattr(folder, names[i], value, sizeof(value)) == 1 && value[0] == '1')
                        return true;
        return false;
}

/* Nobody else's processes are moved but where all of the cgroup was left to us. */
static int move_out_of(const char *folder) {
        _cleanup_free_ char *list = NULL, *below = path_join(folder, OURS);
        _cleanup_strv_free_ char **pids = NULL;
        _cleanup_free_ char *own = strf("%d", (int) getpid());
        int r;

        if (!below || !own)
                return -ENOMEM;
        r = read_attribute(folder, "cgroup.procs", &list);
        if (r < 0)
                return r;
        pids = strv_split(list, "\n");
        if (!pids)
                return -ENOMEM;
        for (char **pid = pids; *pid; pid++)
                if (!streq(*pid, own) && !is_delegated(folder))
                        return -EOPNOTSUPP;

        if (mkdir(below, 0755) < 0 && errno != EEXIST)
                return -errno;
        for (char **pid = pids; *pid; pid++) {
                r = write_attribute(below, "cgroup.procs", *pid);
                if (r < 0 && r != -ESRCH) /* it has ended */
                        return r;
        }
        return 0;
}

int cgroup_home(const char *mount, const char *self, char **ret) {
        _cleanup_free_ char *folder = NULL, *type = NULL;
        int r;

        r = own_folder(mount, self, &folder);
        if (r < 0)
                return r;
        if (!has_controllers(folder, "cgroup.controllers") || access(folder, W_OK) < 0)
                return -EOPNOTSUPP;
        if (!has_controllers(folder, "cgroup.subtree_control")) {
                /* The machine's first one alone may keep its processes; it has no type. */
                if (read_attribute(folder, "cgroup.type", &type) >= 0) {
                        r = move_out_of(folder);
                        if (r < 0)
                                return r;
                }
                r = write_attribute(folder, "cgroup.subtree_control", "+memory +pids");
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(folder);
        return 0;
}

static void end_and_remove(const char *path) {
        uint64_t began = now_usec();

        (void) write_attribute(path, "cgroup.kill", "1"); /* since Linux 5.14 */
        while (rmdir(path) < 0 && errno == EBUSY && now_usec() - began < REMOVE_TIMEOUT)
                usleep(REMOVE_INTERVAL);
}

static void sweep(const char *home) {
        _cleanup_closedir_ DIR *d = NULL;

        if (folder_open(home, &d) < 0)
                return;
        FOLDER_FOREACH (name, d) {
                _cleanup_close_ int fd = -EBADF;
                _cleanup_free_ char *path = NULL;

                if (!startswith(name, STAGE_PREFIX))
                        continue;
                fd = openat(dirfd(d), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                path = path_join(home, name);
                if (fd >= 0 && path && flock(fd, LOCK_EX | LOCK_NB) >= 0)
                        end_and_remove(path);
        }
}

static int make_folder(const char *home, Cgroup *ret) {
        for (unsigned i = 0; i < 1000; i++) {
                _cleanup_free_ char *path =
                                strf("%s/" STAGE_PREFIX "%d-%u", home, (int) getpid(), i);
                _cleanup_close_ int fd = -EBADF;

                if (!path)
                        return -ENOMEM;
                if (mkdir(path, 0755) < 0) {
                        if (errno == EEXIST)
                                continue;
                        return -errno;
                }
                fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
                        int r = -errno;

                        (void) rmdir(path);
                        return r;
                }
                *ret = (Cgroup) { .path = TAKE_PTR(path), .lock = TAKE_FD(fd) };
                return 0;
        }
        return -EEXIST;
}

static int set_limits(const char *path, uint64_t memory, uint64_t processes) {
        int r;

        r = write_number(path, "memory.max", memory);
        if (r < 0)
                return r;
        r = write_number(path, "pids.max", processes);
        if (r < 0)
                return r;
        /* Not there where the kernel counts no swap, or is too old. */
        r = write_attribute(path, "memory.swap.max", "0");
        if (r < 0 && r != -ENOENT)
                return r;
        r = write_attribute(path, "memory.oom.group", "1");
        return r == -ENOENT ? 0 : r;
}

int cgroup_make(const char *home, uint64_t memory, uint64_t processes, Cgroup *ret) {
        _cleanup_(cgroup_done) Cgroup c = CGROUP_NONE;
        _cleanup_close_ int lock = -EBADF; /* no sweep between a cgroup and its lock */
        int r;

        lock = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (lock < 0 || flock(lock, LOCK_EX) < 0)
                return -errno;
        sweep(home);
        r = make_folder(home, &c);
        if (r < 0)
                return r;
        r = set_limits(c.path, memory, processes);
        if (r < 0)
                return r;
        *ret = c;
        c = CGROUP_NONE;
        return 0;
}

void cgroup_done(Cgroup *c) {
        if (c->path)
                end_and_remove(c->path);
        safe_close(c->lock);
        free(c->path);
        *c = CGROUP_NONE;
}

int cgroup_enter(const char *path) {
        return write_attribute(path, "cgroup.procs", "0");
}

/* The value of the line "KEY VALUE"; 0 where there is none. */
static int read_event(const char *folder, const char *name, const char *key, uint64_t *ret) {
        _cleanup_free_ char *text = NULL;
        _cleanup_strv_free_ char **lines = NULL;
        int r;

        r = read_attribute(folder, name, &text);
        if (r < 0)
                return r;
        lines = strv_split(text, "\n");
        if (!lines)
                return -ENOMEM;
        *ret = 0;
        for (char **l = lines; *l; l++) {
                const char *value = startswith(*l, key);

                if (value && *value == ' ' && parse_number(value + 1, 10, ret) < 0)
                        return -EBADMSG;
        }
        return 0;
}

int cgroup_met(const Cgroup *c, uint64_t *ret_memory, uint64_t *ret_processes) {
        uint64_t memory, processes;
        int r;

        r = read_event(c->path, "memory.events", "oom_kill", &memory);
        if (r < 0)
                return r;
        r = read_event(c->path, "pids.events", "max", &processes);
        if (r < 0)
                return r;
        *ret_memory = memory;
        *ret_processes = processes;
        return 0;
}
