/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Network namespaces are found by the processes in them and by their names below /run/netns, and
 * entered one after the other. In each, a sysfs of its own is made that is mounted nowhere
 * (fsmount(2)): nothing is left behind, however this ends.
 *
 * Any user may make namespaces by the thousand. So their number and the time are limited, and where
 * there are too many, all groups of processes (pods, users, services) have their turn before one
 * has its second. */

#include "steps/rdma/namespaces.h"
#include "contract/paths.h"
#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/older-headers.h"
#include "shared/parse-number.h"
#include "shared/strv.h"
#include "shared/time-util.h"
#include "steps/common/sysfs.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#define NAMESPACES_MAX 512
#define TIME_MAX (2 * USEC_PER_SEC)
#define CGROUP_MAX (64 * 1024)

/* One process, or one name: pid is 0 then. */
typedef struct Member {
        ino_t inode;
        pid_t pid;
        char *name;
} Member;

typedef struct Space {
        NetNamespace n;
        pid_t *pids;
        char *group;
        size_t turn; /* how many of its group come before it */
} Space;

typedef struct Spaces {
        struct stat own;
        int own_fd;
        uint64_t deadline;
        Member *members;
        size_t n_members, room;
        Space *items;
        size_t n;
} Spaces;

static void spaces_done(Spaces *s) {
        for (size_t i = 0; i < s->n_members; i++)
                free(s->members[i].name);
        for (size_t i = 0; i < s->n; i++) {
                free(s->items[i].pids);
                free(s->items[i].group);
        }
        free(s->members);
        free(s->items);
        safe_close(s->own_fd);
}

bool rdma_is_exclusive(void) {
        _cleanup_free_ char *shared = sysfs_string("/sys/module/ib_core/parameters", "netns_mode");

        return streq_ptr(shared, "N");
}

static int add_member(Spaces *s, const struct stat *st, pid_t pid, const char *name) {
        Member m = { .inode = st->st_ino, .pid = pid };

        /* Namespaces have a file system to themselves. */
        if (st->st_dev != s->own.st_dev || st->st_ino == s->own.st_ino)
                return 0;
        if (s->n_members == s->room) {
                size_t room = s->room ? s->room * 2 : 256;
                Member *grown = reallocarray(s->members, room, sizeof(Member));

                if (!grown)
                        return -ENOMEM;
                s->members = grown;
                s->room = room;
        }
        if (name && !(m.name = strdup(name)))
                return -ENOMEM;
        s->members[s->n_members++] = m;
        return 0;
}

static int open_folder(const char *name, DIR **ret) {
        _cleanup_free_ char *path = fb_path(name);

        return path ? folder_open(path, ret) : -ENOMEM;
}

