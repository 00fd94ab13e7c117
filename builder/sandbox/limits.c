/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A look is cheap as long as nothing is suspicious: three numbers of the whole machine. When they
 * have grown by what the command may have, and every few seconds (others may have given back what
 * it took), its processes are counted, in /proc. In a cgroup nothing is counted, the kernel
 * does. */

#include "sandbox/limits.h"

#include "shared/file-util.h"
#include "shared/folder.h"
#include "shared/log.h"
#include "shared/parse-number.h"
#include "shared/size.h"
#include "shared/strv.h"
#include "shared/time-util.h"

#include <ctype.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

#define TIME_DEFAULT (2 * 3600 * USEC_PER_SEC)
#define PROCESSES_DEFAULT 4096
#define FLOOR_MAX (UINT64_C(1) << 30) /* bytes; 2 % of a smaller file system */
#define LOOKS_PER_COUNT 15            /* 3 s */
#define DESPERATE 20                  /* a machine with less than a 20th of its memory left */

typedef struct Memory {
        uint64_t total, available; /* bytes */
} Memory;

static int read_memory(Memory *ret) {
        unsigned long long total, available;
        _cleanup_free_ char *text = NULL;
        const char *at;
        int r;

        r = read_file("/proc/meminfo", 65536, &text, NULL);
        if (r < 0)
                return r;
        at = strstr(text, "MemAvailable:");
        if (!at || sscanf(at, "MemAvailable: %llu kB", &available) != 1 ||
                        sscanf(text, "MemTotal: %llu kB", &total) != 1)
                return -EBADMSG;
        *ret = (Memory) { total * 1024, available * 1024 };
        return 0;
}

uint64_t memory_available(void) {
        Memory m = {};

        return read_memory(&m) < 0 ? 0 : m.available;
}

static uint64_t count_processes(void) {
        struct sysinfo info;

        return sysinfo(&info) < 0 ? 0 : info.procs;
}

typedef struct Process {
        pid_t pid, parent;
        uint64_t threads, memory;
        bool ours;
} Process;

/* The name in parentheses may hold anything: what counts begins behind the last one. */
static bool read_process(int proc_fd, const char *pid, Process *ret) {
        _cleanup_free_ char *path = strf("%s/stat", pid);
        _cleanup_close_ int fd = path ? openat(proc_fd, path, O_RDONLY | O_CLOEXEC) : -EBADF;
        char text[1024];
        ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        long long threads, pages;
        char *end;
        int parent;

        if (n <= 0)
                return false; /* it has ended */
        text[n] = '\0';
        end = strrchr(text, ')');
        if (!end || sscanf(end + 1,
                                    " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
                                    "%*d %*d %lld %*d %*u %*u %lld",
                                    &parent, &threads, &pages) != 3)
                return false;
        *ret = (Process) {
                .pid = (pid_t) strtol(pid, NULL, 10),
                .parent = parent,
                .threads = (uint64_t) threads,
                .memory = (uint64_t) pages * (uint64_t) sysconf(_SC_PAGESIZE),
        };
        return true;
}

static int by_pid(const void *a, const void *b) {
        return ((const Process *) a)->pid - ((const Process *) b)->pid;
}

static Process *find_process(Process *list, size_t n, pid_t pid) {
        const Process key = { .pid = pid };

        return bsearch(&key, list, n, sizeof(*list), by_pid);
}

static int list_processes(Process **ret, size_t *ret_n) {
        _cleanup_closedir_ DIR *d = NULL;
        _cleanup_free_ Process *list = NULL;
        size_t n = 0, room = 0;
        int r;

        r = folder_open("/proc", &d);
        if (r < 0)
                return r;
        FOLDER_FOREACH (name, d) {
                if (!isdigit((unsigned char) *name))
                        continue;
                if (n == room) {
                        Process *larger = reallocarray(list, room = room * 2 + 512, sizeof(*list));

                        if (!larger)
                                return -ENOMEM;
                        list = larger;
                }
                n += read_process(dirfd(d), name, list + n);
        }
        qsort(list, n, sizeof(*list), by_pid);
        *ret = TAKE_PTR(list);
        *ret_n = n;
        return 0;
}

/* Whether `p` comes from one that is ours. Chains are short: whoever loses its parent in a sandbox
 * gets the sandbox's first process for one. */
static bool descends(Process *list, size_t n, const Process *p) {
        for (size_t steps = 0; p && steps < n; steps++) {
                if (p->ours)
                        return true;
                p = find_process(list, n, p->parent);
        }
        return false;
}

/* What the process alone is to be charged with: of a page that n processes share, an nth. 0 where
 * it has ended. proc_pid_smaps_rollup(5). */
static uint64_t own_memory(pid_t pid) {
        _cleanup_free_ char *path = strf("/proc/%d/smaps_rollup", (int) pid), *text = NULL;
        unsigned long long kib;
        const char *at;

        if (!path || read_file(path, 65536, &text, NULL) < 0)
                return 0;
        at = strstr(text, "\nPss:");
        return at && sscanf(at, " Pss: %llu kB", &kib) == 1 ? kib * 1024 : 0;
}

/* Adds up `pid` and all that come from it. Memory that they share counts for each of them, or where
 * it is to be exact, which takes longer, once. */
static int add_up(pid_t pid, bool exact, uint64_t *ret_processes, uint64_t *ret_memory) {
        _cleanup_free_ Process *list = NULL;
        Process *first;
        size_t n = 0;
        int r;

        *ret_processes = *ret_memory = 0;
        r = list_processes(&list, &n);
        if (r < 0)
                return r;
        first = find_process(list, n, pid);
        if (!first)
                return 0;
        first->ours = true;
        for (size_t i = 0; i < n; i++) {
                if (!descends(list, n, list + i))
                        continue;
                list[i].ours = true;
                *ret_processes += list[i].threads;
                *ret_memory += exact ? own_memory(list[i].pid) : list[i].memory;
        }
        return 0;
}

Limits limits_over(const Limits *over, const Limits *below) {
        return (Limits) {
                .time_usec = over->time_usec ? over->time_usec : below->time_usec,
                .memory = over->memory ? over->memory : below->memory,
                .processes = over->processes ? over->processes : below->processes,
        };
}

static uint64_t room_left(const char *path, uint64_t *ret_total) {
        struct statvfs st;

        if (statvfs(path, &st) < 0)
                return 0;
        *ret_total = (uint64_t) st.f_blocks * st.f_frsize;
        return (uint64_t) st.f_bavail * st.f_frsize;
}

void limit_watch_begin(LimitWatch *w, const Limits *limits, const char *store) {
        uint64_t total = 0, room = room_left(store, &total);
        Memory m = {};

        (void) read_memory(&m);
        *w = (LimitWatch) {
                .limits = {
                        .time_usec = limits->time_usec ? limits->time_usec : TIME_DEFAULT,
                        .memory = limits->memory ? limits->memory : m.available / 5 * 4,
                        .processes = limits->processes ? limits->processes : PROCESSES_DEFAULT,
                },
                .store = store,
                .used = m.total - m.available,
                .procs = count_processes(),
                .floor = MIN(total / 50, FLOOR_MAX),
                .cgroup = CGROUP_NONE,
        };
        /* Where there is less to begin with, the command may try: it could need little. */
        if (room <= w->floor)
                w->floor = 0;
}

void limit_watch_cgroup(LimitWatch *w, const char *mount, const char *self) {
        _cleanup_free_ char *home = NULL;
        int r;

        r = cgroup_home(mount, self, &home);
        if (r < 0) {
                log_debug("No cgroup for a command (%s): it is looked at from outside",
                                strerror(-r));
                return;
        }
        r = cgroup_make(home, w->limits.memory, w->limits.processes, &w->cgroup);
        if (r < 0)
                log_debug("No cgroup for a command below %s (%s): it is looked at from outside",
                                home, strerror(-r));
}

void limit_watch_done(LimitWatch *w) {
        if (w->cgroup.path)
                cgroup_done(&w->cgroup);
        free(w->why);
        w->why = NULL;
}

static int look_at_disk(LimitWatch *w) {
        char left[FORMAT_BYTES_MAX];
        uint64_t total = 0, room;

        if (w->floor == 0)
                return 0;
        room = room_left(w->store, &total);
        if (total == 0 || room > w->floor)
                return 0;
        w->why = strf("the store's file system has only %s left; nothing may take the last of it",
                        format_bytes(left, room));
        return -ENOSPC;
}

static int look_at_processes(LimitWatch *w, uint64_t processes) {
        if (processes <= w->limits.processes)
                return 0;
        w->why = strf("it has %llu processes and threads at once; limits.processes allows %llu",
                        (unsigned long long) processes, (unsigned long long) w->limits.processes);
        return -EDQUOT;
}

static int look_at_memory(LimitWatch *w, const Memory *m, uint64_t memory) {
        char has[FORMAT_BYTES_MAX], may[FORMAT_BYTES_MAX];

        if (memory <= w->limits.memory && m->available >= m->total / DESPERATE)
                return 0;
        w->why = strf("it has %s of memory, and %s are left on the machine; limits.memory allows %s",
                        format_bytes(has, memory),
                        format_bytes((char[FORMAT_BYTES_MAX]) {}, m->available),
                        format_bytes(may, w->limits.memory));
        return -EDQUOT;
}

int limit_watch_met(LimitWatch *w) {
        uint64_t memory, processes;
        char may[FORMAT_BYTES_MAX];

        if (!w->cgroup.path || cgroup_met(&w->cgroup, &memory, &processes) < 0)
                return 0;
        if (memory == 0 && processes == 0)
                return 0;
        free(w->why);
        if (memory > 0)
                w->why = strf("it has asked for more memory than it may have, and the kernel ended it; limits.memory allows %s",
                                format_bytes(may, w->limits.memory));
        else
                w->why = strf("it has asked for more processes and threads than it may have at once; limits.processes allows %llu",
                                (unsigned long long) w->limits.processes);
        return -EDQUOT;
}

int limit_watch_look(pid_t pid, void *userdata) {
        LimitWatch *w = userdata;
        uint64_t processes, memory;
        bool many, much, due;
        Memory m;
        int r;

        r = look_at_disk(w);
        if (r < 0)
                return r;
        if (w->cgroup.path)
                return limit_watch_met(w);
        if (read_memory(&m) < 0)
                return 0;
        much = m.total - m.available > w->used + w->limits.memory;
        many = count_processes() > w->procs + w->limits.processes / 2;
        due = ++w->looks % LOOKS_PER_COUNT == 0;
        if ((!much && !many && !due) || add_up(pid, false, &processes, &memory) < 0)
                return 0;

        r = look_at_processes(w, processes);
        if (r < 0)
                return r;
        if (!much && (memory <= w->limits.memory || add_up(pid, true, &processes, &memory) < 0 ||
                                     memory <= w->limits.memory))
                return 0;
        return look_at_memory(w, &m, memory);
}