static int find_processes(Spaces *s) {
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = open_folder("/proc", &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                char link[64];
                struct stat st;
                uint64_t pid;

                if (parse_number(name, 10, &pid) < 0 || pid > INT32_MAX)
                        continue;
                if (now_usec() > s->deadline)
                        return 0;
                snprintf(link, sizeof(link), "%u/ns/net", (unsigned) pid);
                if (fstatat(dirfd(d), link, &st, 0) < 0)
                        continue; /* it ended */
                r = add_member(s, &st, (pid_t) pid, NULL);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* ip-netns(8)'s and CNI's names: bind mounts, or links to a process' own. */
static int find_names(Spaces *s) {
        _cleanup_closedir_ DIR *d = NULL;
        int r;

        r = open_folder("/run/netns", &d);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        FOLDER_FOREACH (name, d) {
                struct stat st;

                if (fstatat(dirfd(d), name, &st, 0) < 0)
                        continue;
                r = add_member(s, &st, 0, name);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int by_inode(const void *a, const void *b) {
        const Member *x = a, *y = b;

        if (x->inode != y->inode)
                return x->inode < y->inode ? -1 : 1;
        if (x->pid != y->pid)
                return x->pid < y->pid ? -1 : 1;
        return strcmp(strempty(x->name), strempty(y->name));
}

/* Members become namespaces. */
static int group_members(Spaces *s) {
        if (s->n_members == 0)
                return 0;
        qsort(s->members, s->n_members, sizeof(Member), by_inode);
        s->items = calloc(s->n_members, sizeof(Space));
        if (!s->items)
                return -ENOMEM;

        for (size_t i = 0, end; i < s->n_members; i = end) {
                Space *space = &s->items[s->n];

                for (end = i; end < s->n_members && s->members[end].inode == s->members[i].inode;)
                        end++;
                space->pids = calloc(end - i, sizeof(pid_t));
                if (!space->pids)
                        return -ENOMEM;
                s->n++;
                space->n = (NetNamespace) { .inode = s->members[i].inode, .pids = space->pids };
                for (size_t k = i; k < end; k++)
                        if (s->members[k].pid > 0)
                                space->pids[space->n.n_pids++] = s->members[k].pid;
                        else if (!space->n.name)
                                space->n.name = s->members[k].name;
        }
        return 0;
}

/* The first three folders of a process' cgroup: a pod, a user's session, a service. */
static char *group_of(pid_t pid) {
        _cleanup_free_ char *path = fb_pathf("/proc/%d/cgroup", (int) pid), *text = NULL;
        size_t slashes = 0, n = 0;

        if (!path || read_file(path, CGROUP_MAX, &text, NULL) < 0)
                return strdup("");
        const char *line = strstr(text, "0::");
        if (!line)
                line = text;
        while (line[n] && line[n] != '\n' && (slashes += line[n] == '/') <= 3)
                n++;
        return strndup(line, n);
}

static int by_group(const void *a, const void *b) {
        const Space *x = a, *y = b;
        int r = strcmp(x->group, y->group);

        return r != 0 ? r : x->n.inode < y->n.inode ? -1 : x->n.inode > y->n.inode;
}

static int by_turn(const void *a, const void *b) {
        const Space *x = a, *y = b;

        if (x->turn != y->turn)
                return x->turn < y->turn ? -1 : 1;
        return x->n.inode < y->n.inode ? -1 : x->n.inode > y->n.inode;
}

/* In turns, where not all can be had. */
static int order_fairly(Spaces *s) {
        if (s->n <= NAMESPACES_MAX)
                return 0;
        for (size_t i = 0; i < s->n; i++) {
                Space *space = &s->items[i];

                space->group = space->n.n_pids > 0 ? group_of(space->pids[0]) : strdup("");
                if (!space->group)
                        return -ENOMEM;
        }
        qsort(s->items, s->n, sizeof(Space), by_group);
        for (size_t i = 1; i < s->n; i++)
                if (streq(s->items[i].group, s->items[i - 1].group))
                        s->items[i].turn = s->items[i - 1].turn + 1;
        qsort(s->items, s->n, sizeof(Space), by_turn);
        return 0;
}

/* The namespace itself: a number may be another process' by now. */
static int open_checked(const char *path, ino_t inode) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        return st.st_ino == inode ? TAKE_FD(fd) : -ESRCH;
}

static int open_namespace(const NetNamespace *n) {
        enum { TRIES = 8 };
        int fd = -ESRCH;

        if (n->name) {
                _cleanup_free_ char *path = fb_pathf("/run/netns/%s", n->name);

                fd = path ? open_checked(path, n->inode) : -ENOMEM;
        }
        for (size_t i = 0; fd < 0 && i < n->n_pids && i < TRIES; i++) {
                _cleanup_free_ char *path = fb_pathf("/proc/%d/ns/net", (int) n->pids[i]);

                fd = path ? open_checked(path, n->inode) : -ENOMEM;
        }
        return fd;
}

int net_namespace_enter(int namespace) {
        _cleanup_close_ int fd = -EBADF;

        if (setns(namespace, CLONE_NEWNET) < 0)
                return -errno;
        fd = fsopen("sysfs", FSOPEN_CLOEXEC);
        if (fd < 0 || fsconfig(fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                return -errno;
        int mount = fsmount(fd, FSMOUNT_CLOEXEC,
                        MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                        MOUNT_ATTR_NOEXEC);
        return mount < 0 ? -errno : mount;
}

/* Its folder of RDMA devices. Tests have one for each namespace, below ROOT/netns/INODE, for the
 * kernel that runs them has no devices to move. */
static int open_class(int sysfs) {
        if (secure_getenv("FIRSTBOOT_ROOT")) {
                struct stat st;

                if (stat("/proc/self/ns/net", &st) < 0)
                        return -errno;
                _cleanup_free_ char *path = fb_pathf(
                                "/netns/%llu/sys/class/infiniband", (unsigned long long) st.st_ino);
                int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

                return fd < 0 ? -errno : fd;
        }
        int fd = openat(sysfs, "class/infiniband", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static bool has_entries(int folder) {
        _cleanup_closedir_ DIR *d = NULL;
        int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd >= 0 && folder_from_fd(fd, &d) >= 0 && folder_next(d);
}

/* 0 where it was looked into, or is gone; 1 where it could not be entered. */
static int visit_one(const NetNamespace *n,
                int (*visit)(void *data, const NetNamespace *n, int class), void *data) {
        _cleanup_close_ int fd = open_namespace(n), sysfs = -EBADF, class = -EBADF;

        if (fd == -ENOMEM)
                return fd;
        if (fd < 0)
                return 0;
        sysfs = net_namespace_enter(fd);
        if (sysfs < 0)
                return 1;
        class = open_class(sysfs);
        if (class < 0 || !has_entries(class))
                return 0;
        return visit(data, n, class);
}

static int visit_all(Spaces *s, int (*visit)(void *data, const NetNamespace *n, int class),
                void *data, size_t *ret_skipped) {
        size_t skipped = 0;
        int r;

        for (size_t i = 0; i < s->n; i++) {
                if (i >= NAMESPACES_MAX || now_usec() > s->deadline) {
                        skipped += s->n - i;
                        break;
                }
                r = visit_one(&s->items[i].n, visit, data);
                if (r < 0)
                        return r;
                skipped += (size_t) r;
        }
        *ret_skipped = skipped;
        return 0;
}

int net_namespaces_visit(int (*visit)(void *data, const NetNamespace *n, int class), void *data,
                size_t *ret_skipped) {
        _cleanup_(spaces_done) Spaces s = { .own_fd = -EBADF, .deadline = now_usec() + TIME_MAX };
        int r, back;

        s.own_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        if (s.own_fd < 0 || fstat(s.own_fd, &s.own) < 0)
                return -errno;
        r = find_names(&s);
        if (r < 0)
                return r;
        r = find_processes(&s);
        if (r < 0)
                return r;
        r = group_members(&s);
        if (r < 0)
                return r;
        r = order_fairly(&s);
        if (r < 0)
                return r;

        r = visit_all(&s, visit, data, ret_skipped);
        back = s.n == 0 || setns(s.own_fd, CLONE_NEWNET) == 0 ? 0 : -errno;
        return r < 0 ? r : back;
}
